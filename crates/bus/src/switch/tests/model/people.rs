//! Clients of the world.

use std::collections::BTreeMap;

use bytes::Bytes;
use serde_json::{Value, json};

use super::super::super::client::HalfClose;
use super::world::{Tagged, World, pick};
use super::*;

#[derive(Debug)]
pub(super) struct Person {
    pub(super) n_unread: usize,
    pub(super) level: QueueLevel,
    pub(super) is_paused: bool,
    pub(super) finished: Option<HalfClose>,
    n_ids: u64,
    /// Its requests that wait, by their raw ids.
    pub(super) open: BTreeMap<String, Wanted>,
    /// What it was asked: raw id and token.
    pub(super) asked: Vec<(String, u64)>,
    /// Sessions that it knows: name and tag.
    pub(super) known: Vec<(String, u64)>,
    /// The number of its last message in a session.
    n_said: BTreeMap<u64, u64>,
    /// Names of sessions that it has used, and whether to load them.
    pub(super) named: BTreeMap<String, bool>,
}

#[derive(Debug)]
pub(super) struct Wanted {
    token: u64,
    kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Kind {
    Plain,
    /// Opens a session with this tag.
    New(u64),
    Close(u64),
    List,
}

impl World {
    pub(super) fn person_acts(&mut self, op: &Op) {
        if let Op::ClientComes = op {
            return self.person_comes();
        }
        let (n, m) = match *op {
            Op::ClientLeaves(n) | Op::Initialize(n) | Op::NewSession(n) | Op::Plain(n) => (n, 0),
            Op::List(n) | Op::ClientReads(n) => (n, 0),
            Op::Prompt(n, m) | Op::Note(n, m) | Op::Load(n, m) | Op::Close(n, m) => (n, m),
            Op::Cancel(n, m) | Op::Garbage(n, m) | Op::Answer(n, m) => (n, m),
            Op::ClientFinishes(n, m) => (n, m),
            _ => return,
        };
        let everybody: Vec<u64> = self.people.keys().copied().collect();
        let Some(id) = pick(&everybody, n) else { return };
        match op {
            Op::ClientLeaves(_) => {
                self.people.remove(&id);
                self.left(id);
                self.give(SwitchInput::ClientLeft { client: ClientId(id) });
            }
            Op::ClientReads(_) => self.person_reads(id),
            // What is not read cannot say anything.
            _ if self.people[&id].is_paused || self.people[&id].finished.is_some() => {}
            Op::ClientFinishes(..) => self.person_finishes(id, m),
            Op::Initialize(_) => self.ask(id, "initialize", json!({}), Kind::Plain),
            Op::Plain(_) => self.ask(id, "m", json!({ "pad": "x".repeat(200) }), Kind::Plain),
            Op::List(_) => self.ask(id, "session/list", json!({}), Kind::List),
            Op::NewSession(_) => {
                let tag = self.token();
                self.ask(id, "session/new", json!({ "tag": tag }), Kind::New(tag));
            }
            Op::Answer(..) => self.person_answers(id, m),
            Op::Cancel(..) => self.person_cancels(id, m),
            Op::Garbage(..) => self.person_is_silly(id, m),
            _ => self.in_session(id, m, op),
        }
    }

    fn person_comes(&mut self) {
        self.n_people += 1;
        let id = self.n_people;
        let person = Person {
            n_unread: 0,
            level: QueueLevel::Low,
            is_paused: false,
            finished: None,
            n_ids: 0,
            open: BTreeMap::new(),
            asked: Vec::new(),
            known: Vec::new(),
            n_said: BTreeMap::new(),
            named: BTreeMap::new(),
        };
        self.people.insert(id, person);
        self.give(SwitchInput::ClientCame { client: ClientId(id), pool: Some("p".into()) });
    }

    fn person_finishes(&mut self, id: u64, n: u8) {
        let wait = (!n.is_multiple_of(3)).then(|| u64::from(n) * 10);
        let person = self.people.get_mut(&id).unwrap();
        person.finished =
            Some(HalfClose { until: wait.map(|wait| MonotonicMillis(self.now + wait)) });
        person.asked.clear();
        self.give(SwitchInput::ClientFinished { client: ClientId(id), wait });
    }

