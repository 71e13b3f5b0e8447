//! The demo agent as a real process: its exit, its signals, its stderr, its descendants.

use serde_json::{Value, json};
use std::process::{ExitStatus, Stdio};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

struct Process {
    child: Child,
    stdin: ChildStdin,
    lines: Lines<BufReader<ChildStdout>>,
    session: String,
}

impl Process {
    async fn start(flags: &[&str]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_demo-agent"))
            .args(flags)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let stdin = child.stdin.take().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut process = Self { child, stdin, lines, session: String::new() };
        process.send("initialize", json!({ "protocolVersion": 1 })).await;
        process.receive().await;
        process.send("session/new", json!({ "cwd": "/", "mcpServers": [] })).await;
        let new = process.receive().await;
        process.session = new["result"]["sessionId"].as_str().unwrap().to_owned();
        process.receive().await;
        process
    }

    async fn send(&mut self, method: &str, params: Value) {
        let message = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        self.stdin.write_all(format!("{message}\n").as_bytes()).await.unwrap();
    }

    async fn prompt(&mut self, script: &str) {
        let params = crate::client::prompt(&self.session, script);
        self.send("session/prompt", params).await;
    }

    async fn receive(&mut self) -> Value {
        serde_json::from_str(&self.lines.next_line().await.unwrap().unwrap()).unwrap()
    }

    /// Closes stdin and waits for the exit.
    async fn finish(mut self) -> ExitStatus {
        drop(self.stdin);
        self.child.wait().await.unwrap()
    }
}

async fn signal(name: &str, pid: &str) {
    Command::new("kill").args(["-s", name, pid]).status().await.unwrap();
}

/// State and parent of a process, from the kernel.
fn stat(pid: &str) -> Option<(String, String)> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let mut fields = text.rsplit_once(") ")?.1.split(' ');
    Some((fields.next()?.to_owned(), fields.next()?.to_owned()))
}

#[tokio::test]
async fn it_exits_with_success_when_its_input_ends() {
    let process = Process::start(&[]).await;
    assert!(process.finish().await.success());
}

#[tokio::test]
async fn a_crash_is_a_real_exit_and_an_abort_a_real_signal() {
    let mut process = Process::start(&[]).await;
    process.prompt("echo last words ; crash 42").await;
    assert_eq!(process.receive().await["params"]["update"]["content"]["text"], "last words");
    assert!(process.lines.next_line().await.unwrap().is_none());
    assert_eq!(process.child.wait().await.unwrap().code(), Some(42));

    let mut process = Process::start(&[]).await;
    process.prompt("abort").await;
    assert_eq!(process.child.wait().await.unwrap().code(), None);
}

#[tokio::test]
async fn a_closed_output_ends_it_although_its_input_stays_open() {
    let mut process = Process::start(&[]).await;
    process.prompt("text 1000").await;
    // More than a pipe holds, so the agent cannot be done before it notices.
    drop(process.lines);

    assert_eq!(process.child.wait().await.unwrap().code(), Some(1));
}

#[tokio::test]
async fn a_bad_flag_is_a_usage_error() {
    let output = Command::new(env!("CARGO_BIN_EXE_demo-agent"))
        .arg("--no-such-flag")
        .output()
        .await
        .unwrap();

    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8(output.stderr).unwrap().contains("unknown flag `--no-such-flag`"));
    assert!(output.stdout.is_empty());
}

#[tokio::test]
async fn sigterm_ends_it_unless_it_was_told_to_ignore_it() {
    let mut process = Process::start(&[]).await;
    let pid = process.child.id().unwrap().to_string();
    signal("TERM", &pid).await;
    assert_eq!(process.child.wait().await.unwrap().code(), None);

    let mut process = Process::start(&["--ignore-term"]).await;
    let pid = process.child.id().unwrap().to_string();
    signal("TERM", &pid).await;
    process.prompt("echo still here").await;
    assert_eq!(process.receive().await["params"]["update"]["content"]["text"], "still here");
    assert!(process.finish().await.success());
}

#[tokio::test]
async fn stderr_carries_what_it_was_told_to() {
    let mut process = Process::start(&["--stderr-flood", "1000"]).await;
    process.prompt("stderr 3 ; stderr-flood 1000 ; crash 0").await;

    let mut text = String::new();
    process.child.stderr.take().unwrap().read_to_string(&mut text).await.unwrap();

    assert_eq!(text.len(), 1000 + "stderr line n\n".len() * 3 + 1000);
    assert!(text.contains("stderr line 1\nstderr line 2\nstderr line 3\n"));
}

#[tokio::test]
async fn descendants_leave_the_tree_and_ignore_polite_signals() {
    let mut process = Process::start(&[]).await;
    process.prompt("children 2 2").await;
    let update = process.receive().await;
    let text = update["params"]["update"]["content"]["text"].as_str().unwrap().to_owned();
    let pids: Vec<&str> = text.trim().strip_prefix("pids ").unwrap().split(' ').collect();
    assert_eq!(pids.len(), 4);
    let agent = process.child.id().unwrap().to_string();

    let mut survivors = 0;
    for pid in &pids {
        for polite in ["TERM", "INT", "HUP"] {
            signal(polite, pid).await;
        }
        let (state, parent) = stat(pid).unwrap();
        assert_ne!(parent, agent, "a double fork has another parent");
        survivors += usize::from(state != "Z");
    }
    for pid in &pids {
        signal("KILL", pid).await;
    }
    assert_eq!(survivors, 4);
    assert!(process.finish().await.success());
}
