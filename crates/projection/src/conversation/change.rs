//! What an event can change in a conversation.

use wire::event::Outcome;
use wire::{Fault, Own};

use crate::calls::CallKey;
use crate::content::Block;
use crate::json::Object;
use crate::notice::Notice;
use crate::plan::PlanStep;
use crate::prompts::Said;
use crate::question::{Decision, Question};
use crate::turn::TurnEnd;

/// A change, in the order in which it is to be told. Calls are looked up in the conversation.
#[derive(Debug)]
pub enum Change<'e> {
    /// Something the user said, in its place.
    Prompt(Said),
    TurnStarted,
    /// What a piece of the answer adds to it.
    Answer {
        text: String,
        parent: Option<String>,
    },
    /// Something in the answer that is no text.
    AnswerBlock {
        block: Block<'e>,
        parent: Option<String>,
    },
    Thought {
        text: String,
        parent: Option<String>,
    },
    /// A call is heard of, or more of it.
    CallSeen {
        call: CallKey,
        /// What is said of it now.
        fields: Object<'e>,
    },
    /// It is known what a call is about, or there is no more to wait for. Once for a call.
    CallBegan {
        call: CallKey,
        /// A question about it follows.
        is_asked: bool,
    },
    /// An image or sound that a tool gave back, which was not told before.
    CallMedia(CallKey, Block<'e>),
    /// The agent says how a call ended. Once for a call, if late after it was left open.
    CallEnded(CallKey),
    /// Its turn has ended, and nobody said what became of a call.
    CallLeftOpen {
        call: CallKey,
        outcome: Outcome,
    },
    /// The plan is another; `steps` are those that are worth a word now.
    Planned {
        steps: Vec<PlanStep>,
    },
    Asked(Box<Question<'e>>),
    Decided(Box<Decision>),
    /// Something went wrong; in a turn, each message once. `is_said`: the agent's last words are
    /// the same.
    Failed {
        fault: Fault,
        is_said: bool,
        /// With this the turn ends.
        is_end: bool,
    },
    /// Once for every turn that has started, however it went.
    TurnEnded(Box<TurnEnd>),
    /// An event of our own that is none of these, and what it says in words.
    Own(Box<Own<'e>>, Option<Notice>),
    /// An update of the agent that is none of these, and what it says in words.
    Update(&'e str, Object<'e>, Option<Notice>),
}
