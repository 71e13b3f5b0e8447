//! Assembles a model's answer from its streamed pieces.
//!
//! In: [`Delta`]s in the order in which they come. Out: what the model said, thought and wants
//! to be run. However a call was cut and mixed with others, it comes out the same.
//!
//! Always true: every call has a name and an id that no other call of the answer has.

use std::collections::{BTreeMap, HashSet};
use std::hash::{BuildHasher, Hasher, RandomState};

use super::chat::{Delta, FinishReason, ModelToolCall, TokenUsage};

/// The name of a call that came without one: no tool is called that, so the model gets an error.
const NAMELESS: &str = "unnamed_tool";

#[derive(Debug, Default)]
pub struct Assembly {
    /// All but the calls.
    said: AssembledAnswer,
    /// By number; id and name are empty until they come.
    calls: BTreeMap<usize, ModelToolCall>,
}

/// A model's whole answer.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct AssembledAnswer {
    pub text: String,
    pub thought: String,
    pub calls: Vec<ModelToolCall>,
    pub usage: Option<TokenUsage>,
    /// `None` if the answer did not come to its end. After [`FinishReason::Length`] the last call
    /// may be cut off: it is not to be run.
    pub finish: Option<FinishReason>,
}

impl Assembly {
    pub fn push(&mut self, delta: &Delta) {
        match delta {
            Delta::Text(text) => self.said.text.push_str(text),
            Delta::Thought(thought) => self.said.thought.push_str(thought),
            Delta::Call { index, id, name, arguments } => {
                let call = self.calls.entry(*index).or_default();
                for (known, given) in [(&mut call.id, id), (&mut call.name, name)] {
                    if known.is_empty() {
                        known.push_str(given.as_deref().unwrap_or_default());
                    }
                }
                call.arguments.push_str(arguments);
            }
            Delta::Usage(usage) => self.said.usage = Some(*usage),
            Delta::Finish(finish) => self.said.finish = Some(*finish),
            Delta::Retrying { .. } | Delta::ToolsRefused { .. } => {}
        }
    }

    pub fn end(self) -> AssembledAnswer {
        let mut said = self.said;
        let mut taken = HashSet::new();
        for mut call in self.calls.into_values().filter(|call| *call != ModelToolCall::default()) {
            if call.id.is_empty() || taken.contains(&call.id) {
                call.id = fresh_id();
            }
            taken.insert(call.id.clone());
            if call.name.is_empty() {
                NAMELESS.clone_into(&mut call.name);
            }
            said.calls.push(call);
        }
        said.finish = said.finish.map(|finish| match (finish, said.calls.is_empty()) {
            // Not every endpoint reports calls as its reason to stop, and some do so without any
            // call.
            (FinishReason::Stop, false) => FinishReason::Calls,
            (FinishReason::Calls, true) => FinishReason::Stop,
            (finish, _) => finish,
        });
        said
    }
}

/// An id for a call, not used before in this process or another: a history holds calls of both.
fn fresh_id() -> String {
    let random = || RandomState::new().build_hasher().finish();
    format!("call_{:016x}{:08x}", random(), random() >> 32)
}

#[cfg(test)]
mod tests;
