//! What every dialect owes its reader, whatever a process prints.

use std::collections::BTreeMap;

use runtimes::dialect::{DialectName, DialectOutput};
use runtimes::update::{ContentBlock, SessionUpdate, ToolCallStatus};
use serde_json::Value;

/// What must hold for anything that any process prints.
pub fn check(said: &[DialectOutput]) {
    let mut calls: BTreeMap<&str, bool> = BTreeMap::new();
    for said in said {
        match said {
            DialectOutput::Update(SessionUpdate::ToolCall(call)) => {
                assert!(call.title.is_some(), "a call without a title");
                let is_final = call.status.is_some_and(ToolCallStatus::is_final);
                assert!(calls.insert(&call.id, is_final).is_none(), "{} started twice", call.id);
            }
            DialectOutput::Update(SessionUpdate::ToolCallUpdate(call)) => {
                let has_ended = calls.get_mut(call.id.as_str());
                let has_ended = has_ended.unwrap_or_else(|| panic!("{} never started", call.id));
                assert!(!*has_ended, "{} went on after its end", call.id);
                *has_ended = call.status.is_some_and(ToolCallStatus::is_final);
            }
            // A turn's calls end with it.
            DialectOutput::TurnEnded(_) => {
                let open: Vec<_> = calls.iter().filter(|(_, has_ended)| !**has_ended).collect();
                assert!(open.is_empty(), "open at the end of the turn: {open:?}");
            }
            DialectOutput::StdinLine(line) => {
                assert!(serde_json::from_str::<Value>(line).is_ok(), "we wrote {line:?}");
                assert!(!line.contains('\n'), "two lines in one: {line:?}");
            }
            _ => {}
        }
    }
}

/// What must hold once a process is gone.
pub fn check_over(name: DialectName, said: &[DialectOutput]) {
    check(said);
    let mut open: Vec<&str> = Vec::new();
    for said in said {
        if let DialectOutput::Update(
            SessionUpdate::ToolCall(call) | SessionUpdate::ToolCallUpdate(call),
        ) = said
        {
            open.retain(|id| *id != call.id);
            if !call.status.is_some_and(ToolCallStatus::is_final) {
                open.push(&call.id);
            }
        }
    }
    assert!(open.is_empty(), "open when the process is gone: {open:?}");
    match name {
        DialectName::CodexAppServer | DialectName::PiRpc => {}
        DialectName::ClaudeStreamJson => assert!(turn_ends(said) > 0, "no turn ended"),
        _ => assert_eq!(turn_ends(said), 1, "a process is a turn"),
    }
}

pub fn turn_ends(said: &[DialectOutput]) -> usize {
    said.iter().filter(|said| matches!(said, DialectOutput::TurnEnded(_))).count()
}

/// The answer's text, as a client would put it together.
pub fn text_of(said: &[DialectOutput]) -> String {
    said.iter()
        .filter_map(|said| match said {
            DialectOutput::Update(SessionUpdate::AgentMessageChunk {
                content: ContentBlock::Text { text },
                ..
            }) => Some(text.as_str()),
            _ => None,
        })
        .collect()
}
