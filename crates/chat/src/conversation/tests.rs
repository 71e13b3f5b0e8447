use proptest::prelude::*;
use serde_json::{Value, json};
use wire::{Event, Json, Kind, Millis, Seq, TurnId};

use super::{ApplyOutcome, CallStatus, ChatConversation, ChatPart};

/// A log that is being written.
#[derive(Default)]
pub(crate) struct Log {
    seq: u64,
    pub(crate) turn: Option<TurnId>,
}

impl Log {
    pub(crate) fn in_turn() -> Self {
        Self { seq: 0, turn: Some(turn(1)) }
    }

    pub(crate) fn event(&mut self, kind: &str, payload: &Value) -> Event {
        self.seq += 1;
        Event {
            seq: Seq(self.seq),
            at: Millis(1000 * i64::try_from(self.seq).unwrap()),
            turn: self.turn,
            kind: Kind::from_log(kind),
            payload: Json::of(payload),
        }
    }

    pub(crate) fn update(&mut self, update: &Value) -> Event {
        let kind = update["sessionUpdate"].as_str().unwrap_or_default().to_owned();
        self.event(&kind, &json!({ "sessionId": "s", "update": update }))
    }

    pub(crate) fn say(&mut self, text: &str) -> Event {
        self.update(&json!({
            "sessionUpdate": "agent_message_chunk",
            "content": { "type": "text", "text": text },
        }))
    }

    pub(crate) fn prompt(&mut self, text: &str) -> [Event; 2] {
        let prompt = json!({ "prompt": [{ "type": "text", "text": text }], "by": "local" });
        [self.event("prompt_received", &prompt), self.event("turn_started", &json!({}))]
    }

    pub(crate) fn ask(&mut self, id: char) -> Event {
        let call = json!({ "toolCallId": "t1", "title": "rm -rf build", "kind": "execute" });
        let option = |id: &str, name: &str, kind: &str| json!({ "optionId": id, "name": name, "kind": kind });
        let options = json!([
            option("opt-1", "Allow once", "allow_once"),
            option("opt-2", "Always allow", "allow_always"),
            option("opt-3", "Reject", "reject_once"),
        ]);
        let request = json!({ "toolCall": call, "options": options });
        let payload = json!({ "requestId": call_id(id), "ask": true, "request": request });
        self.event("permission_requested", &payload)
    }
}

pub(crate) fn turn(n: u8) -> TurnId {
    TurnId::parse(&format!("{}{}", char::from(b'a' + n), "b".repeat(23))).unwrap()
}

pub(crate) fn call_id(letter: char) -> String {
    letter.to_string().repeat(24)
}

fn heard(events: &[Event]) -> ChatConversation {
    let mut talk = ChatConversation::default();
    for event in events {
        assert_eq!(talk.apply_event(event), ApplyOutcome::New);
    }
    talk
}

#[test]
fn chunks_of_an_answer_are_one_item() {
    let mut log = Log::in_turn();
    let [received, started] = log.prompt("hi");
    let talk = heard(&[received, started, log.say("one "), log.say("two")]);
    assert_eq!(talk.items().len(), 2);
    assert!(matches!(&talk.items()[0].part, ChatPart::Prompt { text, by: None } if text == "hi"));
    assert!(matches!(&talk.items()[1].part, ChatPart::Answer(prose) if prose.text == "one two"));
    assert!(talk.running.is_some());
}

#[test]
fn an_event_that_comes_twice_is_heard_once_and_a_gap_is_noticed() {
    let mut log = Log::in_turn();
    let first = log.say("one");
    let second = log.say("two");
    let third = log.say("three");
    let mut talk = heard(std::slice::from_ref(&first));
    assert_eq!(talk.apply_event(&first), ApplyOutcome::Known);
    assert_eq!(talk.apply_event(&third), ApplyOutcome::Gap);
    assert_eq!(talk.apply_event(&second), ApplyOutcome::New);
    assert_eq!(talk.apply_event(&third), ApplyOutcome::New);
    assert!(
        matches!(&talk.items()[0].part, ChatPart::Answer(prose) if prose.text == "onetwothree")
    );
}

#[test]
fn a_prompt_waits_until_its_turn_begins() {
    let mut log = Log::in_turn();
    let [received, started] = log.prompt("first");
    log.turn = Some(turn(2));
    let [second, begun] = log.prompt("second");
    let mut talk = heard(&[received, started, second]);
    assert_eq!(talk.waiting_prompts.len(), 1);
    assert_eq!(talk.items().len(), 1);
    talk.apply_event(&begun);
    assert!(talk.waiting_prompts.is_empty());
    assert!(matches!(&talk.items()[1].part, ChatPart::Prompt { text, .. } if text == "second"));
}

