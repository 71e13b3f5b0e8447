//! A running `switchyard bus`, and what every test of it needs: clients, sessions, and its end.
//!
//! In: a configuration and the worker of the testkit. Out: clients on its sockets or its stdio,
//! and what is left of it afterwards. `$WORKER` in a configuration is the path of that worker.
//! A bus that is dropped is killed, and its home kills whatever is left.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stderr,
    reason = "helpers of tests"
)]

use crate::faults::EXE;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use std::ffi::OsString;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use testkit::line_client::LineClient;
use testkit::proc;
use testkit::test_home::{PATIENCE, TestHome, switchyard, wait_until};

/// Codes of errors that the bus itself gives.
pub(crate) const WORKER_LOST: i64 = -32010;
pub(crate) const UNAVAILABLE: i64 = -32011;
pub(crate) const OVERLOADED: i64 = -32012;

/// One pool of the testkit's worker; `settings` are further lines of it.
pub(crate) fn pool(settings: &str) -> String {
    format!("[[pool]]\nname = \"echo\"\ncommand = \"$WORKER\"\n{settings}\n")
}

pub(crate) struct Bus {
    home: TestHome,
    child: Child,
    said: Arc<Mutex<Vec<String>>>,
    /// When it was ready: how large a binary is does not matter to what it keeps.
    kib_at_first: u64,
}

/// A home with a configuration in it, and a bus that has not been started.
pub(crate) struct Stage {
    home: TestHome,
    args: Vec<OsString>,
}

impl Stage {
    pub(crate) fn new(config: &str) -> Self {
        Self::named("bus.toml", config)
    }

    /// With a configuration file of this name.
    pub(crate) fn named(name: &str, config: &str) -> Self {
        let home = switchyard(EXE);
        let file = home.path().join(name);
        let worker = home.tool("bus-worker");
        std::fs::write(&file, config.replace("$WORKER", worker.to_str().unwrap())).unwrap();
        Self { home, args: vec!["bus".into(), "-c".into(), file.into()] }
    }

    pub(crate) fn path(&self) -> &Path {
        self.home.path()
    }

    pub(crate) fn socket(&self) -> PathBuf {
        self.path().join("bus.sock")
    }

    #[must_use]
    pub(crate) fn arg(mut self, arg: impl Into<OsString>) -> Self {
        self.args.push(arg.into());
        self
    }

    /// On a unix socket, and on TCP without a token.
    #[must_use]
    pub(crate) fn with_sockets(self) -> Self {
        let socket = self.socket();
        self.arg("--unix").arg(socket).arg("--tcp").arg("127.0.0.1:0").arg("--no-token")
    }

    pub(crate) fn command(&self) -> Command {
        self.home.command(&self.args)
    }

    /// The same through a shell that does something first, such as opening descriptors.
    pub(crate) fn command_after(&self, first: &str) -> Command {
        let mut command = self.home.other("sh", ["-c", &format!("{first}; exec \"$0\" \"$@\"")]);
        command.arg(EXE).args(&self.args);
        command
    }

    /// With one client, on its pipes.
    pub(crate) fn start_on_stdio(self) -> (Bus, LineClient) {
        let mut command = self.command();
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut bus = Bus::new(self.home, command);
        let (stdin, stdout) = (bus.child.stdin.take().unwrap(), bus.child.stdout.take().unwrap());
        (bus, LineClient::pipes(stdin, stdout))
    }

    pub(crate) fn start(self) -> Bus {
        let command = self.command();
        self.start_with(command)
    }

    pub(crate) fn start_with(self, mut command: Command) -> Bus {
        command.stdin(Stdio::null()).stdout(Stdio::null());
        Bus::new(self.home, command)
    }

    /// For a bus that is not to come up: its exit code and what it said.
    pub(crate) fn run(&self) -> (Option<i32>, String) {
        let output = self.command().stdin(Stdio::null()).output().unwrap();
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    }

    /// Another verb in the same home.
    #[track_caller]
    pub(crate) fn home(&self) -> &TestHome {
        &self.home
    }
}

/// A bus on a unix socket and on TCP without a token, ready for clients.
#[track_caller]
pub(crate) fn bus(config: &str) -> Bus {
    Stage::new(config).with_sockets().start().ready()
}

impl Bus {
    fn new(home: TestHome, mut command: Command) -> Self {
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let said = Arc::new(Mutex::new(Vec::new()));
        let (stderr, kept) = (child.stderr.take().unwrap(), Arc::clone(&said));
        std::thread::spawn(move || {
            for line in BufReader::new(stderr).lines().map_while(Result::ok) {
                kept.lock().unwrap().push(line);
            }
        });
        Self { home, child, said, kib_at_first: 0 }
    }

    /// Waits until it listens on the unix socket of its [`Stage`] and on TCP.
    #[track_caller]
    pub(crate) fn ready(mut self) -> Self {
        self.listens("unix");
        self.listens("tcp");
        self.kib_at_first = self.peak_kib();
        self
    }

    /// Waits until so many workers serve.
    #[track_caller]
    pub(crate) fn with_workers(self, n: usize) -> Self {
        let is_running = |worker: &&Value| worker["state"] == "running";
        let mut status = Value::Null;
        let are_there = wait_until(PATIENCE, || {
            status = self.status();
            let pools = status["pools"].as_array().unwrap().iter();
            let workers = pools.flat_map(|pool| pool["workers"].as_array().unwrap());
            workers.filter(is_running).count() == n
        });
        assert!(are_there, "{status:#}");
        self
    }

