//! Types that runtime definitions share with the dialects: dialect names and models.
//!
//! In a file of their own, so that the build script can compile them and check definitions.

use serde::{Deserialize, Serialize};

/// The dialects, except ACP itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DialectName {
    ClaudeStreamJson,
    CodexExec,
    CodexAppServer,
    GeminiStreamJson,
    OpencodeJson,
    CursorStreamJson,
    CopilotJson,
    PiRpc,
    Plain,
    OpenaiJson,
}

impl DialectName {
    pub const ALL: [Self; 10] = [
        Self::ClaudeStreamJson,
        Self::CodexExec,
        Self::CodexAppServer,
        Self::GeminiStreamJson,
        Self::OpencodeJson,
        Self::CursorStreamJson,
        Self::CopilotJson,
        Self::PiRpc,
        Self::Plain,
        Self::OpenaiJson,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::ClaudeStreamJson => "claude-stream-json",
            Self::CodexExec => "codex-exec",
            Self::CodexAppServer => "codex-app-server",
            Self::GeminiStreamJson => "gemini-stream-json",
            Self::OpencodeJson => "opencode-json",
            Self::CursorStreamJson => "cursor-stream-json",
            Self::CopilotJson => "copilot-json",
            Self::PiRpc => "pi-rpc",
            Self::Plain => "plain",
            Self::OpenaiJson => "openai-json",
        }
    }

    pub fn of(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|dialect| dialect.name() == name)
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Model {
    pub id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The size of its context window, in tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<u64>,
    /// Reasoning efforts it offers; empty when the CLI did not say.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub efforts: Vec<String>,
}
