//! What holds for any log, whether an agent made sense or not.

use std::collections::{HashMap, HashSet};

use proptest::prelude::*;
use serde_json::{Value, json};
use wire::{Event, Json, Kind, Millis, Seq, TurnId};

use super::log::turn;
use crate::items::{ConversationChange, ConversationItem, ConversationPart, ItemsProjection};
use crate::{
    AcpReplay, AnswerProjection, EnvelopeEvent, EnvelopesProjection, LogReader, TextOptions,
    TextProjection, UiAgentUpdate, UiEvent, UiProjection,
};
use crate::{Vocabulary, sanitize};

/// Any JSON, of a size that a test can look at.
fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,12}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        let list = prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from);
        let object = prop::collection::vec((any_key(), inner), 0..4)
            .prop_map(|members| Value::Object(members.into_iter().collect()));
        prop_oneof![list, object]
    })
}

fn any_key() -> impl Strategy<Value = String> {
    let known = [
        "update",
        "content",
        "type",
        "text",
        "toolCallId",
        "status",
        "rawInput",
        "rawOutput",
        "title",
        "entries",
        "stopReason",
        "usage",
        "error",
        "message",
        "request",
        "toolCall",
        "options",
        "outcome",
        "requestId",
        "prompt",
        "locations",
        "path",
        "cost",
        "size",
    ];
    prop_oneof![4 => prop::sample::select(known.to_vec()).prop_map(String::from), 1 => ".{0,6}"]
}

/// A payload that makes sense for some kind, with a small world of ids and texts.
fn sensible_update() -> impl Strategy<Value = (Kind, Value)> {
    let text = prop_oneof!["[a-c \n]{0,6}", ".{0,8}", Just("\u{1b}[31m\u{202e}\r".to_owned())];
    let chunk = (
        prop::sample::select(vec![
            "agent_message_chunk",
            "agent_thought_chunk",
            "user_message_chunk",
        ]),
        text.clone(),
    )
        .prop_map(|(name, text)| {
            update(name, json!({ "content": { "type": "text", "text": text } }))
        });
    let status = prop::sample::select(vec!["pending", "in_progress", "completed", "failed", "odd"]);
    let tool = (prop::sample::select(vec!["tool_call", "tool_call_update"]), 0..3u8, status, any_json(), text.clone(), prop::option::weighted(0.3, 0..3u8))
        .prop_map(|(name, id, status, raw_input, text, parent)| {
            let diff = json!({ "type": "diff", "path": text, "oldText": "a\nb", "newText": text });
            let meta = json!({ "claudeCode": { "parentToolUseId": parent.map(|id| format!("c{id}")) } });
            update(name, json!({ "toolCallId": format!("c{id}"), "title": text, "status": status, "rawInput": raw_input, "content": [diff], "_meta": meta }))
        });
    let plan = text.prop_map(|text| {
        update("plan", json!({ "entries": [{ "content": text, "status": "pending" }] }))
    });
    prop_oneof![3 => chunk, 3 => tool, 1 => plan]
}

fn update(name: &str, mut fields: Value) -> (Kind, Value) {
    fields["sessionUpdate"] = name.into();
    (Kind::update(name), json!({ "sessionId": "s", "update": fields }))
}

fn own_event() -> impl Strategy<Value = (Kind, Value)> {
    let ask = (0..2u8, 0..3u8).prop_map(|(request, call)| {
        let call = json!({ "toolCallId": format!("c{call}"), "rawInput": { "command": "x\u{7}" } });
        let asked = json!({ "toolCall": call, "options": [{ "optionId": "o", "name": "n\u{9b}", "kind": "allow_once" }] });
        (Kind::PermissionRequested, json!({ "requestId": request, "request": asked }))
    });
    let limit = (0..2u8, any_json(), any::<bool>()).prop_map(|(request, amount, is_asked)| {
        let call = json!({ "toolCallId": "limit", "title": "Go on?\u{1b}" });
        let asked = json!({ "toolCall": call, "options": [] });
        match is_asked {
            true => (
                Kind::PermissionRequested,
                json!({ "requestId": request, "limit": "tokens", "request": asked }),
            ),
            false => (
                Kind::LimitReached,
                json!({ "limit": "tokens", "used": amount, "allowed": amount }),
            ),
        }
    });
    let reason =
        prop::sample::select(vec!["end_turn", "cancelled", "error", "refusal", "odd\u{1b}"]);
    prop_oneof![
        Just((Kind::TurnStarted, json!({}))),
        reason.prop_map(|reason| (Kind::TurnEnded, json!({ "stopReason": reason }))),
        "[a-c]{0,4}".prop_map(|text| (
            Kind::PromptReceived,
            json!({ "prompt": [{ "type": "text", "text": text }] })
        )),
        ask,
        limit,
        Just((Kind::Error, json!({ "category": "x", "message": "m\u{1b}]52;c;x\u{7}" }))),
    ]
}

