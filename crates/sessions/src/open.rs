//! Creates sessions, and opens earlier ones again.
//!
//! In: where the agent runs and what `session/new` is to say. Out: a running session whose
//! agent knows it, and the agent's own answer. Nothing is left in the log of a new session that
//! could not be made, or that nobody waits for any more.

pub(crate) mod error;

use std::path::PathBuf;
use std::sync::Arc;

use roots::{Roots, RootsError};
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
        return make(context, options, id, params, None).await;
    }
    let observers = &context.settings.observers;
    // A session that was opened in advance has its id already.
    let wanted = options.order.id.is_none().then_some(params);
    let (id, link) = match options.slot.take_prepared(wanted) {
        Some(prepared) => (prepared.id, prepared.link),
        None => {
            let id = options.order.id.unwrap_or_else(mint::session_id);
            let opening = async {
                options.slot.belongs_to(id);
                let host = options.slot.host().await?;
                let opening =
                    observers.step(StartupStep::OpenSession, &options.slot.command().name);
                let opened = link::open_new(&host, id.as_str(), params).await;
                opening.ended(opened).map_err(OpenError::from)
            };
            (id, observer::with_parent(observers.trace_of(params), opening).await?)
        }
    };
    make(context, options, id, params, Some(link)).await
}

/// Makes a session in a task of its own, which ends what it has begun: whoever ordered the session
/// may go away meanwhile, and nobody could tell one that is half made from a whole one.
async fn make(
    context: &SessionContext,
    options: &OpenOptions,
    id: SessionId,
    params: &Json,
    link: Option<AgentLink>,
) -> Result<OpenedSession, OpenError> {
    let (context, options, params) = (context.clone(), options.clone(), params.clone());
    let making = task::spawn(async move {
        let is_linked = link.is_some();
        let opened = begin(&context, &options, id, &params, link).await?;
        let (handle, slot) = (opened.handle.clone(), options.slot.clone());
        let mut newborn = NewbornSession { context, slot, handle, is_taken: false };
        let initial_options = &options.order.initial_options;
        if is_linked
            && let Err(error) = apply_options(&newborn.handle, &newborn.slot, initial_options).await
        {
            newborn.is_taken = true;
            newborn.discard().await?;
            return Err(error.into());
        }
        Ok::<_, OpenError>((opened, newborn))
    });
    match making.await {
        Ok(made) => {
            let (opened, mut newborn) = made?;
            newborn.is_taken = true;
            Ok(opened)
        }
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            // The runtime is going away, and this task with it.
            Err(_) => std::future::pending().await,
        },
    }
}

/// A new session, which is removed again unless whoever ordered it takes it.
#[derive(Clone)]
struct NewbornSession {
    context: SessionContext,
    slot: Arc<HostSlot>,
    handle: SessionHandle,
    is_taken: bool,
}

impl NewbornSession {
    /// Ends the session, in which nothing was said yet, and removes it from the log.
    async fn discard(&self) -> Result<(), StoreError> {
        self.slot.shut_down().await;
        let _ = self.handle.finish().await;
        self.context.log.delete(self.handle.id()).await.map(drop)
    }
}

impl Drop for NewbornSession {
    fn drop(&mut self) {
        // Without a runtime the process is about to end.
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        if self.is_taken {
            return;
        }
        let mut newborn = self.clone();
        newborn.is_taken = true;
        runtime.spawn(task::boxed(async move {
            if let Err(error) = newborn.discard().await {
                let id = newborn.handle.id();
                tracing::warn!(session = %id, %error, "cannot remove a session that nobody took");
            }
        }));
    }
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
    let roots = open_roots(context, &place)?;
    Ok(start(context, options, claimed, roots, None))
}

fn open_roots(context: &SessionContext, place: &SessionDirectories) -> Result<Roots, RootsError> {
    let paths: Vec<PathBuf> = place.all().cloned().collect();
    Roots::open(&paths, &context.settings.forbidden.renewed())
}

async fn begin(
    context: &SessionContext,
    options: &OpenOptions,
    id: SessionId,
    params: &Json,
    link: Option<AgentLink>,
) -> Result<OpenedSession, OpenError> {
    let place = SessionDirectories::checked(params, &context.settings.forbidden)?;
    // All that may fail for want of something goes before what would have to be undone.
    let roots = open_roots(context, &place)?;
    let claim = context.log.claim(id).await?;
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
    let begun = context.log.append(Batch::new(id, created).with(changes)).await;
    let record = match begun {
        Ok(_) => context.log.session(id).await,
        Err(error) => Err(error),
    };
    let record = match record.and_then(|record| record.ok_or(StoreError::NoSuchSession(id))) {
        Ok(record) => record,
        Err(error) => {
            // An empty one is of no use; where there is no space it may have to stay.
            if let Err(error) = context.log.delete(id).await {
                tracing::warn!(session = %id, %error, "cannot remove a session that was not made");
            }
            return Err(error.into());
        }
    };
    let answer = link.as_ref().map_or_else(|| Json::trusted("{}"), |link| link.answer.clone());
    let preface = made_of.preface.clone();
    let linked = link.map(|link| LinkOutcome { link, resumed: None, recap: None, preface });
    let (changed, waiting) = (Vec::new(), Vec::new());
    let claimed = ClaimedSession { record, made_of, claim, changed, waiting };
    let handle = start(context, options, claimed, roots, linked);
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
    let missing = || OpenError::Store(StoreError::NoSuchSession(id));
    let claim = match context.log.claim(id).await {
        Err(error @ StoreError::InUse { .. }) => {
            let record = context.log.session(id).await?.ok_or_else(missing)?;
            let is_copying = SessionDetails::read(&record).is_partial;
            return Err(if is_copying { OpenError::Copying(id) } else { error.into() });
        }
        claim => claim?,
    };
    let record = context.log.session(id).await?.ok_or_else(missing)?;
    if SessionDetails::read(&record).is_partial {
        context.remove_partial(id).await?;
        return Err(missing());
    }
    // What it would say could not be relied on, and the next repair would cut it off.
    context.log.check_end(id).await?;
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
    roots: Roots,
    linked: Option<LinkOutcome>,
) -> SessionHandle {
    // This session needs none that was opened in advance.
    let _ = options.slot.take_prepared(None);
    let ClaimedSession { record, claim, changed, waiting, .. } = claimed;
    let (slot, policy) = (options.slot.clone(), options.policy.clone());
    slot.belongs_to(record.id);
    let start = SessionTaskStart { record, claim, changed, slot, policy, linked, waiting };
    SessionHandle::start(context, start, roots)
}
