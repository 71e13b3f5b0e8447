//! Which tool calls of a turn are open.
//!
//! In: what a CLI says about its tools, in any order, doubled or cut short. Out: updates such
//! that each call starts once and ends once.

use std::collections::HashMap;

use crate::dialect::Said;
use crate::update::{Call, Content, Kind, Status, Update};

#[derive(Debug, Default)]
pub struct Calls {
    /// By id, and whether it has ended.
    seen: HashMap<String, bool>,
    /// Ids of calls in the order they came, so that what is left open ends in that order.
    order: Vec<String>,
}

impl Calls {
    /// What is known about a call: its start if it is new, else a change of it. Nothing is
    /// said about a call that has ended.
    pub fn say(&mut self, mut call: Call, out: &mut Vec<Said>) {
        let is_final = call.status.is_some_and(Status::is_final);
        let update = match self.seen.get(&call.id) {
            Some(true) => return,
            Some(false) => Update::ToolCallUpdate(call.clone()),
            None => {
                self.order.push(call.id.clone());
                // A start must have a title.
                if call.title.is_none() {
                    call.title = Some(call.name.clone().unwrap_or_else(|| "tool".to_owned()));
                }
                call.kind.get_or_insert(Kind::Other);
                call.status.get_or_insert(Status::Pending);
                Update::ToolCall(call.clone())
            }
        };
        self.seen.insert(call.id, is_final);
        out.push(Said::Update(update));
    }

    pub fn is_known(&self, id: &str) -> bool {
        self.seen.contains_key(id)
    }

    pub fn is_open(&self, id: &str) -> bool {
        self.seen.get(id) == Some(&false)
    }

    /// Ends every open call as failed, with `why`: the turn is over and nobody else will.
    pub fn close(&mut self, why: &str, out: &mut Vec<Said>) {
        for id in std::mem::take(&mut self.order) {
            if self.is_open(&id) {
                self.say(Call::change(id, Status::Failed, vec![Content::text(why)]), out);
            }
        }
    }
}
