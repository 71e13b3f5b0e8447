//! A client whose sessions are those of a desk: others may have them open as well.
//!
//! In: the same requests as from a client with an agent of its own. Out: sessions of the
//! desk. The client's leaving ends nothing; closing a session that somebody else has open
//! only takes this client out of it.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use serde::Deserialize;
use serde_json::{Value, json};
use store::{ReadBudget, SessionRecord};
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;
use wire::{Json, Message, Millis, RpcError, Seq, SessionId, codes};

use super::{Front, Open, RequestPlaces, no_such_session, session_of};
use crate::desk::{Desk, DeskError, Maker, Order};
use crate::details::is_made_by;
use crate::host::Host;
use crate::open::{Opened, Terms};
use crate::options::Wishes;
use crate::permission::Mode;
use crate::session::SessionHandle;
use bus::connection::Outcome;
use bus::quota::Reserved;
use wire::Fault;

/// An agent's answer to `initialize` is believed for this long.
const KNOWN_FOR: Duration = Duration::from_secs(600);

/// Who the client is, what it gets, and what it may do.
#[derive(Debug, Clone, Default)]
pub struct Visitor {
    /// What its sessions are made of, but for what `session/new` says.
    pub order: Order,
    /// As prompts and sessions name it.
    pub by: String,
    /// As decisions name it, with the way it came: `token:phone websocket`.
    pub client: String,
    /// How it came: `http`, `websocket`, `tcp`, `unix`.
    pub way: String,
    /// It sees everything and changes nothing.
    pub is_observer: bool,
    pub may_delete: bool,
    /// It may name commands: of MCP servers, and of agents.
    pub may_run_commands: bool,
    /// An agent started it: nobody is there who could be asked.
    pub is_worker: bool,
    /// It sees only the sessions that it made.
    pub own_sessions: bool,
    /// Since when it has its name.
    pub since: Millis,
    /// Where its sessions may work; anywhere if there are none.
    pub roots: Vec<PathBuf>,
    /// What may be in memory of the logs that it reads.
    pub budget: ReadBudget,
    /// What may be in memory of large messages of its; none if nobody counts.
    pub quota: Option<Arc<Reserved>>,
    /// Places for its requests that are served on the side.
    pub places: RequestPlaces,
    /// Cancelled when it is not let in any more.
    pub revoked: CancellationToken,
}

pub(super) struct Visit {
    pub(super) desk: Arc<Desk>,
    pub(super) visitor: Visitor,
    /// As the visitor came with it, or as it said since.
    order: std::sync::Mutex<Order>,
    /// Started for `initialize`; the first session gets it.
    spare: Mutex<Option<Terms>>,
}

impl Visit {
    pub(super) fn new(desk: Arc<Desk>, visitor: Visitor) -> Self {
        let order = std::sync::Mutex::new(visitor.order.clone());
        Self { desk, visitor, order, spare: Mutex::default() }
    }

