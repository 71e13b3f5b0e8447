//! The sessions of conversations and of runs, found by their ids.
//!
//! In: ids. Out: ids. A conversation's session has an id that is derived from the conversation's,
//! and a run's id begins like its session's. So neither needs a table, and both hold after a
//! restart. The rest of what is noted of them is in `_meta` of ACP's own requests: of the
//! `session/new`, from where the session's record has it, and of the prompt in the log.
//!
//! A conversation in which several agents are used is several sessions: the first one, and
//! one for each further agent.

use std::collections::HashMap;
use std::sync::Mutex;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use serde_with::skip_serializing_none;
use sessions::details::SessionDetails;
use sessions::mint;
use sessions::permission::PermissionMode;
use sessions::registry::SessionRegistry;
use store::SessionRecord;
use wire::event::PromptReceived;
use wire::{Json, SessionId, TurnId};

use super::Runs;
use super::run_request::NewRun;
use crate::locking::Locking as _;
use crate::principal::Principal;
use crate::problem::{Problem, kinds};

/// How much of its session's id a run's id begins with: enough to find one session, and
/// little enough to leave the rest of it unknown.
const PREFIX: usize = 12;

#[derive(Debug, Clone)]
pub(super) struct Conversation {
    /// The id by which its client knows it.
    pub(super) id: String,
    /// The session it began with, if it has begun.
    pub(super) main: SessionId,
    /// The namespace of its id.
    owner: String,
}

impl Runs {
    /// The conversation that a request means; a new one if it names none.
    pub(super) async fn conversation(
        &self,
        new: &NewRun,
        principal: &Principal,
    ) -> Result<Conversation, Problem> {
        // Principals that see everything share theirs; others have their own.
        let owner = match principal.own_sessions {
            true => principal.namespace(),
            false => String::new(),
        };
        let Some(id) = &new.conversation_id else {
            let main = match &new.client_request_id {
                // The same when the request comes again.
                Some(request) => {
                    SessionId::derived(&["run", &principal.namespace(), request].map(str::as_bytes))
                }
                None => mint::session_id(),
            };
            return Ok(Conversation { id: main.to_string(), main, owner });
        };
        // A conversation whose id was made here.
        if let Ok(main) = SessionId::parse(id)
            && let Some(record) = self.visible(id, principal).await?
            && ConversationNote::read(&record).is_some_and(|note| note.conversation_id == *id)
        {
            return Ok(Conversation { id: id.clone(), main, owner });
        }
        let main = SessionId::derived(&["conversation", &owner, id].map(str::as_bytes));
        Ok(Conversation { id: id.clone(), main, owner })
    }

    /// A session that `principal` may see, if there is one.
    pub(super) async fn visible(
        &self,
        id: &str,
        principal: &Principal,
    ) -> Result<Option<SessionRecord>, Problem> {
        match self.daemon.visible(id, principal).await {
            Err(problem) if problem.is(kinds::NOT_FOUND) => Ok(None),
            found => found.map(Some),
        }
    }

    /// The session in which `agent` talks in this conversation, and its record, if it exists.
    pub(super) async fn session_of(
        &self,
        conversation: &Conversation,
        agent: Option<&str>,
    ) -> Result<(SessionId, Option<SessionRecord>), Problem> {
        let log = self.daemon.registry.log();
        let main = log.session(conversation.main).await?;
        match (&main, agent) {
            (Some(record), Some(agent)) if record.agent != agent => {
                let Conversation { id, owner, .. } = conversation;
                let side = SessionId::derived(&["side", owner, id, agent].map(str::as_bytes));
                Ok((side, log.session(side).await?))
            }
            _ => Ok((conversation.main, main)),
        }
    }

