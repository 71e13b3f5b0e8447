//! One `switchyard run`, event by event.
//!
//! In: a command line. Out: the events as they come, and at the end all of them with the exit
//! code and what stood on stderr.

use crate::agent_home::AgentHome;
use crate::agents::PermissionHabit;
use serde_json::Value;
use std::io;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, BufReader};
use tokio::process::Child;
use tokio::task::JoinHandle;

/// Far above what any turn here takes; only a stuck one gets there.
pub const DEADLINE: Duration = Duration::from_mins(4);

/// The reason why a turn gave no answer.
#[derive(Debug, thiserror::Error)]
pub enum TurnFailure {
    #[error("cannot run switchyard: {0}")]
    NoStart(#[from] io::Error),
    #[error("nothing more after {} s; last: {last}", DEADLINE.as_secs())]
    TooLong { last: String },
    #[error("ended before {wanted} came; {told}")]
    NeverCame { wanted: String, told: String },
}

#[derive(Debug)]
pub struct RunningTurn {
    child: Child,
    lines: tokio::io::Lines<BufReader<tokio::process::ChildStdout>>,
    stderr: JoinHandle<String>,
    events: Vec<Value>,
}

#[derive(Debug)]
pub struct Turn {
    pub code: Option<i32>,
    pub events: Vec<Value>,
    pub stderr: String,
}

impl RunningTurn {
    /// `switchyard run … PROMPT --format json FLAGS` in that directory.
    pub fn start(place: &AgentHome, cwd: &Path, prompt: &str, flags: &[&str]) -> io::Result<Self> {
        let (before, after) = place.agent_arguments();
        let is_resumed = flags.contains(&"-s");
        let mut words = vec!["run"];
        if !is_resumed {
            words.extend(before.iter().map(String::as_str));
        }
        words.extend([prompt, "--format", "json"]);
        words.extend(flags);
        // Whoever cannot ask is not let loose without a word of the user's.
        if let PermissionHabit::Never(_) = place.agent.asks {
            words.push("--approve-all");
        }
        if !is_resumed {
            words.extend(after.iter().map(String::as_str));
        }
        let mut command = tokio::process::Command::from(place.switchyard(&words, cwd));
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.kill_on_drop(true);
        let mut child = command.spawn()?;
        let (Some(stdout), Some(stderr)) = (child.stdout.take(), child.stderr.take()) else {
            return Err(io::Error::other("no pipes"));
        };
        let stderr = tokio::spawn(async move {
            let mut text = Vec::new();
            let _ = BufReader::new(stderr).read_to_end(&mut text).await;
            String::from_utf8_lossy(&text).into_owned()
        });
        let lines = BufReader::new(stdout).lines();
        Ok(Self { child, lines, stderr, events: Vec::new() })
    }

    /// Reads on until an event fits.
    pub async fn until(
        &mut self,
        wanted: &str,
        fits: impl Fn(&Value) -> bool,
    ) -> Result<(), TurnFailure> {
        loop {
            match self.next().await? {
                Some(event) if fits(event) => return Ok(()),
                Some(_) => {}
                None => {
                    let told = tell(&self.events);
                    return Err(TurnFailure::NeverCame { wanted: wanted.to_owned(), told });
                }
            }
        }
    }

    /// The process of Switchyard; 0 if it has ended.
    pub fn pid(&self) -> u32 {
        self.child.id().unwrap_or_default()
    }

    /// Ctrl-C.
    pub fn interrupt(&self) -> io::Result<()> {
        let pid = self.child.id().and_then(|pid| i32::try_from(pid).ok());
        let pid = pid.and_then(rustix::process::Pid::from_raw);
        let pid = pid.ok_or_else(|| io::Error::other("it has ended already"))?;
        Ok(rustix::process::kill_process(pid, rustix::process::Signal::INT)?)
    }

    pub async fn finish(mut self) -> Result<Turn, TurnFailure> {
        while self.next().await?.is_some() {}
        let ended = tokio::time::timeout(DEADLINE, self.child.wait()).await;
        let status = ended.map_err(|_| TurnFailure::TooLong { last: last(&self.events) })??;
        let stderr = tokio::time::timeout(DEADLINE, self.stderr).await;
        let stderr = stderr.map(Result::unwrap_or_default).unwrap_or_default();
        Ok(Turn { code: status.code(), events: self.events, stderr })
    }

    async fn next(&mut self) -> Result<Option<&Value>, TurnFailure> {
        let line = tokio::time::timeout(DEADLINE, self.lines.next_line()).await;
        let line = line.map_err(|_| TurnFailure::TooLong { last: last(&self.events) })??;
        let Some(line) = line else { return Ok(None) };
        self.events.push(serde_json::from_str(&line).unwrap_or(Value::String(line)));
        Ok(self.events.last())
    }
}

impl Turn {
    /// The payloads of one kind.
    pub fn of<'a>(&'a self, kind: &'a str) -> impl Iterator<Item = &'a Value> {
        self.events.iter().filter(move |event| event["kind"] == kind).map(|event| &event["payload"])
    }

    pub fn text(&self) -> String {
        self.chunks("agent_message_chunk")
    }

    pub fn thoughts(&self) -> String {
        self.chunks("agent_thought_chunk")
    }

    pub fn stop_reason(&self) -> &str {
        self.end()["stopReason"].as_str().unwrap_or("none")
    }

    /// Category and message of the error with which the turn ended.
    pub fn error(&self) -> (&str, &str) {
        let error = &self.end()["error"];
        (
            error["category"].as_str().unwrap_or_default(),
            error["message"].as_str().unwrap_or_default(),
        )
    }

    fn end(&self) -> &Value {
        self.of("turn_ended").last().unwrap_or(&Value::Null)
    }

    /// Whether a permission was asked for, and whether it was given.
    pub fn permission(&self) -> (bool, bool) {
        let is_given = self.of("permission_resolved").any(|answer| answer["allowed"] == true);
        (self.of("permission_requested").next().is_some(), is_given)
    }

    fn chunks(&self, kind: &str) -> String {
        self.of(kind).filter_map(|payload| payload["update"]["content"]["text"].as_str()).collect()
    }

    /// The turn in one line, for a failure's message.
    pub fn summary(&self) -> String {
        let error = shortened(self.stderr.trim());
        format!(
            "exit {:?}, {}; {}; stderr: {error}",
            self.code,
            self.stop_reason(),
            tell(&self.events)
        )
    }
}

/// The last errors, or the last event.
fn tell(events: &[Value]) -> String {
    let errors: Vec<String> = events
        .iter()
        .filter(|event| event["kind"] == "error" || !event["payload"]["error"].is_null())
        .map(|event| event["payload"].to_string())
        .collect();
    if errors.is_empty() { last(events) } else { shortened(&errors.join(" ")) }
}

fn last(events: &[Value]) -> String {
    shortened(&events.last().map(Value::to_string).unwrap_or_default())
}

fn shortened(text: &str) -> String {
    const SHOWN_CHARS: usize = 400;
    text.chars().take(SHOWN_CHARS).collect()
}
