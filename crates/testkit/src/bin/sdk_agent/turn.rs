//! One turn: follows the command in a prompt's first word.
//!
//! | prompt | what happens |
//! |---|---|
//! | `permission` | asks, and reports the answer |
//! | `read PATH`, `write PATH TEXT` | uses the client's files |
//! | `terminal CMD ARGS…` | runs a command in the client's terminal |
//! | `elicit` | asks for a name in a form |
//! | `cancel` | waits for `session/cancel` |
//! | anything else | a thought, a plan, an edit with a diff, and the words back one by one |
//!
//! Everything sent is remembered for `session/load`. What the client did not offer is not used.

use crate::sessions::Sessions;
use agent_client_protocol::v1::ConnectionTo;
use agent_client_protocol::v1::schema::{
    ContentBlock, ContentChunk, CreateElicitationRequest, CreateTerminalRequest, Diff,
    ElicitationFormMode, ElicitationSchema, ElicitationSessionScope, PermissionOption,
    PermissionOptionKind, Plan, PlanEntry, PlanEntryPriority, PlanEntryStatus, PromptRequest,
    PromptResponse, ReadTextFileRequest, ReleaseTerminalRequest, RequestPermissionOutcome,
    RequestPermissionRequest, SessionId, SessionNotification, SessionUpdate, StopReason, Terminal,
    TerminalOutputRequest, ToolCall, ToolCallContent, ToolCallStatus, ToolCallUpdate,
    ToolCallUpdateFields, ToolKind, WaitForTerminalExitRequest, WriteTextFileRequest,
};
use agent_client_protocol::{Client, Error, Result};
use std::path::PathBuf;
use std::sync::Arc;
use tokio::sync::watch;

pub(crate) struct Turn {
    sessions: Arc<Sessions>,
    cx: ConnectionTo<Client>,
    id: SessionId,
    cwd: PathBuf,
    prompt: Vec<ContentBlock>,
    cancelled: watch::Receiver<bool>,
}

pub(crate) fn begin(
    sessions: Arc<Sessions>,
    cx: ConnectionTo<Client>,
    request: PromptRequest,
) -> Result<Turn> {
    let PromptRequest { session_id: id, prompt, .. } = request;
    let (cwd, cancelled) = sessions.begin_turn(&id)?;
    Ok(Turn { sessions, cx, id, cwd, prompt, cancelled })
}

impl Turn {
    pub(crate) async fn run(self) -> Result<PromptResponse> {
        for block in &self.prompt {
            let update = SessionUpdate::UserMessageChunk(ContentChunk::new(block.clone()));
            self.sessions.remember(&self.id, update);
        }
        let mut cancelled = self.cancelled.clone();
        let ended = tokio::select! {
            // An open request of ours is dropped here; the SDK then sends `$/cancel_request`.
            _ = cancelled.wait_for(|is_cancelled| *is_cancelled) => Ok(StopReason::Cancelled),
            ended = self.work() => ended,
        };
        self.sessions.end_turn(&self.id);
        ended.map(PromptResponse::new)
    }

    async fn work(&self) -> Result<StopReason> {
        let text: String = self.prompt.iter().filter_map(text_of).collect();
        let (verb, rest) = text.split_once(' ').unwrap_or((&text, ""));
        match verb {
            "permission" => return self.permission().await,
            "cancel" => std::future::pending().await,
            "read" => self.read(rest).await?,
            "write" => self.write(rest).await?,
            "terminal" => self.terminal(rest).await?,
            "elicit" => self.elicit().await?,
            _ => self.show(&text)?,
        }
        Ok(StopReason::EndTurn)
    }

    fn show(&self, text: &str) -> Result<()> {
        let thought = ContentChunk::new("Let me think.".into());
        self.update(SessionUpdate::AgentThoughtChunk(thought))?;
        self.plan(PlanEntryStatus::InProgress)?;

        let path = self.cwd.join("greeting.txt");
        let diff = Diff::new(path, "hello\n").old_text("hullo\n".to_owned());
        let call = ToolCall::new("edit-1", "Edit greeting.txt").kind(ToolKind::Edit);
        self.update(SessionUpdate::ToolCall(call.status(ToolCallStatus::InProgress)))?;
        let done = ToolCallUpdateFields::new().status(ToolCallStatus::Completed);
        self.update_call("edit-1", done.content(vec![ToolCallContent::Diff(diff)]))?;

        self.plan(PlanEntryStatus::Completed)?;
        self.say(&format!("You said: {text}"))
    }

