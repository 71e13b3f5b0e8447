//! The daemon as a service: what a service manager hears of it and asks it for.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::os::unix::net::{UnixDatagram, UnixStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use testkit::test_home::{PATIENCE, TestHome, wait_until};

use crate::front::home;

/// A service manager's end of `NOTIFY_SOCKET`.
struct Manager {
    socket: UnixDatagram,
    path: PathBuf,
}

impl Manager {
    fn of(home: &TestHome) -> Self {
        let path = home.path().join("notify.sock");
        let socket = UnixDatagram::bind(&path).unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        Self { socket, path }
    }

    fn next(&self) -> String {
        let mut buffer = [0; 4096];
        let n = self.socket.recv(&mut buffer).unwrap();
        String::from_utf8_lossy(&buffer[..n]).into_owned()
    }

    /// The next message that is no sign of life.
    fn next_change(&self) -> String {
        std::iter::repeat_with(|| self.next()).find(|said| said != "WATCHDOG=1\n").unwrap()
    }
}

struct Daemon {
    process: Child,
    address: String,
}

impl Daemon {
    fn start(command: &mut Command) -> Self {
        let mut process = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.split("http://").nth(1).unwrap_or_else(|| panic!("{line:?}"));
        let address = address.split([' ', '\n']).next().unwrap().to_owned();
        Self { process, address }
    }

    fn signal(&self, signal: rustix::process::Signal) {
        let pid = rustix::process::Pid::from_child(&self.process);
        rustix::process::kill_process(pid, signal).unwrap();
    }

    fn end(mut self) {
        self.signal(rustix::process::Signal::TERM);
        assert!(self.process.wait().unwrap().success());
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.process.kill();
    }
}

fn private(home: &TestHome) -> PathBuf {
    home.path().join("run/daemon.sock")
}

/// As a stranger.
fn ask(address: &str, path: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let head = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    stream.write_all(head.as_bytes()).unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    text
}

/// As the daemon's own user, on the private socket.
fn get(home: &TestHome, path: &str) -> String {
    let mut stream = UnixStream::connect(private(home)).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    text
}

fn lines(path: &Path) -> Vec<serde_json::Value> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn has_message(path: &Path, message: &str) -> bool {
    lines(path).iter().any(|line| line["message"] == message)
}

#[test]
fn the_manager_hears_of_every_change() {
    let home = home();
    let manager = Manager::of(&home);
    let mut command = home.command(["serve", "--host", "127.0.0.1:0"]);
    command.env("NOTIFY_SOCKET", &manager.path).env("WATCHDOG_USEC", "40000");
    let daemon = Daemon::start(&mut command);
    let ready = format!("READY=1\nSTATUS=http://{}\n", daemon.address);
    assert_eq!(manager.next_change(), ready);
    assert_eq!(manager.next(), "WATCHDOG=1\n");
    assert_eq!(manager.next(), "WATCHDOG=1\n");

    daemon.signal(rustix::process::Signal::HUP);
    assert!(manager.next_change().starts_with("RELOADING=1\nMONOTONIC_USEC="));
    assert_eq!(manager.next_change(), ready);

    daemon.end();
    assert!(manager.next_change().starts_with("STOPPING=1\nSTATUS="));
    home.assert_empty_within(PATIENCE);
}

#[test]
fn the_log_is_opened_anew_and_its_level_is_read_again() {
    let home = home();
    let (log, moved) = (home.path().join("d.log"), home.path().join("d.log.old"));
    let config = home.path().join("switchyard.toml");
    let table =
        |level: &str| format!("[log]\nfile = {log:?}\nformat = \"json\"\nlevel = {level:?}\n");
    std::fs::write(&config, table("info")).unwrap();
    let daemon = Daemon::start(&mut home.command(["serve", "--host", "127.0.0.1:0"]));
    assert!(wait_until(PATIENCE, || has_message(&log, "ready")));

    std::fs::rename(&log, &moved).unwrap();
    daemon.signal(rustix::process::Signal::USR1);
    assert!(wait_until(PATIENCE, || log.exists()));
    assert!(has_message(&moved, "ready"));

    std::fs::write(&config, table("nonsense=nonsense")).unwrap();
    daemon.signal(rustix::process::Signal::HUP);
    assert!(wait_until(PATIENCE, || has_message(&log, "the configuration stays as it was")));
    std::fs::write(&config, table("debug")).unwrap();
    daemon.signal(rustix::process::Signal::HUP);
    assert!(wait_until(PATIENCE, || has_message(&log, "the configuration was read again")));
    daemon.end();
}

#[test]
fn a_pipe_in_the_place_of_a_file_changes_nothing_and_holds_nobody_up() {
    let home = home();
    let (log, rules) = (home.path().join("d.log"), home.path().join("rules.toml"));
    let config = home.path().join("switchyard.toml");
    let text =
        format!("[log]\nfile = {log:?}\nformat = \"json\"\n[permissions]\nrules = {rules:?}\n");
    std::fs::write(&config, &text).unwrap();
    std::fs::write(&rules, "").unwrap();
    let daemon = Daemon::start(&mut home.command(["serve", "--host", "127.0.0.1:0"]));
    let becomes_a_pipe = |path: &Path| {
        std::fs::remove_file(path).unwrap();
        assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
    };
    let says = |message: &'static str| assert!(wait_until(PATIENCE, || has_message(&log, message)));

    becomes_a_pipe(&rules);
    says("the permission rules in force stay as they are");
    becomes_a_pipe(&config);
    daemon.signal(rustix::process::Signal::HUP);
    says("the configuration stays as it was");
    assert!(get(&home, "/v1/health").contains("200 OK"));
    daemon.end();
}

