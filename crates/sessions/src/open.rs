//! Creates sessions, and opens earlier ones again.
//!
//! In: where the agent runs and what `session/new` is to say. Out: a running session whose
//! agent knows it, and the agent's own answer. Nothing is left in the log when the agent
//! refuses a new session.

pub(crate) mod error;

use std::path::PathBuf;
use std::sync::Arc;

use store::{Batch, Claim, NewSession, RecordChanges, SessionRecord, StoreError};
use wire::event::SessionCreated;
use wire::{Json, Seq, SessionId};

use crate::budget::Budget;
use crate::context::{SessionContext, WaitingPrompt};
use crate::details::{CreationParams, SessionDetails};
use crate::host::HostSlot;
use crate::link::{self, AgentLink, LinkOutcome};
use crate::observer::{self, StartupStep};
use crate::options::{InitialOptions, NotOffered, OptionChoice};
use crate::order::{SessionDirectories, SessionOrder};
use crate::permission::PermissionPolicy;
use crate::session::{ChooseError, SessionHandle, SessionTaskStart};
use crate::{context, mint, preface};
pub use error::OpenError;

/// The agent slot, the policy and the order by which a session is opened.
#[derive(Debug, Clone)]
pub struct OpenOptions {
    pub slot: Arc<HostSlot>,
    pub policy: PermissionPolicy,
    /// The order for a new session; an earlier one keeps what it was made with.
    pub order: SessionOrder,
}

/// A session that is ready for prompts.
#[derive(Debug)]
pub struct OpenedSession {
    pub handle: SessionHandle,
    /// The agent's answer to session/new, load or resume.
    pub answer: Json,
    /// The place in the log after which everything is new.
    pub cursor: Seq,
}

/// An earlier session that this process has claimed and repaired.
#[derive(Debug)]
pub struct ClaimedSession {
    pub record: SessionRecord,
    made_of: CreationParams,
    pub(crate) claim: Claim,
    /// Differences since the session was last opened, for the resume report.
    pub(crate) changed: Vec<String>,
    /// Prompts of its log that never began.
    waiting: Vec<WaitingPrompt>,
}

impl ClaimedSession {
    /// Replaces what the session is made of by the order that opens it again.
    pub(crate) async fn adopt_order(
        &mut self,
        context: &SessionContext,
        again: &SessionOrder,
    ) -> Result<(), OpenError> {
        let new_params = again.reopen_params(&self.made_of.new_params);
        let now = SessionDirectories::checked(&new_params, &context.settings.forbidden)?.cwd;
        let before = SessionDirectories::read(&self.made_of.new_params).map(|place| place.cwd);
        let is_elsewhere =
            |before: &PathBuf| *before != now && before.canonicalize().ok().as_ref() != Some(&now);
        if let Some(before) = before.ok().filter(is_elsewhere) {
            let (before, now) = (before.display(), now.display());
            self.changed.push(format!("cwd_changed: it was {before} and is {now}"));
        }
        self.made_of.new_params = new_params;
        let mut details = SessionDetails::read(&self.record);
        details.permissions = again.permissions.or(details.permissions);
        let origin = Some(self.made_of.to_origin(details.made_by.clone()));
        self.record.details = details.to_json();
        let details = Some(self.record.details.clone());
        let changes = RecordChanges { origin, details, ..RecordChanges::default() };
        Ok(context.log.update(self.record.id, changes).await?)
    }
}

/// A new session, whose agent is started with the first prompt if its order says so. `params` are
/// those of `session/new`.
pub async fn new(
    context: &SessionContext,
    options: &OpenOptions,
    params: &Json,
) -> Result<OpenedSession, OpenError> {
    SessionDirectories::checked(params, &context.settings.forbidden)?;
    if options.order.starts_later {
        let id = options.order.id.unwrap_or_else(mint::session_id);
        return begin(context, options, id, params, None).await;
    }
    let observers = &context.settings.observers;
    // A session that was opened in advance has its id already.
    let wanted = options.order.id.is_none().then_some(params);
    let (id, link) = match options.slot.take_prepared(wanted) {
        Some(prepared) => (prepared.id, prepared.link),
        None => {
            let id = options.order.id.unwrap_or_else(mint::session_id);
            let opening = async {
                let host = options.slot.host().await?;
                let opening =
                    observers.step(StartupStep::OpenSession, &options.slot.command().name);
                let opened = link::open_new(&host, id.as_str(), params).await;
                opening.ended(opened).map_err(OpenError::from)
            };
            (id, observer::with_parent(observers.trace_of(params), opening).await?)
        }
    };
    let opened = begin(context, options, id, params, Some(link)).await?;
    if let Err(error) =
        apply_options(&opened.handle, &options.slot, &options.order.initial_options).await
    {
        options.slot.shut_down().await;
        let _ = opened.handle.finish().await;
        // Nothing was said in it yet.
        context.log.delete(id).await?;
        return Err(error.into());
    }
    Ok(opened)
}

/// Sets the options that the session was to get.
pub async fn apply_options(
    handle: &SessionHandle,
    slot: &HostSlot,
    initial_options: &InitialOptions,
) -> Result<(), ChooseError> {
    let quirks = &slot.command().quirks;
    for (choice, wanted) in initial_options.with_default_model(quirks.default_model.as_deref()) {
        match handle.choose(choice, wanted).await {
            Err(ChooseError::NotOffered(NotOffered::NoChoice(_)))
                if choice == OptionChoice::Model && quirks.may_lack_models(initial_options) => {}
            chosen => chosen?,
        }
    }
    Ok(())
}