    async fn permission(&self) -> Result<StopReason> {
        let call = ToolCall::new("ask-1", "Run ls").kind(ToolKind::Execute);
        self.update(SessionUpdate::ToolCall(call))?;
        let options = vec![
            PermissionOption::new("yes", "Allow", PermissionOptionKind::AllowOnce),
            PermissionOption::new("no", "Reject", PermissionOptionKind::RejectOnce),
        ];
        let about = ToolCallUpdate::new("ask-1", ToolCallUpdateFields::new());
        let request = RequestPermissionRequest::new(self.id.clone(), about, options);
        let outcome = self.cx.send_request(request).block_task().await?.outcome;
        let RequestPermissionOutcome::Selected(selected) = outcome else {
            return Ok(StopReason::Cancelled);
        };
        let is_allowed = &*selected.option_id.0 == "yes";
        let status = if is_allowed { ToolCallStatus::Completed } else { ToolCallStatus::Failed };
        self.update_call("ask-1", ToolCallUpdateFields::new().status(status))?;
        self.say(if is_allowed { "Permission granted." } else { "Permission refused." })?;
        Ok(StopReason::EndTurn)
    }

    async fn read(&self, path: &str) -> Result<()> {
        if !self.sessions.client().fs.read_text_file {
            return self.say("The client reads no files.");
        }
        let request = ReadTextFileRequest::new(self.id.clone(), self.cwd.join(path));
        let answer = self.cx.send_request(request).block_task().await;
        self.say(&answer.map_or_else(|problem| sorry(&problem), |file| file.content))
    }

    async fn write(&self, rest: &str) -> Result<()> {
        if !self.sessions.client().fs.write_text_file {
            return self.say("The client writes no files.");
        }
        let (path, text) = rest.split_once(' ').unwrap_or((rest, ""));
        let request = WriteTextFileRequest::new(self.id.clone(), self.cwd.join(path), text);
        let answer = self.cx.send_request(request).block_task().await;
        self.say(&answer.map_or_else(|problem| sorry(&problem), |_| format!("Wrote {path}.")))
    }

    async fn terminal(&self, rest: &str) -> Result<()> {
        if !self.sessions.client().terminal {
            return self.say("The client has no terminals.");
        }
        let mut words = rest.split_whitespace().map(ToOwned::to_owned);
        let command = words.next().unwrap_or_else(|| "pwd".into());
        let request = CreateTerminalRequest::new(self.id.clone(), command)
            .args(words.collect())
            .cwd(self.cwd.clone());
        let terminal = match self.cx.send_request(request).block_task().await {
            Ok(created) => created.terminal_id,
            Err(problem) => return self.say(&sorry(&problem)),
        };

        let shown = ToolCallContent::Terminal(Terminal::new(terminal.clone()));
        let call = ToolCall::new("run-1", "Run a command").kind(ToolKind::Execute);
        self.update(SessionUpdate::ToolCall(call.content(vec![shown])))?;
        let request = WaitForTerminalExitRequest::new(self.id.clone(), terminal.clone());
        let exit = self.cx.send_request(request).block_task().await?.exit_status;
        let request = TerminalOutputRequest::new(self.id.clone(), terminal.clone());
        let output = self.cx.send_request(request).block_task().await?.output;
        let request = ReleaseTerminalRequest::new(self.id.clone(), terminal);
        self.cx.send_request(request).block_task().await?;
        self.update_call("run-1", ToolCallUpdateFields::new().status(ToolCallStatus::Completed))?;
        self.say(&format!("Exit {:?}: {output}", exit.exit_code))
    }

    async fn elicit(&self) -> Result<()> {
        if self.sessions.client().elicitation.and_then(|offered| offered.form).is_none() {
            return self.say("The client shows no forms.");
        }
        let scope = ElicitationSessionScope::new(self.id.clone());
        let form = ElicitationFormMode::new(scope, ElicitationSchema::new().string("name", true));
        let request = CreateElicitationRequest::new(form, "What is your name?");
        let answer = self.cx.send_request(request).block_task().await?;
        let answer = serde_json::to_string(&answer).map_err(Error::into_internal_error)?;
        self.say(&answer)
    }

    fn plan(&self, status: PlanEntryStatus) -> Result<()> {
        let entry = PlanEntry::new("Greet the user", PlanEntryPriority::Medium, status);
        self.update(SessionUpdate::Plan(Plan::new(vec![entry])))
    }

    fn say(&self, text: &str) -> Result<()> {
        for word in text.split_inclusive(' ') {
            let chunk = ContentChunk::new(word.into());
            self.update(SessionUpdate::AgentMessageChunk(chunk))?;
        }
        Ok(())
    }

    fn update_call(&self, call: &'static str, fields: ToolCallUpdateFields) -> Result<()> {
        self.update(SessionUpdate::ToolCallUpdate(ToolCallUpdate::new(call, fields)))
    }

    fn update(&self, update: SessionUpdate) -> Result<()> {
        self.sessions.remember(&self.id, update.clone());
        self.cx.send_notification(SessionNotification::new(self.id.clone(), update))
    }
}

fn sorry(problem: &Error) -> String {
    format!("Sorry: {}", problem.message)
}

fn text_of(block: &ContentBlock) -> Option<&str> {
    match block {
        ContentBlock::Text(text) => Some(&text.text),
        _ => None,
    }
}
