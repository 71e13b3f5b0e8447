//! A session that a command uses: in this process, or in the daemon.
//!
//! The log is the same for both, so only what changes a session differs.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Value, json};
use sessions::host::HostSlot;
use sessions::mint;
use sessions::permission::{DecidedBy, Decider};
use sessions::session::{Answer, Phase, SessionHandle};
use wire::{CallId, Json, SessionId, TurnId};

use crate::outcome::Failure;
use crate::reach::Daemon;

/// Answers where nobody is there to ask.
pub(crate) const UNATTENDED: &str = "unattended";

#[derive(Debug, Clone)]
pub(crate) enum Reached {
    Here { handle: SessionHandle, slot: Arc<HostSlot> },
    There { daemon: Daemon, id: SessionId },
}

impl Reached {
    pub(crate) fn id(&self) -> SessionId {
        match self {
            Self::Here { handle, .. } => handle.id(),
            Self::There { id, .. } => *id,
        }
    }

    /// Prompts it; `params` are those of `session/prompt`.
    pub(crate) async fn prompt(&self, params: Json, by: &str) -> Result<TurnId, Failure> {
        match self {
            Self::Here { handle, .. } => {
                let turn = mint::turn_id();
                handle.prompt(turn, params, by).await?;
                Ok(turn)
            }
            Self::There { daemon, id } => {
                #[derive(Deserialize)]
                #[serde(rename_all = "camelCase")]
                struct Accepted {
                    turn_id: String,
                }
                let body: Value = params.read().unwrap_or_default();
                let path = format!("/v1/sessions/{id}/prompt");
                let accepted: Accepted = daemon.post(&path, &body).await?;
                TurnId::parse(&accepted.turn_id)
                    .map_err(|_| Failure::new(1, "the daemon named no turn"))
            }
        }
    }

    /// Asks the running turn to stop; does not wait for it.
    pub(crate) async fn cancel_soon(&self, by: &str) -> Result<(), Failure> {
        match self {
            Self::Here { handle, .. } => Ok(handle.cancel_soon(by).await?),
            Self::There { daemon, id } => {
                let (daemon, path) = (daemon.clone(), format!("/v1/sessions/{id}/cancel"));
                task::spawn(async move { daemon.post::<Value>(&path, &json!({})).await.is_ok() });
                Ok(())
            }
        }
    }

    /// Stops the running turn; returns when none runs.
    pub(crate) async fn cancel(&self, by: &str) {
        match self {
            Self::Here { handle, .. } => {
                let _ = handle.cancel(by).await;
            }
            Self::There { daemon, id } => {
                let path = format!("/v1/sessions/{id}/cancel");
                let _ = daemon.post::<Value>(&path, &json!({})).await;
            }
        }
    }

    pub(crate) async fn answer(&self, request: CallId, answer: Answer, by: &'static str) {
        match self {
            Self::Here { handle, .. } => {
                let by = match by {
                    UNATTENDED => Decider::new(DecidedBy::Unattended),
                    by => Decider::client(by),
                };
                let _ = handle.answer(request, answer, by).await;
            }
            Self::There { daemon, id } => {
                let path = format!("/v1/sessions/{id}/permissions/{request}");
                let body = match answer {
                    Answer::Permission(Some(option)) => json!({ "optionId": option }),
                    Answer::Permission(None) => json!({ "outcome": "cancelled" }),
                    Answer::Reject if by == UNATTENDED => json!({ "outcome": "unattended" }),
                    Answer::Reject => json!({ "outcome": "rejected" }),
                    Answer::Elicitation(response) => json!({ "response": response }),
                };
                let _ = daemon.post::<Value>(&path, &body).await;
            }
        }
    }

    /// Until the session cannot go on; why.
    pub(crate) async fn halted(&self) -> Option<String> {
        match self {
            Self::Here { handle, .. } => {
                let mut phase = handle.phase();
                let is_over = |phase: &Phase| matches!(phase, Phase::Over(_) | Phase::PutAside);
                match phase.wait_for(is_over).await.as_deref() {
                    Ok(Phase::Over(why)) => why.clone(),
                    _ => None,
                }
            }
            Self::There { daemon, .. } => {
                daemon.gone().await;
                Some("the daemon has ended".to_owned())
            }
        }
    }

    /// Why its task here has ended before its time.
    pub(crate) fn why_over(&self) -> Option<String> {
        let Self::Here { handle, .. } = self else { return None };
        match &*handle.phase().borrow() {
            Phase::Over(why) => why.clone(),
            _ => None,
        }
    }

    /// Ends what was started for this command alone; a daemon keeps what it has.
    pub(crate) async fn let_go(&self) {
        if let Self::Here { handle, slot } = self {
            slot.shut_down().await;
            // A session that cannot go on has ended already.
            let _ = handle.finish().await;
        }
    }
}
