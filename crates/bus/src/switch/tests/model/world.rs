//! The world around the switch: pipes with levels, time, and the parties.

use std::collections::{BTreeMap, BTreeSet};

use super::super::super::history::{beginning, record_step};
use super::agents::Agent;
use super::people::Person;
use super::*;

/// More than the limit by what one step may add.
const MAX_OUTBOX: usize = 2500 + 12_000;

pub(super) struct World {
    pub(super) switch: Switch,
    pub(super) recorded: String,
    pub(super) now: u64,
    pub(super) plan: SwitchPlan,
    pub(super) people: BTreeMap<u64, Person>,
    pub(super) agents: BTreeMap<u64, Agent>,
    pub(super) n_people: u64,
    pub(super) n_tokens: u64,
    pub(super) is_draining: bool,
    pub(super) sessions: BTreeMap<u64, Tagged>,
}

/// A session, by its tag.
#[derive(Debug, Default)]
pub(super) struct Tagged {
    pub(super) owner: Option<u64>,
    /// Without an owner it is forgotten then.
    pub(super) expires: Option<u64>,
    /// The last number that its owner has seen.
    pub(super) n_seen: u64,
    pub(super) n_updates: u64,
    /// Its name towards clients.
    pub(super) name: Option<String>,
}

impl World {
    pub(super) fn new(plan: SwitchPlan, seed: u64) -> Self {
        let mut world = Self {
            switch: Switch::new(plan.clone(), seed).unwrap(),
            recorded: beginning(&plan, seed),
            now: 0,
            plan,
            people: BTreeMap::new(),
            agents: BTreeMap::new(),
            n_people: 0,
            n_tokens: 0,
            is_draining: false,
            sessions: BTreeMap::new(),
        };
        world.give(SwitchInput::TimePassed);
        world
    }

    pub(super) fn token(&mut self) -> u64 {
        self.n_tokens += 1;
        self.n_tokens
    }

    /// Gives the switch an input, does what it says, and tells it what that did to the pipes.
    pub(super) fn give(&mut self, input: SwitchInput) -> Vec<SwitchOutput> {
        let mut out = Vec::new();
        self.switch.take(MonotonicMillis(self.now), input.clone(), &mut out);
        record_step(&mut self.recorded, MonotonicMillis(self.now), &input, &out);
        for output in &out {
            self.adopt();
            self.deliver(output);
        }
        self.adopt();
        books::check(self);
        self.tell_levels();
        out
    }

    fn deliver(&mut self, output: &SwitchOutput) {
        match output {
            SwitchOutput::ToClient { client, line } => self.person_hears(client.0, line),
            SwitchOutput::ToWorker { worker, line } => {
                let agent = self.agents.get_mut(&worker.0).expect("a line to no worker");
                assert!(
                    agent.is_running && !agent.is_stopping,
                    "a line to a worker that is not up"
                );
                assert_eq!(line.iter().position(|byte| *byte == b'\n'), Some(line.len() - 1));
                agent.n_unread += line.len();
                agent.inbox.push(line.clone());
            }
            SwitchOutput::CloseClient { client, reason } => {
                self.person_is_closed(client.0, *reason);
            }
            SwitchOutput::StartWorker { worker, .. } => {
                let agent = Agent::new(self.is_private());
                assert!(self.agents.insert(worker.0, agent).is_none());
            }
            SwitchOutput::StopWorker { worker, .. } => {
                self.agents.get_mut(&worker.0).expect("stop of no worker").is_stopping = true;
            }
            SwitchOutput::PauseClient { client } => self.pause_person(client.0, true),
            SwitchOutput::ResumeClient { client } => self.pause_person(client.0, false),
            SwitchOutput::PauseWorker { worker } => {
                let agent = self.agents.get_mut(&worker.0).expect("pause of no worker");
                assert!(!std::mem::replace(&mut agent.is_paused, true));
            }
            SwitchOutput::ResumeWorker { worker } => {
                let agent = self.agents.get_mut(&worker.0).expect("resume of no worker");
                assert!(std::mem::replace(&mut agent.is_paused, false));
            }
        }
    }