#[test]
fn a_tool_call_is_put_together_and_left_open_calls_are_told_as_such() {
    let mut log = Log::in_turn();
    let call = |status: &str| json!({ "sessionUpdate": "tool_call_update", "toolCallId": "t", "status": status });
    let start = json!({
        "sessionUpdate": "tool_call", "toolCallId": "t", "title": "Edit", "kind": "edit",
        "content": [{ "type": "diff", "path": "a.rs", "oldText": "a\n", "newText": "b\n" }],
    });
    let events = [log.update(&start), log.update(&call("in_progress"))];
    let mut talk = heard(&events);
    let ChatPart::Tool(tool) = &talk.items()[0].part else { panic!() };
    assert_eq!((tool.status, tool.shown(None).outputs.len()), (CallStatus::InProgress, 1));
    talk.apply_event(&log.event("turn_ended", &json!({ "stopReason": "end_turn" })));
    let ChatPart::Tool(tool) = &talk.items()[0].part else { panic!() };
    assert_eq!(tool.status, CallStatus::Abandoned);
}

#[test]
fn an_error_that_the_agent_told_as_its_answer_is_told_once() {
    let mut log = Log::in_turn();
    let words = "Server error (HTTP 500) from http://here/v1.";
    let told = json!({
        "sessionUpdate": "agent_message_chunk", "content": { "type": "text", "text": words },
    });
    let failed = json!({ "stopReason": "error", "error": { "message": words } });
    let events = [log.update(&told), log.event("turn_ended", &failed)];
    let talk = heard(&events);
    let texts: Vec<&str> = talk
        .items()
        .iter()
        .map(|item| match &item.part {
            ChatPart::Answer(prose) => prose.text.as_str(),
            ChatPart::Note(_, text) => text,
            part => panic!("{part:?}"),
        })
        .collect();
    assert_eq!(texts, [words, "the turn failed"]);

    // Where nobody has said it, it is said.
    let talk = heard(&[Log::in_turn().event("turn_ended", &failed)]);
    assert!(matches!(&talk.items()[0].part, ChatPart::Note(_, text) if text == words));
}

#[test]
fn a_question_is_there_until_it_is_answered_and_only_if_somebody_is_asked() {
    let mut log = Log::in_turn();
    let mut talk = heard(&[log.ask('q')]);
    assert_eq!(talk.questions.len(), 1);
    let resolved = json!({ "requestId": call_id('q'), "by": { "who": "client" }, "allowed": true });
    talk.apply_event(&log.event("permission_resolved", &resolved));
    assert!(talk.questions.is_empty());
    let unasked = json!({ "requestId": call_id('r'), "ask": false, "request": {} });
    talk.apply_event(&log.event("permission_requested", &unasked));
    assert!(talk.questions.is_empty());
}

#[test]
fn an_agents_echo_of_the_prompt_is_not_said_twice() {
    let mut log = Log::in_turn();
    let [received, started] = log.prompt("hi there");
    let echo = |text: &str| json!({ "sessionUpdate": "user_message_chunk", "content": { "type": "text", "text": text } });
    let events =
        [received, started, log.update(&echo("hi ")), log.update(&echo("there")), log.say("x")];
    assert_eq!(heard(&events).items().len(), 2);
}

#[test]
fn a_long_answer_is_divided_without_losing_a_letter() {
    let mut log = Log::in_turn();
    let mut talk = ChatConversation::default();
    let mut whole = String::new();
    for n in 0..4000 {
        let chunk = format!("line {n}\n{}", if n % 10 == 0 { "\n" } else { "" });
        whole.push_str(&chunk);
        talk.apply_event(&log.say(&chunk));
    }
    let texts: Vec<&str> = talk
        .items()
        .iter()
        .map(|item| match &item.part {
            ChatPart::Answer(prose) => prose.text.as_str(),
            _ => panic!(),
        })
        .collect();
    assert!(texts.len() > 3 && texts.iter().all(|text| text.len() < 9000));
    assert_eq!(texts.concat(), whole);
}

#[test]
fn code_without_end_keeps_its_fence_where_it_is_divided() {
    let mut log = Log::in_turn();
    let mut talk = ChatConversation::default();
    talk.apply_event(&log.say("```rust\n"));
    for n in 0..8000 {
        talk.apply_event(&log.say(&format!("let x = {n};\n")));
    }
    assert!(talk.items().len() > 1);
    for item in talk.items() {
        assert!(
            matches!(&item.part, ChatPart::Answer(prose) if prose.text.starts_with("```rust\n"))
        );
    }
}

