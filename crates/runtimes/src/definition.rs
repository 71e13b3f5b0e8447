//! A runtime definition: how to find, check, launch, resume and stop one CLI, as data.
//!
//! In: TOML, one file per CLI. Out: a [`RuntimeDefinition`] that holds no nonsense
//! ([`RuntimeDefinition::parse`]). The same source is compiled into the build script, so a shipped
//! file with a mistake in it does not build.

mod check;
mod version;

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::dialect::{DialectName, Model, PermissionMode, TokenScope};

pub use check::DefinitionError;
pub use version::{BadVersion, Version, VersionRange};

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RuntimeDefinition {
    /// The name that users type: `claude`.
    pub id: String,
    /// The product name, for display: `Claude Code`.
    pub name: String,
    #[serde(default)]
    pub aliases: Vec<String>,
    /// Names of the program to look for, in order.
    pub bins: Vec<String>,
    /// The program's path, if the configuration sets one: absolute, or below `~/`.
    #[serde(default)]
    pub path: Option<String>,
    /// Arguments before all others, of probes too: `npx` wants the package's name there.
    #[serde(default)]
    pub prefix_args: Vec<String>,
    /// Directories below home to look in besides the usual ones.
    #[serde(default)]
    pub extra_dirs: Vec<String>,
    /// One line: how to install it.
    pub install: String,
    #[serde(default)]
    pub docs: Option<String>,
    #[serde(default)]
    pub version: VersionProbe,
    #[serde(default)]
    pub features: FeatureProbe,
    #[serde(default)]
    pub auth: AuthDefinition,
    #[serde(default)]
    pub models: ModelDefinitions,
    #[serde(default)]
    pub reasoning: Reasoning,
    #[serde(default)]
    pub env: EnvChanges,
    /// The ways to start it and to speak to it, the best first.
    pub forms: Vec<RuntimeForm>,
    /// Remarks for users; shown by `agents show`.
    #[serde(default)]
    pub notes: Vec<String>,
    /// The user's own, or a shipped one that the user has changed.
    #[serde(skip)]
    pub is_own: bool,
}

impl RuntimeDefinition {
    /// Reads and checks one definition.
    pub fn parse(text: &str) -> Result<Self, DefinitionError> {
        let definition: Self = toml::from_str(text).map_err(|error| DefinitionError::Syntax {
            message: error.to_string().trim_end().to_owned(),
        })?;
        definition.check()?;
        Ok(definition)
    }

    /// Checks that all fields make sense.
    pub fn check(&self) -> Result<(), DefinitionError> {
        check::definition(self)
    }

    /// The remedy for a missing login, as a sentence for users.
    pub fn login_hint(&self) -> String {
        match (&self.auth.login, self.auth.env.first()) {
            (Some(login), Some(name)) => format!("run `{login}` in a terminal, or set {name}"),
            (Some(login), None) => format!("run `{login}` in a terminal"),
            (None, Some(name)) => format!("set {name}"),
            (None, None) => format!("log in with {} itself", self.name),
        }
    }

