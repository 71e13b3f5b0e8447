//! A client's requests about sessions: new, load, resume, fork, close, delete.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use store::{BudgetedRead, SessionFilter, SessionRecord};
use wire::{Json, Message, RpcError, Seq, SessionId, codes};

use super::{Feed, Front, OpenSession, feed, named_session, no_such_session};
use crate::details::CreationParams;
use crate::host::Host;
use crate::link;
use crate::lock::lock;
use crate::open::{OpenError, OpenedSession};
use crate::permission::Decider;
use crate::registry::ReopenRequest;
use bus::connection::RpcResult;
use projection::{AcpReplay, TerminalsAsText};

/// Events read at once while replaying.
const PAGE: usize = 256;
/// The wait for an agent to delete a session on its side; it may take longer by itself.
const DELETED_WITHIN: Duration = Duration::from_secs(5);

impl Front {
    pub(super) async fn new_session(self: Arc<Self>, message: Message) -> RpcResult {
        let opened = self.make_session(&message.body_json()).await?;
        self.start_new_feed(opened).await
    }

    pub(super) async fn fork_session(self: &Arc<Self>, open: &OpenSession) -> RpcResult {
        let registry = &self.registry;
        let fork = registry.fork(open.handle.id(), None, Some(self.maker())).await?;
        let answer = self.linked(fork).await?;
        let handle = registry.session(fork).await?;
        let cursor = registry.record(fork).await.map_or(Seq(0), |record| record.head);
        self.start_new_feed(OpenedSession { handle, answer, cursor }).await
    }

    pub(super) async fn start_new_feed(self: &Arc<Self>, opened: OpenedSession) -> RpcResult {
        let own_id = Json::of(&opened.handle.id());
        let answer = wire::set_member(&opened.answer, &["sessionId"], &own_id);
        self.start_feed(opened, None, feed::WaitingPrompts::default(), None).await?;
        answer.map_err(RpcError::internal)
    }

    /// `session/load`, which replays the history, or `session/resume`.
    pub(super) async fn reopen_session(self: Arc<Self>, message: Message) -> RpcResult {
        let (params, replays) = (message.body_json(), message.method() == "session/load");
        let named = named_session(&message)?;
        if let Some(open) = self.open_session(&named) {
            return self.restart_feed(&named, &open, replays).await;
        }
        let Some(record) = self.find(&named).await? else {
            return Err(RpcError::not_found(format_args!("session `{named}`")));
        };
        let alias = (named != record.id.as_str()).then_some(named);
        let registry = &self.registry;
        // Watching changes nothing, and is no reason to start an agent.
        let only_watches = self.profile.is_observer;
        match names_cwd(&params) && !only_watches {
            true => {
                let params = wire::remove_member(&params, "sessionId");
                let params = params.map_err(RpcError::internal)?;
                let order = &|made_of: &CreationParams| self.again(&params, made_of);
                registry
                    .reopen_session(record.id, &ReopenRequest { order, spare: &self.spare })
                    .await?
            }
            false => registry.session(record.id).await?,
        };
        // Events that are logged from here on are sent by the feed.
        let record = registry.record(record.id).await?;
        let replayed = match replays {
            true => Some(self.replay(&record, alias.as_deref()).await?),
            false => None,
        };
        let answer = match only_watches {
            true => Json::trusted("{}"),
            false => self.linked(record.id).await?,
        };
        let handle = registry.session(record.id).await?;
        let said = wire::remove_member(&answer, "sessionId").map_err(RpcError::internal)?;
        let opened = OpenedSession { handle, answer, cursor: record.head };
        self.start_feed(opened, alias, feed::WaitingPrompts::default(), replayed).await?;
        Ok(said)
    }

    /// The client has the session open and asks for it again: the agent keeps it, and the
    /// client gets its view anew.
    async fn restart_feed(
        self: &Arc<Self>,
        named: &str,
        open: &OpenSession,
        replays: bool,
    ) -> RpcResult {
        let answer = wire::remove_member(&open.answer, "sessionId").map_err(RpcError::internal)?;
        if replays || open.handle.is_over() {
            self.follow_anew(named, open, replays).await?;
        }
        Ok(answer)
    }

