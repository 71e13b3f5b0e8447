//! What is picked of a list: sessions and agents.

use ratatui::crossterm::event::KeyCode;

use super::ChatState;
use super::tests::{key, opened, send, type_in};
use crate::ChatStart;
use crate::effect::{ChatMessage, Effect};
use crate::info::{AgentInfo, SessionInfo};

#[test]
fn sessions_are_picked_by_typing() {
    let mut state = opened();
    assert_eq!(send(&mut state, "/sessions")[0], Effect::Sessions);
    let session = |id: &str, title: &str| SessionInfo {
        id: id.into(),
        title: Some(title.into()),
        ..SessionInfo::default()
    };
    state.handle_message(ChatMessage::Sessions(vec![
        session("s2", "Fix the door"),
        session("s3", "Paint"),
    ]));
    type_in(&mut state, "paint");
    assert_eq!(state.press(key(KeyCode::Enter)), [Effect::Attach("s3".into())]);
}

#[test]
fn a_single_agent_is_taken_and_several_are_offered() {
    let agent =
        |id: &str, is_usable| AgentInfo { id: id.into(), is_usable, ..AgentInfo::default() };
    let mut state = ChatState::new(Vec::new());
    assert_eq!(state.begin(ChatStart::AnyAgent), [Effect::Agents]);
    let found = vec![agent("demo", true), agent("x", false)];
    let effects = state.handle_message(ChatMessage::Agents { found, is_complete: true });
    assert_eq!(effects, [Effect::Create { agent: Some("demo".into()) }]);

    let mut state = ChatState::new(Vec::new());
    state.begin(ChatStart::AnyAgent);
    let found = vec![agent("demo", true), agent("native", true)];
    assert!(state.handle_message(ChatMessage::Agents { found, is_complete: true }).is_empty());
    state.press(key(KeyCode::Down));
    let effects = state.press(key(KeyCode::Enter));
    assert_eq!(effects, [Effect::Create { agent: Some("native".into()) }]);
}
