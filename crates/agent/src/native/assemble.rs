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
    text: String,
    thought: String,
    calls: BTreeMap<usize, CallDraft>,
    usage: Option<TokenUsage>,
    finish: Option<FinishReason>,
}

#[derive(Debug, Default)]
struct CallDraft {
    id: Option<String>,
    name: Option<String>,
    arguments: String,
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
            Delta::Text(text) => self.text.push_str(text),
            Delta::Thought(thought) => self.thought.push_str(thought),
            Delta::Call { index, id, name, arguments } => {
                let draft = self.calls.entry(*index).or_default();
                let given = |value: &Option<String>| value.clone().filter(|text| !text.is_empty());
                draft.id = draft.id.take().or_else(|| given(id));
                draft.name = draft.name.take().or_else(|| given(name));
                draft.arguments.push_str(arguments);
            }
            Delta::Usage(usage) => self.usage = Some(*usage),
            Delta::Finish(finish) => self.finish = Some(*finish),
            Delta::Retrying { .. } | Delta::ToolsRefused { .. } => {}
        }
    }

    pub fn end(self) -> AssembledAnswer {
        let mut taken = HashSet::new();
        let calls: Vec<_> = self
            .calls
            .into_values()
            .filter(|draft| {
                draft.id.is_some() || draft.name.is_some() || !draft.arguments.is_empty()
            })
            .map(|draft| {
                let id = draft.id.filter(|id| !taken.contains(id)).unwrap_or_else(fresh_id);
                taken.insert(id.clone());
                let name = draft.name.unwrap_or_else(|| NAMELESS.to_owned());
                ModelToolCall { id, name, arguments: draft.arguments }
            })
            .collect();
        let finish = self.finish.map(|finish| match (finish, calls.is_empty()) {
            // Not every endpoint reports calls as its reason to stop, and some do so without any
            // call.
            (FinishReason::Stop, false) => FinishReason::Calls,
            (FinishReason::Calls, true) => FinishReason::Stop,
            (finish, _) => finish,
        });
        AssembledAnswer { text: self.text, thought: self.thought, calls, usage: self.usage, finish }
    }
}

/// An id for a call, not used before in this process or another: a history holds calls of both.
fn fresh_id() -> String {
    let random = || RandomState::new().build_hasher().finish();
    format!("call_{:016x}{:08x}", random(), random() >> 32)
}

#[cfg(test)]
mod tests;
