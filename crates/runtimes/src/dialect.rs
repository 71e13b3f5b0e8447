//! Dialects: the protocols that CLIs speak on stdout and stdin.
//!
//! A dialect is a state machine: output of the CLI and requests of the session go in, ACP and
//! lines for the CLI's stdin come out. It does no I/O, knows no clock, and panics on no input.
//!
//! Always true, for every dialect: a turn that was begun ends exactly once; a tool call starts
//! once and ends once; a line that is not understood comes out as [`DialectOutput::UnknownLine`].

mod claude;
mod codex;
mod codex_app_server;
mod codex_exec;
mod copilot;
mod cursor;
mod gemini;
mod json;
mod openai;
mod opencode;
mod pi;
mod plain;
mod reader;
mod repetition_filter;
mod shared_types;
mod single_turn;
pub(crate) mod stderr;
mod streamed_texts;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod token_counts;
mod tool_calls;

use std::ops::{Deref, DerefMut};
use std::path::PathBuf;

use serde::Serialize;
use serde_json::Value;
use serde_with::skip_serializing_none;
use wire::Fault;

use crate::update::{
    CompactionStatus, ContentBlock, NoticeSeverity, PlanEntry, SessionUpdate, TextKind, ToolCall,
};

pub use reader::DialectReader;
pub use shared_types::{DialectName, Model};
pub use wire::event::StopReason;
pub use wire::{PermissionMode, TokenScope};

impl DialectName {
    /// A fresh state machine.
    pub fn start(self) -> Box<dyn Dialect> {
        match self {
            Self::ClaudeStreamJson => Box::new(claude::Claude::default()),
            Self::CodexExec => Box::new(codex_exec::CodexExec::default()),
            Self::CodexAppServer => Box::new(codex_app_server::CodexAppServer::default()),
            Self::GeminiStreamJson => Box::new(gemini::Gemini::default()),
            Self::OpencodeJson => Box::new(opencode::Opencode::default()),
            Self::CursorStreamJson => Box::new(cursor::Cursor::default()),
            Self::CopilotJson => Box::new(copilot::Copilot::default()),
            Self::PiRpc => Box::new(pi::Pi::default()),
            Self::Plain => Box::new(plain::Plain::default()),
            Self::OpenaiJson => Box::new(openai::Openai::default()),
        }
    }
}

/// The protocol state of one CLI process.
pub trait Dialect: std::fmt::Debug + Send {
    /// The process has started. Dialects whose process lives as long as a session initialize it,
    /// start or resume the conversation, and emit [`DialectOutput::ConversationOpened`] or
    /// [`DialectOutput::ConversationLost`] afterwards.
    fn open(&mut self, _opening: &ConversationOptions, _out: &mut Outputs) {}

    /// A turn begins. Dialects that get their prompt by argv, stdin or file only note it.
    fn prompt(&mut self, _prompt: &ComposedPrompt, _out: &mut Outputs) {}

    /// One line of stdout without its end; never blank.
    fn line(&mut self, line: &str, out: &mut Outputs);

    /// A line was longer than the limit and was skipped. `head` has the complete members of its
    /// beginning; null if there are none.
    ///
    /// A turn must not wait for an end that was in such a line. Where `head` shows that it was
    /// the end, the turn ends accordingly; where not even the type of the line is known, the turn
    /// ends with `failure`. A question in it is refused, since nobody can answer it. Dialects
    /// whose turns end with their process at the latest may wait for that.
    fn oversized_line(&mut self, _head: &Value, _failure: Fault, _out: &mut Outputs) {}

    /// The answer to a [`DialectOutput::PermissionRequest`].
    fn answer(&mut self, _ask: &str, _answer: &PermissionAnswer, _out: &mut Outputs) {}

    /// The turn is to stop. Writes an interrupt to the CLI if its protocol has one; `false` when
    /// only a signal stops it.
    fn interrupt(&mut self, _out: &mut Outputs) -> bool {
        false
    }

