//! What each projection makes of recordings of real agents.

use std::fmt::Write;

use super::recording::events_of;
use crate::{
    AcpReplay, AnswerProjection, EnvelopesProjection, LogReader, STATE_VERSION, TextOptions,
    TextProjection, UiProjection, Vocabulary,
};

const RECORDINGS: [&str; 11] = [
    "claude-agent-acp-edit",
    "cline-provider-401",
    "codex-acp-cancel",
    "codex-acp-shell-reject",
    "copilot-shell-fail",
    "copilot-think",
    "gemini-edit",
    "hermes-plan",
    "kimi-write",
    "opencode-cancel",
    "opencode-two-tools",
];

#[test]
fn text_for_a_terminal() {
    for name in RECORDINGS {
        let style = TextOptions { color: false, width: 80, verbose: false, show_thinking: true };
        let mut renderer = LogReader::new(TextProjection::new(style).with_prompts());
        let mut out = String::new();
        for event in events_of(name) {
            renderer.project(&event, &mut out);
        }
        insta::assert_snapshot!(format!("text-{name}"), out);
    }
}

#[test]
fn text_with_colour_and_all_details() {
    let style = TextOptions { color: true, width: 80, verbose: true, show_thinking: true };
    let mut renderer = LogReader::new(TextProjection::new(style));
    let mut out = String::new();
    for event in events_of("claude-agent-acp-edit") {
        renderer.project(&event, &mut out);
    }
    insta::assert_snapshot!("text-verbose-colour", out.replace('\u{1b}', "␛"));
}

#[test]
fn session_envelopes() {
    for name in RECORDINGS {
        let mut envelopes = LogReader::new(EnvelopesProjection::new("session"));
        let mut out = Vec::new();
        for event in events_of(name) {
            envelopes.project(&event, &mut out);
        }
        // Ids are checked for shape and consistency elsewhere, never by value.
        let lines = out.iter().map(|envelope| {
            let mut line = serde_json::to_value(envelope).unwrap();
            line["id"] = "[id]".into();
            line["turn"] = "[turn]".into();
            if line["ev"]["call"].is_string() {
                line["ev"]["call"] = "[call]".into();
            }
            line.to_string()
        });
        insta::assert_snapshot!(format!("envelopes-{name}"), lines.collect::<Vec<_>>().join("\n"));
    }
}

#[test]
fn ui_events() {
    for name in RECORDINGS {
        let mut ui = LogReader::<UiProjection>::default();
        let mut out = Vec::new();
        for event in events_of(name) {
            ui.project(&event, &mut out);
        }
        let mut lines = String::new();
        for event in out {
            writeln!(lines, "{} {}", event.name(), event.data().as_str()).unwrap();
        }
        insta::assert_snapshot!(format!("ui-{name}"), lines);
    }
}

#[test]
fn items_of_a_conversation() {
    for name in ["claude-agent-acp-edit", "codex-acp-cancel", "hermes-plan", "kimi-write"] {
        let mut vocabulary = Vocabulary::conversation();
        let mut lines = String::new();
        for event in events_of(name) {
            vocabulary.write(&event, &mut lines);
        }
        insta::assert_snapshot!(format!("conversation-{name}"), lines);
    }
}

#[test]
fn acp_replay() {
    for name in ["gemini-edit", "copilot-think"] {
        let mut replay = AcpReplay::new("our-session");
        let mut out = Vec::new();
        for event in events_of(name) {
            replay.project(&event, &mut out);
        }
        let short = |line: &str| line.chars().take(240).collect::<String>();
        let lines = out.iter().map(|params| short(params.as_str()));
        insta::assert_snapshot!(format!("acp-{name}"), lines.collect::<Vec<_>>().join("\n"));
    }
}

#[test]
fn the_answer_alone() {
    let mut answers = String::new();
    for name in RECORDINGS {
        let mut quiet = LogReader::new(AnswerProjection::new(true));
        let mut answer = String::new();
        for event in events_of(name) {
            quiet.project(&event, &mut answer);
        }
        writeln!(answers, "{name}: {answer:?}").unwrap();
    }
    insta::assert_snapshot!("quiet", answers);
}

/// The states that are stored. Where one differs, [`STATE_VERSION`] is to be raised.
#[test]
fn states_of_the_vocabularies() {
    let mut states = String::new();
    for name in ["claude-agent-acp-edit", "copilot-shell-fail", "hermes-plan"] {
        for mut vocabulary in Vocabulary::all_with_states("session") {
            let events = events_of(name);
            // In the middle of a turn, and after it.
            for (n, event) in (1..).zip(&events) {
                vocabulary.frames(event);
                if n == events.len() * 2 / 3 || n == events.len() {
                    let state = vocabulary.state().expect("a state");
                    writeln!(states, "{name} {n}: {}", state.as_str()).unwrap();
                }
            }
        }
    }
    insta::assert_snapshot!(format!("states-of-version-{STATE_VERSION}"), states);
}
