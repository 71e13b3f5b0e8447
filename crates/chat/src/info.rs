//! A session, an agent and its options, as the daemon's API has them.

use serde::Deserialize;

use crate::conversation::line;
use crate::picker::AgentOption;

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct SessionInfo {
    pub(crate) id: String,
    pub(crate) agent: String,
    pub(crate) cwd: String,
    pub(crate) title: Option<String>,
    pub(crate) status: String,
    pub(crate) updated: i64,
    pub(crate) head: u64,
    pub(crate) options: Option<SessionChoices>,
    /// How its last turn ended.
    pub(crate) last_turn: Option<serde::de::IgnoredAny>,
    pub(crate) active_turn: Option<String>,
    /// Others that have it open.
    pub(crate) clients: usize,
    /// This chat has created it.
    #[serde(skip)]
    pub(crate) is_new: bool,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct SessionChoices {
    pub(crate) model: Option<SettableOption>,
    pub(crate) mode: Option<SettableOption>,
    pub(crate) effort: Option<SettableOption>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(crate) struct SettableOption {
    pub(crate) current: Option<String>,
    pub(crate) values: Vec<OptionValue>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(crate) struct OptionValue {
    pub(crate) id: String,
    pub(crate) name: String,
}

/// An agent of this machine.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct AgentInfo {
    pub(crate) id: String,
    pub(crate) name: Option<String>,
    pub(crate) version: Option<String>,
    pub(crate) is_usable: bool,
    pub(crate) is_built_in: bool,
    pub(crate) diagnoses: Vec<Diagnosis>,
}

/// A problem of an agent.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Diagnosis {
    pub(crate) message: String,
}

impl AgentInfo {
    /// Why the built-in agent cannot be used, and what to do about it, on one safe line.
    pub(crate) fn obstacle(&self) -> Option<String> {
        if self.is_usable {
            return None;
        }
        let why = self.diagnoses.first().map_or("not ready", |first| first.message.as_str());
        let why = line(why.lines().next().unwrap_or_default(), 160);
        let id = line(&self.id, 40);
        Some(format!("needs a model server: {why}; `switchyard agents doctor {id}` says more"))
    }
}

impl SessionInfo {
    /// One of the agent's options, if it has it.
    pub(crate) fn option(&self, option: AgentOption) -> Option<&SettableOption> {
        let options = self.options.as_ref()?;
        match option {
            AgentOption::Model => options.model.as_ref(),
            AgentOption::Mode => options.mode.as_ref(),
            AgentOption::Effort => options.effort.as_ref(),
        }
    }

    /// Whether nobody has prompted it, named it, or has it open.
    pub(crate) fn is_unused(&self) -> bool {
        let has_turn = self.last_turn.is_some() || self.active_turn.is_some();
        !has_turn && self.title.is_none() && self.clients == 0 && self.status == "idle"
    }

    /// Its status in words.
    pub(crate) fn status_words(&self) -> String {
        match self.status.as_str() {
            "requires_action" | "waiting" | "waiting_for_you" => "waiting for you".to_owned(),
            other => line(&other.replace('_', " "), 40),
        }
    }

    /// Its title, or else its agent and id, on one safe line.
    pub(crate) fn display_name(&self) -> String {
        match &self.title {
            Some(title) if !title.trim().is_empty() => line(title, 200),
            _ => format!("{} session {:.10}", line(&self.agent, 40), line(&self.id, 40)),
        }
    }
}