#[test]
fn a_socket_that_was_opened_before_is_served() {
    let home = home();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    // Somebody is there before the daemon is.
    let early = TcpStream::connect(&address).unwrap();
    early.set_read_timeout(Some(PATIENCE)).unwrap();
    (&early).write_all(b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").unwrap();
    let daemon = Daemon::start(&mut handed(&home, &listener, None));
    assert_eq!(daemon.address, address);
    let mut answer = String::new();
    (&early).read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 "), "{answer}");
    daemon.end();
}

/// A daemon that is given sockets for HTTP.
fn handed(home: &TestHome, first: &TcpListener, second: Option<&TcpListener>) -> Command {
    let copy = |socket: &TcpListener| OwnedFd::from(socket.try_clone().unwrap());
    let more =
        if second.is_some() { "2 LISTEN_FDNAMES=http:http" } else { "1 LISTEN_FDNAMES=http" };
    let script = format!(
        "exec 3<&0 4<&2 0</dev/null 2>/dev/null; LISTEN_PID=$$ LISTEN_FDS={more} exec \"$0\" serve"
    );
    let mut command = home.other("sh", ["-c", &script]);
    command.arg(home.exe()).stdin(copy(first));
    if let Some(second) = second {
        command.stderr(copy(second));
    }
    command
}

#[test]
fn the_page_keeps_its_name_for_as_long_as_somebody_holds_its_sockets() {
    let home = home();
    let first = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = first.local_addr().unwrap().port();
    let Ok(second) = TcpListener::bind(("::1", port)) else { return };
    let page = |second: &TcpListener| {
        let daemon = Daemon::start(&mut handed(&home, &first, Some(second)));
        let answer = ask(&daemon.address, "/");
        daemon.end();
        let location = answer.lines().find_map(|line| line.strip_prefix("location: "));
        location.unwrap_or_else(|| panic!("{answer}")).to_owned()
    };
    let name = page(&second);
    assert_eq!(page(&second), name);
    // Somebody may have listened there in between.
    drop(second);
    let begun = std::time::Instant::now();
    let second = loop {
        // And somebody may do so just now: other tests take ports as well.
        match TcpListener::bind(("::1", port)) {
            Ok(second) => break second,
            Err(error) => assert!(begun.elapsed() < PATIENCE, "{error}"),
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
    };
    let other = page(&second);
    assert_ne!(other, name);
    assert!(other.ends_with(&format!(".localhost:{port}/")), "{other}");
}

#[test]
fn metrics_need_a_token_and_count_who_has_none() {
    let home = home();
    let daemon = Daemon::start(&mut home.command(["serve", "--host", "127.0.0.1:0"]));
    let answer = ask(&daemon.address, "/metrics");
    assert!(answer.starts_with("HTTP/1.1 401 "), "{answer}");
    assert!(!answer.contains("switchyard_sessions_live"), "{answer}");
    let own = get(&home, "/metrics");
    assert!(own.contains("content-type: application/openmetrics-text"), "{own}");
    assert!(own.contains("switchyard_auth_failures_total{why=\"unauthorized\"} 1\n"), "{own}");
    daemon.end();
}

#[test]
fn a_second_signal_does_not_wait_for_turns() {
    let home = home();
    let manager = Manager::of(&home);
    let log = home.path().join("d.log");
    let mut command = home.command(["serve", "--host", "127.0.0.1:0", "--log-file"]);
    let daemon = Daemon::start(command.arg(&log).env("NOTIFY_SOCKET", &manager.path));
    let new = format!(r#"{{"agent":"demo","cwd":{:?}}}"#, home.work());
    let session = post(&home, "/v1/sessions", &new);
    let id = session["id"].as_str().unwrap_or_else(|| panic!("{session}")).to_owned();
    post(&home, &format!("/v1/sessions/{id}/prompt"), r#"{"prompt":"hang-hard"}"#);
    let running = "switchyard_turns_running{agent=\"demo\"} 1\n";
    assert!(wait_until(PATIENCE, || get(&home, "/metrics").contains(running)));
    assert!(manager.next_change().starts_with("READY=1\n"));
    daemon.signal(rustix::process::Signal::TERM);
    assert!(manager.next_change().starts_with("STOPPING=1\n"));
    daemon.end();
    let log = std::fs::read_to_string(log).unwrap();
    assert!(log.contains("ended before every turn had"), "{log}");
    home.assert_empty_within(PATIENCE);
}

fn post(home: &TestHome, path: &str, body: &str) -> serde_json::Value {
    let mut stream = UnixStream::connect(private(home)).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    write!(
        stream,
        "POST {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
    .unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    let body = text.split_once("\r\n\r\n").unwrap().1;
    serde_json::from_str(body).unwrap_or_else(|_| panic!("{text}"))
}