    /// What `switchyard bus status` says.
    #[track_caller]
    pub(crate) fn status(&self) -> Value {
        let output = self.home.command(["bus", "status", "--json"]).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{said}");
        serde_json::from_slice(&output.stdout).unwrap()
    }

    /// Waits for a listener; its address.
    #[track_caller]
    pub(crate) fn listens(&self, kind: &str) -> String {
        let start = format!("switchyard bus: listening on {kind} ");
        let mut found = None;
        let is_there = wait_until(PATIENCE, || {
            let said = self.said.lock().unwrap();
            found = said.iter().find_map(|line| line.strip_prefix(&start)).map(str::to_owned);
            found.is_some() || !proc::is_alive(self.pid())
        });
        assert!(is_there && found.is_some(), "does not listen on {kind}: {}", self.said());
        found.unwrap()
    }

    pub(crate) fn client(&self) -> LineClient {
        LineClient::unix(self.home.path().join("bus.sock"))
    }

    #[track_caller]
    pub(crate) fn tcp_client(&self) -> LineClient {
        LineClient::tcp(self.tcp())
    }

    #[track_caller]
    pub(crate) fn tcp(&self) -> SocketAddr {
        self.listens("tcp").parse().unwrap()
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn home(&self) -> &TestHome {
        &self.home
    }

    /// What it has said on stderr.
    pub(crate) fn said(&self) -> String {
        self.said.lock().unwrap().join("\n")
    }

    pub(crate) fn n_descriptors(&self) -> usize {
        std::fs::read_dir(format!("/proc/{}/fd", self.pid())).unwrap().count()
    }

    fn peak_kib(&self) -> u64 {
        proc::memory(self.pid()).expect("the bus lives").peak_kib
    }

    /// How much memory it needed at any time on top of what it began with.
    pub(crate) fn grown_kib(&self) -> u64 {
        self.peak_kib() - self.kib_at_first
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_raw(self.pid().cast_signed()).unwrap(), signal).unwrap();
    }

    /// Waits for its end; the exit code, nothing if a signal ended it.
    #[track_caller]
    pub(crate) fn exit(&mut self) -> Option<i32> {
        let has_ended = wait_until(PATIENCE, || self.child.try_wait().unwrap().is_some());
        assert!(has_ended, "the bus does not end: {}", self.said());
        let code = self.child.wait().unwrap().code();
        self.assert_sound();
        code
    }

    /// Drains it; it must end its clients and itself well and leave nothing.
    #[track_caller]
    pub(crate) fn finish(mut self, clients: impl IntoIterator<Item = LineClient>) {
        self.signal(Signal::TERM);
        for mut client in clients {
            client.rest();
        }
        assert_eq!(self.exit(), Some(0), "{}", self.said());
        self.assert_left_nothing();
    }

    #[track_caller]
    pub(crate) fn assert_left_nothing(&self) {
        self.home.assert_empty_within(PATIENCE);
    }

    #[track_caller]
    fn assert_sound(&self) {
        assert!(!self.said().contains("panicked"), "{}", self.said());
    }
}

impl Drop for Bus {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        if std::thread::panicking() {
            eprintln!("the bus said:\n{}", self.said());
        }
    }
}

/// A session and where it lives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Session {
    pub(crate) name: String,
    pub(crate) pid: u32,
}

#[track_caller]
pub(crate) fn session(client: &mut LineClient) -> Session {
    let opened = client.result("session/new", &json!({ "cwd": "/", "mcpServers": [] }));
    let name = opened["sessionId"].as_str().unwrap().to_owned();
    let pid = pid_of(client, json!({ "sessionId": name }));
    Session { name, pid }
}

/// The process that answers requests with these params.
#[track_caller]
pub(crate) fn pid_of(client: &mut LineClient, params: Value) -> u32 {
    let answer = client.result("x/pid", &params);
    u32::try_from(answer["pid"].as_u64().unwrap()).unwrap()
}

/// Sessions of two clients on different workers, of which there must be more than one.
#[track_caller]
pub(crate) fn apart(one: &mut LineClient, other: &mut LineClient) -> (Session, Session) {
    let (first, second) = (session(one), session(other));
    assert_ne!(first.pid, second.pid, "sessions are spread over the workers");
    (first, second)
}

/// The client is served.
#[track_caller]
pub(crate) fn assert_served(client: &mut LineClient) {
    let params = json!({ "is": ["served", 1, null] });
    assert_eq!(client.result("any/thing", &params)["echo"], params);
}

/// The answer is an error of the bus with this code, and says why.
#[track_caller]
pub(crate) fn assert_refused(answer: &Value, code: i64, reason: &str) {
    let error = &answer["error"];
    assert_eq!(
        (&error["code"], &error["data"]["reason"]),
        (&json!(code), &json!(reason)),
        "{answer}"
    );
}

/// What a worker was told without being asked, until something of it fits.
#[track_caller]
pub(crate) fn wait_until_heard(
    client: &mut LineClient,
    params: &Value,
    fits: impl Fn(&Value) -> bool,
) {
    let mut heard = Value::Null;
    let is_heard = wait_until(PATIENCE, || {
        heard = client.result("x/heard", params)["heard"].take();
        heard.as_array().unwrap().iter().any(&fits)
    });
    assert!(is_heard, "the worker heard only {heard:#}");
}
