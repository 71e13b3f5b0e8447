//! The changes that an event can make in a conversation.

use wire::event::TurnOutcome;
use wire::{Fault, OwnEvent};

use crate::calls::CallKey;
use crate::content::ContentBlock;
use crate::json::JsonObject;
use crate::notice::Notice;
use crate::plan::PlanStep;
use crate::prompts::UserMessage;
use crate::question::{PermissionDecision, PermissionQuestion};
use crate::turn::TurnEnd;

/// One change; changes come in the order in which they are to be shown. Calls are looked up in the
/// conversation.
#[derive(Debug)]
pub enum Change<'e> {
    /// A prompt of the user, at the point where it is to be shown.
    Prompt(UserMessage),
    TurnStarted,
    /// New text of the answer.
    Answer {
        text: String,
        parent: Option<String>,
    },
    /// A content block of the answer that is not text.
    AnswerBlock {
        block: ContentBlock<'e>,
        parent: Option<String>,
    },
    Thought {
        text: String,
        parent: Option<String>,
    },
    /// The agent reports a tool call, or an update of one.
    CallSeen {
        call: CallKey,
        /// The members of this report.
        fields: JsonObject<'e>,
    },
    /// Enough is known of a call to show it, or no more will come. Once for a call.
    CallBegan {
        call: CallKey,
        /// A permission question about it follows.
        is_asked: bool,
    },
    /// A new image or sound in the output of a call.
    CallMedia(CallKey, ContentBlock<'e>),
    /// The agent reports how a call ended. Once for a call, if late after it was left open.
    CallEnded(CallKey),
    /// The turn of a call has ended, and the agent never reported how the call ended.
    CallLeftOpen {
        call: CallKey,
        outcome: TurnOutcome,
    },
    /// The plan has changed; `steps` are those worth showing now.
    Planned {
        steps: Vec<PlanStep>,
    },
    Asked(Box<PermissionQuestion<'e>>),
    Decided(Box<PermissionDecision>),
    /// An error; in a turn, each message once. `is_in_answer`: the end of the answer already says
    /// the same.
    Failed {
        fault: Fault,
        is_in_answer: bool,
        /// The turn ends with this error.
        is_end: bool,
    },
    /// Once for every turn that has started, however it went.
    TurnEnded(Box<TurnEnd>),
    /// Any other event of Switchyard itself, and the notice to show for it.
    Own(Box<OwnEvent<'e>>, Option<Notice>),
    /// Any other update of the agent, and the notice to show for it.
    Update(&'e str, JsonObject<'e>, Option<Notice>),
}