    /// Follows a session anew that the client has open: one that could not go on is woken for it.
    async fn follow_anew(
        self: &Arc<Self>,
        named: &str,
        open: &OpenSession,
        replays: bool,
    ) -> Result<(), RpcError> {
        open.feed.abort();
        let id = open.handle.id();
        let handle = self.registry.session(id).await?;
        let record = self.registry.log().session(id).await.map_err(OpenError::from)?;
        let Some(record) = record else { return Err(RpcError::not_found(named)) };
        let alias = (named != id.as_str()).then(|| named.to_owned());
        let replayed = match replays {
            true => Some(self.replay(&record, alias.as_deref()).await?),
            false => None,
        };
        let opened = OpenedSession { handle, answer: open.answer.clone(), cursor: record.head };
        self.start_feed(opened, alias, open.prompts.clone(), replayed).await
    }

    /// The session that a message is about, as the client has it open, and able to go on: whatever
    /// kept it from that may be over.
    pub(super) async fn usable(
        self: &Arc<Self>,
        message: &Message,
    ) -> Result<OpenSession, RpcError> {
        let open = self.scoped(message)?;
        if !open.handle.is_over() {
            return Ok(open);
        }
        let named = named_session(message)?;
        self.follow_anew(&named, &open, false).await?;
        self.scoped(message)
    }

    /// A session by our id, or by the agent's.
    pub(super) async fn find(&self, named: &str) -> Result<Option<SessionRecord>, RpcError> {
        let log = self.registry.log();
        if let Ok(id) = SessionId::parse(named)
            && let Some(record) = log.session(id).await.map_err(OpenError::from)?
        {
            return Ok(Some(record).filter(|record| self.sees(record)));
        }
        let filter = SessionFilter {
            agent: self.order().agent,
            agent_session: Some(named.to_owned()),
            limit: 1,
            ..SessionFilter::default()
        };
        let found = log.sessions(filter).await.map_err(OpenError::from)?.pop();
        Ok(found.filter(|record| self.sees(record)))
    }

    pub(super) async fn replay(
        &self,
        record: &SessionRecord,
        alias: Option<&str>,
    ) -> Result<TerminalsAsText, RpcError> {
        let name = alias.unwrap_or(record.id.as_str());
        let mut projection = AcpReplay::new(name).serving_terminals();
        let (log, budget) = (self.registry.log(), &self.profile.budget);
        let abilities = self.abilities();
        let (mut after, mut updates) = (Seq(0), Vec::new());
        while after < record.head {
            let reading = budget.read(&**log, record.id, after, PAGE).await;
            let BudgetedRead { events, taken } = reading.map_err(OpenError::from)?;
            let Some(last) = events.last() else { break };
            after = last.seq;
            let shown = events.iter().filter(|event| event.seq <= record.head);
            for event in shown.filter_map(|event| abilities.adapted(event)) {
                projection.project(&event, &mut updates);
            }
            drop(events);
            for params in updates.drain(..) {
                let params = feed::with_session_id(&params, alias);
                let sent = self.client.notify_in_turn("session/update", &params).await;
                sent.map_err(RpcError::internal)?;
            }
            feed::until_sent(taken, &self.client).await;
        }
        Ok(projection.terminals)
    }

    /// Starts sending a session's log to the client.
    pub(super) async fn start_feed(
        self: &Arc<Self>,
        opened: OpenedSession,
        alias: Option<String>,
        prompts: feed::WaitingPrompts,
        replayed: Option<TerminalsAsText>,
    ) -> Result<(), RpcError> {
        let OpenedSession { handle, answer, cursor, .. } = opened;
        let attachment = match self.gets_no_requests() {
            true => None,
            false => {
                let attaching = handle.attach(self.serves());
                Some(attaching.await.map_err(RpcError::internal)?)
            }
        };
        let (registry, profile) = (&self.registry, &self.profile);
        // Its messages of no session are this client's, too, if nobody else has the process.
        let slot =
            registry.slot_of(handle.id()).filter(|slot| self.is_local() && !slot.is_shared());
        if let Some(host) = slot.and_then(|slot| slot.running()) {
            self.follow_sessionless(&host);
        }
        let presence = Arc::new(registry.enter(handle.id()));
        let public_id = alias.clone().unwrap_or_else(|| handle.id().to_string());
        let feed = Feed {
            client: self.client.clone(),
            log: registry.log().clone(),
            budget: profile.budget.clone(),
            handle: handle.clone(),
            attachment,
            decider: Decider::client(&profile.client),
            abilities: self.abilities(),
            alias,
            cursor,
            prompts: prompts.clone(),
            prompts_of_others: std::collections::HashMap::default(),
            asking: std::collections::HashMap::default(),
            calls: Vec::new(),
            pending: registry.context().pending.clone(),
            halted: registry.context().halted.clone(),
            terminals: replayed.unwrap_or_else(|| TerminalsAsText::new(&public_id, true)),
        };
        let feed = self.tasks.spawn(task::boxed(feed.run())).abort_handle();
        let open = OpenSession { handle, prompts, feed, answer, _presence: presence };
        lock(&self.sessions).insert(public_id, open);
        Ok(())
    }