/// An earlier session whose agent is started with the next prompt.
pub fn wake(
    context: &SessionContext,
    options: &OpenOptions,
    claimed: ClaimedSession,
) -> Result<SessionHandle, OpenError> {
    let place =
        SessionDirectories::checked(&claimed.made_of.new_params, &context.settings.forbidden)?;
    start(context, options, claimed, &place, None)
}

async fn begin(
    context: &SessionContext,
    options: &OpenOptions,
    id: SessionId,
    params: &Json,
    link: Option<AgentLink>,
) -> Result<OpenedSession, OpenError> {
    let place = SessionDirectories::checked(params, &context.settings.forbidden)?;
    let (agent, order) = (options.slot.command(), &options.order);
    let preface = preface::of(order, agent, params, &place.cwd).await;
    let made_by = order.made_by();
    let made_of = CreationParams { new_params: params.clone(), preface };
    let new = NewSession {
        id,
        agent: agent.name.clone(),
        cwd: place.cwd.to_string_lossy().into_owned(),
        created: mint::now(),
        details: details(options, &made_of, link.is_none()).to_json(),
        origin: Some(made_of.to_origin(made_by.clone())),
    };
    context.log.create(new).await?;
    let claim = context.log.claim(id).await?;
    let created = SessionCreated {
        agent: agent.name.clone(),
        command: agent.argv(),
        cwd: place.cwd.to_string_lossy().into_owned(),
        forked_from: None,
        at: None,
        by: made_by,
    };
    let created = vec![context::draft(None, created)];
    let title = order.title.clone().map(Some);
    let changes = RecordChanges { title, ..RecordChanges::default() };
    if let Err(error) = context.log.append(Batch::new(id, created).with(changes)).await {
        // An empty one is of no use; where there is no space it may have to stay.
        let _ = context.log.delete(id).await;
        return Err(error.into());
    }
    let Some(record) = context.log.session(id).await? else {
        return Err(StoreError::NoSuchSession(id).into());
    };
    let answer = link.as_ref().map_or_else(|| Json::trusted("{}"), |link| link.answer.clone());
    let preface = made_of.preface.clone();
    let linked = link.map(|link| LinkOutcome { link, resumed: None, recap: None, preface });
    let (changed, waiting) = (Vec::new(), Vec::new());
    let claimed = ClaimedSession { record, made_of, claim, changed, waiting };
    let handle = match start(context, options, claimed, &place, linked) {
        Ok(handle) => handle,
        Err(error) => {
            // Nothing was said in it yet.
            context.log.delete(id).await?;
            return Err(error);
        }
    };
    Ok(OpenedSession { handle, answer, cursor: Seq(0) })
}

fn details(options: &OpenOptions, made_of: &CreationParams, is_unstarted: bool) -> SessionDetails {
    let (agent, order) = (options.slot.command(), &options.order);
    // Whoever makes a session that is not started cannot wait for them to be granted.
    let (initial_options, default_model) = match is_unstarted {
        true => (order.initial_options.clone(), agent.quirks.default_model.clone()),
        false => (InitialOptions::default(), None),
    };
    SessionDetails {
        is_named: agent.is_named,
        made_by: order.made_by(),
        has_own_worker: order.has_own_worker,
        made_for: order.made_for.as_deref().cloned(),
        permissions: order.permissions,
        budget: Budget::new(order.limits),
        is_titled: order.title.is_some(),
        default_model: default_model.filter(|_| initial_options.model.is_none()),
        initial_options,
        ..SessionDetails::new(agent.argv(), made_of)
    }
}

/// Takes an earlier session over, unless another process has it.
pub async fn claim(context: &SessionContext, id: SessionId) -> Result<ClaimedSession, OpenError> {
    let claim = context.log.claim(id).await?;
    let missing = || OpenError::Store(StoreError::NoSuchSession(id));
    let record = context.log.session(id).await?.ok_or_else(missing)?;
    if SessionDetails::read(&record).is_partial {
        context.remove_partial(id).await?;
        return Err(missing());
    }
    let waiting = context.repair(&record).await?;
    context.move_creation_params(&record).await?;
    let record = context.log.session(id).await?.ok_or_else(missing)?;
    let made_of = CreationParams::read(&*context.log, &record).await?;
    Ok(ClaimedSession { record, made_of, claim, changed: Vec::new(), waiting })
}

fn start(
    context: &SessionContext,
    options: &OpenOptions,
    claimed: ClaimedSession,
    place: &SessionDirectories,
    linked: Option<LinkOutcome>,
) -> Result<SessionHandle, OpenError> {
    // This session needs none that was opened in advance.
    let _ = options.slot.take_prepared(None);
    let roots: Vec<PathBuf> = place.all().cloned().collect();
    let ClaimedSession { record, claim, changed, waiting, .. } = claimed;
    let (slot, policy) = (options.slot.clone(), options.policy.clone());
    let start = SessionTaskStart { record, claim, changed, slot, policy, linked, waiting };
    Ok(SessionHandle::start(context, start, &roots)?)
}
