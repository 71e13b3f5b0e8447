//! A session's hold on its agent: made, made again, used and let go.

use serde_json::json;
use store::Changes;
use wire::{Json, Kind, RpcError, TurnId};

use super::actor::{Actor, Halt, LinkState};
use super::{Command, Linkage, Linked, Reply};
use crate::link::Known;
use crate::observer::{self, Step};
use crate::open;
use crate::trouble::Trouble;
use crate::yard::draft;
use bus::connection::{CallError, Outcome};

/// Why an agent could not be given the session.
#[derive(Debug)]
pub(super) struct LinkFailure(pub(super) Trouble);

impl Actor {
    /// Starts the agent again and gives it the session back, on the side.
    pub(super) fn spawn_link(&self) {
        let Some(commands) = self.commands.upgrade() else { return };
        let mut known = Known::of(self.agent_session.clone(), &self.details);
        known.forgot.clone_from(&self.forgot);
        let (slot, yard, id) = (self.slot.clone(), self.yard.clone(), self.id);
        let details = self.details.clone();
        let again = self.again.as_ref().map(|again| again.turn);
        let waiting: Vec<TurnId> = again.into_iter().chain(self.turns.queued()).collect();
        let parent = self.waiting_trace();
        tokio::spawn(async move {
            let linking = observer::within(parent, async {
                let host = slot.host().await?;
                let opening = yard.settings.observers.step(Step::OpenSession, &slot.command().name);
                opening.ended(open::relink(&yard, &host, id, &known, &details, &waiting).await)
            });
            let linked = linking.await.map_err(|error| LinkFailure(Trouble::from(&error)));
            // A session that ended meanwhile drops the link.
            let _ = commands.send(Command::Linked(linked)).await;
        });
    }

    /// The trace of the turn that the agent is started for.
    fn waiting_trace(&self) -> Option<observer::TraceContext> {
        match self.again {
            Some(_) => self.watch.context(),
            None => self.turns.first_queued()?.watch.context(),
        }
    }

    pub(super) async fn linked(&mut self, linked: Linked) -> Result<(), Halt> {
        let Linked { link, resumed, preamble } = linked;
        let host = link.host.clone();
        let mut drafts = vec![draft(
            Kind::WorkerStarted,
            None,
            &json!({
                "pid": host.pid(),
                "command": self.slot.command().argv(),
                "containment": format!("{:?}", host.containment()).to_lowercase(),
            }),
        )];
        if let Some(report) = resumed {
            drafts.push(draft(Kind::SessionResumed, None, &report));
        }
        tracing::info!(
            session = %self.id, pid = host.pid(), how = ?link.how, "the agent has the session"
        );
        self.preamble = preamble;
        self.agent_session = Some(link.agent_session.clone());
        let agent_session = Some(self.agent_session.clone());
        self.append(drafts, Changes { agent_session, ..Changes::default() }).await?;
        let linkage = Linkage { host, agent_session: link.agent_session };
        self.link = LinkState::Linked { linkage, messages: link.messages };
        self.forgot = None;
        self.hear(link.early).await?;
        self.send_again().await
    }

    /// Every prompt that waits fails for the same reason: asking again would not help.
    pub(super) async fn not_linked(&mut self, trouble: Trouble) -> Result<(), Halt> {
        self.link = LinkState::Unlinked;
        if let Some(again) = self.again.take() {
            self.end_turn_with(again.turn, trouble.clone()).await?;
        }
        while let Some((turn, prompt)) = self.turns.start_next() {
            self.watch = prompt.watch;
            let changes = Changes { active_turn: Some(Some(turn)), ..Changes::default() };
            self.append(vec![draft(Kind::TurnStarted, Some(turn), &json!({}))], changes).await?;
            self.end_turn_with(turn, trouble.clone()).await?;
        }
        Ok(())
    }

    /// Asks the agent something on a client's behalf, without waiting for it here.
    pub(super) fn pass(&self, method: String, params: Json, mut reply: Reply<Outcome>) {
        let LinkState::Linked { linkage, .. } = &self.link else {
            let error = RpcError::internal("the agent is not running; the next prompt starts it");
            let _ = reply.send(Err(error));
            return;
        };
        let (params, host) = (linkage.params_for_agent(&params), linkage.host.clone());
        tokio::spawn(async move {
            let outcome = tokio::select! {
                outcome = host.connection().call(&method, &params) => outcome,
                // Giving up here withdraws the request from the agent too.
                () = reply.closed() => return,
            };
            let _ = reply.send(outcome.map_err(|error| match error {
                CallError::Refused(error) => error,
                error => RpcError::internal(error),
            }));
        });
    }

    /// Lets go of the agent; called when no turn runs.
    pub(super) fn release(&mut self) -> Option<Linkage> {
        match std::mem::replace(&mut self.link, LinkState::Unlinked) {
            LinkState::Linked { linkage, .. } => {
                linkage.host.routes().remove(&linkage.agent_session);
                Some(linkage)
            }
            LinkState::Linking | LinkState::Unlinked => None,
        }
    }

    pub(super) async fn close(&mut self) -> Result<(), Halt> {
        if let Some(linkage) = self.release() {
            linkage.close_soon();
        }
        let closed = vec![draft(Kind::SessionClosed, None, &json!({}))];
        self.append(closed, Changes { is_closed: Some(true), ..Changes::default() }).await
    }
}
