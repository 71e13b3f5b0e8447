//! Starts the agent of a session before anybody prompts it, and sets its model and options.
//!
//! In: a session, and by which of the agent's methods to log in first. Out: an agent that has
//! the session, or the fault that kept it from it. One that runs already is left as it is.

use serde_json::json;
use wire::{Category, Fault, Json, SessionId};

use super::{LiveSession, RegistryError, SessionRegistry};
use crate::details::SessionDetails;
use crate::host::HostSlot;
use crate::open::OpenError;
use crate::options::{NotOffered, OptionChoice, offered_values, request_for};
use crate::session::{ChooseError, SessionError, SessionHandle};

impl SessionRegistry {
    /// Starts the session's agent, which is asked to log in by the method `auth` first, and gives
    /// it the session.
    pub async fn start(&self, id: SessionId, auth: Option<&str>) -> Result<(), RegistryError> {
        loop {
            let LiveSession { handle: session, slot } = self.awake(id, None).await?;
            if let Some(method) = auth {
                self.log_in(&slot, method).await?;
            }
            match session.link().await {
                Err(SessionError::PutAside) => {}
                linked => return linked?.map(drop).map_err(RegistryError::Agent),
            }
        }
    }

    /// Sets the session's model, effort, mode or option; its agent is started if it does not run.
    pub async fn choose(
        &self,
        id: SessionId,
        choice: OptionChoice<'_>,
        wanted: &str,
    ) -> Result<(), RegistryError> {
        loop {
            let LiveSession { handle: session, slot } = self.awake(id, None).await?;
            if choice == OptionChoice::Model && self.note_model(&session, wanted).await? {
                return Ok(());
            }
            let error = match session.choose(choice, wanted).await {
                Ok(()) => return Ok(()),
                Err(ChooseError::Session(SessionError::PutAside)) => continue,
                Err(error) => error,
            };
            let has_no_choice = matches!(error, ChooseError::NotOffered(NotOffered::NoChoice(_)));
            if has_no_choice && choice == OptionChoice::Model && slot.command().quirks.model_is_set
            {
                // The agent was started with one, and has no other way.
                let record = self.record(id).await?;
                if SessionDetails::read(&record).initial_options.model.as_deref() == Some(wanted) {
                    return Ok(());
                }
            }
            return Err(OpenError::from(error).into());
        }
    }

    /// Logs the model that a session was made with, if its agent was started with it and the log
    /// does not say so yet.
    async fn note_model(
        &self,
        session: &SessionHandle,
        wanted: &str,
    ) -> Result<bool, RegistryError> {
        let details = SessionDetails::read(&self.record(session.id()).await?);
        let offer = session.offer().await.ok().flatten();
        let Some(offer) =
            offer.filter(|_| details.initial_options.model.as_deref() == Some(wanted))
        else {
            return Ok(false);
        };
        let Ok((method, params)) = request_for(&offer.answer, OptionChoice::Model, wanted) else {
            return Ok(false);
        };
        let answer = offer.answer.read().unwrap_or_default();
        let current = offered_values(&answer, OptionChoice::Model).and_then(|model| model.current);
        let is_news = current.as_deref() == Some(wanted) && details.settings.is_empty();
        Ok(is_news && session.note_setting(method, &params).await.is_ok())
    }

    /// Logs in by a method of the agent; what the method does and asks for is up to the agent.
    async fn log_in(&self, slot: &HostSlot, method: &str) -> Result<(), RegistryError> {
        let host = slot.host().await.map_err(OpenError::from)?;
        let params = Json::of(&json!({ "methodId": method }));
        let within = self.context.settings.open_within;
        let asked = host.connection.call_within(within, "authenticate", &params).await;
        let refused = |error| Fault::new(Category::Auth, format!("cannot log in: {error}"));
        asked.map(drop).map_err(|error| RegistryError::Agent(refused(error)))
    }
}