    pub(super) fn order(&self) -> Order {
        self.order.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// An agent that belongs to no session yet.
    pub(super) async fn host(&self) -> Result<Arc<Host>, RpcError> {
        let mut spare = self.spare.lock().await;
        let slot = match &*spare {
            Some(terms) => terms.slot.clone(),
            None => {
                let terms = self.desk.terms(&self.order(), None).await?;
                let slot = terms.slot.clone();
                *spare = Some(terms);
                slot
            }
        };
        drop(spare);
        slot.host().await.map_err(|error| super::explain(&error))
    }

    /// The agent's answer to `initialize`; remembered, so that it need not be started.
    pub(super) async fn introduction(&self) -> Result<Json, RpcError> {
        let order = self.order();
        let key = (order.agent, order.command);
        if let Some((answer, at)) = self.desk.introductions().get(&key)
            && at.elapsed() < KNOWN_FOR
        {
            return Ok(answer.clone());
        }
        let answer = self.host().await?.initialized().clone();
        let mut known = self.desk.introductions();
        known.retain(|_, (_, at)| at.elapsed() < KNOWN_FOR);
        known.insert(key, (answer.clone(), Instant::now()));
        Ok(answer)
    }

    pub(super) async fn leave(&self) {
        if let Some(terms) = self.spare.lock().await.take() {
            terms.slot.shut_down().await;
        }
    }

    pub(super) fn sees(&self, record: &SessionRecord) -> bool {
        let Visitor { own_sessions, by, since, .. } = &self.visitor;
        !own_sessions || is_made_by(record, by, *since)
    }

    fn maker(&self) -> Maker {
        let Visitor { by, since, may_run_commands, revoked, .. } = &self.visitor;
        let (name, revoked) = (by.clone(), revoked.clone());
        Maker { name, since: *since, is_limited: !may_run_commands, revoked }
    }

    /// Whose sessions it sees, if not everybody's.
    pub(super) fn only(&self) -> Option<(String, Millis)> {
        let Visitor { own_sessions, by, since, .. } = &self.visitor;
        own_sessions.then(|| (by.clone(), *since))
    }

    /// The answer of a session's agent, which is started if need be.
    async fn linked(&self, id: SessionId) -> Result<Json, RpcError> {
        let linked = self.desk.with(id, async |session: SessionHandle| session.link().await);
        let failed = |fault: Fault| RpcError::internal(&fault.message).with_data(&fault);
        linked.await?.map_err(failed)
    }

    /// Refuses observers.
    pub(super) fn may_act(&self) -> Result<(), RpcError> {
        match self.visitor.is_observer {
            true => Err(RpcError::new(codes::INVALID_REQUEST, "observers may only watch")),
            false => Ok(()),
        }
    }

    /// Refuses an agent that would have another one allowed more.
    pub(super) fn may_set(&self, method: &str, params: &Json) -> Result<(), RpcError> {
        #[derive(Default, Deserialize)]
        #[serde(rename_all = "camelCase", default)]
        struct Params {
            mode_id: Option<String>,
        }
        let mode = params.read::<Params>().unwrap_or_default().mode_id;
        let is_modest = match method {
            "session/set_mode" => {
                mode.is_some() && Wishes { mode, ..Wishes::default() }.are_modest()
            }
            // What an option means is known to its agent alone.
            method => !method.starts_with("session/set_") || method == "session/set_model",
        };
        match self.visitor.is_worker && !is_modest {
            true => Err(RpcError::invalid_request("an agent cannot choose what may allow more")),
            false => Ok(()),
        }
    }

    async fn new_session(&self, params: &Json) -> Result<Opened, RpcError> {
        self.may_act()?;
        let order = self.ordered(params)?;
        let order = match self.visitor.may_run_commands {
            true => order,
            false => order.without_commands()?,
        };
        let order = order.placed(&self.visitor.roots, &self.desk.forbidden())?;
        let is_plain = order.agent == self.order().agent && order.wishes.is_empty();
        let spare = match is_plain && order.additional_directories.is_empty() {
            true => self.spare.lock().await.take(),
            false => None,
        };
        Ok(match spare {
            Some(terms) => {
                let notes = order.notes();
                self.desk.create_with(Terms { notes, ..terms }, order).await?
            }
            None => self.desk.create(order).await?,
        })
    }

    /// What `session/new` orders.
    fn ordered(&self, params: &Json) -> Result<Order, RpcError> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Params {
            cwd: PathBuf,
            #[serde(default)]
            additional_directories: Vec<PathBuf>,
            #[serde(default)]
            mcp_servers: Vec<Value>,
            /// Not of the protocol; some agents take it, the built-in one among them.
            #[serde(default)]
            mode: Value,
            #[serde(rename = "_meta", default)]
            meta: Value,
        }
        let read: Params = params.read().map_err(RpcError::invalid_params)?;
        if !read.mode.is_null() {
            self.may_set("session/set_mode", &Json::of(&json!({ "modeId": read.mode })))?;
        }
        let wish = |name: &str| read.meta["switchyard"][name].as_str().map(str::to_owned);
        let mut order = self.order();
        order.agent = wish("agent").or(order.agent);
        order.title = wish("title").or(order.title);
        order.cwd = read.cwd;
        order.additional_directories.extend(read.additional_directories);
        order.mcp_servers = read.mcp_servers;
        order.more_params = Some(params.clone());
        order.maker = Some(self.maker());
        Ok(order)
    }
}

impl Front {
    /// Whether the agent is to use the client's files: only an editor on this machine has
    /// the same ones.
    pub(super) fn serves_files(&self) -> bool {
        self.is_local() && self.abilities().files
    }