    /// The switch closes a client.
    pub(super) fn person_is_closed(&mut self, id: u64, reason: CloseReason) {
        let person = self.people.remove(&id).expect("close of no client");
        if reason == CloseReason::Finished {
            let finish = person.finished.expect("closed though it has not finished");
            let is_late = finish.until.is_some_and(|until| until.0 <= self.now);
            assert!(is_late || person.open.is_empty(), "closed before it was answered");
        }
        self.left(id);
    }

    fn in_session(&mut self, id: u64, n: u8, op: &Op) {
        // Also sessions of others, which it may have heard of.
        let known: Vec<(&String, u64)> = self
            .sessions
            .iter()
            .filter_map(|(tag, session)| Some((session.name.as_ref()?, *tag)))
            .collect();
        let Some((name, tag)) = pick(&known, n) else { return };
        let name = name.clone();
        let person = self.people.get_mut(&id).unwrap();
        if !person.known.contains(&(name.clone(), tag)) {
            person.known.push((name.clone(), tag));
        }
        *person.named.entry(name.clone()).or_default() |= matches!(op, Op::Load(..));
        let n_said = person.n_said.entry(tag).or_default();
        *n_said += 1;
        let params = json!({ "tag": tag, "by": id, "n": *n_said, "sessionId": name });
        match op {
            Op::Prompt(..) => self.ask(id, "session/prompt", params, Kind::Plain),
            Op::Load(..) => self.ask(id, "session/load", params, Kind::Plain),
            Op::Close(..) => self.ask(id, "session/close", params, Kind::Close(tag)),
            Op::Note(..) => {
                self.named(id, tag, false);
                let line = json!({ "method": "session/note", "params": params });
                self.says(id, line.to_string());
            }
            _ => unreachable!(),
        }
    }