    /// The turn that runs in the conversation, if any.
    pub(super) async fn busy(
        &self,
        conversation: &Conversation,
        session: SessionId,
    ) -> Result<Option<TurnId>, Problem> {
        let mut sessions = self.sides.of(conversation.main);
        sessions.extend([conversation.main, session]);
        for id in sessions {
            let record = self.daemon.registry.log().session(id).await?;
            if let Some(turn) = record.and_then(|record| record.active_turn) {
                return Ok(Some(turn));
            }
        }
        Ok(None)
    }
}

/// The id of a run of `session`: the one that its request had before, or a new one.
pub(super) fn run_id(session: SessionId, request: Option<(&Principal, &str)>) -> TurnId {
    let own = match request {
        Some((principal, id)) => {
            TurnId::derived(&[session.as_str(), &principal.namespace(), id].map(str::as_bytes))
        }
        None => mint::turn_id(),
    };
    let prefix = session.as_str().get(..PREFIX).unwrap_or_default();
    let rest = own.as_str().get(PREFIX..).unwrap_or_default();
    TurnId::parse(&format!("{prefix}{rest}")).unwrap_or(own)
}

/// How the id of a run's session begins.
pub(super) fn session_prefix(run: &TurnId) -> &str {
    run.as_str().get(..PREFIX).unwrap_or_default()
}

/// Further sessions of conversations in which something may run. After a restart nothing
/// does, so this need not be kept.
#[derive(Debug, Default)]
pub(super) struct SideSessions(Mutex<HashMap<SessionId, Vec<SessionId>>>);

/// Limit of the table: more cannot run at a time, by far.
const MAX_SIDES: usize = 4096;

impl SideSessions {
    pub(super) fn add(&self, registry: &SessionRegistry, main: SessionId, side: SessionId) {
        if main == side {
            return;
        }
        let mut sides = self.0.locked();
        if sides.len() >= MAX_SIDES {
            sides.retain(|_, all| all.iter().any(|id| registry.awake_handle(*id).is_some()));
        }
        let all = sides.entry(main).or_default();
        if !all.contains(&side) {
            all.retain(|id| registry.awake_handle(*id).is_some());
            all.push(side);
        }
    }

    fn of(&self, main: SessionId) -> Vec<SessionId> {
        let sides = self.0.locked();
        sides.get(&main).cloned().unwrap_or_default()
    }
}

/// The note in a session's record that says which conversation it belongs to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ConversationNote {
    pub(super) conversation_id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) project_id: Option<String>,
}

/// The note in a prompt that says what the run was requested with, beside the text.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct RunNote {
    pub(super) conversation_id: String,
    pub(super) project_id: Option<String>,
    pub(super) client_request_id: Option<String>,
    pub(super) user_message_id: Option<String>,
    pub(super) assistant_message_id: Option<String>,
    pub(super) model: Option<String>,
    pub(super) reasoning: Option<String>,
    pub(super) session_mode: Option<String>,
    /// What the agent may do, as far as it is the session's own.
    pub(super) permissions: Option<PermissionMode>,
    /// Warnings about requested things that have no effect.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) warnings: Vec<String>,
}

#[derive(Deserialize)]
struct PromptMeta {
    switchyard: SwitchyardPromptMeta,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct OpenDesignNote {
    open_design: ConversationNote,
}

#[derive(Deserialize)]
struct SwitchyardPromptMeta {
    run: RunNote,
}

impl ConversationNote {
    pub(super) fn read(record: &SessionRecord) -> Option<Self> {
        Some(SessionDetails::read(record).note()?.read::<OpenDesignNote>().ok()?.open_design)
    }

    pub(super) fn to_note(&self) -> Json {
        Json::of(&json!({ "openDesign": self }))
    }
}

impl RunNote {
    /// The note of a prompt that is a run; others have none.
    pub(super) fn read(received: &PromptReceived<'_>) -> Option<Self> {
        Some(received.meta?.read::<PromptMeta>().ok()?.switchyard.run)
    }

    /// `_meta` of a `session/prompt`.
    pub(super) fn to_meta(&self) -> Value {
        json!({ "switchyard": { "run": self } })
    }
}