    /// `_switchyard/order`: what the daemon's own user wants its sessions to be made of.
    pub(super) fn take_order(&self, message: &Message) {
        #[derive(Default, Deserialize)]
        #[serde(rename_all = "camelCase", default)]
        struct Said {
            agent: Option<String>,
            command: Vec<String>,
            env: Option<BTreeMap<String, String>>,
            cwd: Option<PathBuf>,
            additional_directories: Vec<PathBuf>,
            permissions: Option<Mode>,
        }
        let Some(visit) = self.visit.as_ref().filter(|visit| visit.visitor.may_run_commands) else {
            return;
        };
        let Ok(said) = message.body_json().read::<Said>() else { return };
        let mut order = visit.order.lock().unwrap_or_else(PoisonError::into_inner);
        *order = Order {
            agent: said.agent.or_else(|| order.agent.clone()),
            command: said.command.into_iter().map(Into::into).collect(),
            env: said.env.map(|env| env.into_iter().map(|(k, v)| (k.into(), v.into())).collect()),
            cwd: said.cwd.unwrap_or_else(|| order.cwd.clone()),
            additional_directories: said.additional_directories,
            permissions: said.permissions,
            ..Order::default()
        };
    }

    pub(super) async fn visit_new(self: &Arc<Self>, visit: &Visit, message: &Message) -> Outcome {
        let opened = visit.new_session(&message.body_json()).await?;
        self.show_new(opened).await
    }

    pub(super) async fn visit_again(
        self: &Arc<Self>,
        visit: &Visit,
        message: &Message,
        is_replayed: bool,
    ) -> Outcome {
        let Some(named) = session_of(&message.body_json()) else {
            return Err(no_such_session(message));
        };
        let Some(record) = self.find(&named).await? else {
            return Err(RpcError::not_found(format_args!("session `{named}`")));
        };
        visit.desk.session(record.id).await?;
        let alias = (named != record.id.as_str()).then_some(named);
        // What is logged from here on is the feed's.
        let record = visit.desk.record(record.id).await?;
        let replayed = match is_replayed {
            true => Some(self.replay(&record, alias.as_deref()).await?),
            false => None,
        };
        let answer = match visit.visitor.is_observer {
            // Watching is no reason to start an agent.
            true => Json::trusted("{}"),
            false => visit.linked(record.id).await?,
        };
        let handle = visit.desk.session(record.id).await?;
        let said = wire::remove_member(&answer, "sessionId").map_err(RpcError::internal)?;
        let opened = Opened { handle, answer, cursor: record.head, resumed: None };
        self.show(opened, alias, super::feed::Prompts::default(), replayed).await?;
        Ok(said)
    }

    pub(super) async fn visit_fork(self: &Arc<Self>, visit: &Visit, message: &Message) -> Outcome {
        visit.may_act()?;
        let Some(open) = self.scoped(message) else { return Err(no_such_session(message)) };
        let fork = visit.desk.fork(open.handle.id(), None, Some(visit.maker())).await?;
        let answer = visit.linked(fork).await?;
        let handle = visit.desk.session(fork).await?;
        let cursor = visit.desk.record(fork).await.map_or(Seq(0), |record| record.head);
        self.show_new(Opened { handle, answer, cursor, resumed: None }).await
    }

    pub(super) async fn visit_close(&self, visit: &Visit, named: &str, open: Open) -> Outcome {
        visit.may_act()?;
        let id = open.handle.id();
        open.feed.abort();
        self.sessions().remove(named);
        drop(open);
        if visit.desk.n_present(id) == 0 {
            visit.desk.close(id).await?;
        }
        Ok(Json::trusted("{}"))
    }

    pub(super) async fn visit_delete(&self, visit: &Visit, named: &str) -> Outcome {
        if !visit.visitor.may_delete {
            return Err(RpcError::new(codes::INVALID_REQUEST, "only admins may delete sessions"));
        }
        // Deleting what is not there is done already.
        if let Some(record) = self.find(named).await? {
            visit.desk.delete(record.id).await?;
        }
        let open = self.sessions().remove(named);
        if let Some(open) = open {
            open.feed.abort();
        }
        Ok(Json::trusted("{}"))
    }
}

impl From<DeskError> for RpcError {
    fn from(error: DeskError) -> Self {
        let code = match error {
            DeskError::Open(error) => return error.into(),
            DeskError::NoSuchSession(_) => codes::NOT_FOUND,
            DeskError::BadOrder(_) | DeskError::Refused(_) | DeskError::TooMany { .. } => {
                codes::INVALID_PARAMS
            }
            _ => codes::INTERNAL,
        };
        let fault = Fault::from(&error);
        Self::new(code, &fault.message).with_data(&fault)
    }
}