    /// Changes an option for the turns to come. `false` when that takes a new process.
    fn set(&mut self, _wish: &OptionChange, _out: &mut Outputs) -> bool {
        false
    }

    /// stdout ended. A turn that runs ends here at the latest.
    fn end(&mut self, exit: &CliExit, out: &mut Outputs);
}

/// One output of a dialect, for the session or for the CLI.
#[derive(Debug, Clone, PartialEq)]
pub enum DialectOutput {
    Update(SessionUpdate),
    /// The conversation is open (again), with what the CLI reported about it.
    ConversationOpened(ConversationInfo),
    /// The CLI's own id of the conversation, which its resume takes.
    SessionId(String),
    /// The conversation that was to be resumed does not exist, or none can be opened.
    ConversationLost(Fault),
    PermissionRequest(PermissionRequest),
    /// The CLI no longer wants an answer to this ask.
    RequestWithdrawn(String),
    TurnEnded(TurnEnd),
    /// A line for the CLI's stdin, without its end.
    StdinLine(String),
    /// A line that was not understood.
    UnknownLine(String),
}

/// The outputs of a dialect, in their order.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Outputs(Vec<DialectOutput>);

impl Outputs {
    fn update(&mut self, update: SessionUpdate) {
        self.push(DialectOutput::Update(update));
    }

    /// A piece of a text of the model, of the message that its CLI calls `message_id`; nothing if
    /// it is empty.
    fn text(&mut self, kind: TextKind, text: impl Into<String>, message_id: Option<&str>) {
        let text = text.into();
        if text.is_empty() {
            return;
        }
        let content = ContentBlock::Text { text };
        let message_id = message_id.map(str::to_owned);
        self.update(match kind {
            TextKind::Message => SessionUpdate::AgentMessageChunk { content, message_id },
            TextKind::Thought => SessionUpdate::AgentThoughtChunk { content, message_id },
        });
    }

    fn plan(&mut self, entries: Vec<PlanEntry>) {
        self.update(SessionUpdate::Plan { entries });
    }

    fn notice(&mut self, severity: NoticeSeverity, title: impl Into<String>) {
        self.update(SessionUpdate::notice(severity, title));
    }

    pub(crate) fn warn(&mut self, title: impl Into<String>) {
        self.notice(NoticeSeverity::Warning, title);
    }

    fn warn_with(&mut self, title: impl Into<String>, description: Option<String>) {
        let (severity, title) = (NoticeSeverity::Warning, title.into());
        self.update(SessionUpdate::Notice { severity, title, description });
    }

    fn compaction(&mut self, id: impl Into<String>, status: CompactionStatus, error: Option<&str>) {
        let (compaction_id, error) = (id.into(), error.map(str::to_owned));
        self.update(SessionUpdate::CompactionUpdate { compaction_id, status, error });
    }

    /// A line for the CLI's stdin.
    fn write(&mut self, line: &Value) {
        self.push(DialectOutput::StdinLine(line.to_string()));
    }

    /// A line that was not understood.
    fn unknown(&mut self, line: &str) {
        self.push(DialectOutput::UnknownLine(line.to_owned()));
    }

    /// A question for the user; `id` is what [`Dialect::answer`] takes.
    fn ask(&mut self, id: String, call: ToolCall, options: Vec<PermissionOption>) {
        self.push(DialectOutput::PermissionRequest(PermissionRequest { id, call, options }));
    }

    fn end_turn(&mut self, ending: TurnOutcome, usage: Option<TokenUsage>) {
        self.push(DialectOutput::TurnEnded(TurnEnd { ending, usage }));
    }
}

impl Deref for Outputs {
    type Target = Vec<DialectOutput>;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl DerefMut for Outputs {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.0
    }
}

/// The options with which a conversation is opened.
#[derive(Debug, Clone, Default)]
pub struct ConversationOptions {
    pub cwd: PathBuf,
    pub directories: Vec<PathBuf>,
    /// The CLI's own id of the conversation to go on with.
    pub resume: Option<String>,
    pub model: Option<String>,
    pub effort: Option<String>,
    pub permissions: PermissionMode,
    pub system_prompt: Option<String>,
    /// ACP's `mcpServers`.
    pub mcp_servers: Vec<Value>,
}

