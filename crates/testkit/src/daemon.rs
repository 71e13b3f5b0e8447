//! `switchyard serve` in a home of its own.
//!
//! In: a home, and flags. Out: where the daemon listens, the token it made, and a client that
//! sends it. The daemon is killed with the value; its sessions' processes go with the home.

use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::{Child, ExitStatus, Stdio};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use rustix::process::{Pid, Signal, kill_process};

use crate::test_home::{PATIENCE, TestHome, wait_until};

/// A running daemon.
#[derive(Debug)]
pub struct Daemon {
    child: Child,
    line: String,
    home: PathBuf,
    token: Option<String>,
}

impl Daemon {
    /// Starts the daemon on a free port and waits until it listens.
    #[track_caller]
    pub fn start(home: &TestHome) -> Self {
        Self::start_with(home, &[])
    }

    /// As [`start`](Self::start), with more flags.
    #[track_caller]
    pub fn start_with(home: &TestHome, args: &[&str]) -> Self {
        let all = ["serve", "--host", "127.0.0.1:0"].iter().chain(args);
        Self::start_command(home, home.command(all))
    }

    /// Starts a daemon by a command that ends up in `serve`, unchanged.
    #[track_caller]
    pub fn start_command(home: &TestHome, mut command: std::process::Command) -> Self {
        let stderr = home.path().join("daemon.stderr");
        let log = File::options().create(true).append(true).open(&stderr).unwrap();
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(log);
        let mut child = command.spawn().unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let (sender, lines) = mpsc::sync_channel(1);
        std::thread::spawn(move || {
            let mut line = String::new();
            let _ = stdout.read_line(&mut line);
            let _ = sender.send(line);
            // Read on: a full pipe must not hold the daemon up.
            let _ = std::io::copy(&mut stdout, &mut std::io::sink());
        });
        let line = lines.recv_timeout(PATIENCE).unwrap_or_default();
        let mut daemon = Self { child, line, home: home.path().to_owned(), token: None };
        if !daemon.line.contains("http") {
            let said = std::fs::read_to_string(stderr).unwrap_or_default();
            panic!("the daemon did not start; it printed {:?} and said:\n{said}", daemon.line);
        }
        let token = std::fs::read_to_string(home.path().join("token")).ok();
        daemon.token = token.map(|token| token.trim().to_owned());
        daemon
    }

    /// The first line that the daemon printed.
    pub fn line(&self) -> &str {
        self.line.trim_end()
    }

    /// `http://127.0.0.1:PORT`.
    pub fn base(&self) -> &str {
        let urls = self.line.split_whitespace().filter(|word| word.starts_with("http"));
        urls.map(|url| url.trim_end_matches('/')).next().unwrap_or_default()
    }

    pub fn url(&self, path: &str) -> String {
        format!("{}{path}", self.base())
    }

    /// `127.0.0.1:PORT`.
    pub fn address(&self) -> &str {
        self.base().split_once("://").map_or("", |(_, address)| address)
    }

    /// Where browsers have the page: `http://NAME.localhost:PORT`.
    pub fn page(&self) -> &str {
        let link = self.line.split_whitespace().find_map(|word| word.split_once("/login#code="));
        link.map_or_else(|| self.base(), |(page, _)| page)
    }

    pub fn page_url(&self, path: &str) -> String {
        format!("{}{path}", self.page())
    }

    /// `NAME.localhost:PORT`.
    pub fn page_host(&self) -> &str {
        self.page().split_once("://").map_or("", |(_, host)| host)
    }

    /// The admin's token, where the daemon has made one.
    pub fn token(&self) -> Option<&str> {
        self.token.as_deref()
    }

    /// The private socket.
    pub fn socket(&self) -> PathBuf {
        self.home.join("run/daemon.sock")
    }

    /// What the daemon wrote to stderr so far, in all its lives in this home.
    pub fn stderr(&self) -> String {
        std::fs::read_to_string(self.home.join("daemon.stderr")).unwrap_or_default()
    }

    /// For the message of a test that it has let down: whether it runs, and what it said.
    pub fn condition(&self) -> String {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.pid()));
        let status = status.unwrap_or_default();
        let state = status.lines().find(|line| line.starts_with("State:"));
        format!("the daemon: {}; it said:\n{}", state.unwrap_or("gone"), self.stderr())
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// An HTTP client that sends the admin's token with every request.
    pub fn client(&self) -> reqwest::Client {
        client(self.token())
    }

    /// An HTTP client on the private socket: the daemon's own user.
    pub fn local_client(&self) -> reqwest::Client {
        builder(None).unix_socket(self.socket()).build().unwrap()
    }

    /// Kills the daemon without a word, and reaps it.
    pub fn kill9(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Asks the daemon to end, and waits until it has.
    #[track_caller]
    pub fn stop(mut self) -> ExitStatus {
        let pid = Pid::from_child(&self.child);
        kill_process(pid, Signal::TERM).unwrap();
        let mut status = None;
        let has_ended = wait_until(PATIENCE, || {
            status = self.child.try_wait().unwrap();
            status.is_some()
        });
        assert!(has_ended, "the daemon does not end; it said:\n{}", self.stderr());
        status.unwrap()
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// An HTTP client that sends `token` with every request.
pub fn client(token: Option<&str>) -> reqwest::Client {
    builder(token).build().unwrap()
}

fn builder(token: Option<&str>) -> reqwest::ClientBuilder {
    // Another test of this process may have been first.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut headers = reqwest::header::HeaderMap::new();
    if let Some(token) = token {
        let value = format!("Bearer {token}").parse().unwrap();
        headers.insert(reqwest::header::AUTHORIZATION, value);
    }
    // Much shorter than the daemon waits for the next request of a connection: one that it is just
    // closing cannot take another.
    let builder = reqwest::Client::builder().pool_idle_timeout(Duration::from_secs(5));
    // Nothing is encrypted here, and reading the machine's certificates takes an unoptimised build
    // longer than most requests. A proxy of the machine has no business with loopback.
    let builder = builder.tls_certs_only([]).no_proxy().dns_resolver(Arc::new(BelowLocalhost));
    builder.default_headers(headers)
}

/// Names below `localhost` are this machine's, as browsers have it.
#[derive(Debug)]
struct BelowLocalhost;

impl Resolve for BelowLocalhost {
    fn resolve(&self, name: Name) -> Resolving {
        Box::pin(async move {
            let host = match name.as_str().ends_with(".localhost") {
                true => "127.0.0.1",
                false => name.as_str(),
            };
            let found: Vec<_> = tokio::net::lookup_host((host, 0)).await?.collect();
            Ok::<Addrs, _>(Box::new(found.into_iter()))
        })
    }
}