fn nonsense() -> impl Strategy<Value = (Kind, Value)> {
    let names = [
        "agent_message_chunk",
        "agent_thought_chunk",
        "user_message_chunk",
        "tool_call",
        "tool_call_update",
        "plan",
        "usage_update",
        "session_info_update",
        "config_option_update",
        "notice",
        "new_in_2030",
    ];
    let updates = names.iter().map(|name| Kind::update(name));
    let kinds: Vec<Kind> = updates.chain(Kind::OWN.iter().cloned()).collect();
    let payload =
        prop_oneof![any_json(), any_json().prop_map(|update| json!({ "update": update }))];
    (prop::sample::select(kinds), payload)
}

fn any_log() -> impl Strategy<Value = Vec<Event>> {
    let event = prop_oneof![4 => sensible_update(), 3 => own_event(), 2 => nonsense()];
    let event = (event, prop::option::weighted(0.8, 0..3u64), -50..500i64);
    prop::collection::vec(event, 0..40).prop_map(|events| {
        let mut log = Vec::new();
        for ((kind, payload), n_turn, at) in events {
            log.push(Event {
                seq: Seq(log.len() as u64 + 1),
                at: Millis(at),
                turn: n_turn.map(turn),
                kind,
                payload: Json::of(&payload),
            });
        }
        log
    })
}

/// The agent's words, read in the most literal way.
fn spoken(log: &[Event]) -> String {
    let text = |event: &Event| {
        let payload: Value = event.payload.read().ok()?;
        let content = &payload["update"]["content"];
        let block = |block: &Value| match block {
            Value::String(text) => text.clone(),
            block if matches!(block["type"].as_str(), None | Some("text")) => {
                block["text"].as_str().unwrap_or_default().to_owned()
            }
            _ => String::new(),
        };
        Some(match content {
            Value::Array(blocks) => blocks.iter().map(block).collect(),
            content => block(content),
        })
    };
    let is_message = |event: &&Event| event.kind.update_name() == Some("agent_message_chunk");
    log.iter().filter(is_message).filter_map(text).collect::<String>()
}

/// The key of an item, what it is, and its text if it is one that grows.
fn described(item: &ConversationItem) -> (String, &'static str, String) {
    let (kind, text) = match &item.part {
        ConversationPart::Answer { text } => ("answer", text.as_str()),
        ConversationPart::Thought { text } => ("thought", text.as_str()),
        ConversationPart::Tool(_) => ("tool", ""),
        ConversationPart::Notice(_) => ("notice", ""),
        ConversationPart::Prompt { .. } => ("prompt", ""),
        ConversationPart::Plan { .. } => ("plan", ""),
        ConversationPart::Question(_) => ("question", ""),
        ConversationPart::Content { .. } => ("content", ""),
        ConversationPart::End(_) => ("end", ""),
    };
    (item.key.clone(), kind, text.to_owned())
}

fn is_cuid2(id: &str) -> bool {
    id.len() == 24
        && id.starts_with(|c: char| c.is_ascii_lowercase())
        && id.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit())
}