/// The CLI's report when the conversation was opened.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ConversationInfo {
    /// Its own id of the conversation, if it is known already.
    pub session: Option<String>,
    pub model: Option<String>,
    /// The models it offers; empty when it did not say.
    pub models: Vec<Model>,
}

/// A prompt as the CLI gets it: the composed text, and images.
#[derive(Debug, Clone, Default)]
pub struct ComposedPrompt {
    pub text: String,
    pub images: Vec<PromptImage>,
}

#[derive(Debug, Clone)]
pub struct PromptImage {
    pub mime_type: String,
    /// Base64.
    pub data: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OptionChange {
    Model(String),
    Effort(String),
    Permissions(PermissionMode),
}

/// A permission question of the CLI.
#[derive(Debug, Clone, PartialEq)]
pub struct PermissionRequest {
    /// The id that [`Dialect::answer`] takes.
    pub id: String,
    pub call: ToolCall,
    pub options: Vec<PermissionOption>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PermissionOption {
    pub option_id: String,
    pub name: String,
    pub kind: PermissionOptionKind,
}

impl PermissionOption {
    fn new(id: impl Into<String>, name: impl Into<String>, kind: PermissionOptionKind) -> Self {
        Self { option_id: id.into(), name: name.into(), kind }
    }

    fn allow_once(id: impl Into<String>, name: impl Into<String>) -> Self {
        Self::new(id, name, PermissionOptionKind::AllowOnce)
    }

    fn allow_always(id: impl Into<String>, name: impl Into<String>) -> Self {
        Self::new(id, name, PermissionOptionKind::AllowAlways)
    }

    fn reject_once(id: impl Into<String>, name: impl Into<String>) -> Self {
        Self::new(id, name, PermissionOptionKind::RejectOnce)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PermissionOptionKind {
    AllowOnce,
    AllowAlways,
    RejectOnce,
    RejectAlways,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PermissionAnswer {
    /// The id of the option.
    Chosen(String),
    /// The turn is being cancelled.
    Cancelled,
}

/// The end of a turn, with its token usage.
#[derive(Debug, Clone, PartialEq)]
pub struct TurnEnd {
    pub ending: TurnOutcome,
    /// Tokens of this turn alone.
    pub usage: Option<TokenUsage>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum TurnOutcome {
    Stopped(StopReason),
    Failed(Fault),
}

impl TurnOutcome {
    /// The text that ends the tool calls that the turn left open.
    fn open_call_text(&self) -> String {
        match self {
            Self::Stopped(StopReason::Cancelled) => "cancelled".to_owned(),
            Self::Stopped(_) => "the CLI did not say how this ended".to_owned(),
            Self::Failed(failure) => failure.message.clone(),
        }
    }
}

/// Tokens, as in ACP's `PromptResponse.usage`.
#[skip_serializing_none]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TokenUsage {
    pub total_tokens: u64,
    pub input_tokens: u64,
    pub output_tokens: u64,
    pub thought_tokens: Option<u64>,
    pub cached_read_tokens: Option<u64>,
    pub cached_write_tokens: Option<u64>,
}

/// Emits the CLI's own id of the conversation if it is not the known one.
fn learn_session(known: &mut Option<String>, id: &str, out: &mut Outputs) {
    if !id.is_empty() && known.as_deref() != Some(id) {
        *known = Some(id.to_owned());
        out.push(DialectOutput::SessionId(id.to_owned()));
    }
}

/// The exit of the process, as far as it is known.
#[derive(Debug, Clone, Default)]
pub struct CliExit {
    pub code: Option<i32>,
    pub signal: Option<i32>,
    /// The end of its stderr.
    pub stderr: String,
    /// Whether we ended it.
    pub is_stopped_by_us: bool,
}
