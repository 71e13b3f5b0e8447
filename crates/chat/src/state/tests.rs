use client::{ClientError, FollowerMessage};
use proptest::prelude::*;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use serde_json::json;

use super::{ChatState, Overlay};
use crate::ChatStart;
use crate::conversation::OwnActions;
use crate::conversation::tests::{KINDS, Log, any_json, call_id};
use crate::effect::{ChatMessage, Effect, Scroll};
use crate::info::{AgentInfo, SessionInfo};

pub(crate) fn opened() -> ChatState {
    let mut state = ChatState::new(Vec::new());
    let session = SessionInfo {
        id: "s1".into(),
        agent: "demo".into(),
        cwd: "/home/me/src".into(),
        status: "idle".into(),
        ..SessionInfo::default()
    };
    state.handle_message(ChatMessage::Opened(Box::new(session)));
    state.handle_message(ChatMessage::Stream(FollowerMessage::Live));
    // Whoever looks at a log that is told here has asked what is asked in it.
    state.conversation.own = OwnActions::default();
    state
}

pub(crate) fn hear(state: &mut ChatState, events: impl IntoIterator<Item = wire::Event>) {
    for event in events {
        state.handle_message(ChatMessage::Stream(FollowerMessage::Event(Box::new(event))));
    }
    if state.question().is_some() {
        look(state);
    }
}

/// Draws the state on a screen that is large enough for most things.
pub(crate) fn look(state: &mut ChatState) {
    crate::render::tests::look(state, 80, 40);
}

pub(crate) fn key(code: KeyCode) -> KeyEvent {
    KeyEvent::new(code, KeyModifiers::NONE)
}

fn ctrl(letter: char) -> KeyEvent {
    KeyEvent::new(KeyCode::Char(letter), KeyModifiers::CONTROL)
}

pub(crate) fn type_in(state: &mut ChatState, text: &str) -> Vec<Effect> {
    text.chars().flat_map(|letter| state.press(key(KeyCode::Char(letter)))).collect()
}

/// Presses one key and leaves it alone for a while.
pub(super) fn answer(state: &mut ChatState, code: KeyCode) -> Vec<Effect> {
    let mut effects = state.press(key(code));
    state.tick(state.now + 1000);
    effects.extend(state.send_due_answer());
    effects
}

pub(super) fn send(state: &mut ChatState, text: &str) -> Vec<Effect> {
    type_in(state, text);
    state.press(key(KeyCode::Enter))
}

#[test]
fn enter_sends_and_remembers() {
    let mut state = opened();
    let effects = send(&mut state, "say hello");
    let prompt = Effect::Prompt { text: "say hello".into(), mentions: vec![], name: 1 };
    assert_eq!(
        effects,
        [prompt, Effect::SaveToHistory("say hello".into()), Effect::Scroll(Scroll::End)]
    );
    assert!(state.editor.is_empty());
    state.press(key(KeyCode::Up));
    assert_eq!(state.editor.text(), "say hello");
}

#[test]
fn several_lines_are_one_prompt() {
    let mut state = opened();
    type_in(&mut state, "a");
    state.press(KeyEvent::new(KeyCode::Enter, KeyModifiers::ALT));
    type_in(&mut state, "b");
    state.press(ctrl('j'));
    state.paste("c\r\nd");
    assert!(matches!(&state.press(key(KeyCode::Enter))[0],
        Effect::Prompt { text, .. } if text == "a\nb\nc\nd"));
}

#[test]
fn escape_cancels_only_a_turn_that_runs() {
    let mut state = opened();
    assert!(state.press(key(KeyCode::Esc)).is_empty());
    let mut log = Log::in_turn();
    hear(&mut state, log.prompt("slow"));
    assert_eq!(state.press(key(KeyCode::Esc)), [Effect::Cancel]);
}