    fn ask(&mut self, id: u64, method: &str, mut params: Value, kind: Kind) {
        let token = self.token();
        params["token"] = token.into();
        params["from"] = id.into();
        let max_open = self.switch.limits().max_open_per_client;
        let person = self.people.get_mut(&id).unwrap();
        // The same ids for everybody, some of them text.
        person.n_ids += 1;
        let raw_id = match person.n_ids % 3 {
            0 => format!("\"{}\"", person.n_ids),
            _ => person.n_ids.to_string(),
        };
        let is_taken = person.open.len() < max_open;
        person.open.insert(raw_id.clone(), Wanted { token, kind });
        if is_taken && let Some(tag) = params["tag"].as_u64() {
            self.named(id, tag, method == "session/load");
        }
        let line =
            format!(r#"{{"jsonrpc":"2.0","id":{raw_id},"method":"{method}","params":{params}}}"#);
        self.says(id, line);
    }

    fn says(&mut self, id: u64, line: String) {
        self.give(SwitchInput::ClientLine { client: ClientId(id), line: line.into() });
    }

    pub(super) fn person_reads(&mut self, id: u64) {
        let Some(person) = self.people.get_mut(&id) else { return };
        person.n_unread = 0;
        if person.level != QueueLevel::Low {
            person.level = QueueLevel::Low;
            self.give(SwitchInput::ClientOutbox { client: ClientId(id), level: QueueLevel::Low });
        }
    }

    fn person_answers(&mut self, id: u64, n: u8) {
        let person = self.people.get_mut(&id).unwrap();
        if person.asked.is_empty() {
            return;
        }
        let (raw_id, token) = person.asked.remove(usize::from(n) % person.asked.len());
        self.says(id, format!(r#"{{"id":{raw_id},"result":{{"answer":{token}}}}}"#));
    }

    fn person_cancels(&mut self, id: u64, n: u8) {
        let open: Vec<&String> = self.people[&id].open.keys().collect();
        let Some(raw_id) = pick(&open, n) else { return };
        let line = format!(r#"{{"method":"$/cancel_request","params":{{"requestId":{raw_id}}}}}"#);
        self.says(id, line);
    }

    fn person_is_silly(&mut self, id: u64, n: u8) {
        let client = ClientId(id);
        let person = self.people.get_mut(&id).unwrap();
        let out = match n % 5 {
            0 => self.give(SwitchInput::ClientLine { client, line: "{garbage".into() }),
            1 => self.give(SwitchInput::ClientLine { client, line: "[]".into() }),
            2 => {
                self.give(SwitchInput::ClientLine { client, line: Bytes::from_static(b"\xff\xfe") })
            }
            3 => {
                let wanted = Wanted { token: 0, kind: Kind::Plain };
                person.open.insert("\"long\"".into(), wanted);
                let head = r#"{"id":"long","method":"m","params":{"a":"aaa"#.into();
                self.give(SwitchInput::ClientLineTooLong { client, head })
            }
            _ => {
                // An answer to nothing is not answered.
                let line = r#"{"id":999999,"result":0}"#.into();
                assert_eq!(self.give(SwitchInput::ClientLine { client, line }), []);
                return;
            }
        };
        assert!(
            out.iter()
                .any(|o| matches!(o, SwitchOutput::ToClient { client: c, .. } if *c == client))
        );
    }

    /// Something reaches a client.
    pub(super) fn person_hears(&mut self, id: u64, line: &Bytes) {
        let Some(person) = self.people.get_mut(&id) else { panic!("a line to client {id}, gone") };
        assert_eq!(line.iter().position(|byte| *byte == b'\n'), Some(line.len() - 1));
        person.n_unread += line.len();
        let message: Value = serde_json::from_slice(line).unwrap();
        let raw_id = message.get("id").map(Value::to_string);
        match (message["method"].as_str(), raw_id) {
            (None, Some(raw_id)) => self.person_is_answered(id, &raw_id, &message),
            (Some("$/cancel_request"), None) => {
                let taken_back = message["params"]["requestId"].to_string();
                person.asked.retain(|(raw_id, _)| *raw_id != taken_back);
            }
            (Some("tell"), None) => {
                let to = message["params"]["to"].as_u64();
                assert!(to.is_none_or(|to| to == id), "told somebody else");
            }
            (Some("session/update"), None) => self.person_is_updated(id, &message["params"]),
            (Some("ask"), Some(raw_id)) => {
                assert!(person.finished.is_none(), "asked though it cannot answer");
                person.asked.push((raw_id, message["params"]["token"].as_u64().unwrap()));
                let tag = message["params"]["tag"].as_u64().unwrap();
                assert_eq!(self.sessions[&tag].owner, Some(id), "asked the wrong client");
                assert_eq!(
                    message["params"]["sessionId"].as_str(),
                    self.sessions[&tag].name.as_deref()
                );
            }
            _ => panic!("client {id} does not expect {message}"),
        }
    }

    fn person_is_answered(&mut self, id: u64, raw_id: &str, message: &Value) {
        let person = self.people.get_mut(&id).unwrap();
        if raw_id == "null" {
            assert!(message["error"].is_object(), "{message}");
            return;
        }
        let wanted = person.open.remove(raw_id);
        let wanted = wanted.unwrap_or_else(|| panic!("client {id} did not ask for {message}"));
        let Some(result) = message.get("result") else { return };
        match wanted.kind {
            Kind::List => {
                let tokens = result["tokens"].as_array().unwrap();
                assert!(!tokens.is_empty() && tokens.iter().all(|token| *token == wanted.token));
            }
            _ => assert_eq!(result["token"], wanted.token, "an answer for somebody else"),
        }
        match wanted.kind {
            Kind::New(tag) => {
                let name = result["sessionId"].as_str().unwrap().to_owned();
                // Whoever knew another session by that name has heard that it is gone.
                let before = self.sessions.iter().find(|(_, s)| s.name.as_ref() == Some(&name));
                if let Some(before) = before.map(|(tag, _)| *tag) {
                    self.forget(before);
                }
                let name = Some(name);
                let session = Tagged { owner: Some(id), name, ..Tagged::default() };
                self.sessions.insert(tag, session);
            }
            Kind::Close(tag) => self.forget(tag),
            Kind::Plain | Kind::List => {}
        }
    }

    fn person_is_updated(&mut self, id: u64, params: &Value) {
        let tag = params["tag"].as_u64().unwrap();
        let session = self.sessions.get_mut(&tag).expect("an update of a session nobody knows");
        assert_eq!(session.owner, Some(id), "an update for somebody else");
        assert_eq!(params["sessionId"].as_str(), session.name.as_deref(), "under another name");
        let n = params["n"].as_u64().unwrap();
        assert!(n > session.n_seen, "updates out of order");
        session.n_seen = n;
    }
}