    fn pause_person(&mut self, client: u64, is_paused: bool) {
        let person = self.people.get_mut(&client).expect("pause of no client");
        assert_eq!(std::mem::replace(&mut person.is_paused, is_paused), !is_paused);
    }

    fn tell_levels(&mut self) {
        let marks = self.switch.limits().client_queue;
        let changed = self.people.iter_mut().find_map(|(id, person)| {
            assert!(person.n_unread < MAX_OUTBOX, "too much waits for client {id}");
            let level = level_after(person.level, person.n_unread, marks)?;
            person.level = level;
            Some(SwitchInput::ClientOutbox { client: ClientId(*id), level })
        });
        let marks = self.switch.limits().worker_queue;
        let changed = changed.or_else(|| {
            self.agents.iter_mut().find_map(|(id, agent)| {
                assert!(agent.n_unread < MAX_OUTBOX, "too much waits for worker {id}");
                let level = level_after(agent.level, agent.n_unread, marks)?;
                agent.level = level;
                Some(SwitchInput::WorkerOutbox { worker: WorkerId(*id), level })
            })
        });
        if let Some(input) = changed {
            self.give(input);
        }
    }

    /// A client is gone, because it or we want so.
    pub(super) fn left(&mut self, client: u64) {
        let expires = self.now + self.switch.limits().session_grace;
        if self.is_private() {
            let owned = self.sessions.iter().filter(|(_, s)| s.owner == Some(client));
            for tag in owned.map(|(tag, _)| *tag).collect::<Vec<_>>() {
                self.forget(tag);
            }
        }
        for session in self.sessions.values_mut().filter(|s| s.owner == Some(client)) {
            session.owner = None;
            session.expires = Some(expires);
        }
    }

    /// Whether the plan says that every client has a worker of its own.
    fn is_private(&self) -> bool {
        self.plan.pools.iter().any(|p| &*p.name == "p" && p.sharing == Sharing::OneClient)
    }

    /// A client names a session in a message that the switch takes.
    pub(super) fn named(&mut self, client: u64, tag: u64, takes_over: bool) {
        if self.is_private() {
            return;
        }
        let Some(session) = self.sessions.get_mut(&tag) else { return };
        if takes_over || session.owner.is_none() {
            session.owner = Some(client);
            session.expires = None;
        }
    }

    /// A message that has waited counts when it is sent: it gives a session whose owner left to
    /// its sender, and one that loads it does so in any case.
    fn adopt(&mut self) {
        for session in self.sessions.values_mut() {
            let Some(name) = &session.name else { continue };
            let key = self.switch.sessions.find(name.as_bytes());
            let owner = key.and_then(|key| self.switch.sessions.get(key)?.owner);
            let has_named = |id: &u64| match self.people.get(id).and_then(|p| p.named.get(name)) {
                Some(has_loaded) => session.owner.is_none() || *has_loaded,
                None => false,
            };
            if let Some(owner) = owner.map(|owner| owner.0).filter(has_named) {
                session.owner = Some(owner);
                session.expires = None;
            }
        }
    }

    /// Nobody can name a session any more that was forgotten.
    pub(super) fn forget(&mut self, tag: u64) {
        self.sessions.remove(&tag);
        for person in self.people.values_mut() {
            person.known.retain(|known| known.1 != tag);
        }
        for agent in self.agents.values_mut() {
            agent.sessions.retain(|_, (other, _)| *other != tag);
        }
    }

    fn forget_expired(&mut self) {
        let now = self.now;
        let is_over = |session: &Tagged| session.expires.is_some_and(|expires| expires <= now);
        // One that no worker has any more is remembered for a while only.
        let is_had = |tag: u64| {
            self.agents.values().any(|a| a.sessions.values().any(|(had, _)| *had == tag))
        };
        let is_known = |session: &Tagged| {
            session
                .name
                .as_ref()
                .is_some_and(|name| self.switch.sessions.find(name.as_bytes()).is_some())
        };
        let is_gone = |(tag, session): &(&u64, &Tagged)| {
            is_over(session) || (!is_had(**tag) && !is_known(session))
        };
        let gone: Vec<u64> = self.sessions.iter().filter(is_gone).map(|(tag, _)| *tag).collect();
        for tag in gone {
            self.forget(tag);
        }
    }