fn tool_at(talk: &ChatConversation, index: usize) -> &super::ToolCard {
    match &talk.items()[index].part {
        ChatPart::Tool(tool) => tool,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_terminals_output_finds_its_card_whichever_comes_first() {
    let output = |data: &str| json!({ "terminalId": "term_1", "data": data });
    let card = json!({
        "sessionUpdate": "tool_call", "toolCallId": "t", "title": "ls",
        "content": [{ "type": "terminal", "terminalId": "term_1" }],
    });
    let mut log = Log::in_turn();
    let early = log.event("terminal_output", &output("one\ntw"));
    let named = log.update(&card);
    let mut talk = heard(&[early, named]);
    assert_eq!(
        tool_at(&talk, 0).shown(None).outputs,
        [super::CardOutput::Terminal("term_1".into())]
    );
    let before = talk.items()[0].revision;
    talk.apply_event(&log.event("terminal_output", &output("o\n")));
    assert_ne!(talk.items()[0].revision, before);
    assert_eq!(talk.terminal("term_1").unwrap().printed.text(), "one\ntwo");
    let exited = json!({ "terminalId": "term_1", "exitCode": 3, "truncated": true });
    talk.apply_event(&log.event("terminal_exited", &exited));
    let terminal = talk.terminal("term_1").unwrap();
    assert_eq!(terminal.end_words().as_deref(), Some("exit code 3"));
    assert!(terminal.is_truncated && talk.items().len() == 1);
}

#[test]
fn a_command_whose_end_nobody_saw_is_lost_also_if_it_had_printed_nothing() {
    let card = json!({
        "sessionUpdate": "tool_call", "toolCallId": "t", "status": "completed",
        "content": [{ "type": "terminal", "terminalId": "term_1" }],
    });
    let mut log = Log::in_turn();
    let mut talk = heard(&[log.update(&card)]);
    let before = talk.items()[0].revision;

    let lost = json!({ "terminalId": "term_1", "lost": true });
    talk.apply_event(&log.event("terminal_exited", &lost));

    assert_eq!(talk.terminal("term_1").unwrap().state(), super::CommandState::Lost);
    assert_ne!(talk.items()[0].revision, before);
    assert_eq!(talk.items().len(), 1, "its card says it");
}

#[test]
fn fences_around_an_output_are_left_out_and_others_stay() {
    let shown = |text: &str| {
        let mut log = Log::in_turn();
        let call = json!({
            "sessionUpdate": "tool_call", "toolCallId": "t",
            "content": [{ "type": "content", "content": { "type": "text", "text": text } }],
        });
        let talk = heard(&[log.update(&call)]);
        match &tool_at(&talk, 0).shown(None).outputs[..] {
            [super::CardOutput::Text(text)] => text.clone(),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(shown("```console\nls\na b\n```"), "ls\na b");
    assert_eq!(shown("before\n```\nls\n```\nafter"), "before\nls\nafter");
    assert_eq!(shown("````\n```\nx\n```\n````"), "```\nx\n```");
    assert_eq!(shown("```\nnever closed"), "```\nnever closed");
    assert!(shown(&"```x\n".repeat(20_000)).lines().count() > 13_000);
}

#[test]
fn a_call_that_is_large_is_kept_small_and_takes_further_news() {
    let mut log = Log::in_turn();
    let text = "word ".repeat(100_000);
    let content =
        |text: &str| json!([{ "type": "content", "content": { "type": "text", "text": text } }]);
    let start = json!({
        "sessionUpdate": "tool_call", "toolCallId": "t", "title": "cat", "content": content(&text),
    });
    let mut talk = heard(&[log.update(&start)]);
    let n_bytes = |talk: &ChatConversation| format!("{:?}", tool_at(talk, 0)).len();
    assert!(n_bytes(&talk) < 100_000);
    let end = json!({
        "sessionUpdate": "tool_call_update", "toolCallId": "t", "status": "completed",
        "content": content("short"),
    });
    talk.apply_event(&log.update(&end));
    let tool = tool_at(&talk, 0);
    assert_eq!((tool.status, tool.shown(None).title.as_str()), (CallStatus::Completed, "cat"));
    assert_eq!(tool.shown(None).outputs, [super::CardOutput::Text("short".into())]);
}

#[test]
fn a_command_given_as_words_is_quoted() {
    let mut log = Log::in_turn();
    let call = json!({
        "sessionUpdate": "tool_call", "toolCallId": "t",
        "rawInput": { "command": ["sh", "-c", "rm -rf a b"], "timeout": 5 },
    });
    let talk = heard(&[log.update(&call)]);
    assert_eq!(tool_at(&talk, 0).shown(None).command.as_deref(), Some("sh -c 'rm -rf a b'"));
    assert_eq!(tool_at(&talk, 0).shown(None).input, "timeout: 5");
}

#[test]
fn the_context_is_never_fuller_than_full() {
    let mut log = Log::in_turn();
    let usage = json!({ "sessionUpdate": "usage_update", "used": u64::MAX, "size": 100 });
    assert_eq!(heard(&[log.update(&usage)]).context_percent(), Some(100));
}

#[test]
fn what_became_of_a_waiting_prompt_is_said() {
    let mut log = Log::in_turn();
    let [received, started] = log.prompt("first");
    log.turn = Some(turn(2));
    let [second, _] = log.prompt("second");
    log.seq -= 1;
    let dropped = log.event("prompt_dropped", &json!({ "reason": "cancelled" }));
    let talk = heard(&[received, started, second, dropped]);
    assert!(matches!(&talk.items()[1].part, ChatPart::Note(_, text)
        if text == "a prompt that waited was not sent (the turn was cancelled): second"));
}

#[test]
fn an_error_of_several_lines_is_shown_in_lines() {
    let mut log = Log::in_turn();
    let talk = heard(&[log.event("error", &json!({ "message": "one\ntwo\u{1b}" }))]);
    assert!(matches!(&talk.items()[0].part, ChatPart::Note(_, text) if text == "one\ntwo\\x1b"));
}

pub(crate) fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
        Just(json!("text")),
        Just(json!("diff")),
        Just(json!("terminal")),
        Just(json!("t1")),
    ];
    let keys = prop_oneof![
        Just("type"),
        Just("text"),
        Just("content"),
        Just("toolCallId"),
        Just("title"),
        Just("status"),
        Just("options"),
        Just("request"),
        Just("toolCall"),
        Just("update"),
        Just("entries"),
        Just("prompt"),
        Just("error"),
        Just("requestedSchema"),
        Just("properties"),
        Just("oldText"),
        Just("newText"),
        Just("usage"),
        Just("terminalId"),
        Just("data"),
        Just("rawInput"),
        Just("command"),
        Just("cost"),
        Just("availableCommands"),
    ];
    leaf.prop_recursive(4, 32, 6, move |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::vec((keys.clone(), inner), 0..5).prop_map(|pairs| pairs
                .into_iter()
                .map(|(key, value)| (key.to_owned(), value))
                .collect()),
        ]
    })
}