    /// The variable that says where the program is: `CURSOR_AGENT_BIN` for `cursor-agent`.
    pub fn bin_variable(&self) -> String {
        let word = self.id.to_ascii_uppercase();
        let word: String =
            word.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
        format!("{word}_BIN")
    }
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct VersionProbe {
    /// Arguments that print the version; empty: it is not asked.
    pub args: Vec<String>,
    pub timeout_ms: u64,
    /// Versions that were tried, e.g. `">=2.1.0, <3.0.0"`; others work but are reported.
    pub tested: Option<String>,
    /// Versions that the project's live tests have run, with a real turn each; none: never.
    pub live: Vec<String>,
    /// Versions that are known not to work, each with what to do instead.
    pub broken: Vec<BrokenVersion>,
}

impl Default for VersionProbe {
    fn default() -> Self {
        let args = vec!["--version".to_owned()];
        Self { args, timeout_ms: 3000, tested: None, live: Vec::new(), broken: Vec::new() }
    }
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BrokenVersion {
    /// A range like `tested`, or one version.
    pub version: String,
    pub remedy: String,
}

/// Optional abilities of a CLI, found in its help text instead of by its version.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct FeatureProbe {
    /// Arguments that print the help; none: nothing is probed.
    pub help: Vec<String>,
    /// Feature name → text that the help has if the feature is there.
    pub flags: BTreeMap<String, String>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct AuthDefinition {
    /// Any of these in the environment is enough.
    pub env: Vec<String>,
    /// It uses whichever provider's key is in the environment. Others do not get to see the keys
    /// of the built-in agent's endpoints, unless `env` names them.
    pub any_provider: bool,
    /// Any of these files below home says that somebody logged in or named a provider.
    pub files: Vec<String>,
    /// A provider of the user's own, for which there is no login.
    pub provider: Option<CustomProvider>,
    /// A command of the CLI that prints whether somebody is logged in.
    pub probe: Option<AuthProbe>,
    /// The command to type to log in.
    pub login: Option<String>,
}

/// The place in a CLI's configuration that names its provider.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CustomProvider {
    /// TOML, below home.
    pub file: String,
    /// The member of the file that names the provider.
    pub key: String,
    /// The CLI's own providers, which want a login.
    pub except: Vec<String>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AuthProbe {
    pub args: Vec<String>,
    /// Text of the output (either stream) that means yes.
    #[serde(default)]
    pub yes: Vec<String>,
    /// Text that means no. Neither: unknown.
    #[serde(default)]
    pub no: Vec<String>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ModelDefinitions {
    /// Models that are offered when the CLI does not list its own.
    pub known: Vec<Model>,
    pub list: Option<ModelList>,
    /// Ask the agent for its models by ACP: `initialize`, `session/new`, read, end.
    pub acp: bool,
    /// The model to start with; without it the CLI decides.
    pub default: Option<String>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelList {
    pub args: Vec<String>,
    pub shape: ModelListFormat,
    #[serde(default = "default_list_timeout")]
    pub timeout_ms: u64,
}

fn default_list_timeout() -> u64 {
    15_000
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ModelListFormat {
    /// One id a line, alone or followed by ` - ` and a name; other lines are skipped.
    Lines,
    /// Codex: `{"models":[{"slug","display_name","visibility","supported_reasoning_levels"}]}`.
    CodexJson,
    /// A table; the first two columns are provider and model.
    Table,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Reasoning {
    pub efforts: Vec<String>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct EnvChanges {
    pub set: BTreeMap<String, String>,
    /// Names, or beginnings of names that end in `*`.
    pub strip: Vec<String>,
}

/// A form: one way to start a CLI and to speak to it.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RuntimeForm {
    /// `acp` or the name of a dialect.
    pub dialect: String,
    /// Another program of the same package, for CLIs that have one for each dialect.
    #[serde(default)]
    pub bin: Option<String>,
    /// Features it needs; without them the next form is tried.
    #[serde(default)]
    pub requires: Vec<String>,
    /// Needs at least this version.
    #[serde(default)]
    pub min_version: Option<String>,
    pub args: Vec<String>,
    /// Arguments that are given when a feature is there.
    #[serde(default)]
    pub when: Vec<FeatureArguments>,
    /// Parts that are given only when a feature is there.
    #[serde(default)]
    pub needs: BTreeMap<OptionalArgument, String>,
    #[serde(default)]
    pub prompt: PromptChannel,
    /// Arguments of prompts by argv: `{prompt}` is filled in. Without them the prompt stands alone.
    #[serde(default)]
    pub prompt_args: Vec<String>,
    /// The way an earlier conversation is resumed.
    #[serde(default)]
    pub resume: ResumeSupport,
    /// `{model}` is filled in.
    #[serde(default)]
    pub model: Vec<String>,
    /// `{effort}` is filled in.
    #[serde(default)]
    pub effort: Vec<String>,
    /// Once for each directory; `{dir}` is filled in.
    #[serde(default)]
    pub add_dir: Vec<String>,
    /// `{text}` is filled in. Without it a system prompt is put before the message.
    #[serde(default)]
    pub system_prompt: Vec<String>,
    #[serde(default)]
    pub mcp: McpChannel,
    #[serde(default)]
    pub permissions: PermissionSupport,
    #[serde(default)]
    pub env: EnvChanges,
    /// Reads images that are named as `@path`.
    #[serde(default)]
    pub images: ImageSupport,
    /// One process of it serves several sessions in several directories at once; the daemon
    /// then starts one for all of them.
    #[serde(default)]
    pub shared_worker: bool,
    /// Deviations of an ACP agent from others.
    #[serde(default)]
    pub quirks: Quirks,
}

impl RuntimeForm {
    pub fn is_acp(&self) -> bool {
        self.dialect == "acp"
    }

    /// Whether a part may be given to a CLI with these features.
    pub fn has_argument(&self, part: OptionalArgument, features: &BTreeSet<String>) -> bool {
        self.needs.get(&part).is_none_or(|feature| features.contains(feature))
            && !self.argument(part).is_empty()
    }

    /// Whether an option of a session reaches the CLI, by argument or by protocol. One that does
    /// not is not offered, or a notice says that it is left out.
    pub fn supports(
        &self,
        part: OptionalArgument,
        dialect: DialectName,
        features: &BTreeSet<String>,
    ) -> bool {
        let by_protocol = match dialect {
            _ if self.prompt != PromptChannel::Dialect => false,
            DialectName::CodexAppServer => true,
            DialectName::ClaudeStreamJson => {
                matches!(part, OptionalArgument::Model | OptionalArgument::SystemPrompt)
            }
            DialectName::PiRpc => {
                matches!(part, OptionalArgument::Model | OptionalArgument::Effort)
            }
            _ => false,
        };
        by_protocol || self.has_argument(part, features)
    }

    pub fn argument(&self, part: OptionalArgument) -> &[String] {
        match part {
            OptionalArgument::Model => &self.model,
            OptionalArgument::Effort => &self.effort,
            OptionalArgument::AddDir => &self.add_dir,
            OptionalArgument::SystemPrompt => &self.system_prompt,
        }
    }
}

/// The optional parts of a command line, which a session's options fill in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OptionalArgument {
    Model,
    Effort,
    AddDir,
    SystemPrompt,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FeatureArguments {
    pub feature: String,
    pub args: Vec<String>,
}

/// The channel by which the prompt reaches the CLI.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PromptChannel {
    /// Written to stdin, which is then closed.
    #[default]
    Stdin,
    /// By the dialect, over the stdin that stays open: the process lives as long as the session.
    Dialect,
    /// The last argument, after `--` if `args` end in it.
    Argv,
    /// A file whose path takes the place of `{prompt_file}` in `args`.
    File,
    Acp,
}

/// The way in which the next turn, or the next process, resumes the conversation.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ResumeSupport {
    pub style: ResumeStyle,
    /// Arguments of a new conversation; `{session}` is an id that we choose (a UUID).
    pub new: Vec<String>,
    /// Arguments of a resumed one; `{session}` is the CLI's own id.
    pub again: Vec<String>,
    /// Replaces `args` when a conversation is resumed, for CLIs whose resume is another command.
    pub args: Option<Vec<String>>,
    /// A resumed conversation keeps its id: another one means that it was lost.
    pub keeps_id: bool,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ResumeStyle {
    /// The CLI cannot resume; the conversation so far is put into the next prompt.
    #[default]
    None,
    /// Switchyard chooses the id.
    Chosen,
    /// The CLI prints its id in its output.
    Told,
    /// The dialect or ACP resumes it by a request.
    Protocol,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum McpChannel {
    /// It takes no MCP servers from us.
    #[default]
    None,
    Acp,
    /// `--mcp-config` with Claude's JSON.
    ClaudeJson,
    /// The dialect sends them when it opens the conversation (codex-app-server).
    Dialect,
    /// `OPENCODE_CONFIG_CONTENT`.
    OpencodeEnv,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ImageSupport {
    #[default]
    None,
    /// Written to a file and named as `@path` in the prompt.
    AtPath,
    /// Sent by the dialect or ACP, as data.
    Protocol,
}

/// The support of a CLI for each of our permission modes.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PermissionSupport {
    /// It asks for permission, and waits for the answer.
    pub asks: bool,
    /// Arguments for each mode. A mode that is not named is refused before the start.
    pub modes: BTreeMap<PermissionMode, Vec<String>>,
    /// Environment for each mode.
    pub env: BTreeMap<PermissionMode, BTreeMap<String, String>>,
    /// The ACP session mode to set for each of ours, for agents that do not ask by default.
    pub session_modes: BTreeMap<PermissionMode, String>,
    /// Modes that it cannot be held to although it asks, because it does not ask before
    /// everything.
    pub refuses: Vec<PermissionMode>,
    /// A remark about its permissions, for `agents show`.
    pub note: Option<String>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Quirks {
    /// It cannot read our answer that a file does not exist, so we do not offer to read files.
    pub no_client_reads: bool,
    /// Beginnings of answers that are a provider's error, although the turn "ended".
    pub failure_words: Vec<String>,
    /// It ends a turn without any output when the provider failed.
    pub silence_is_failure: bool,
    /// Tools of its own that write the file at `path` and do nothing else, as its questions call
    /// them, in small letters; for agents whose questions do not say of what kind they are.
    pub edit_tools: Vec<String>,
    /// It does not end when its input ends, so stopping it does not wait for that.
    pub stays_at_eof: bool,
    /// The requests that its token counts at the end of a turn cover.
    pub usage: TokenScope,
}

#[cfg(test)]
mod tests;
