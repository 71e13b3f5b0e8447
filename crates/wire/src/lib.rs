//! The formats that Switchyard uses on its pipes and in its log.
//!
//! In: bytes. Out: lines, messages, events and ids, and the bytes to send back.
//! Nothing here does I/O, reads a clock or draws randomness, and nothing panics on any
//! input: callers bring bytes, times and entropy.

mod category;
mod duplicates;
mod envelope;
pub mod fault;
mod ids;
mod json;
mod lines;
mod message;
mod permission_mode;
mod readable;
mod rpc;
mod splice;
mod string_enum;
mod token_scope;
mod tool_kind;
mod values;

pub mod event;
pub mod limits;
pub mod sse;
pub mod text;
pub mod uri;

pub use category::Category;
pub use duplicates::{Ambiguity, check_unambiguous};
pub use envelope::{Envelope, Span, UnreadableLine};
pub use event::{Draft, Event, Kind, Millis, OwnEvent, Seq};
pub use fault::Fault;
pub use ids::{CallId, Id36, InvalidId, SessionId, TurnId};
pub use json::{Json, NotJson, RawJson};
pub use lines::{LineError, LineSplitter};
pub use message::{Message, MessageError, MessageKind, UpdatePeek, salvage_id};
pub use permission_mode::PermissionMode;
pub use readable::readable;
pub use rpc::{RpcError, RpcId, codes, error_line, notification_line, request_line, result_line};
pub use splice::{members_in_order, raw_members, remove_member, set_member};
pub use token_scope::TokenScope;
pub use tool_kind::ToolKind;
pub use values::{has_more_values, has_too_many_values};

// What is fuzzed names the crate from outside, and is tried in its tests, too.
#[cfg(test)]
extern crate self as wire;
