//! The pairing of requests and responses in one conversation.
//!
//! In: a transcript, entry by entry. Out: violations in their order.
//! An id is open from its request to its response, for each direction by itself.

use super::{Validator, Violation, shorten};
use crate::transcript::{Direction, Transcript, TranscriptEntry};
use serde_json::Value;
use std::collections::HashMap;

/// A request that has no answer yet.
struct UnansweredRequest {
    entry: usize,
    method: String,
}

pub(super) struct Exchange<'v> {
    validator: &'v Validator,
    entry: usize,
    open: HashMap<(Direction, String), UnansweredRequest>,
    /// Lines that were no JSON. Each may be answered with an error that has no id.
    unreadable: HashMap<Direction, usize>,
    violations: Vec<Violation>,
}

impl<'v> Exchange<'v> {
    pub(super) fn read(validator: &'v Validator, transcript: &Transcript) -> Self {
        let mut exchange = Self {
            validator,
            entry: 0,
            open: HashMap::new(),
            unreadable: HashMap::new(),
            violations: Vec::new(),
        };
        for entry in &transcript.entries {
            exchange.entry += 1;
            exchange.hear(entry);
        }
        exchange
    }

    pub(super) fn cut_off(self) -> Vec<Violation> {
        self.violations
    }

    pub(super) fn finish(mut self) -> Vec<Violation> {
        let mut unanswered: Vec<_> = self.open.drain().collect();
        unanswered.sort_by_key(|(_, open)| open.entry);
        for ((direction, id), open) in unanswered {
            self.violations.push(Violation {
                entry: self.entry + 1,
                direction: direction.opposite(),
                problem: format!("no answer to `{}` with id {id}", open.method),
                line: format!("asked in entry {}", open.entry),
            });
        }
        self.violations
    }

    fn hear(&mut self, entry: &TranscriptEntry) {
        let problems = match entry.json() {
            Some(message) if message.get("method").is_some() => {
                self.call(entry.direction, &message)
            }
            Some(message) if message.is_object() => self.response(entry.direction, &message),
            Some(_) => vec!["not a JSON object".into()],
            None => {
                *self.unreadable.entry(entry.direction).or_default() += 1;
                vec!["not JSON".into()]
            }
        };
        self.violations.extend(problems.into_iter().map(|problem| Violation {
            entry: self.entry,
            direction: entry.direction,
            problem,
            line: shorten(&entry.line),
        }));
    }

    fn call(&mut self, direction: Direction, message: &Value) -> Vec<String> {
        let mut problems = self.validator.check_call(direction, message);
        if let Some(id) = message.get("id") {
            let method = message["method"].as_str().unwrap_or_default().to_owned();
            let open = UnansweredRequest { entry: self.entry, method };
            if let Some(earlier) = self.open.insert((direction, id.to_string()), open) {
                problems.push(format!("id {id} is still open since entry {}", earlier.entry));
            }
        }
        problems
    }

    fn response(&mut self, direction: Direction, message: &Value) -> Vec<String> {
        let asked = direction.opposite();
        let id = message["id"].to_string();
        if let Some(open) = self.open.remove(&(asked, id.clone())) {
            return self.validator.check_response(asked, &open.method, message);
        }
        match self.unreadable.get_mut(&asked) {
            Some(n_unreadable)
                if *n_unreadable > 0 && message["id"].is_null() && message["error"].is_object() =>
            {
                *n_unreadable -= 1;
                vec![]
            }
            _ => vec![format!("an answer with id {id}, which is not open")],
        }
    }
}
