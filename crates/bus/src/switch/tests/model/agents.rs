//! Workers of the world.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use serde_json::{Value, json};

use super::super::super::session::SessionLocation;
use super::super::super::worker::WorkerStage;
use super::world::{Tagged, World, pick};
use super::*;

#[derive(Debug)]
pub(super) struct Agent {
    pub(super) is_running: bool,
    pub(super) is_stopping: bool,
    pub(super) is_paused: bool,
    pub(super) level: QueueLevel,
    pub(super) n_unread: usize,
    pub(super) inbox: Vec<Bytes>,
    /// Requests that it has read and not answered: id and all of it.
    open: Vec<(u64, Value)>,
    last_id: u64,
    n_names: u64,
    given: Vec<u64>,
    /// By its own names: tags, and the last number that each client said in it.
    pub(super) sessions: BTreeMap<String, (u64, BTreeMap<u64, u64>)>,
    /// What it has asked: token by its own id.
    asking: BTreeMap<u64, u64>,
    /// Whether it was for one client all its life.
    pub(super) is_private: bool,
    /// Whose requests have reached it.
    heard: BTreeSet<u64>,
}

impl Agent {
    pub(super) fn new(is_private: bool) -> Self {
        Self {
            is_running: false,
            is_stopping: false,
            is_paused: false,
            level: QueueLevel::Low,
            n_unread: 0,
            inbox: Vec::new(),
            open: Vec::new(),
            last_id: 0,
            n_names: 0,
            given: Vec::new(),
            sessions: BTreeMap::new(),
            asking: BTreeMap::new(),
            is_private,
            heard: BTreeSet::new(),
        }
    }
}

impl World {
    pub(super) fn agent_acts(&mut self, op: &Op) {
        let (n, m) = match *op {
            Op::AgentStarts(n) | Op::AgentFailsToStart(n) | Op::AgentReads(n) => (n, 0),
            Op::AgentStuck(n) | Op::AgentSwells(n) | Op::AgentDies(n, _) => (n, 0),
            Op::AgentTells(n) => (n, 0),
            Op::AgentAnswers(n, m) | Op::AgentRefuses(n, m) | Op::AgentUpdates(n, m) => (n, m),
            Op::AgentAsks(n, m) | Op::AgentGarbage(n, m) => (n, m),
            _ => return,
        };
        let everybody: Vec<u64> = self.agents.keys().copied().collect();
        let Some(id) = pick(&everybody, n) else { return };
        let worker = WorkerId(id);
        let agent = self.agents.get_mut(&id).unwrap();
        match op {
            Op::AgentStarts(_) if !agent.is_running && !agent.is_stopping => {
                agent.is_running = true;
                self.give(SwitchInput::WorkerRuns { worker });
            }
            Op::AgentFailsToStart(_) if !agent.is_running => {
                self.agents.remove(&id);
                self.give(SwitchInput::WorkerNotStarted { worker, why: "no such file".into() });
            }
            _ if !agent.is_running => {}
            Op::AgentReads(_) => self.agent_reads(id),
            Op::AgentStuck(_) => {
                self.give(SwitchInput::WorkerLineUnfinished { worker, n_millis: 1000 });
                self.give(SwitchInput::WorkerStuck { worker });
            }
            Op::AgentSwells(_) => {
                self.give(SwitchInput::WorkerMemory { worker, n_bytes: 2000 });
            }
            Op::AgentDies(_, is_success) => self.agent_ends(id, *is_success),
            // What is not read cannot say anything.
            _ if agent.is_paused => {}
            Op::AgentAnswers(..) => self.agent_answers(id, m, true),
            Op::AgentRefuses(..) => self.agent_answers(id, m, false),
            Op::AgentUpdates(..) => self.agent_updates(id, m),
            Op::AgentAsks(..) => self.agent_asks(id, m),
            Op::AgentTells(_) => self.agent_tells(id),
            Op::AgentGarbage(..) => self.agent_is_silly(id, m),
            _ => {}
        }
    }

    fn agent_ends(&mut self, id: u64, is_success: bool) {
        // Its pipe ends before it does, or both are seen at once.
        if !is_success {
            self.give(SwitchInput::WorkerMute { worker: WorkerId(id) });
        }
        self.agents.remove(&id);
        let status = "exit".into();
        self.give(SwitchInput::WorkerExited { worker: WorkerId(id), is_success, status });
    }

    pub(super) fn agent_does_its_duty(&mut self, id: u64) {
        match self.agents.get_mut(&id) {
            Some(agent) if agent.is_stopping => self.agent_ends(id, true),
            Some(agent) if !agent.is_running => {
                agent.is_running = true;
                self.give(SwitchInput::WorkerRuns { worker: WorkerId(id) });
            }
            _ => {}
        }
        while self.agents.get(&id).is_some_and(|a| !a.inbox.is_empty() || !a.open.is_empty()) {
            self.agent_reads(id);
            self.agent_answers(id, 0, true);
        }
    }

