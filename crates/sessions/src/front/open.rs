//! Sessions come and go: new, load, resume, fork, close, delete.

use std::path::PathBuf;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::json;
use store::{Filter, Reading, SessionRecord};
use wire::{Json, Message, RpcError, Seq, SessionId};

use super::{Feed, Front, Open, feed, no_such_session, session_of};
use crate::link;
use crate::open::{self, Notes, OpenError, Opened, Terms};
use crate::permission::Decider;
use crate::session::ServedBy;
use bus::connection::Outcome;
use projection::{AcpReplay, TerminalsAsText};

/// Events read at once while replaying.
const PAGE: usize = 256;

impl Front {
    pub(super) async fn new_session(self: Arc<Self>, message: Message) -> Outcome {
        if let Some(visit) = &self.visit {
            return self.visit_new(visit, &message).await;
        }
        // Its stray messages are followed before it can send any about the session.
        self.host().await?;
        let params = self.with_own_directories(message.body_json())?;
        let opened = open::new(&self.yard, &self.terms()?, &params).await?;
        self.show_new(opened).await
    }

    /// Params of `session/new` with the directories that this front's sessions have.
    fn with_own_directories(&self, params: Json) -> Result<Json, RpcError> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Params {
            #[serde(default)]
            additional_directories: Vec<PathBuf>,
        }
        let own = self.own.as_ref().map(|own| &own.additional_directories[..]);
        let Some(own) = own.filter(|own| !own.is_empty()) else { return Ok(params) };
        let mut all = params.read::<Params>().map_err(RpcError::invalid_params)?;
        all.additional_directories.extend_from_slice(own);
        let all = Json::of(&all.additional_directories);
        wire::set_member(&params, &["additionalDirectories"], &all).map_err(RpcError::internal)
    }

    /// `session/fork` went through; the agent's new session becomes one of ours.
    pub(super) async fn adopt(self: Arc<Self>, message: &Message, answer: Json) -> Outcome {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Forked {
            session_id: String,
        }
        let agent_session = answer.read::<Forked>().map_err(RpcError::internal)?.session_id;
        let params = message.body_json();
        let parent = session_of(&params).unwrap_or_default();
        let params = wire::remove_member(&params, "sessionId").map_err(RpcError::internal)?;
        let terms = self.terms()?;
        let opened =
            open::forked(&self.yard, &terms, &params, agent_session, answer, &parent).await?;
        self.show_new(opened).await
    }

    pub(super) async fn show_new(self: &Arc<Self>, opened: Opened) -> Outcome {
        let own_id = Json::of(&opened.handle.id());
        let answer = wire::set_member(&opened.answer, &["sessionId"], &own_id);
        self.show(opened, None, feed::Prompts::default(), None).await?;
        answer.map_err(RpcError::internal)
    }

    pub(super) async fn load_session(self: Arc<Self>, message: Message) -> Outcome {
        self.reopen(&message, Replay::Whole).await
    }

    pub(super) async fn resume_session(self: Arc<Self>, message: Message) -> Outcome {
        self.reopen(&message, Replay::Nothing).await
    }

    async fn reopen(self: Arc<Self>, message: &Message, replay: Replay) -> Outcome {
        let params = message.body_json();
        let Some(named) = session_of(&params) else { return Err(no_such_session(message)) };
        if let Some(open) = self.open_session(&named) {
            return self.show_again(&named, &open, &replay).await;
        }
        if let Some(visit) = &self.visit {
            return self.visit_again(visit, message, replay == Replay::Whole).await;
        }
        let Some(record) = self.find(&named).await? else {
            return Err(RpcError::not_found(format_args!("session `{named}`")));
        };
        let alias = (named != record.id.as_str()).then_some(named);
        let taken = open::take(&self.yard, record.id).await?;
        let replayed = match replay {
            Replay::Whole => Some(self.replay(&taken.record, alias.as_deref()).await?),
            Replay::Nothing => None,
        };
        self.host().await?;
        let new_params = wire::remove_member(&params, "sessionId").map_err(RpcError::internal)?;
        let opened = open::earlier(&self.yard, &self.terms()?, taken, Some(new_params)).await?;
        let answer = wire::remove_member(&opened.answer, "sessionId");
        self.show(opened, alias, feed::Prompts::default(), replayed).await?;
        answer.map_err(RpcError::internal)
    }

    /// The client has the session open and asks for it again: the agent keeps it, and the
    /// client gets its view anew.
    async fn show_again(self: &Arc<Self>, named: &str, open: &Open, replay: &Replay) -> Outcome {
        let answer = wire::remove_member(&open.answer, "sessionId").map_err(RpcError::internal)?;
        if *replay == Replay::Nothing {
            return Ok(answer);
        }
        open.feed.abort();
        let id = open.handle.id();
        let record = self.yard.log.session(id).await.map_err(OpenError::from)?;
        let Some(record) = record else { return Err(RpcError::not_found(named)) };
        let alias = (named != id.as_str()).then(|| named.to_owned());
        let replayed = self.replay(&record, alias.as_deref()).await?;
        let (handle, answer_kept) = (open.handle.clone(), open.answer.clone());
        let opened = Opened { handle, answer: answer_kept, cursor: record.head, resumed: None };
        self.show(opened, alias, open.prompts.clone(), Some(replayed)).await?;
        Ok(answer)
    }

    /// A session by our id, or by the agent's.
    pub(super) async fn find(&self, named: &str) -> Result<Option<SessionRecord>, RpcError> {
        let log = &self.yard.log;
        if let Ok(id) = SessionId::parse(named)
            && let Some(record) = log.session(id).await.map_err(OpenError::from)?
        {
            return Ok(Some(record).filter(|record| self.sees(record)));
        }
        let filter = Filter {
            agent: self.agent_name(),
            agent_session: Some(named.to_owned()),
            limit: 1,
            ..Filter::default()
        };
        let found = log.sessions(filter).await.map_err(OpenError::from)?.pop();
        Ok(found.filter(|record| self.sees(record)))
    }

    pub(super) fn sees(&self, record: &SessionRecord) -> bool {
        self.visit.as_ref().is_none_or(|visit| visit.sees(record))
    }

    /// Whose sessions the client gets to see; those of all agents if it named none.
    pub(super) fn agent_name(&self) -> Option<String> {
        match (&self.own, &self.visit) {
            (Some(own), _) => Some(own.agent.name.clone()),
            (None, visit) => visit.as_ref().and_then(|visit| visit.order().agent),
        }
    }

    pub(super) async fn replay(
        &self,
        record: &SessionRecord,
        alias: Option<&str>,
    ) -> Result<TerminalsAsText, RpcError> {
        let mut projection = AcpReplay::new(alias.unwrap_or(record.id.as_str()));
        if self.visit.is_some() {
            projection = projection.serving_terminals();
        }
        let abilities = self.abilities();
        let (mut after, mut updates) = (Seq(0), Vec::new());
        while after < record.head {
            let reading = self.budget.read(&*self.yard.log, record.id, after, PAGE).await;
            let Reading { events, taken } = reading.map_err(OpenError::from)?;
            let Some(last) = events.last() else { break };
            after = last.seq;
            let shown = events.iter().filter(|event| event.seq <= record.head);
            for event in shown.filter_map(|event| abilities.told(event)) {
                projection.project(&event, &mut updates);
            }
            drop(events);
            for params in updates.drain(..) {
                let params = feed::renamed(&params, alias);
                let sent = self.client.notify_in_turn("session/update", &params).await;
                sent.map_err(RpcError::internal)?;
            }
            feed::until_sent(taken, &self.client).await;
        }
        Ok(projection.into_terminals())
    }

    /// Starts sending a session's log to the client.
    pub(super) async fn show(
        self: &Arc<Self>,
        opened: Opened,
        alias: Option<String>,
        prompts: feed::Prompts,
        replayed: Option<TerminalsAsText>,
    ) -> Result<(), RpcError> {
        let Opened { handle, answer, cursor, .. } = opened;
        let attachment = match self.only_listens() {
            true => None,
            false => {
                let attaching = handle.attach_as(self.serves_files());
                Some(attaching.await.map_err(RpcError::internal)?)
            }
        };
        let presence = self.visit.as_ref().map(|visit| Arc::new(visit.desk.enter(handle.id())));
        let public_id = alias.clone().unwrap_or_else(|| handle.id().to_string());
        let terminals =
            replayed.unwrap_or_else(|| TerminalsAsText::new(&public_id, self.visit.is_some()));
        let feed = Feed {
            client: self.client.clone(),
            log: self.yard.log.clone(),
            budget: self.budget.clone(),
            handle: handle.clone(),
            attachment,
            decider: self.decider(),
            abilities: self.abilities(),
            is_shared: self.visit.is_some(),
            alias,
            cursor,
            prompts: prompts.clone(),
            of_others: std::collections::HashMap::default(),
            asking: std::collections::HashMap::default(),
            calls: Vec::new(),
            pending: self.yard.pending.clone(),
            terminals,
        };
        let feed = self.tasks.spawn(task::boxed(feed.run())).abort_handle();
        let open = Open { handle, prompts, feed, answer, _presence: presence };
        self.sessions().insert(public_id, open);
        Ok(())
    }

    pub(super) async fn close_session(self: Arc<Self>, message: Message) -> Outcome {
        let Some(named) = session_of(&message.body_json()) else {
            return Err(no_such_session(&message));
        };
        match self.open_session(&named) {
            Some(open) if self.visit.is_some() => {
                let Some(visit) = &self.visit else { return Ok(Json::trusted("{}")) };
                return self.visit_close(visit, &named, open).await;
            }
            Some(open) => self.let_go(&named, &open).await,
            None if self.find(&named).await?.is_some() => {}
            None => return Err(no_such_session(&message)),
        }
        Ok(Json::trusted("{}"))
    }

    pub(super) async fn delete_session(self: Arc<Self>, message: Message) -> Outcome {
        let Some(named) = session_of(&message.body_json()) else {
            return Err(no_such_session(&message));
        };
        if let Some(visit) = &self.visit {
            return self.visit_delete(visit, &named).await;
        }
        if let Some(open) = self.open_session(&named) {
            self.let_go(&named, &open).await;
        }
        // Deleting what is not there is done already.
        let Some(record) = self.find(&named).await? else { return Ok(Json::trusted("{}")) };
        if let Some(agent_session) = &record.agent_session {
            let host = self.host().await?;
            if host.capabilities().delete {
                let params = Json::of(&json!({ "sessionId": agent_session }));
                // What the agent keeps is its own business; ours is gone either way.
                let _ = link::call(&host, "session/delete", &params).await;
            }
        }
        self.yard.log.delete(record.id).await.map_err(OpenError::from)?;
        Ok(Json::trusted("{}"))
    }

    /// Ends this client's hold on a session.
    async fn let_go(&self, named: &str, open: &Open) {
        let _ = open.handle.cancel("client").await;
        let _ = open.handle.close().await;
        let _ = open.handle.finish().await;
        self.sessions().remove(named);
    }

    /// Who decides when the client answers a question.
    fn decider(&self) -> Decider {
        match &self.visit {
            // Only an editor that started us has an agent of its own here.
            None => Decider::client("acp stdio"),
            Some(visit) => Decider::client(&visit.visitor.client),
        }
    }

    fn terms(&self) -> Result<Terms, RpcError> {
        let slot = self.slot.get().cloned();
        let slot = slot.ok_or_else(|| RpcError::invalid_request("`initialize` comes first"))?;
        let policy = self.own.as_ref().map(|own| own.policy.clone()).unwrap_or_default();
        Ok(Terms { slot, policy, services: ServedBy::Client, notes: Notes::default() })
    }
}

#[derive(PartialEq, Eq)]
enum Replay {
    Whole,
    Nothing,
}