    pub(super) async fn close_session(self: Arc<Self>, message: Message) -> RpcResult {
        let named = named_session(&message)?;
        let Some(open) = self.open_session(&named) else {
            return match self.find(&named).await? {
                Some(_) => Ok(Json::trusted("{}")),
                None => Err(no_such_session(&named)),
            };
        };
        self.may_act()?;
        lock(&self.sessions).remove(&named);
        let (registry, id) = (&self.registry, open.handle.id());
        let (feed, prompts) = (open.feed.clone(), open.prompts.clone());
        drop(open);
        if registry.n_clients(id) == 0 {
            // Its feed tells how its turns end, and ends with it.
            registry.close(id).await?;
            return Ok(Json::trusted("{}"));
        }
        feed.abort();
        let waiting = std::mem::take(&mut *lock(&prompts));
        for waiting in waiting.into_values() {
            self.respond(&waiting, Ok(Json::trusted(r#"{"stopReason":"cancelled"}"#))).await;
        }
        Ok(Json::trusted("{}"))
    }

    pub(super) async fn delete_session(self: Arc<Self>, message: Message) -> RpcResult {
        let named = named_session(&message)?;
        if !self.profile.may_delete {
            return Err(RpcError::new(codes::INVALID_REQUEST, "only admins may delete sessions"));
        }
        let lost = async || {
            let id = SessionId::parse(&named).ok()?;
            let found = self.registry.log().session(id).await;
            matches!(found, Err(store::StoreError::SessionLost { .. })).then_some(id)
        };
        // What is left of a lost one can be forgotten.
        if let Some(id) = lost().await {
            self.registry.delete(id).await?;
        } else if let Some(record) = self.find(&named).await? {
            self.delete_in_agent(&record).await;
            self.registry.delete(record.id).await?;
        }
        // Deleting what is not there is done already.
        if let Some(open) = lock(&self.sessions).remove(&named) {
            open.feed.abort();
        }
        Ok(Json::trusted("{}"))
    }
}

impl Front {
    /// Asks an agent that runs to delete the session on its side, if it can. What it keeps of it is
    /// its own business.
    async fn delete_in_agent(&self, record: &SessionRecord) {
        let registry = &self.registry;
        let Some(agent_session) = &record.agent_session else { return };
        let host = self.running_agent(record).await;
        let Some(host) = host.filter(|host| host.capabilities.delete) else { return };
        if let Some(handle) = registry.awake_handle(record.id) {
            let _ = handle.cancel("delete").await;
        }
        let params = Json::of(&json!({ "sessionId": agent_session }));
        let telling = link::call(&host, "session/delete", &params);
        let _ = tokio::time::timeout(DELETED_WITHIN, telling).await;
    }

    /// The process that has a session, or else another one of this client and of the same agent.
    async fn running_agent(&self, record: &SessionRecord) -> Option<Arc<Host>> {
        let registry = &self.registry;
        let own = registry.slot_of(record.id);
        if let Some(host) = own.and_then(|slot| slot.running()) {
            return Some(host);
        }
        let spare = self.spare.lock().await.as_ref().map(|options| options.slot.clone());
        let open: Vec<SessionId> =
            lock(&self.sessions).values().map(|open| open.handle.id()).collect();
        let slots = spare.into_iter().chain(open.into_iter().filter_map(|id| registry.slot_of(id)));
        let mut same = slots.filter(|slot| slot.command().name == record.agent);
        same.find_map(|slot| slot.running())
    }
}

/// Whether a client that opens a session again names the working directory; those who only want
/// to have it need not.
fn names_cwd(params: &Json) -> bool {
    params.read::<Value>().is_ok_and(|params| params["cwd"].is_string())
}