    /// Reads everything that waits.
    fn agent_reads(&mut self, id: u64) {
        let Some(agent) = self.agents.get_mut(&id) else { return };
        agent.n_unread = 0;
        for line in std::mem::take(&mut agent.inbox) {
            let message: Value = serde_json::from_slice(&line).unwrap();
            match (message["method"].as_str(), message["id"].as_u64()) {
                (Some(_), Some(n)) => {
                    assert!(n > agent.last_id, "ids of a worker rise");
                    agent.last_id = n;
                    // What moves a session may have been said by who had it before a reload.
                    let is_move = message["method"] == "session/load"
                        && message["params"].get("by").is_none();
                    let from = message["params"]["from"].as_u64();
                    agent.heard.extend(from.filter(|_| !is_move));
                    assert!(!agent.is_private || agent.heard.len() <= 1, "of another client");
                    agent.check_place(&message["params"], &self.sessions);
                    agent.open.push((n, message));
                }
                (Some("$/cancel_request"), None) => {
                    assert!(message["params"]["requestId"].as_u64().unwrap() <= agent.last_id);
                }
                (Some("session/note"), None) => {
                    agent.check_place(&message["params"], &self.sessions);
                }
                (Some("session/cancel"), None) => {}
                (None, Some(n)) => {
                    let token = agent.asking.remove(&n);
                    let token = token.unwrap_or_else(|| panic!("unasked or twice: {message}"));
                    if let Some(result) = message.get("result") {
                        assert_eq!(result["answer"], token, "an answer of somebody else");
                    }
                }
                _ => panic!("worker {id} does not expect {message}"),
            }
        }
        if agent.level != QueueLevel::Low {
            agent.level = QueueLevel::Low;
            self.give(SwitchInput::WorkerOutbox { worker: WorkerId(id), level: QueueLevel::Low });
        }
    }

    fn agent_answers(&mut self, id: u64, n: u8, is_ok: bool) {
        let Some(agent) = self.agents.get_mut(&id).filter(|agent| !agent.open.is_empty()) else {
            return;
        };
        let (n, request) = agent.open.remove(usize::from(n) % agent.open.len());
        let params = &request["params"];
        let mut result = json!({ "token": params["token"] });
        let name = params["sessionId"].as_str().unwrap_or_default().to_owned();
        let has_session = agent.sessions.contains_key(&name);
        let mut is_ok = is_ok;
        match request["method"].as_str().unwrap() {
            "initialize" => {
                let closes = json!({ "close": {} });
                result["agentCapabilities"] =
                    json!({ "loadSession": true, "sessionCapabilities": closes });
            }
            "session/new" if is_ok => {
                // Every worker uses the same few names, but none that it is asked to load.
                let taken = &self.switch.workers[&WorkerId(id)].sessions;
                while taken.contains_key(agent.n_names.to_string().as_bytes()) {
                    agent.n_names += 1;
                }
                let name = agent.n_names.to_string();
                agent.given.push(agent.n_names);
                agent.n_names += 1;
                let tag = params["tag"].as_u64().unwrap();
                agent.sessions.insert(name.clone(), (tag, BTreeMap::new()));
                result["sessionId"] = name.into();
            }
            "session/load" if is_ok => {
                let tag = params["tag"].as_u64().unwrap();
                let is_free = name.parse::<u64>().is_ok_and(|n| !agent.given.contains(&n));
                match agent.sessions.get(&name) {
                    Some((found, _)) => is_ok = *found == tag,
                    // One that was closed is not found again, and a name is not given twice.
                    None if is_free => {
                        agent.sessions.insert(name, (tag, BTreeMap::new()));
                    }
                    None => is_ok = false,
                }
            }
            "session/close" if is_ok && has_session => _ = agent.sessions.remove(&name),
            "session/close" | "session/prompt" => is_ok &= has_session,
            "session/list" => {
                let sessions = agent.sessions.iter();
                let sessions: Vec<_> = sessions
                    .map(|(name, (tag, _))| json!({ "sessionId": name, "tag": tag }))
                    .collect();
                result["sessions"] = sessions.into();
                result["tokens"] = json!([params["token"]]);
            }
            _ => {}
        }
        let line = match is_ok {
            true => json!({ "jsonrpc": "2.0", "id": n, "result": result }),
            false => json!({ "jsonrpc": "2.0", "id": n, "error": { "code": 1, "message": "no" } }),
        };
        self.agent_says(id, &line);
        // A session for which nobody waits any more is given up at once.
        let living = &self.sessions;
        if let Some(agent) = self.agents.get_mut(&id) {
            agent.sessions.retain(|_, (tag, _)| living.contains_key(tag));
        }
    }

