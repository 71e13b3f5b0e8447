//! What the tests share: places, sessions, drafts, and children of this very binary.

use std::io::{BufRead, BufReader, Lines};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

use store::{Batch, EventLog, NewSession, SessionOrigin, SqliteLog, SqliteOptions, StoreError};
use tempfile::TempDir;
use wire::{Draft, Event, Json, Kind, Millis, Seq, SessionId};

pub(crate) const ROLE: &str = "STORE_TEST_ROLE";
pub(crate) const DIR: &str = "STORE_TEST_DIR";

/// In memory where possible: these tests are about what is written, not about the disk.
pub(crate) fn temp() -> TempDir {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() {
        tempfile::tempdir_in(memory).unwrap()
    } else {
        tempfile::tempdir().unwrap()
    }
}

pub(crate) fn open(dir: &Path) -> SqliteLog {
    SqliteLog::open(dir, SqliteOptions::default()).unwrap()
}

pub(crate) fn id(name: &str) -> SessionId {
    SessionId::derived(&[name.as_bytes()])
}

pub(crate) fn new(name: &str) -> NewSession {
    NewSession {
        id: id(name),
        agent: "claude".into(),
        cwd: "/home/me".into(),
        created: Millis(1),
        details: Json::trusted(r#"{"model":"m"}"#),
        origin: Some(origin(name)),
    }
}

pub(crate) fn origin(name: &str) -> SessionOrigin {
    SessionOrigin { made_by: Some(name.to_owned()), made_of: Json::of(&name.repeat(2_000)) }
}

pub(crate) fn draft(text: &str) -> Draft {
    Draft {
        at: Millis(2),
        turn: None,
        kind: Kind::update("agent_message_chunk"),
        payload: Json::of(&text),
    }
}

pub(crate) fn batch(name: &str, texts: &[&str]) -> Batch {
    Batch::new(id(name), texts.iter().map(|text| draft(text)).collect())
}

/// All events, page by page; and the error that ended it, if one did.
pub(crate) async fn read_all(
    log: &SqliteLog,
    session: SessionId,
) -> (Vec<Event>, Option<StoreError>) {
    let mut events: Vec<Event> = Vec::new();
    loop {
        let after = events.last().map_or(Seq(0), |event| event.seq);
        match log.read(session, after, 100).await {
            Ok(page) if page.is_empty() => return (events, None),
            Ok(page) => events.extend(page),
            Err(error) => return (events, Some(error)),
        }
    }
}

/// This test binary again, running only `test`, in the given role.
pub(crate) struct Role {
    pub(crate) child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Role {
    pub(crate) fn start(test: &str, role: &str, dir: &Path) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args([test, "--exact", "--nocapture", "--test-threads=1"])
            .env(ROLE, role)
            .env(DIR, dir)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, lines }
    }

    /// What follows `word` on the next line that has it; `None` when the child is gone.
    pub(crate) fn next(&mut self, word: &str) -> Option<String> {
        // The test harness may print its own words on the same line, in front of ours.
        self.lines.by_ref().map_while(Result::ok).find_map(|line| {
            let start = line.find(word)? + word.len();
            Some(line[start..].trim().to_owned())
        })
    }

    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Role {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