proptest! {
    #[test]
    fn words_are_neither_lost_nor_doubled(log in any_log()) {
        let (mut envelopes, mut ui, mut quiet) = (LogReader::new(EnvelopesProjection::new("s")), LogReader::<UiProjection>::default(), LogReader::new(AnswerProjection::new(false)));
        let (mut in_envelopes, mut in_ui, mut in_quiet) = (Vec::new(), Vec::new(), String::new());
        for event in &log {
            envelopes.project(event, &mut in_envelopes);
            ui.project(event, &mut in_ui);
            quiet.project(event, &mut in_quiet);
        }
        quiet.projection_mut().finish(&mut in_quiet);
        let spoken = spoken(&log);

        let words = in_envelopes.iter().filter_map(|envelope| match &envelope.ev {
            EnvelopeEvent::Text { text, thinking: false } if envelope.role == crate::EnvelopeSender::Agent => Some(text.as_str()),
            _ => None,
        });
        prop_assert_eq!(words.collect::<String>(), spoken.clone());
        let words = in_ui.iter().filter_map(|event| match event {
            // What is named in a paragraph of its own is no word of the agent.
            UiEvent::Agent(UiAgentUpdate::TextDelta { delta }) => Some(delta.as_str())
                .filter(|delta| !(delta.starts_with("\n\n[") && delta.ends_with("]\n\n"))),
            _ => None,
        });
        prop_assert_eq!(words.collect::<String>(), spoken.clone());
        prop_assert_eq!(in_quiet, spoken);
    }

    #[test]
    fn envelopes_are_well_formed(log in any_log()) {
        let mut projection = LogReader::new(EnvelopesProjection::new("s"));
        let mut out = Vec::new();
        for event in &log {
            projection.project(event, &mut out);
        }

        let mut ids = HashSet::new();
        let mut active: Option<TurnId> = None;
        let mut calls: HashMap<String, (usize, usize)> = HashMap::new();
        let mut time = i64::MIN;
        let (mut begun, mut running) = (HashSet::new(), HashSet::new());
        for envelope in &out {
            prop_assert!(is_cuid2(envelope.id.as_str()) && ids.insert(envelope.id));
            prop_assert!(envelope.time >= time);
            time = envelope.time;
            if let Some(subagent) = envelope.subagent.filter(|_| !matches!(envelope.ev, EnvelopeEvent::Start { .. })) {
                prop_assert!(begun.contains(&subagent), "it does something before it begins");
            }
            match &envelope.ev {
                EnvelopeEvent::Start { .. } => {
                    let subagent = envelope.subagent.unwrap();
                    prop_assert!(is_cuid2(subagent.as_str()));
                    prop_assert!(begun.insert(subagent) && running.insert(subagent));
                }
                EnvelopeEvent::Stop {} => prop_assert!(running.remove(&envelope.subagent.unwrap())),
                EnvelopeEvent::TurnStart {} => {
                    prop_assert_eq!(active, None);
                    active = envelope.turn;
                    prop_assert!(active.is_some());
                }
                EnvelopeEvent::TurnEnd { .. } => {
                    prop_assert_eq!(active.take(), envelope.turn);
                    prop_assert!(running.is_empty());
                }
                EnvelopeEvent::ToolCallStart { call, args, .. } => {
                    prop_assert!(is_cuid2(call.as_str()));
                    prop_assert!(args.read::<HashMap<String, Value>>().is_ok());
                    let (n_starts, n_ends) = calls.entry(call.to_string()).or_default();
                    *n_starts += 1;
                    prop_assert!(*n_starts == 1 && *n_ends == 0);
                }
                EnvelopeEvent::ToolCallEnd { call } => {
                    let (_, n_ends) = calls.entry(call.to_string()).or_default();
                    *n_ends += 1;
                    prop_assert_eq!(*n_ends, 1);
                }
                EnvelopeEvent::Text { text, .. } => prop_assert!(!text.is_empty()),
                EnvelopeEvent::Service { .. } | EnvelopeEvent::File(_) => {}
            }
            prop_assert!(serde_json::to_string(envelope).is_ok());
        }
        let mut again = Vec::new();
        let mut projection = LogReader::new(EnvelopesProjection::new("s"));
        for event in &log {
            projection.project(event, &mut again);
        }
        prop_assert_eq!(out, again);
    }

    /// Whoever only puts down, replaces and appends what it is told has the whole conversation.
    #[test]
    fn items_can_be_followed_by_their_keys(log in any_log()) {
        let mut reader = LogReader::<ItemsProjection>::default();
        let mut shown: Vec<(String, &'static str, String)> = Vec::new();
        for event in &log {
            for change in reader.read(event) {
                match change {
                    ConversationChange::Item { item } => {
                        prop_assert!(shown.iter().all(|(key, ..)| *key != item.key), "{}", item.key);
                        shown.push(described(&item));
                    }
                    ConversationChange::Replace { item } => {
                        let place = shown.iter_mut().find(|(key, ..)| *key == item.key);
                        let place = place.unwrap();
                        let now = described(&item);
                        prop_assert_eq!(place.1, now.1);
                        *place = now;
                    }
                    ConversationChange::Append { key, text } => {
                        let place = shown.iter_mut().find(|(of, ..)| *of == key).unwrap();
                        prop_assert!(["answer", "thought", "tool", "notice"].contains(&place.1));
                        place.2.push_str(&text);
                    }
                    ConversationChange::Tool { key, .. } => {
                        prop_assert!(shown.iter().any(|(of, kind, _)| *of == key && *kind == "tool"));
                    }
                    ConversationChange::Terminal(_)
                    | ConversationChange::TerminalsLost {}
                    | ConversationChange::State(_) => {}
                }
            }
        }
        let words = shown.iter().filter(|(_, kind, _)| *kind == "answer").map(|(.., text)| text.as_str());
        prop_assert_eq!(words.collect::<String>(), spoken(&log));
    }

    /// It goes on as the reader does that has seen everything.
    #[test]
    fn a_reader_goes_on_from_a_stored_state(log in any_log(), cut in 0..40usize) {
        let cut = cut.min(log.len());
        for mut reader in Vocabulary::all_with_states("s") {
            let fresh = reader.clone();
            log[..cut].iter().for_each(|event| drop(reader.frames(event)));
            // What the UI gets after the first `start` is not stored.
            let Some(state) = reader.state() else { continue };
            let mut later = fresh.restored(state.as_str()).expect("a state");
            prop_assert_eq!(later.state(), Some(state));
            for event in &log[cut..] {
                let (told, again) = (reader.frames(event), later.frames(event));
                prop_assert_eq!(format!("{told:?}"), format!("{again:?}"));
            }
        }
    }

    #[test]
    fn ui_events_pair_up(log in any_log()) {
        let mut ui = LogReader::<UiProjection>::default();
        let mut out = Vec::new();
        for event in &log {
            ui.project(event, &mut out);
        }

        let (mut is_running, mut is_thinking) = (false, false);
        let mut n_open_uses: HashMap<String, i32> = HashMap::new();
        for event in &out {
            prop_assert!(serde_json::from_str::<Value>(event.data().as_str()).unwrap().is_object());
            match event {
                UiEvent::Start(_) => prop_assert!(!std::mem::replace(&mut is_running, true)),
                UiEvent::End(_) => prop_assert!(std::mem::take(&mut is_running)),
                UiEvent::Agent(UiAgentUpdate::ThinkingStart {}) => {
                    prop_assert!(!std::mem::replace(&mut is_thinking, true));
                }
                UiEvent::Agent(UiAgentUpdate::ThinkingEnd {}) => {
                    prop_assert!(std::mem::take(&mut is_thinking));
                }
                UiEvent::Agent(UiAgentUpdate::ThinkingDelta { .. }) => prop_assert!(is_thinking),
                UiEvent::Agent(UiAgentUpdate::TextDelta { .. }) => prop_assert!(!is_thinking),
                UiEvent::Agent(UiAgentUpdate::ToolUse { id, .. }) => {
                    *n_open_uses.entry(id.clone()).or_default() += 1;
                }
                UiEvent::Agent(UiAgentUpdate::ToolResult { tool_use_id, .. }) => {
                    let n_open = n_open_uses.entry(tool_use_id.clone()).or_default();
                    *n_open -= 1;
                    prop_assert!(*n_open >= 0);
                }
                _ => {}
            }
        }
    }

    #[test]
    fn nothing_dangerous_reaches_the_terminal(log in any_log(), verbose: bool, width in 0..120usize) {
        let style = TextOptions { color: false, width, verbose, show_thinking: true };
        let mut renderer = LogReader::new(TextProjection::new(style).with_prompts());
        let mut out = String::new();
        for event in &log {
            renderer.project(event, &mut out);
        }

        prop_assert_eq!(sanitize(&out), out.as_str());

        let style = TextOptions { color: true, ..style };
        let mut renderer = LogReader::new(TextProjection::new(style).with_prompts());
        let mut coloured = String::new();
        for event in &log {
            renderer.project(event, &mut coloured);
        }

        prop_assert_eq!(without_colours(&coloured), out);
    }

    #[test]
    fn a_replay_keeps_the_bytes_of_every_update(log in any_log()) {
        let mut replay = AcpReplay::new("s");
        let mut out = Vec::new();
        for event in &log {
            replay.project(event, &mut out);
        }

        let is_kept = |event: &&Event| event.kind.update_name().is_some_and(|name| name != "user_message_chunk");
        let kept: Vec<&Json> = log.iter().filter(is_kept).map(|event| &event.payload).collect();
        let mut rest = out.iter();
        for payload in kept {
            prop_assert!(rest.any(|replayed| replayed == payload));
        }
        for params in &out {
            prop_assert!(serde_json::from_str::<Value>(params.as_str()).is_ok());
        }
    }
}

/// Takes our own colour sequences out, and nothing else.
fn without_colours(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("\u{1b}[") {
        plain.push_str(before);
        let end = after.find('m').unwrap();
        assert!(after[..end].chars().all(|c| c.is_ascii_digit() || c == ';'), "{text:?}");
        rest = &after[end + 1..];
    }
    plain + rest
}
