//! A run as Open Design's own front end asks for it, through `/api` of a daemon as it is out of the
//! box: no mode is named, and nobody is there to answer a question.
//!
//! In: an agent in its place. Out: whether it wrote the file that it was asked for, in its project,
//! and answered.

use crate::agent_home::AgentHome;
use crate::verdict::{CheckFailure, because};
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::Duration;

/// A turn with our model takes seconds; the rest is for a loaded machine.
const DEADLINE: Duration = Duration::from_mins(3);
const PROJECT: &str = "site";

/// A daemon of the place; it ends with the value.
struct Daemon {
    child: Child,
    base: String,
    client: reqwest::Client,
}

impl Drop for Daemon {
    fn drop(&mut self) {
        // Its keepers end what it started.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Daemon {
    fn start(place: &AgentHome, cwd: &Path) -> Result<Self, CheckFailure> {
        let mut command = place.switchyard(&["serve", "--host", "127.0.0.1:0"], cwd);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn()?;
        let mut line = String::new();
        if let Some(stdout) = child.stdout.take() {
            BufReader::new(stdout).read_line(&mut line)?;
        }
        let base = line.split_whitespace().find(|word| word.starts_with("http://"));
        let base = base.map(|base| base.trim_end_matches('/').to_owned());
        let token = place.switchyard(&["token", "show"], cwd).output()?;
        let token = String::from_utf8_lossy(&token.stdout).trim().to_owned();
        let client = testkit::daemon::client(Some(&token));
        let daemon = Self { child, base: base.unwrap_or_default(), client };
        match daemon.base.is_empty() {
            true => Err(because(format!("the daemon said: {line}"))),
            false => Ok(daemon),
        }
    }
}

/// Where the run works.
pub(crate) fn project(place: &AgentHome) -> PathBuf {
    place.switchyard_home().join("projects").join(PROJECT)
}

/// The file is asked for with this prompt; what the run said, frame by frame.
pub(crate) async fn run(
    place: &AgentHome,
    cwd: &Path,
    agent: &str,
    prompt: impl FnOnce(&Path) -> String,
) -> Result<Vec<Value>, CheckFailure> {
    let daemon = Daemon::start(place, cwd)?;
    let project = project(place);
    let request = json!({
        "agentId": agent,
        "systemPrompt": "Wrap what you make in <artifact>.",
        "message": format!("## user\n{}", prompt(&project)),
        "projectId": PROJECT,
        "conversationId": "talk-1",
        "assistantMessageId": "message-2",
        "clientRequestId": "request-1",
        "attachments": [],
        "model": null,
        "reasoning": null,
    });
    let asking = async {
        let failed = |error: reqwest::Error| because(error.to_string());
        let runs = format!("{}/api/runs", daemon.base);
        let created = daemon.client.post(&runs).json(&request).send().await.map_err(failed)?;
        let status = created.status();
        let created: Value = created.json().await.map_err(failed)?;
        let Some(run) = created["runId"].as_str().filter(|_| status == 202) else {
            return Err(because(format!("{status}: {created}")));
        };
        let events = daemon.client.get(format!("{runs}/{run}/events")).send().await;
        // The stream ends with the run.
        let text = events.map_err(failed)?.text().await.map_err(failed)?;
        Ok(frames(&text))
    };
    let asked = tokio::time::timeout(DEADLINE, asking).await;
    asked.unwrap_or_else(|_| Err(because("no end of the run".to_owned())))
}

/// The frames of a stream: `{event, data}` each.
fn frames(text: &str) -> Vec<Value> {
    let frame = |frame: &str| {
        let field = |name: &str| frame.lines().find_map(|line| line.strip_prefix(name));
        let data: Value = serde_json::from_str(field("data: ")?).ok()?;
        Some(json!({ "event": field("event: ")?, "data": data }))
    };
    text.split("\n\n").filter_map(frame).collect()
}
