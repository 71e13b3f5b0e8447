//! Settings of tools, and limits of a turn.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bus::Launch;
use roots::ForbiddenDirs;
use serde::Deserialize;
use serde::de::value::SeqAccessDeserializer;
use serde::de::{SeqAccess, Visitor};

use super::lenient;
use super::sandbox::Sandbox;

/// Settings of the tools: what they may do and how much.
#[derive(Debug, Clone)]
pub struct ToolSettings {
    pub keeper: KeeperSettings,
    /// Paths that no session touches.
    pub forbidden: ForbiddenDirs,
    /// The user's own slash commands.
    pub commands_dir: Option<PathBuf>,
    pub commands: CommandSettings,
    /// The sandbox for commands; [`Sandbox::off`] unless somebody asked for it.
    pub sandbox: Sandbox,
    pub webfetch: FetchSettings,
    pub context: ContextSettings,
}

impl ToolSettings {
    /// The settings when nobody says otherwise.
    pub fn new(keeper_exe: PathBuf, keeper_args: Vec<OsString>) -> Self {
        Self {
            keeper: KeeperSettings { exe: keeper_exe, args: keeper_args, cgroups: true },
            forbidden: ForbiddenDirs::default(),
            commands_dir: None,
            commands: CommandSettings::default(),
            sandbox: Sandbox::off(),
            webfetch: FetchSettings::default(),
            context: ContextSettings::default(),
        }
    }
}

/// How to start the keeper, which ends our processes and everything that these start.
#[derive(Debug, Clone)]
pub struct KeeperSettings {
    pub exe: PathBuf,
    pub args: Vec<OsString>,
    pub cgroups: bool,
}

impl KeeperSettings {
    pub(super) fn launch(&self, program: impl Into<OsString>, cwd: impl Into<PathBuf>) -> Launch {
        let mut launch = Launch::new(program, cwd);
        launch.keeper_exe.clone_from(&self.exe);
        launch.keeper_args.clone_from(&self.args);
        launch.cgroups = self.cgroups;
        launch
    }
}

#[derive(Debug, Clone)]
pub struct CommandSettings {
    /// `bash`, or `sh` where there is none.
    pub shell: String,
    pub timeout: Duration,
    /// The most that a model can ask for.
    pub max_timeout: Duration,
    /// Limit on the output that a model is sent; the rest is left out in the middle.
    pub max_output_bytes: usize,
    /// Variables that hold keys of ours. Commands see neither them nor others with their value.
    pub secrets: BTreeSet<OsString>,
}

impl Default for CommandSettings {
    fn default() -> Self {
        Self {
            shell: find_shell().to_owned(),
            // A build or a test run; what serves for ever has to be asked for otherwise.
            timeout: Duration::from_mins(2),
            max_timeout: Duration::from_mins(30),
            max_output_bytes: 30_000,
            secrets: ["OPENAI_API_KEY", "AZURE_OPENAI_API_KEY"].map(OsString::from).into(),
        }
    }
}

fn find_shell() -> &'static str {
    let has_bash = ["/bin/bash", "/usr/bin/bash", "/usr/local/bin/bash"]
        .iter()
        .any(|path| Path::new(path).exists());
    if has_bash { "bash" } else { "sh" }
}

#[derive(Debug, Clone)]
pub struct FetchSettings {
    /// Addresses of this machine and its networks may be fetched.
    pub allow_private: bool,
    /// Hosts, as URLs name them, that may have such addresses.
    pub private_hosts: Vec<String>,
    pub max_bytes: usize,
    pub max_chars: usize,
    pub timeout: Duration,
}

impl Default for FetchSettings {
    fn default() -> Self {
        Self {
            allow_private: false,
            private_hosts: Vec::new(),
            max_bytes: 5 << 20,
            max_chars: 30_000,
            timeout: Duration::from_secs(30),
        }
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ContextSettings {
    pub tools: EnabledContextTools,
    /// Commands that check the project; without them they are looked for.
    pub checks: Vec<String>,
}

/// Limits of one turn.
#[derive(Debug, Clone, Copy)]
pub struct TurnLimits {
    /// Requests to the model in one turn, by whoever works for it.
    pub max_requests: u32,
    /// Share of the window, in percent, at which room is made.
    pub compact_at_percent: u64,
}

impl Default for TurnLimits {
    fn default() -> Self {
        Self { max_requests: 200, compact_at_percent: 80 }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ContextToolName {
    ContextEdit,
    ThreadPark,
    ClassifierThreads,
    DistillThreads,
    ObjectiveSet,
    Verify,
    Refine,
}

impl ContextToolName {
    /// All of them, with the names that models see.
    pub const NAMED: [(Self, &'static str); 7] = [
        (Self::ContextEdit, "context_edit"),
        (Self::ThreadPark, "thread_park"),
        (Self::ClassifierThreads, "classifier_threads"),
        (Self::DistillThreads, "distill_threads"),
        (Self::ObjectiveSet, "objective_set"),
        (Self::Verify, "verify"),
        (Self::Refine, "refine"),
    ];
}

/// The context tools that are on: `true`, `false`, or names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EnabledContextTools(pub BTreeSet<ContextToolName>);

impl EnabledContextTools {
    pub fn all() -> Self {
        Self(ContextToolName::NAMED.map(|(tool, _)| tool).into())
    }

    /// Whether some of them are on and others are not.
    pub fn is_partly_on(&self) -> bool {
        !self.0.is_empty() && self.0.len() < ContextToolName::NAMED.len()
    }

    /// Reads the value of a variable: `on`, `off`, or names.
    pub fn read(text: &str) -> Option<Self> {
        if let Some(is_on) = lenient::is_on(text) {
            return Some(Self::all_or_none(is_on));
        }
        let named = |word: &str| {
            let mut all = ContextToolName::NAMED.into_iter();
            all.find(|(_, name)| *name == word.trim()).map(|(tool, _)| tool)
        };
        text.split(',').map(named).collect::<Option<_>>().map(Self)
    }

    /// All of them, or none.
    pub fn all_or_none(is_on: bool) -> Self {
        if is_on { Self::all() } else { Self::default() }
    }

    /// The names of those that are on.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        let is_on = |(tool, _): &(ContextToolName, _)| self.0.contains(tool);
        ContextToolName::NAMED.into_iter().filter(is_on).map(|(_, name)| name)
    }
}

impl<'de> Deserialize<'de> for EnabledContextTools {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;

        impl<'de> Visitor<'de> for Either {
            type Value = EnabledContextTools;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("true, false or a list of names of context tools")
            }

            fn visit_bool<E>(self, is_on: bool) -> Result<EnabledContextTools, E> {
                Ok(EnabledContextTools::all_or_none(is_on))
            }

            fn visit_seq<A: SeqAccess<'de>>(
                self,
                names: A,
            ) -> Result<EnabledContextTools, A::Error> {
                BTreeSet::deserialize(SeqAccessDeserializer::new(names)).map(EnabledContextTools)
            }
        }

        deserializer.deserialize_any(Either)
    }
}