#[test]
fn ctrl_c_stops_then_leaves_and_forgets_after_a_while() {
    let mut state = opened();
    let mut log = Log::in_turn();
    hear(&mut state, log.prompt("slow"));
    assert_eq!(state.press(ctrl('c')), [Effect::Cancel]);
    assert_eq!(state.press(ctrl('c')), [Effect::Leave]);
    state.tick(10_000);
    assert_eq!(state.press(ctrl('c')), [Effect::Cancel]);
}

#[test]
fn what_was_typed_before_a_question_could_be_seen_does_not_answer_it() {
    let mut state = opened();
    let mut log = Log::in_turn();
    state.tick(1000);
    type_in(&mut state, "yes");
    hear(&mut state, [log.ask('q')]);
    assert!(type_in(&mut state, "1y").is_empty());
    assert_eq!(state.editor.text(), "yes1y");
    // Not even later, while something stands in the input.
    state.tick(5000);
    assert!(!state.is_answering);
    state.press(key(KeyCode::Tab));
    assert!(state.is_answering);
    let effects = answer(&mut state, KeyCode::Char('1'));
    let id = wire::CallId::parse(&call_id('q')).unwrap();
    assert_eq!(effects, [Effect::Answer { id, body: json!({ "optionId": "opt-1" }) }]);
}

#[test]
fn a_question_is_answered_by_letter_or_mark_once() {
    for (keys, option) in [
        (vec![KeyCode::Char('n')], "opt-3"),
        (vec![KeyCode::Char('y')], "opt-1"),
        (vec![KeyCode::Enter, KeyCode::Down, KeyCode::Down, KeyCode::Enter], "opt-2"),
    ] {
        let mut state = opened();
        let mut log = Log::in_turn();
        hear(&mut state, [log.ask('q')]);
        state.tick(1000);
        assert!(state.is_answering);
        let mut effects: Vec<Effect> =
            keys.into_iter().flat_map(|code| state.press(key(code))).collect();
        assert!(effects.is_empty());
        state.tick(1500);
        effects.extend(state.send_due_answer());
        assert!(
            matches!(&effects[..], [Effect::Answer { body, .. }] if body["optionId"] == option)
        );
        // On its way: a second press is no second answer.
        state.tick(2000);
        assert!(state.question().is_none() && !state.is_answering);
    }
}

#[test]
fn the_next_question_takes_no_key_that_was_meant_for_the_one_before() {
    let mut state = opened();
    let mut log = Log::in_turn();
    hear(&mut state, [log.ask('q'), log.ask('r')]);
    state.tick(1000);
    let later = |state: &mut ChatState, ms: u64| {
        state.tick(state.now + ms);
        state.send_due_answer()
    };
    type_in(&mut state, "1");
    assert_eq!(later(&mut state, 300).len(), 1);
    // Too soon for the second.
    type_in(&mut state, "1");
    assert!(later(&mut state, 300).is_empty());
    state.press(key(KeyCode::Backspace));
    state.tick(state.now + 1000);
    look(&mut state);
    type_in(&mut state, "1");
    assert_eq!(later(&mut state, 300).len(), 1);
}

pub(crate) fn asked() -> (ChatState, Log) {
    let mut state = opened();
    let mut log = Log::in_turn();
    hear(&mut state, log.prompt("go"));
    hear(&mut state, [log.ask('q')]);
    state.tick(20_000);
    assert!(state.is_answering);
    (state, log)
}

