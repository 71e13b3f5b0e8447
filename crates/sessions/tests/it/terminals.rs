//! What commands print, in the log while they run.

use std::fs;

use serde_json::Value;
use sessions::projection::{Style, TextRenderer, Ui, UiEvent};
use wire::{Event, Kind, Seq};

use crate::stage::{Session, Stage, quiet};

fn payload(event: &Event) -> Value {
    event.payload.read().unwrap()
}

fn printed(events: &[Event]) -> String {
    let pieces = events.iter().filter(|event| event.kind == Kind::TerminalOutput);
    pieces.map(|event| payload(event)["data"].as_str().unwrap().to_owned()).collect()
}

fn position(events: &[Event], is_it: impl Fn(&Event) -> bool) -> usize {
    events.iter().position(is_it).unwrap()
}

/// Prompts, and goes on while the turn runs.
async fn begin(session: &Session, text: &str) -> wire::TurnId {
    let turn = sessions::mint::turn_id();
    let params = serde_json::json!({ "prompt": [{ "type": "text", "text": text }] });
    session.opened.handle.prompt(turn, wire::Json::of(&params), "test").await.unwrap();
    turn
}

#[tokio::test]
async fn output_is_logged_while_the_command_runs_and_its_end_before_the_turns() {
    let stage = Stage::new(quiet());
    let command = stage.agent("work");
    let session = stage.open(&command).await;
    let line =
        r#"run sh -c "echo first; while [ ! -e go ]; do sleep 0.02; done; echo second; exit 3""#;
    let turn = begin(&session, line).await;

    let is_output = |event: &Event| event.kind == Kind::TerminalOutput;
    let first = session.until_event("the first line is logged", is_output).await;
    assert_eq!(payload(&first)["data"], "first\n");
    let has_ended = |events: &[Event]| events.iter().any(|event| event.kind == Kind::TurnEnded);
    assert!(!has_ended(&session.events().await), "the command waits for us");
    fs::write(command.cwd.join("go"), "").unwrap();
    session.until_event("the turn ends", |event| event.kind == Kind::TurnEnded).await;

    let events = session.events().await;
    assert_eq!(printed(&events), "first\nsecond\n");
    let exited = position(&events, |event| event.kind == Kind::TerminalExited);
    let end = payload(&events[exited]);
    assert_eq!((&end["exitCode"], &end["truncated"]), (&3.into(), &Value::Null));
    assert_eq!(end["terminalId"], payload(&first)["terminalId"]);
    let is_done = |event: &Event| payload(event)["update"]["status"] == "completed";
    assert!(exited < position(&events, is_done), "the agent heard of it after the log did");
    let own = [Kind::TerminalOutput, Kind::TerminalExited];
    let own = events.iter().filter(|event| own.contains(&event.kind));
    assert!(own.into_iter().all(|event| event.turn == Some(turn)));

    // What people and pages are told of it.
    let style = Style { color: false, width: 80, verbose: false, show_thinking: false };
    let (mut text, mut renderer) = (String::new(), TextRenderer::new(style));
    let (mut ui, mut pages) = (Vec::new(), Ui::new());
    for event in &events {
        renderer.project(event, &mut text);
        pages.project(event, &mut ui);
    }
    assert!(text.contains("failed with exit code 3\n  first\n  second\n"), "{text}");
    let result = ui.iter().find_map(|event| match event {
        UiEvent::Agent(sessions::projection::AgentUpdate::ToolResult { content, .. }) => {
            Some(content.clone())
        }
        _ => None,
    });
    assert_eq!(result.as_deref(), Some("first\nsecond\n\nfailed with exit code 3"));
    session.end().await;
}

#[tokio::test]
async fn a_flood_is_cut_in_the_middle_and_holds_nobody_up() {
    let stage = Stage::new(quiet());
    let session = stage.open(&stage.agent("work")).await;
    assert_eq!(session.prompt(r#"run sh -c "seq 1 2000000""#).await, "end_turn");
    let events = session.events().await;
    let printed = printed(&events);
    assert!(printed.starts_with("1\n2\n3\n") && printed.ends_with("\n1999999\n2000000\n"));
    assert!(printed.contains(" bytes left out …]\n"));
    assert!(printed.len() < 300 << 10, "{}", printed.len());
    let exited = position(&events, |event| event.kind == Kind::TerminalExited);
    assert_eq!(payload(&events[exited])["truncated"], true);
    session.end().await;
}

#[tokio::test]
async fn what_was_printed_before_a_cancel_is_in_the_turn() {
    let stage = Stage::new(quiet());
    let session = stage.open(&stage.agent("work")).await;
    let turn = begin(&session, r#"run sh -c "echo half; sleep 1000""#).await;
    session.until_event("it prints", |event| event.kind == Kind::TerminalOutput).await;
    let waiting = begin(&session, "say never").await;

    session.opened.handle.cancel("test").await.unwrap();

    let events = session.events().await;
    let ended = position(&events, |event| event.kind == Kind::TurnEnded);
    assert_eq!(
        (events[ended].turn, payload(&events[ended])["stopReason"].as_str()),
        (Some(turn), Some("cancelled"))
    );
    assert_eq!(printed(&events[..ended]), "half\n");
    // The prompt that waited did not vanish: the log says what became of it.
    let dropped = position(&events, |event| event.kind == Kind::PromptDropped);
    assert_eq!(events[dropped].turn, Some(waiting));
    assert_eq!(payload(&events[dropped])["reason"], "cancelled");
    assert!(
        !events.iter().any(|event| event.kind == Kind::TurnStarted && event.turn == Some(waiting))
    );
    // The command itself ends with the session at the latest, and that is still logged.
    let id = session.opened.handle.id();
    session.end().await;
    let events = stage.yard.log.read(id, Seq(0), 10_000).await.unwrap();
    let exited = &events[position(&events, |event| event.kind == Kind::TerminalExited)];
    assert_eq!((exited.turn, payload(exited)["signal"].as_str()), (Some(turn), Some("9")));
}
