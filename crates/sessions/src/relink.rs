//! Gives an agent that was started again its session back.
//!
//! In: the agent, and the facts about the session. Out: a link, with the options that the session's
//! clients have set, and the text for an agent that has forgotten the session.

use std::sync::Arc;

use bus::connection::CallError;
use projection::{LogReader, RecapProjection};
use store::{EventLog, StoreError};
use wire::event::ResumeWay;
use wire::{Event, Seq, SessionId, TurnId};

use crate::context::SessionContext;
use crate::details::{CreationParams, SessionDetails};
use crate::host::Host;
use crate::link::{self, AgentLink, EarlierSession, LinkOutcome};
use crate::open::error::OpenError;
use crate::options::{self, NotOffered, OptionChoice, SettingRequest, request_for};
use crate::session::error::ChooseError;

/// Events read at once.
const PAGE: usize = 512;

/// Reads what the session was made of, when its agent is started.
pub(crate) async fn made_of(
    context: &SessionContext,
    id: SessionId,
) -> Result<CreationParams, OpenError> {
    let record = context.log.session(id).await?.ok_or(StoreError::NoSuchSession(id))?;
    Ok(CreationParams::read(&*context.log, &record).await?)
}

/// Gives `host` the session back: its conversation, its settings, and the conversation as text if
/// it has forgotten it. Prompts of `waiting` turns are still to come.
pub(crate) async fn relink(
    context: &SessionContext,
    host: &Arc<Host>,
    id: SessionId,
    known: &EarlierSession,
    details: &SessionDetails,
    waiting: &[TurnId],
) -> Result<LinkOutcome, OpenError> {
    let (mut link, report) = link::reopen(host, id.as_str(), known).await?;
    // The session's maker waits for the result. Later nobody could take back an option that fails.
    let must_grant = known.agent_session.is_none();
    let initial = initial_settings(&link, host, id, details, must_grant)
        .inspect_err(|_| host.routes.remove(&link.agent_session))?;
    for (n, setting) in initial.iter().chain(details.settings.values()).enumerate() {
        let params = link::params_for(&link.agent_session, &setting.params);
        let within = host.settings.open_within;
        let set = host.connection.call_within(within, &setting.method, &params);
        let set = link::while_buffering(&mut link.messages, &mut link.early, set);
        match set.await {
            Ok(answer) => link.answer = options::answer_after(&link.answer, setting, &answer),
            Err(CallError::Refused(error)) if must_grant && n < initial.len() => {
                host.routes.remove(&link.agent_session);
                return Err(ChooseError::Refused(error).into());
            }
            Err(error) => {
                tracing::warn!(session = %id, method = setting.method, %error, "cannot set an option");
            }
        }
    }
    let recap = match link.how {
        ResumeWay::Reseed => recap(&*context.log, id, waiting).await?,
        _ => None,
    };
    Ok(LinkOutcome { link, resumed: Some(report), recap, preface: known.made_of.preface.clone() })
}

/// The requests for the options that the session was made with, for an agent that gets it (again).
/// What an agent offers no longer, which once had it, is left out.
fn initial_settings(
    link: &AgentLink,
    host: &Host,
    id: SessionId,
    details: &SessionDetails,
    must_grant: bool,
) -> Result<Vec<SettingRequest>, ChooseError> {
    let named = &details.initial_options;
    let mut requests = Vec::new();
    for (choice, wanted) in named.with_default_model(details.default_model.as_deref()) {
        match request_for(&link.answer, choice, wanted) {
            Ok((method, params)) => {
                requests.push(SettingRequest { method: method.to_owned(), params });
            }
            Err(NotOffered::NoChoice(_))
                if choice == OptionChoice::Model && host.quirks.may_lack_models(named) => {}
            Err(error) if must_grant => return Err(error.into()),
            Err(error) => {
                tracing::warn!(session = %id, option = choice.name(), %error, "cannot set an option");
            }
        }
    }
    Ok(requests)
}

/// The conversation as text, to go before the next prompt; `None` if nothing was said.
/// Prompts of `waiting` turns are still to come and left out.
async fn recap(
    log: &dyn EventLog,
    session: SessionId,
    waiting: &[TurnId],
) -> Result<Option<String>, StoreError> {
    let (mut reader, mut text) = (LogReader::<RecapProjection>::default(), String::new());
    let mut after = Seq(0);
    loop {
        let events = log.read(session, after, PAGE).await?;
        let Some(last) = events.last() else { break };
        after = last.seq;
        let is_past = |event: &&Event| event.turn.is_none_or(|turn| !waiting.contains(&turn));
        for event in events.iter().filter(is_past) {
            reader.project(event, &mut text);
        }
    }
    Ok(reader.projection_mut().preamble(text))
}