#[test]
fn cancelling_ends_with_the_turn() {
    let mut state = opened();
    let mut log = Log::in_turn();
    hear(&mut state, log.prompt("slow"));
    state.press(key(KeyCode::Esc));
    assert!(state.is_cancelling());
    hear(&mut state, [log.event("cancel_requested", &json!({ "by": "local" }))]);
    assert!(state.is_cancelling());
    // The end of another turn is not the end of this one.
    let first = log.turn;
    log.turn = Some(crate::conversation::tests::turn(2));
    hear(&mut state, [log.event("prompt_received", &json!({ "prompt": "x", "by": "local" }))]);
    hear(&mut state, [log.event("turn_ended", &json!({ "stopReason": "cancelled" }))]);
    assert!(state.is_cancelling() && state.conversation.running == first);
    log.turn = first;
    hear(&mut state, [log.event("turn_ended", &json!({ "stopReason": "cancelled" }))]);
    assert!(!state.is_cancelling() && state.remark().is_none());
    // Nor does it come back with the next turn.
    log.turn = Some(crate::conversation::tests::turn(3));
    hear(&mut state, log.prompt("next"));
    assert!(!state.is_cancelling());
}

#[test]
fn what_is_said_in_several_lines_is_one_remark_without_escapes() {
    let mut state = opened();
    state.handle_message(ChatMessage::Failed("no endpoint\n\n  set one\n".into()));
    assert_eq!(state.remark(), Some("no endpoint; set one"));
}

#[test]
fn ones_own_prompts_are_told_from_those_of_others() {
    use crate::conversation::ChatPart;
    let mut state = opened();
    state.conversation.own = OwnActions::since(0);
    let mut log = Log::in_turn();
    send(&mut state, "mine");
    hear(&mut state, log.prompt("mine"));
    log.turn = Some(crate::conversation::tests::turn(2));
    hear(&mut state, log.prompt("from another terminal"));
    log.turn = Some(crate::conversation::tests::turn(3));
    let prompt = json!({ "prompt": "from a phone", "by": "phone" });
    hear(&mut state, [log.event("prompt_received", &prompt)]);
    hear(&mut state, [log.event("turn_started", &json!({}))]);
    let by: Vec<Option<&str>> = state
        .conversation
        .items()
        .iter()
        .map(|item| match &item.part {
            ChatPart::Prompt { by, .. } => by.as_deref(),
            _ => Some("?"),
        })
        .collect();
    assert_eq!(by, [None, Some("you elsewhere"), Some("phone")]);
}

#[test]
fn who_answered_is_said_in_words() {
    use crate::conversation::ChatPart;
    let last = |state: &ChatState| match &state.conversation.items().last().unwrap().part {
        ChatPart::Note(_, text) => text.clone(),
        _ => String::new(),
    };
    let resolved =
        |by: serde_json::Value| json!({ "requestId": call_id('q'), "by": by, "allowed": true });
    let asked = || {
        let (mut state, log) = asked();
        state.conversation.own = OwnActions::since(0);
        (state, log)
    };
    let (mut state, mut log) = asked();
    let by = json!({ "who": "client", "detail": "local http" });
    answer(&mut state, KeyCode::Char('y'));
    hear(&mut state, [log.event("permission_resolved", &resolved(by.clone()))]);
    assert_eq!(last(&state), "allowed by you");
    let (mut state, mut log) = asked();
    hear(&mut state, [log.event("permission_resolved", &resolved(by))]);
    assert_eq!(last(&state), "allowed by you elsewhere");
    let (mut state, mut log) = asked();
    let by = json!({ "who": "client", "detail": "token:phone http" });
    hear(&mut state, [log.event("permission_resolved", &resolved(by))]);
    assert_eq!(last(&state), "allowed by phone");
}