pub(crate) const KINDS: [&str; 26] = [
    "terminal_output",
    "terminal_exited",
    "agent_message_chunk",
    "agent_thought_chunk",
    "user_message_chunk",
    "tool_call",
    "tool_call_update",
    "plan",
    "usage_update",
    "available_commands_update",
    "session_info_update",
    "config_option_update",
    "current_mode_update",
    "notice",
    "prompt_received",
    "prompt_dropped",
    "turn_started",
    "turn_ended",
    "permission_requested",
    "permission_resolved",
    "elicitation_requested",
    "elicitation_resolved",
    "worker_exited",
    "error",
    "cancel_requested",
    "unknown_thing",
];

proptest! {
    #[test]
    fn no_log_panics_or_lets_a_control_character_through(
        events in proptest::collection::vec((0..KINDS.len(), any_json(), 0_u8..3), 0..30),
    ) {
        let mut log = Log::default();
        let mut talk = ChatConversation::default();
        for (kind, payload, n) in events {
            log.turn = (n > 0).then(|| turn(n));
            let mut payload = payload;
            if let Some(members) = payload.as_object_mut() {
                members.insert("requestId".to_owned(), json!(call_id('q')));
                members.insert("ask".to_owned(), json!(true));
            }
            talk.apply_event(&log.event(KINDS[kind], &payload));
        }
        let said = format!("{:?}", talk.title);
        prop_assert!(!said.chars().any(char::is_control));
        for item in talk.items() {
            if let ChatPart::Note(_, text) = &item.part {
                prop_assert!(!text.chars().any(|c| c.is_control() && c != '\n'));
            }
        }
    }
}

fn answer(talk: &ChatConversation) -> String {
    let prose = |item: &super::ChatItem| match &item.part {
        ChatPart::Answer(prose) => Some(prose.text.clone()),
        _ => None,
    };
    talk.items().iter().filter_map(prose).collect()
}

#[test]
fn an_image_is_a_paragraph_of_one_line() {
    let mut log = Log::in_turn();
    let image = json!({ "type": "image", "mimeType": "image/png", "data": "A".repeat(16 << 10) });
    let sent = json!({ "sessionUpdate": "agent_message_chunk", "content": image });
    let talk = heard(&[log.say("See:"), log.update(&sent), log.say("Nice.")]);
    assert_eq!(answer(&talk), "See:\n\n[image image/png, 12 KB]\n\nNice.");
}

#[test]
fn an_answer_that_is_told_again_after_a_retry_is_shown_once() {
    let mut log = Log::in_turn();
    let retry = json!({ "method": "_session/retrying", "params": {} });
    let talk = heard(&[
        log.say("Hello"),
        log.say(" from"),
        log.event("agent_notification", &retry),
        log.say("Hello"),
        log.say(" from the model"),
    ]);
    assert_eq!(answer(&talk), "Hello from the model");
}