    fn agent_says(&mut self, id: u64, line: &Value) -> Vec<SwitchOutput> {
        let line = line.to_string().into();
        self.give(SwitchInput::WorkerLine { worker: WorkerId(id), line })
    }

    /// A session of the worker that the world knows, with its owner.
    fn session_of(&self, id: u64, n: u8) -> Option<(String, u64, Option<u64>)> {
        let known: Vec<_> = self.agents[&id]
            .sessions
            .iter()
            .filter(|(_, (tag, _))| self.sessions.contains_key(tag))
            .map(|(name, (tag, _))| (name, *tag))
            .collect();
        let (name, tag) = pick(&known, n)?;
        Some((name.clone(), tag, self.sessions[&tag].owner))
    }

    fn agent_updates(&mut self, id: u64, n: u8) {
        let Some((name, tag, owner)) = self.session_of(id, n) else { return };
        let session = self.sessions.get_mut(&tag).unwrap();
        session.n_updates += 1;
        let params = json!({ "sessionId": name, "tag": tag, "n": session.n_updates });
        let n_updates = session.n_updates;
        let line = json!({ "jsonrpc": "2.0", "method": "session/update", "params": params });
        let is_up = self.switch.workers[&WorkerId(id)].stage == WorkerStage::Running;
        // A worker that took too long to load a session has it when nobody wants it from there.
        let key = self.switch.workers[&WorkerId(id)].sessions.get(name.as_bytes());
        let place =
            key.and_then(|key| self.switch.sessions.get(*key)).map(|session| &session.location);
        let is_given_up =
            matches!(place, Some(SessionLocation::Lost | SessionLocation::Moving { .. }));
        let out = self.agent_says(id, &line);
        let is_there = owner.is_some_and(|owner| self.people.contains_key(&owner));
        if is_there && is_up && !is_given_up {
            let is_delivered = self.sessions.get(&tag).is_none_or(|s| s.n_seen == n_updates);
            assert!(is_delivered, "an update was lost: {out:?}");
        }
    }

    fn agent_asks(&mut self, id: u64, n: u8) {
        let Some((name, tag, _)) = self.session_of(id, n) else { return };
        let token = self.token();
        let agent = self.agents.get_mut(&id).unwrap();
        if agent.is_stopping {
            return;
        }
        agent.asking.insert(token, token);
        let params = json!({ "sessionId": name, "tag": tag, "token": token });
        let line = json!({ "jsonrpc": "2.0", "id": token, "method": "ask", "params": params });
        self.agent_says(id, &line);
    }

    /// Says something that is about no session.
    fn agent_tells(&mut self, id: u64) {
        let agent = &self.agents[&id];
        let only = agent.heard.first().copied().filter(|_| agent.is_private);
        let is_up = self.switch.workers[&WorkerId(id)].stage == WorkerStage::Running;
        let line = json!({ "jsonrpc": "2.0", "method": "tell", "params": { "to": only } });
        let out = self.agent_says(id, &line);
        let expected = only.filter(|only| is_up && self.people.contains_key(only));
        let found = out.iter().find_map(|output| match output {
            SwitchOutput::ToClient { client, .. } => Some(client.0),
            _ => None,
        });
        assert!(expected.is_none() || expected == found, "not told: {expected:?}");
    }

    fn agent_is_silly(&mut self, id: u64, n: u8) {
        let worker = WorkerId(id);
        let line = |text: &'static str| SwitchInput::WorkerLine { worker, line: text.into() };
        match n % 4 {
            0 => self.give(line("log: starting")),
            1 => self.give(line(r#"{"id":123456,"result":0}"#)),
            2 => self.give(line(r#"{"jsonrpc":"2.0","result":"#)),
            _ => self.give(SwitchInput::WorkerLineTooLong {
                worker,
                head: r#"{"method":"session/update","params":{"a":"#.into(),
            }),
        };
    }
}

impl Agent {
    /// Whether a message about a session belongs here, and comes in its turn.
    fn check_place(&mut self, params: &Value, living: &BTreeMap<u64, Tagged>) {
        let Some(name) = params["sessionId"].as_str() else { return };
        let Some((tag, said)) = self.sessions.get_mut(name) else { return };
        // A client may still use the name of a session that is gone, and of another since.
        if params["tag"].as_u64().is_some_and(|tag| !living.contains_key(&tag)) {
            return;
        }
        assert_eq!(params["tag"], *tag, "a message for another session");
        let Some(by) = params["by"].as_u64() else { return };
        let (n, last) = (params["n"].as_u64().unwrap(), said.entry(by).or_default());
        assert!(n > *last, "messages out of order");
        *last = n;
    }
}