#[test]
fn the_built_in_agent_without_a_model_is_offered_with_what_it_lacks() {
    let mut state = ChatState::new(Vec::new());
    state.begin(ChatStart::AnyAgent);
    let agent = |id: &str, is_usable, message: &str| AgentInfo {
        id: id.into(),
        is_usable,
        is_built_in: id == "native",
        diagnoses: vec![crate::info::Diagnosis { message: message.into() }],
        ..AgentInfo::default()
    };
    let found = vec![
        agent("native", false, "no endpoint\nmore"),
        agent("demo", true, ""),
        agent("other", true, ""),
        agent("missing", false, "not found"),
    ];
    assert!(state.handle_message(ChatMessage::Agents { found, is_complete: true }).is_empty());
    let Some(Overlay::Picker(picker)) = &state.overlay else { panic!() };
    let shown: Vec<&str> = picker.shown().iter().map(|entry| entry.id.as_str()).collect();
    assert_eq!(shown, ["demo", "other", "native"]);
    state.press(key(KeyCode::End));
    assert!(state.press(key(KeyCode::Enter)).is_empty());
    assert!(state.remark().unwrap().contains("no endpoint;"), "{:?}", state.remark());
    assert!(state.overlay.is_some());
}

#[test]
fn a_form_is_filled_in_field_by_field() {
    let mut state = opened();
    let mut log = Log::in_turn();
    let schema =
        json!({ "properties": { "name": { "type": "string" }, "ok": { "type": "boolean" } } });
    let request = json!({ "message": "Who?", "requestedSchema": schema });
    let payload = json!({ "requestId": call_id('q'), "ask": true, "request": request });
    hear(&mut state, [log.event("elicitation_requested", &payload)]);
    state.tick(1000);
    // What is asked has to be seen first, each field of it.
    assert!(send(&mut state, "them").is_empty());
    assert_eq!(state.editor.take(), "them");
    look(&mut state);
    assert!(send(&mut state, "me").is_empty());
    look(&mut state);
    let effects = send(&mut state, "y");
    let content = json!({ "name": "me", "ok": true });
    assert!(matches!(&effects[..], [Effect::Answer { body, .. }]
        if body["response"] == json!({ "action": "accept", "content": content })));
}

#[test]
fn a_prompt_that_was_not_taken_comes_back() {
    let mut state = opened();
    send(&mut state, "precious words");
    state.handle_message(ChatMessage::PromptRejected {
        text: "precious words".into(),
        why: "gone".into(),
    });
    assert_eq!(state.editor.text(), "precious words");
    assert!(state.remark().unwrap().contains("gone"));
}

#[test]
fn a_missing_event_opens_the_stream_anew() {
    let mut state = opened();
    let mut log = Log::in_turn();
    let (first, _lost, third) = (log.say("1"), log.say("2"), log.say("3"));
    hear(&mut state, [first]);
    assert_eq!(
        state.handle_message(ChatMessage::Stream(FollowerMessage::Event(Box::new(third)))),
        [Effect::Reopen]
    );
}

#[test]
fn commands_are_completed_and_obeyed() {
    let mut state = opened();
    type_in(&mut state, "/ti");
    state.press(key(KeyCode::Tab));
    assert_eq!(state.editor.text(), "/title ");
    let effects = send(&mut state, "My work");
    assert_eq!(effects[0], Effect::Change(json!({ "title": "My work" })));
    assert_eq!(send(&mut state, "/fork")[0], Effect::Fork);
    assert_eq!(send(&mut state, "/quit")[0], Effect::Leave);
    send(&mut state, "/help");
    assert!(matches!(state.overlay, Some(Overlay::Help)));
}

#[test]
fn mentioned_files_go_along() {
    let mut state = opened();
    state.handle_message(ChatMessage::Files(vec!["src/main.rs".into()]));
    type_in(&mut state, "explain @mai");
    state.press(key(KeyCode::Tab));
    assert_eq!(state.editor.text(), "explain @src/main.rs ");
    let effects = state.press(key(KeyCode::Enter));
    assert!(matches!(&effects[0], Effect::Prompt { mentions, .. } if mentions == &["src/main.rs"]));
}