    pub(super) fn pass_time(&mut self, n_millis: u64) {
        let until = self.now + n_millis;
        while let Some(at) = self.switch.wake_at().filter(|at| at.0 <= until) {
            self.now = self.now.max(at.0);
            self.give(SwitchInput::TimePassed);
            self.forget_expired();
        }
        self.now = until;
        self.give(SwitchInput::TimePassed);
        self.forget_expired();
    }

    pub(super) fn act(&mut self, op: &Op) {
        match *op {
            Op::Time(n) => self.pass_time(u64::from(n) % 600),
            Op::Reload(n) => {
                self.plan = plan_number(n);
                let is_private = self.is_private();
                for agent in self.agents.values_mut() {
                    agent.is_private &= is_private;
                }
                let plan = Box::new(self.plan.clone());
                self.give(SwitchInput::NewPlan(plan));
            }
            Op::Command(n) => {
                let command = match n % 8 {
                    0 | 1 => BusCommand::RestartPool("p".into()),
                    2 => BusCommand::DrainPool("p".into()),
                    3..=6 => BusCommand::RecoverPool("p".into()),
                    _ => BusCommand::RestartPool("q".into()),
                };
                self.give(SwitchInput::Command(command));
            }
            _ => {
                self.person_acts(op);
                self.agent_acts(op);
            }
        }
    }

    /// Everybody does his duty until nothing is left to do: then every request is answered.
    pub(super) fn settle(&mut self) {
        self.give(SwitchInput::Command(BusCommand::RecoverPool("p".into())));
        for _ in 0..60 {
            for id in self.people.keys().copied().collect::<Vec<_>>() {
                self.person_reads(id);
            }
            for id in self.agents.keys().copied().collect::<Vec<_>>() {
                self.agent_does_its_duty(id);
            }
            self.pass_time(50);
        }
        for (id, person) in &self.people {
            assert!(person.open.is_empty(), "client {id} still waits for {:?}", person.open);
            assert!(person.finished.is_none(), "client {id} has finished and is not closed");
        }
        let seen: BTreeSet<_> = self.people.keys().copied().collect();
        assert_eq!(self.switch.status(MonotonicMillis(0)).n_open, 0, "{seen:?}");
    }

    /// Everybody leaves: nothing may be left in the books.
    pub(super) fn end(&mut self) {
        for id in self.people.keys().copied().collect::<Vec<_>>() {
            self.people.remove(&id);
            self.left(id);
            self.give(SwitchInput::ClientLeft { client: ClientId(id) });
        }
        self.pass_time(2000);
        assert_eq!(self.switch.status(MonotonicMillis(0)).n_sessions, 0);
        self.is_draining = true;
        self.give(SwitchInput::Command(BusCommand::DrainAll));
        for _ in 0..10 {
            for id in self.agents.keys().copied().collect::<Vec<_>>() {
                self.agent_does_its_duty(id);
            }
            self.pass_time(100);
        }
        assert!(self.switch.is_drained());
        books::check_empty(&self.switch);
    }
}

fn level_after(level: QueueLevel, n_bytes: usize, marks: QueueMarks) -> Option<QueueLevel> {
    let new = match n_bytes {
        n if n > marks.full => QueueLevel::Full,
        n if n > marks.high => level.max(QueueLevel::High),
        n if n < marks.low => QueueLevel::Low,
        _ => level,
    };
    (new != level).then_some(new)
}

/// One of `items`, if there is any.
pub(super) fn pick<T: Copy>(items: &[T], n: u8) -> Option<T> {
    items.get(usize::from(n) % items.len().max(1)).copied()
}

impl Drop for World {
    fn drop(&mut self) {
        if std::thread::panicking() {
            println!("--- history\n{}", self.recorded);
        }
    }
}
