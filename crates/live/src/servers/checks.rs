//! Checks of the built-in agent with a model server that is not ours.

use super::{Kind, MOCKED, ModelServer, RunningServer};
use crate::agent_home::AgentHome;
use crate::checks::{ended, holds, is_text};
use crate::turn::{self, Turn};
use crate::verdict::{CheckFailure, Verdict, because};
use serde_json::Value;
use std::fmt;
use std::process::Stdio;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServerCheck {
    Found,
    Models,
    Streamed,
    Usage,
    Cut,
    Again,
}

pub const SERVER_CHECKS: [ServerCheck; 6] = [
    ServerCheck::Found,
    ServerCheck::Models,
    ServerCheck::Streamed,
    ServerCheck::Usage,
    ServerCheck::Cut,
    ServerCheck::Again,
];

type ServerCheckResult = Result<String, CheckFailure>;

/// One check from its beginning to its end.
pub async fn run(
    check: ServerCheck,
    server: &ModelServer,
    place: &AgentHome,
    running: &RunningServer,
) -> Verdict {
    if check == ServerCheck::Cut && server.kind == Kind::LiteLlm {
        return Verdict::NotApplicable("a mock is over at once; see `cancel`".to_owned());
    }
    let case = Case { server, place, running };
    let checked = match check {
        ServerCheck::Found => case.found().await,
        ServerCheck::Models => case.models().await,
        ServerCheck::Streamed => case.streamed().await,
        ServerCheck::Usage => case.usage().await,
        ServerCheck::Cut => case.cut().await,
        ServerCheck::Again => case.again().await,
    };
    match checked {
        Ok(note) => Verdict::Pass(note),
        Err(reason) => Verdict::Fail(reason.to_string()),
    }
}

struct Case<'a> {
    server: &'a ModelServer,
    place: &'a AgentHome,
    running: &'a RunningServer,
}

impl Case<'_> {
    fn model(&self) -> &'static str {
        match self.server.kind {
            Kind::LiteLlm => "mocked",
            Kind::LlamaCpp => "tiny",
        }
    }

    /// What `agents show native` says, with or without the variables that name the endpoint.
    async fn about(&self, is_named: bool) -> Result<Value, CheckFailure> {
        let cwd = self.place.work("about")?;
        let mut command = self.place.switchyard(&["agents", "show", "native", "--json"], &cwd);
        if !is_named {
            command.env_remove("OPENAI_BASE_URL").env_remove("OPENAI_API_KEY");
            command.env_remove("OPENAI_MODEL");
        }
        let mut command = tokio::process::Command::from(command);
        let ran = command.stdin(Stdio::null()).output().await?;
        let text = String::from_utf8_lossy(&ran.stdout);
        serde_json::from_str(&text).map_err(|_| because(format!("it said: {text}")))
    }

    /// Finds the server without any configuration, if it has its usual port.
    async fn found(&self) -> ServerCheckResult {
        if !self.running.is_usual_port {
            let about = self.about(true).await?;
            is_so(about["isUsable"] == true, &about)?;
            return Ok("its usual port was taken: by its address".to_owned());
        }
        let about = self.about(false).await?;
        is_so(about["isUsable"] == true, &about)?;
        let note = about["notes"].to_string();
        let is_it = note.contains(self.server.title) && note.contains(&self.running.url());
        if !is_it && note.contains("using ") {
            return Ok(format!("another one is on this machine: {note}"));
        }
        is_so(is_it, &about)?;
        Ok("on its usual port, without configuration".to_owned())
    }

    async fn models(&self) -> ServerCheckResult {
        let about = self.about(true).await?;
        let ids: Vec<&str> = about["models"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|model| model["id"].as_str())
            .collect();
        is_so(ids.contains(&self.model()), &about)?;
        Ok(ids.join(", "))
    }

    async fn streamed(&self) -> ServerCheckResult {
        let turn = self.turn("streamed", &["--model", self.model()]).await?;
        let n_pieces = turn.of("agent_message_chunk").count();
        holds(n_pieces > 1, &format!("{n_pieces} pieces"), &turn)?;
        match self.server.kind {
            Kind::LiteLlm => {
                ended(&turn, "end_turn")?;
                holds(turn.text() == MOCKED, &format!("it said: {}", turn.text()), &turn)?;
            }
            // Random weights never come to an end by themselves.
            Kind::LlamaCpp => ended(&turn, "max_tokens")?,
        }
        Ok(format!("{n_pieces} pieces"))
    }

    async fn usage(&self) -> ServerCheckResult {
        let turn = self.turn("usage", &["--model", self.model()]).await?;
        let update = turn.of("usage_update").last().map(|payload| payload["update"].clone());
        let used = update.as_ref().and_then(|update| update["used"].as_u64());
        holds(used.is_some_and(|used| used > 0), "no usage", &turn)?;
        let counted = turn.of("turn_ended").any(|payload| payload["usage"].is_object());
        let by = if counted {
            "as the server counts"
        } else {
            "estimated: the server does not report them"
        };
        Ok(format!("{} tokens, {by}", used.unwrap_or_default()))
    }

    /// Ctrl-C in the middle of an answer.
    async fn cut(&self) -> ServerCheckResult {
        let cwd = self.place.work("cut")?;
        let flags = ["--model", self.model()];
        let mut running =
            turn::RunningTurn::start(self.place, &cwd, "Please go on for long.", &flags)?;
        running.until("a piece of text", is_text).await?;
        running.interrupt()?;
        let turn = running.finish().await?;
        ended(&turn, "cancelled")?;
        let left = self.place.left_behind(&[]).await;
        holds(left.is_empty(), &format!("left behind: {}", left.join("; ")), &turn)?;
        Ok(String::new())
    }

    /// A second turn of the same session: the server takes the history.
    async fn again(&self) -> ServerCheckResult {
        self.turn("again", &["--model", self.model()]).await?;
        let turn = self.turn("again", &["-s", "last"]).await?;
        holds(!turn.text().is_empty(), "it said nothing", &turn)?;
        holds(turn.stop_reason() != "error", "an error", &turn)?;
        Ok(String::new())
    }

    async fn turn(&self, name: &str, flags: &[&str]) -> Result<Turn, CheckFailure> {
        let cwd = self.place.work(name)?;
        let turn =
            turn::RunningTurn::start(self.place, &cwd, "Say something.", flags)?.finish().await?;
        self.place.record(&format!("{name}.jsonl"), &turn.events)?;
        Ok(turn)
    }
}

fn is_so(is_so: bool, about: &Value) -> Result<(), CheckFailure> {
    if is_so { Ok(()) } else { Err(because(format!("it said: {about}"))) }
}

impl fmt::Display for ServerCheck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Found => "found",
            Self::Models => "models",
            Self::Streamed => "streamed",
            Self::Usage => "usage",
            Self::Cut => "cut",
            Self::Again => "again",
        })
    }
}