#[test]
fn a_session_that_cannot_go_on_says_why() {
    use crate::conversation::ChatPart;

    let mut state = opened();
    let mut log = Log::in_turn();
    hear(&mut state, log.prompt("slow"));
    hear(&mut state, [log.ask('q')]);
    let effects = state.handle_message(ChatMessage::Stream(FollowerMessage::Halted(
        "the log is\u{1b}[2J full".into(),
    )));
    assert_eq!(effects, [Effect::Refresh]);
    assert!(!state.is_running() && state.question().is_none(), "nothing goes on in it");
    let Some(ChatPart::Note(_, text)) = state.conversation.items().last().map(|item| &item.part)
    else {
        panic!("{:?}", state.conversation.items())
    };
    assert!(text.starts_with("the session cannot go on: the log is"), "{text}");
    assert!(!text.contains('\u{1b}'), "{text:?}");
}

#[test]
fn nothing_is_sent_to_a_session_that_is_gone() {
    let mut state = opened();
    state.handle_message(ChatMessage::Stream(FollowerMessage::Over(ClientError::SessionDeleted)));
    assert!(send(&mut state, "hello").is_empty());
    assert_eq!(state.editor.text(), "hello");
}

fn any_key() -> impl Strategy<Value = KeyEvent> {
    let code = prop_oneof![
        any::<char>().prop_map(KeyCode::Char),
        "[/@a-z1-9 ]".prop_map(|text| KeyCode::Char(text.chars().next().unwrap_or('a'))),
        proptest::sample::select(vec![
            KeyCode::Enter,
            KeyCode::Esc,
            KeyCode::Tab,
            KeyCode::Up,
            KeyCode::Down,
            KeyCode::Left,
            KeyCode::Right,
            KeyCode::Backspace,
            KeyCode::Delete,
            KeyCode::Home,
            KeyCode::End,
            KeyCode::PageUp,
            KeyCode::PageDown,
            KeyCode::F(1),
            KeyCode::Null,
        ]),
    ];
    let modifiers = proptest::sample::select(vec![
        KeyModifiers::NONE,
        KeyModifiers::CONTROL,
        KeyModifiers::ALT,
        KeyModifiers::SHIFT,
    ]);
    (code, modifiers).prop_map(|(code, modifiers)| KeyEvent::new(code, modifiers))
}

#[derive(Debug, Clone)]
pub(crate) enum Step {
    Key(KeyEvent),
    Paste(String),
    Event(usize, serde_json::Value, u8),
    Time(u64),
    Size(u16, u16),
    Lost,
}

pub(crate) fn any_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => any_key().prop_map(Step::Key),
        1 => any::<String>().prop_map(Step::Paste),
        4 => (0..KINDS.len(), any_json(), 0_u8..3).prop_map(|(k, p, t)| Step::Event(k, p, t)),
        1 => (0_u64..3000).prop_map(Step::Time),
        1 => (0_u16..100, 0_u16..40).prop_map(|(w, h)| Step::Size(w, h)),
        1 => Just(Step::Lost),
    ]
}

/// Takes the step; the size is for whoever draws.
pub(crate) fn take(
    state: &mut ChatState,
    log: &mut Log,
    step: Step,
) -> (Vec<Effect>, Option<(u16, u16)>) {
    let effects = match step {
        Step::Key(key) => state.press(key),
        Step::Paste(text) => state.paste(&text),
        Step::Event(kind, mut payload, n) => {
            log.turn = (n > 0).then(|| crate::conversation::tests::turn(n));
            if let Some(members) = payload.as_object_mut() {
                members.insert("requestId".to_owned(), json!(call_id('q')));
                members.insert("ask".to_owned(), json!(true));
            }
            state.handle_message(ChatMessage::Stream(FollowerMessage::Event(Box::new(
                log.event(KINDS[kind], &payload),
            ))))
        }
        Step::Time(by) => {
            state.tick(state.now + by);
            Vec::new()
        }
        Step::Size(width, height) => return (Vec::new(), Some((width, height))),
        Step::Lost => state
            .handle_message(ChatMessage::Stream(FollowerMessage::Lost("\u{1b}[31mgone".into()))),
    };
    (effects, None)
}
