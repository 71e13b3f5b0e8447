//! Checks with the official SDK's client, through `switchyard acp`.
//!
//! In: an agent in its place. Out: one verdict for each check.
//! Every line of every conversation is judged by the official schema.

use crate::agent_home::AgentHome;
use crate::model::scenario;
use crate::verdict::{CheckFailure, Verdict, because};
use agent_client_protocol::v1::schema::{SessionId, SessionUpdate, StopReason};
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use testkit::Validator;
use testkit::sdk_client::{ClientBehavior, PermissionReply, SdkClient, Turn};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SdkCheck {
    Text,
    Thinking,
    Allowed,
    Denied,
    Cancel,
    Resume,
}

pub const SDK_CHECKS: [SdkCheck; 6] = [
    SdkCheck::Text,
    SdkCheck::Thinking,
    SdkCheck::Allowed,
    SdkCheck::Denied,
    SdkCheck::Cancel,
    SdkCheck::Resume,
];

type SdkCheckResult = Result<(), CheckFailure>;

pub async fn run(check: SdkCheck, place: Arc<AgentHome>) -> Verdict {
    let at = Arc::clone(&place);
    // The client panics when a peer does not answer; that is a verdict too.
    let checked = tokio::spawn(async move { perform(check, &at).await }).await;
    let mut verdict = match checked {
        Ok(Ok(())) => Verdict::Pass(String::new()),
        Ok(Err(reason)) => Verdict::Fail(reason.to_string()),
        Err(panic) => Verdict::Fail(panic.to_string()),
    };
    let left = place.left_behind(&[]).await;
    if !left.is_empty() && matches!(verdict, Verdict::Pass(_)) {
        verdict = Verdict::Fail(format!("left behind: {}", left.join("; ")));
    }
    verdict
}

async fn perform(check: SdkCheck, place: &AgentHome) -> SdkCheckResult {
    let cwd = place.work(&format!("sdk-{check}"))?;
    let case = Case { place, cwd };
    match check {
        SdkCheck::Text => case.text().await,
        SdkCheck::Thinking => case.thinking().await,
        SdkCheck::Allowed => case.permission(true).await,
        SdkCheck::Denied => case.permission(false).await,
        SdkCheck::Cancel => case.cancel().await,
        SdkCheck::Resume => case.resume().await,
    }
}

struct Case<'a> {
    place: &'a AgentHome,
    cwd: PathBuf,
}

impl Case<'_> {
    async fn client(&self, permission: PermissionReply) -> Result<SdkClient, CheckFailure> {
        let (before, after) = self.place.agent_arguments();
        let words = before.iter().chain(&after).map(String::as_str);
        let words: Vec<&str> = std::iter::once("acp").chain(words).collect();
        let command = self.place.switchyard(&words, &self.cwd);
        let behavior = ClientBehavior::default().permission(permission).files(&self.cwd);
        SdkClient::ready(command, behavior).await.map_err(acp)
    }

    async fn session(&self, client: &SdkClient) -> Result<SessionId, CheckFailure> {
        Ok(client.new_session(&self.cwd).await.map_err(acp)?.session_id)
    }

    async fn text(&self) -> SdkCheckResult {
        let client = self.client(PermissionReply::Reject).await?;
        let session = self.session(&client).await?;
        let turn = prompt(&client, &session, "[model:text] Please say hello.").await?;
        is_so(turn.text() == scenario::GREETING.concat(), || format!("it said: {}", turn.text()))?;
        judge(client).await
    }

    async fn thinking(&self) -> SdkCheckResult {
        let client = self.client(PermissionReply::Reject).await?;
        let session = self.session(&client).await?;
        let turn = prompt(&client, &session, "[model:think] Please think.").await?;
        let thoughts = turn.thoughts();
        is_so(thoughts.contains("consider"), || format!("it thought: {thoughts}"))?;
        judge(client).await
    }

    async fn permission(&self, is_allowed: bool) -> SdkCheckResult {
        let answer = if is_allowed { PermissionReply::Allow } else { PermissionReply::Reject };
        let client = self.client(answer).await?;
        let session = self.session(&client).await?;
        let path = self.cwd.join("note.txt");
        let text = format!("[model:write path={}] Please write a note.", path.display());
        let turn = prompt(&client, &session, &text).await?;
        is_so(!client.permissions_asked().is_empty(), || "nobody was asked".to_owned())?;
        is_so(path.exists() == is_allowed, || format!("is the file there: {}", path.exists()))?;
        let kinds = turn.kinds();
        is_so(kinds.iter().any(|kind| kind == "tool_call"), || format!("no tool call: {kinds:?}"))?;
        judge(client).await
    }

    async fn cancel(&self) -> SdkCheckResult {
        let client = self.client(PermissionReply::Reject).await?;
        let session = self.session(&client).await?;
        let turn = client.start_prompt(&session, "[model:slow] Please count.");
        let is_text =
            |update: &SessionUpdate| matches!(update, SessionUpdate::AgentMessageChunk(_));
        client.wait_for(&session, is_text).await;
        client.cancel(&session).map_err(acp)?;
        let turn = turn.finish().await.map_err(acp)?;
        is_so(turn.stop_reason == StopReason::Cancelled, || format!("{:?}", turn.stop_reason))?;
        let next = prompt(&client, &session, "[model:text] Please go on.").await?;
        let is_heard = next.text().contains(&scenario::GREETING.concat());
        is_so(is_heard, || format!("then it said: {}", next.text()))?;
        judge(client).await
    }

    async fn resume(&self) -> SdkCheckResult {
        let client = self.client(PermissionReply::Reject).await?;
        let session = self.session(&client).await?;
        prompt(&client, &session, "[model:text] Please say hello.").await?;
        judge(client).await?;

        let client = self.client(PermissionReply::Reject).await?;
        let (_, replayed) = client.load_session(&session, &self.cwd).await.map_err(acp)?;
        is_so(!replayed.is_empty(), || "nothing was replayed".to_owned())?;
        let turn = prompt(&client, &session, "[model:recall] Do you remember?").await?;
        let is_recalled = turn.text().contains("I see 2 prompts; the first was [model:text]");
        is_so(is_recalled, || format!("it said: {}", turn.text()))?;
        judge(client).await
    }
}

async fn prompt(client: &SdkClient, session: &SessionId, text: &str) -> Result<Turn, CheckFailure> {
    client.prompt(session, text).await.map_err(acp)
}

/// Ends the conversation and lets the schema judge it.
async fn judge(client: SdkClient) -> SdkCheckResult {
    const SHOWN: usize = 3;
    let (exit, transcript) = client.stop().await;
    is_so(exit.success(), || format!("switchyard ended with {exit}"))?;
    let violations = Validator::v1().check(&transcript);
    is_so(violations.is_empty(), || {
        let shown: Vec<String> = violations.iter().take(SHOWN).map(ToString::to_string).collect();
        format!("not ACP: {}", shown.join("; "))
    })
}

fn is_so(is_so: bool, otherwise: impl FnOnce() -> String) -> SdkCheckResult {
    if is_so { Ok(()) } else { Err(because(otherwise())) }
}

fn acp(problem: agent_client_protocol::Error) -> CheckFailure {
    because(format!("{problem}"))
}

impl fmt::Display for SdkCheck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Text => "text",
            Self::Thinking => "thinking",
            Self::Allowed => "allowed",
            Self::Denied => "denied",
            Self::Cancel => "cancel",
            Self::Resume => "resume",
        })
    }
}
