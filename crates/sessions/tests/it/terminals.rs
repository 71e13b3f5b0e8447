//! What commands print, in the log while they run.

use std::fs;

use projection::{LogReader, TextOptions, TextProjection, UiEvent, UiProjection};
use serde_json::Value;
use wire::{Event, Kind};

use crate::stage::{Session, Stage, is_alive, quiet};

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
    let style = TextOptions { color: false, width: 80, verbose: false, show_thinking: false };
    let (mut text, mut renderer) = (String::new(), LogReader::new(TextProjection::new(style)));
    let (mut ui, mut pages) = (Vec::new(), LogReader::<UiProjection>::default());
    for event in &events {
        renderer.project(event, &mut text);
        pages.project(event, &mut ui);
    }
    assert!(text.contains("failed with exit code 3\n  first\n  second\n"), "{text}");
    let result = ui.iter().find_map(|event| match event {
        UiEvent::Agent(projection::UiAgentUpdate::ToolResult { content, .. }) => {
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

/// Bytes that a process has written.
fn n_written(pid: &str) -> u64 {
    let counts = fs::read_to_string(format!("/proc/{pid}/io")).unwrap();
    counts.lines().find_map(|line| line.strip_prefix("wchar: ")).unwrap().parse().unwrap()
}

#[tokio::test]
async fn a_command_that_prints_without_end_is_held_up_and_ends_when_it_is_stopped() {
    // More than the pace of all floods, and than is free of them for each.
    const PACE: u64 = 40 << 20;
    const FREE: u64 = 16 << 20;
    let stage = Stage::new(quiet());
    let session = stage.open(&stage.agent("work")).await;
    let began = std::time::Instant::now();
    begin(&session, r#"run sh -c "echo $$; exec yes""#).await;
    let first = session.until_event("it prints", |event| event.kind == Kind::TerminalOutput).await;
    let pid = payload(&first)["data"].as_str().unwrap().lines().next().unwrap().to_owned();

    let mut n_bytes = 0;
    while n_bytes < FREE + PACE {
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        n_bytes = n_written(&pid);
    }
    // Read after the bytes were: a slow machine has had time for more, never for less.
    let may_be = FREE + PACE * u64::try_from(began.elapsed().as_millis()).unwrap() / 1000;
    assert!(n_bytes <= may_be, "{n_bytes} of {may_be}");

    session.opened.handle.cancel("test").await.unwrap();
    let events = session.events().await;
    let exited = &events[position(&events, |event| event.kind == Kind::TerminalExited)];
    assert_eq!(payload(exited)["signal"], "15");
    assert!(printed(&events).ends_with("\ny\ny\n"));
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
    // The agent did not end its command, so that was done for it.
    let exited = &events[position(&events, |event| event.kind == Kind::TerminalExited)];
    assert_eq!((exited.turn, payload(exited)["signal"].as_str()), (Some(turn), Some("15")));
    session.end().await;
}

/// The pids that commands have printed.
async fn pids(session: &Session, n: usize) -> Vec<u32> {
    let give_up_at = std::time::Instant::now() + soak::PATIENCE;
    loop {
        let printed = printed(&session.events().await);
        let pids: Vec<u32> = printed.lines().filter_map(|line| line.parse().ok()).collect();
        if pids.len() == n && printed.ends_with('\n') {
            return pids;
        }
        assert!(std::time::Instant::now() < give_up_at, "{printed}");
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
}

fn exits(events: &[Event]) -> Vec<&Event> {
    events.iter().filter(|event| event.kind == Kind::TerminalExited).collect()
}

#[tokio::test]
async fn stop_ends_a_command_that_the_agent_left_and_all_that_it_started() {
    let stage = Stage::new(quiet());
    let session = stage.open(&stage.agent("work")).await;
    // Neither of the two is impressed by being asked.
    let line = r#"run sh -c "trap '' TERM; sleep 1000 & echo $!; echo $$; wait; sleep 1000""#;
    let turn = begin(&session, line).await;
    let pids = pids(&session, 2).await;

    assert_eq!(session.opened.handle.cancel("test").await.unwrap(), 1);

    assert!(!pids.iter().any(|pid| is_alive(*pid)), "{pids:?}");
    let events = session.events().await;
    let [exited] = exits(&events)[..] else { panic!("it ends once: {events:?}") };
    assert_eq!((exited.turn, payload(exited)["signal"].as_str()), (Some(turn), Some("9")));
    assert_eq!(session.prompt("say again").await, "end_turn", "the agent goes on");
    session.end().await;
}

#[tokio::test]
async fn what_a_turn_left_running_ends_by_a_cancel_of_its_own_and_not_by_the_next_turns() {
    let stage = Stage::new(quiet());
    let session = stage.open(&stage.agent("work")).await;
    let left = r#"terminal-leave sh -c "echo $$; exec sleep 1000""#;
    assert_eq!(session.prompt(left).await, "end_turn");
    let first = pids(&session, 1).await[0];

    let turn = begin(&session, r#"run sh -c "echo $$; exec sleep 1000""#).await;
    let second = pids(&session, 2).await[1];
    assert_eq!(session.opened.handle.cancel("test").await.unwrap(), 1);
    assert!(is_alive(first) && !is_alive(second), "only the cancelled turn's command ends");
    let events = session.events().await;
    assert_eq!(exits(&events).iter().map(|exit| exit.turn).collect::<Vec<_>>(), [Some(turn)]);

    assert_eq!(session.opened.handle.cancel("test").await.unwrap(), 1);
    assert!(!is_alive(first));
    assert_eq!(exits(&session.events().await).len(), 2);
    assert_eq!(session.opened.handle.cancel("test").await.unwrap(), 0, "nothing is left");

    assert_eq!(session.prompt(left).await, "end_turn");
    let third = pids(&session, 3).await[2];
    assert!(is_alive(third), "the next turn may start commands again");
    session.end().await;
}
