//! Starts the agent of a session before anybody prompts it.
//!
//! In: a session, and by which of the agent's methods to log in first. Out: an agent that has
//! the session, or the fault that kept it from it. One that runs already is left as it is.

use serde_json::json;
use wire::{Category, Fault, Json, SessionId};

use super::{Desk, DeskError};
use crate::host::HostSlot;
use crate::open::OpenError;
use crate::session::SessionError;

impl Desk {
    /// Starts the session's agent, which is asked to log in by the method `auth` first, and gives
    /// it the session.
    pub async fn start(&self, id: SessionId, auth: Option<&str>) -> Result<(), DeskError> {
        loop {
            let (session, slot) = self.seated(id).await?;
            if let Some(method) = auth {
                self.log_in(&slot, method).await?;
            }
            match session.link().await {
                Err(SessionError::PutAside) => {}
                linked => return linked?.map(drop).map_err(DeskError::Agent),
            }
        }
    }

    /// What a method does, and whom it asks for what, is the agent's business.
    async fn log_in(&self, slot: &HostSlot, method: &str) -> Result<(), DeskError> {
        let host = slot.host().await.map_err(OpenError::from)?;
        let params = Json::of(&json!({ "methodId": method }));
        let within = self.yard.settings.open_within;
        let asked = host.connection().call_within(within, "authenticate", &params).await;
        let refused = |error| Fault::new(Category::Auth, format!("cannot log in: {error}"));
        asked.map(drop).map_err(|error| DeskError::Agent(refused(error)))
    }
}
