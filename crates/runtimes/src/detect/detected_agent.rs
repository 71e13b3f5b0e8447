//! The report on one agent of this machine.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use serde_with::skip_serializing_none;

use crate::catalogue::BuiltInAgent;
use crate::definition::{PromptChannel, ResumeStyle, RuntimeDefinition, RuntimeForm};
use crate::dialect::{Model, PermissionMode};

/// One agent, as detection found it. Serialises to what `--json` prints.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DetectedAgent {
    pub id: String,
    pub name: String,
    /// Whether its program exists, works as far as probes show, and one of its forms can be used.
    pub is_usable: bool,
    pub path: Option<PathBuf>,
    pub found_by: Option<ProgramSource>,
    /// The first `x.y.z` in the output of its version probe.
    pub version: Option<String>,
    /// Versions of it that the project's live tests have run; none: never.
    pub live_versions: Vec<String>,
    /// Features of the definition that its help text shows.
    pub features: Vec<String>,
    pub auth: LoginState,
    pub models: Vec<Model>,
    pub models_from: ModelsSource,
    /// The model it starts with: configured, or reported by the agent.
    pub default_model: Option<String>,
    /// Reasoning efforts that it offers for any model.
    pub efforts: Vec<String>,
    /// The command line that would run it.
    pub run: Option<LaunchPlan>,
    /// The other forms, and why each was not taken.
    pub passed_over: Vec<SkippedForm>,
    pub diagnoses: Vec<Diagnosis>,
    /// Probes without a result when the time limit was reached, and why.
    pub unfinished: Vec<String>,
    /// The command to type to log in.
    pub login: Option<String>,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub install: String,
    pub docs: Option<String>,
    pub notes: Vec<String>,
    /// The user's own, or changed by the user.
    pub is_own: bool,
    /// It is inside this binary.
    pub is_built_in: bool,
    /// Everything came from the cache; no probe was run.
    pub is_cached: bool,
    /// Members that only this agent has.
    #[serde(flatten)]
    pub more: Map<String, Value>,
}

impl DetectedAgent {
    pub(super) fn without_facts(definition: &RuntimeDefinition) -> Self {
        Self {
            id: definition.id.clone(),
            name: definition.name.clone(),
            live_versions: definition.version.live.clone(),
            default_model: definition.models.default.clone(),
            efforts: definition.reasoning.efforts.clone(),
            login: definition.auth.login.clone(),
            install: definition.install.clone(),
            docs: definition.docs.clone(),
            notes: definition.notes.clone(),
            is_own: definition.is_own,
            ..Self::default()
        }
    }

    /// An agent inside this binary, which it starts with `argv`; the caller adds the rest.
    pub fn built_in(agent: BuiltInAgent, name: &str, argv: [&str; 2]) -> Self {
        let [program, _] = argv;
        let run = LaunchPlan {
            dialect: "acp".to_owned(),
            program: program.into(),
            argv: argv.map(str::to_owned).into(),
            resume: ResumeStyle::Protocol,
            prompt_by: PromptChannel::Acp,
            asks: true,
            modes: PermissionMode::ALL.into(),
            takes_images: true,
            ..LaunchPlan::default()
        };
        Self {
            id: agent.id().to_owned(),
            name: name.to_owned(),
            version: Some(env!("CARGO_PKG_VERSION").to_owned()),
            run: Some(run),
            is_built_in: true,
            ..Self::default()
        }
    }

    pub(super) fn diagnose(
        &mut self,
        reason: DiagnosisReason,
        message: impl Into<String>,
        remedy: impl Into<String>,
    ) {
        self.diagnoses.push(Diagnosis::new(reason, message, remedy));
    }

    /// Its program is there, whether it works or not.
    pub fn is_installed(&self) -> bool {
        self.path.is_some() || self.is_built_in
    }

    /// The form of `definition` that was chosen.
    pub fn form<'a>(&self, definition: &'a RuntimeDefinition) -> Option<&'a RuntimeForm> {
        definition.forms.get(self.run.as_ref()?.form)
    }
}

/// The step of the search that found the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProgramSource {
    /// `CLAUDE_BIN` and the like.
    Override,
    Configuration,
    Path,
    /// A directory of a package manager or version manager that is not on `PATH`.
    WellKnown,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LoginState {
    pub state: LoginStatus,
    /// The source of the state: a variable, a file, the CLI.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LoginStatus {
    Ok,
    Missing,
    #[default]
    Unknown,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ModelsSource {
    /// Its listing command.
    Listed,
    Acp,
    /// The definition; the CLI was not asked or did not say.
    Known,
    #[default]
    Nobody,
}

/// The command line that would run an agent, with placeholders for a session's values.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LaunchPlan {
    /// The index of the form in the definition.
    #[serde(skip)]
    pub form: usize,
    pub dialect: String,
    pub program: PathBuf,
    /// Program and arguments of a new conversation.
    pub argv: Vec<String>,
    /// The same for a resumed conversation, where that takes other arguments.
    pub resume_argv: Option<Vec<String>>,
    pub resume: ResumeStyle,
    pub prompt_by: PromptChannel,
    pub asks: bool,
    /// Permission modes that it can be held to.
    pub modes: Vec<PermissionMode>,
    pub permissions_note: Option<String>,
    /// Arguments for options of a session: model, effort, directories, system prompt.
    pub optional_args: BTreeMap<&'static str, Vec<String>>,
    pub takes_mcp: bool,
    pub takes_images: bool,
    /// Variables that are set, with their values; nothing of the user's is among them.
    pub env: BTreeMap<String, String>,
    pub env_stripped: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SkippedForm {
    pub dialect: String,
    /// Its arguments, by which forms of the same dialect are told apart.
    pub args: Vec<String>,
    pub why: String,
}

/// A problem of an agent, and how to mend it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Diagnosis {
    pub reason: DiagnosisReason,
    pub message: String,
    pub remedy: String,
}

impl Diagnosis {
    pub fn new(
        reason: DiagnosisReason,
        message: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Self { reason, message: message.into(), remedy: remedy.into() }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(into = "&'static str")]
pub enum DiagnosisReason {
    NotOnPath,
    NotExecutable,
    ShimBroken,
    OverrideInvalid,
    VersionProbeFailed,
    UntestedVersion,
    AuthMissing,
    AuthUnknown,
    /// A reason of an agent inside this binary, by its own name.
    Inside(&'static str),
}

impl From<DiagnosisReason> for &'static str {
    fn from(reason: DiagnosisReason) -> Self {
        reason.name()
    }
}

impl DiagnosisReason {
    pub fn name(self) -> &'static str {
        match self {
            Self::NotOnPath => "not-on-path",
            Self::NotExecutable => "not-executable",
            Self::ShimBroken => "shim-broken",
            Self::OverrideInvalid => "override-invalid",
            Self::VersionProbeFailed => "version-probe-failed",
            Self::UntestedVersion => "untested-version",
            Self::AuthMissing => "auth-missing",
            Self::AuthUnknown => "auth-unknown",
            Self::Inside(name) => name,
        }
    }
}
