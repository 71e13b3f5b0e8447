use proptest::prelude::*;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::buffer::Buffer;
use serde_json::json;

use super::{ConversationView, draw};
use crate::conversation::tests::Log;
use crate::effect::{ChatMessage, Effect, Scroll};
use crate::info::{AgentInfo, SessionInfo};
use crate::state::ChatState;
use crate::state::tests::{any_step, hear, opened, take, type_in};
use crate::theme::Theme;

fn screen(state: &ChatState, view: &mut ConversationView, width: u16, height: u16) -> String {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| _ = draw(state, view, frame)).unwrap();
    text_of(terminal.backend().buffer(), width, height)
}

/// As the chat does it: what was drawn is known afterwards.
pub(crate) fn look(state: &mut ChatState, width: u16, height: u16) -> String {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    let mut seen = None;
    let mut view = ConversationView::new(Theme::new(true));
    terminal.draw(|frame| seen = draw(state, &mut view, frame)).unwrap();
    state.note_visible_question(seen);
    text_of(terminal.backend().buffer(), width, height)
}

fn text_of(buffer: &Buffer, width: u16, height: u16) -> String {
    let mut text = String::new();
    for y in 0..height {
        let row: String = (0..width).map(|x| buffer[(x, y)].symbol()).collect();
        text.push_str(row.trim_end());
        text.push('\n');
    }
    text
}

pub(super) fn drawn(state: &ChatState) -> String {
    screen(state, &mut ConversationView::new(Theme::new(true)), 60, 24)
}

fn told() -> (ChatState, Log) {
    let mut state = opened();
    let mut log = Log::in_turn();
    hear(&mut state, log.prompt("fix the\ntest"));
    let thought = json!({
        "sessionUpdate": "agent_thought_chunk", "content": { "type": "text", "text": "Hm.\nLet me see." },
    });
    let tool = json!({
        "sessionUpdate": "tool_call", "toolCallId": "t", "title": "Edit a.rs", "kind": "edit",
        "status": "completed", "locations": [{ "path": "/src/b.rs", "line": 3 }],
        "content": [
            { "type": "diff", "path": "a.rs", "oldText": "one\ntwo\n", "newText": "one\n2\n" },
            { "type": "content", "content": { "type": "text", "text": "1\n2\n3\n4\n5\n6\n7\n8" } },
        ],
    });
    let plan = json!({ "sessionUpdate": "plan", "entries": [
        { "content": "look", "status": "completed" },
        { "content": "do", "status": "in_progress" },
        { "content": "rest", "status": "pending" },
    ] });
    let usage = json!({
        "sessionUpdate": "usage_update", "used": 5300, "size": 200_000,
        "cost": { "amount": 0.125, "currency": "USD" },
    });
    hear(
        &mut state,
        [
            log.update(&thought),
            log.update(&tool),
            log.update(&plan),
            log.update(&usage),
            log.say("It is **done**, see `a.rs`:\n\n- one\n- two"),
        ],
    );
    (state, log)
}

#[test]
fn a_turn_with_everything_in_it() {
    let (state, _) = told();
    insta::assert_snapshot!(screen(&state, &mut ConversationView::new(Theme::new(true)), 60, 40));
}

#[test]
fn a_question_with_its_options() {
    let (mut state, mut log) = told();
    hear(&mut state, [log.ask('q')]);
    state.tick(20_000);
    insta::assert_snapshot!(drawn(&state));
}

pub(super) fn asking(call: &serde_json::Value, options: &serde_json::Value) -> ChatState {
    let mut state = opened();
    let mut log = Log::in_turn();
    hear(&mut state, log.prompt("go"));
    let request = json!({ "toolCall": call, "options": options });
    let id = crate::conversation::tests::call_id('q');
    let asked = json!({ "requestId": id, "ask": true, "request": request });
    hear(&mut state, [log.event("permission_requested", &asked)]);
    state.tick(20_000);
    state
}

/// What stands below the conversation.
pub(super) fn panel(state: &ChatState, width: u16, height: u16) -> String {
    let whole = screen(state, &mut ConversationView::new(Theme::new(true)), width, height);
    let from = whole.lines().position(|line| line.starts_with("? ")).unwrap();
    whole.lines().skip(from).collect::<Vec<_>>().join("\n")
}

#[test]
fn a_question_shows_what_the_tool_is_given_whatever_its_title_says() {
    let options = json!([{ "optionId": "1", "name": "Reject", "kind": "allow_always" },
        { "optionId": "2", "name": "", "kind": "reject_once" },
        { "optionId": "3", "name": "Go", "kind": "strange" }]);
    let call = json!({ "toolCallId": "t", "title": "Look around", "kind": "other",
        "rawInput": { "path": "/etc/shadow", "mode": { "write": true } } });
    let shown = panel(&asking(&call, &options), 80, 40);
    assert!(shown.contains("path: /etc/shadow"), "{shown}");
    assert!(shown.contains(r#"mode: {"write":true}"#), "{shown}");
    assert!(shown.contains("1. Reject (a) · allow always"), "{shown}");
    assert!(shown.contains("2. (no name) (n) · reject once"), "{shown}");
    assert!(shown.contains("3. Go · unknown effect"), "{shown}");
}

#[test]
fn a_question_shows_the_changes_and_the_command_in_all_its_lines() {
    let diff = json!({ "toolCallId": "t", "title": "Tidy up", "kind": "edit",
        "content": [{ "type": "diff", "path": "a.rs", "oldText": "one\n", "newText": "two\n" }] });
    let shown = panel(&asking(&diff, &json!([])), 80, 40);
    for part in ["a.rs +1 −1", "-one", "+two"] {
        assert!(shown.contains(part), "{shown}");
    }
    let command = json!({ "toolCallId": "t", "title": "List files",
        "rawInput": { "command": "ls\nrm -rf ~", "cwd": "/" } });
    let shown = panel(&asking(&command, &json!([])), 80, 40);
    for part in ["$ ls", "rm -rf ~", "cwd: /"] {
        assert!(shown.contains(part), "{shown}");
    }
}

#[test]
fn a_long_question_keeps_its_title_and_its_answers_and_says_what_is_left_out() {
    let lines: Vec<String> = (0..500).map(|n| format!("echo {n}")).collect();
    let call = json!({ "toolCallId": "t", "title": "Many things",
        "rawInput": { "command": lines.join("\n") } });
    let options = json!([{ "optionId": "1", "name": "Allow", "kind": "allow_once" }]);
    let shown = panel(&asking(&call, &options), 80, 24);
    for part in ["? Many things", "$ echo 0", "more lines are not shown", "1. Allow (y)"] {
        assert!(shown.contains(part), "{shown}");
    }
}

#[test]
fn a_running_command_shows_its_last_lines_and_a_title_is_not_doubled() {
    let mut state = opened();
    let mut log = Log::in_turn();
    hear(&mut state, log.prompt("go"));
    let card = json!({ "sessionUpdate": "tool_call", "toolCallId": "t", "title": "Execute make",
        "kind": "execute", "status": "in_progress",
        "content": [{ "type": "terminal", "terminalId": "term_1" }] });
    hear(&mut state, [log.update(&card)]);
    let mut view = ConversationView::new(Theme::new(true));
    assert!(screen(&state, &mut view, 80, 24).contains("● Execute make"));
    for n in 0..20 {
        let data = format!("\u{1b}[32mstep {n}\u{1b}[0m\r\n");
        let output = json!({ "terminalId": "term_1", "data": data });
        hear(&mut state, [log.event("terminal_output", &output)]);
        let shown = screen(&state, &mut view, 80, 24);
        assert!(shown.contains(&format!("│ step {n}\n")), "{shown}");
    }
    let shown = screen(&state, &mut view, 80, 24);
    assert!(shown.contains("14 more lines") && !shown.contains("step 13\n"), "{shown}");
    assert!(!shown.contains("term_1"), "{shown}");
}

/// A turn that has ended while its command had not.
fn left_running() -> (ChatState, Log) {
    let mut state = opened();
    let mut log = Log::in_turn();
    hear(&mut state, [log.event("worker_started", &json!({ "pid": 1 }))]);
    hear(&mut state, log.prompt("go"));
    let card = json!({ "sessionUpdate": "tool_call", "toolCallId": "t", "title": "make",
        "status": "in_progress", "content": [{ "type": "terminal", "terminalId": "term_1" }] });
    let output = json!({ "terminalId": "term_1", "data": "one\n" });
    hear(&mut state, [log.update(&card), log.event("terminal_output", &output)]);
    let shown = drawn(&state);
    assert!(!shown.contains("still running") && !shown.contains("lost"), "{shown}");
    (state, log)
}

#[test]
fn a_command_that_outlives_its_turn_is_said_to_run_until_it_ends() {
    let (mut state, mut log) = left_running();
    let mut view = ConversationView::new(Theme::new(true));
    let mut shown = |state: &ChatState| screen(state, &mut view, 60, 24);
    shown(&state);
    hear(&mut state, [log.event("turn_ended", &json!({ "stopReason": "end_turn" }))]);
    let after = shown(&state);
    assert!(after.contains("└ still running") && !after.contains("not known"), "{after}");
    state.handle_message(ChatMessage::DaemonSince(state.conversation.log.at().0 - 60_000));
    assert!(shown(&state).contains("└ still running"));
    let exited = json!({ "terminalId": "term_1", "signal": "9" });
    hear(&mut state, [log.event("terminal_exited", &exited)]);
    let after = shown(&state);
    assert!(after.contains("└ ended by signal 9") && !after.contains("still"), "{after}");
}

#[test]
fn a_command_whose_worker_is_gone_is_said_to_be_lost() {
    let crash = json!({ "stopReason": "error", "error": { "category": "interrupted" } });
    let end = json!({ "stopReason": "end_turn" });
    for (kind, payload) in [
        ("turn_ended", crash),
        ("worker_exited", json!({ "signal": 9 })),
        ("worker_started", json!({ "pid": 2 })),
    ] {
        let (mut state, mut log) = left_running();
        hear(&mut state, [log.event(kind, &payload), log.event("turn_ended", &end)]);
        let shown = drawn(&state);
        assert!(shown.contains("└ lost:") && !shown.contains("still running"), "{kind}\n{shown}");
        // Whoever tells its end later is right.
        let exited = json!({ "terminalId": "term_1", "exitCode": 0 });
        hear(&mut state, [log.event("terminal_exited", &exited)]);
        assert!(!drawn(&state).contains("lost:"));
    }

    // Nothing in the log says that the daemon was killed, but it is younger than the command.
    for is_told_before in [true, false] {
        let (mut state, mut log) = left_running();
        let since = state.conversation.log.at().0 + 60_000;
        if is_told_before {
            state.handle_message(ChatMessage::DaemonSince(since));
        }
        hear(&mut state, [log.event("turn_ended", &end)]);
        assert_eq!(drawn(&state).contains("└ lost:"), is_told_before);
        state.handle_message(ChatMessage::DaemonSince(since));
        assert!(drawn(&state).contains("└ lost:"));
    }
}

#[test]
fn of_a_terminal_that_somebody_else_serves_nothing_is_claimed() {
    let mut state = opened();
    let mut log = Log::in_turn();
    hear(&mut state, log.prompt("go"));
    let card = json!({ "sessionUpdate": "tool_call", "toolCallId": "t", "title": "make",
        "status": "completed", "content": [{ "type": "terminal", "terminalId": "theirs" }] });
    let end = json!({ "stopReason": "end_turn" });
    hear(&mut state, [log.update(&card), log.event("turn_ended", &end)]);
    state.handle_message(ChatMessage::DaemonSince(state.conversation.log.at().0 + 60_000));
    let shown = drawn(&state);
    assert!(!shown.contains("still running") && !shown.contains("lost"), "{shown}");
}

#[test]
fn the_lowest_line_says_effort_and_tokens() {
    let (mut state, _) = told();
    let effort = crate::info::SettableOption { current: Some("high".into()), values: Vec::new() };
    let options = crate::info::SessionChoices { effort: Some(effort), ..Default::default() };
    let info = SessionInfo { id: "s1".into(), options: Some(options), ..SessionInfo::default() };
    state.handle_message(ChatMessage::Info(Box::new(info)));
    let shown = drawn(&state);
    let last = shown.trim_end().lines().last().unwrap();
    assert!(last.ends_with("high effort · 2% of 200k context · 5.3k tokens · $0.12"), "{last}");
}

#[test]
fn what_may_be_completed() {
    let mut state = opened();
    type_in(&mut state, "/m");
    insta::assert_snapshot!(drawn(&state));
}

#[test]
fn help_and_lists_cover_the_conversation() {
    let mut state = opened();
    state.begin(crate::ChatStart::AnyAgent);
    let agent = |id: &str, name: &str| AgentInfo {
        id: id.into(),
        name: Some(name.into()),
        version: Some("1.0\u{1b}[31m".into()),
        is_usable: true,
        ..AgentInfo::default()
    };
    let found = vec![agent("demo", "the demo agent"), agent("native", "the built-in agent")];
    state.handle_message(ChatMessage::Agents { found, is_complete: false });
    insta::assert_snapshot!(drawn(&state));
}

#[test]
fn a_failed_turn_says_why_and_what_to_do() {
    let mut state = opened();
    let mut log = Log::in_turn();
    hear(&mut state, log.prompt("go"));
    let error =
        json!({ "category": "auth", "message": "not logged in", "remedy": "run `x login`" });
    hear(&mut state, [log.event("turn_ended", &json!({ "stopReason": "error", "error": error }))]);
    insta::assert_snapshot!(drawn(&state));
}

#[test]
fn what_waits_is_shown_below_what_runs() {
    let (mut state, mut log) = told();
    log.turn = Some(crate::conversation::tests::turn(2));
    hear(&mut state, [log.prompt("and then this").into_iter().next().unwrap()]);
    assert!(drawn(&state).contains("waits: and then this"));
}

#[test]
fn thinking_unfolds() {
    let (mut state, _) = told();
    let drawn =
        |state: &ChatState| screen(state, &mut ConversationView::new(Theme::new(true)), 60, 50);
    assert!(drawn(&state).contains("thinking: Let me see."));
    state.shows_thinking = true;
    assert!(drawn(&state).contains("✻ Hm."));
}

#[test]
fn without_colours_nothing_is_coloured() {
    let (state, _) = told();
    let mut terminal = Terminal::new(TestBackend::new(60, 30)).unwrap();
    let mut view = ConversationView::new(Theme::new(false));
    terminal.draw(|frame| _ = draw(&state, &mut view, frame)).unwrap();
    let reset = ratatui::style::Color::Reset;
    assert!(
        terminal.backend().buffer().content.iter().all(|cell| cell.fg == reset && cell.bg == reset)
    );
}

#[test]
fn nothing_that_an_agent_says_acts_on_the_terminal() {
    let evil = "\u{1b}]0;owned\u{7}\u{1b}[2J\u{9b}31m\u{202e}&#27;[5m\r\n\u{8}";
    let mut state = opened();
    let mut log = Log::in_turn();
    hear(&mut state, log.prompt(evil));
    let tool = json!({
        "sessionUpdate": "tool_call", "toolCallId": "t", "title": evil, "kind": evil,
        "rawInput": { "command": evil }, "locations": [{ "path": evil }],
        "content": [
            { "type": "diff", "path": evil, "oldText": evil, "newText": "x" },
            { "type": "content", "content": { "type": "text", "text": evil } },
        ],
    });
    let plan = json!({ "sessionUpdate": "plan", "entries": [{ "content": evil, "status": evil }] });
    let title = json!({ "sessionUpdate": "session_info_update", "title": evil });
    let commands = json!({
        "sessionUpdate": "available_commands_update",
        "availableCommands": [{ "name": evil, "description": evil }],
    });
    let mut question = log.ask('q');
    let options = json!([{ "optionId": evil, "name": evil, "kind": evil }]);
    let call = json!({ "toolCallId": "t", "title": evil, "rawInput": { "command": evil } });
    let request = json!({ "toolCall": call, "options": options });
    let id = crate::conversation::tests::call_id('q');
    question.payload = wire::Json::of(&json!({ "requestId": id, "ask": true, "request": request }));
    hear(&mut state, [question]);
    hear(
        &mut state,
        [log.update(&tool), log.update(&plan), log.update(&title), log.update(&commands)],
    );
    hear(
        &mut state,
        [log.say(evil), log.event("error", &json!({ "message": evil, "remedy": evil }))],
    );
    let info = SessionInfo {
        id: "s1".into(),
        agent: evil.into(),
        cwd: evil.into(),
        ..SessionInfo::default()
    };
    state.handle_message(ChatMessage::Info(Box::new(info)));
    state.handle_message(ChatMessage::Failed(evil.into()));
    state.shows_tools = true;
    type_in(&mut state, "/");
    for size in [(80, 60), (20, 10), (200, 100)] {
        let shown = screen(&state, &mut ConversationView::new(Theme::new(true)), size.0, size.1);
        let bad = |c: char| (c.is_control() && c != '\n') || c == '\u{202e}';
        assert!(!shown.chars().any(bad), "{shown:?}");
    }
    // And it is not hidden either.
    assert!(
        screen(&state, &mut ConversationView::new(Theme::new(true)), 200, 100)
            .contains("\\x1b]0;owned")
    );
}

#[test]
fn what_is_looked_at_stays_while_more_comes_in() {
    let mut state = opened();
    let mut log = Log::in_turn();
    let mut view = ConversationView::new(Theme::new(false));
    for n in 0..100 {
        hear(&mut state, [log.event("error", &json!({ "message": format!("note {n}") }))]);
    }
    let end = screen(&state, &mut view, 40, 20);
    assert!(end.contains("note 99") && !end.contains("note 50\n"));
    view.scroll(&state, Scroll::Pages(-1));
    let before = screen(&state, &mut view, 40, 20);
    assert!(!before.contains("note 99"));
    let first = before.lines().next().unwrap().to_owned();
    for n in 100..150 {
        hear(&mut state, [log.event("error", &json!({ "message": format!("note {n}") }))]);
    }
    assert!(screen(&state, &mut view, 40, 20).starts_with(&first));
    view.scroll(&state, Scroll::Start);
    assert!(screen(&state, &mut view, 40, 20).starts_with("· note 0\n"));
    view.scroll(&state, Scroll::End);
    assert!(screen(&state, &mut view, 40, 20).contains("note 149"));
}

#[test]
fn fifty_thousand_events_are_drawn_by_what_is_seen_of_them() {
    let mut state = opened();
    let mut log = Log::in_turn();
    let mut view = ConversationView::new(Theme::new(false));
    for n in 0..10_000 {
        log.turn = Some(crate::conversation::tests::turn(u8::try_from(n % 20).unwrap()));
        hear(&mut state, log.prompt("again"));
        hear(&mut state, [log.say("one "), log.say("two")]);
        hear(&mut state, [log.event("turn_ended", &json!({ "stopReason": "end_turn" }))]);
    }
    assert_eq!(state.conversation.cursor.0, 50_000);
    assert!(screen(&state, &mut view, 80, 40).contains("one two"));
    assert!(view.n_drawn() < 100, "{} items were drawn for one screen", view.n_drawn());
}

#[test]
fn of_ten_thousand_calls_only_those_that_are_seen_are_made_ready() {
    let mut state = opened();
    let mut log = Log::in_turn();
    let mut view = ConversationView::new(Theme::new(false));
    hear(&mut state, log.prompt("go"));
    let before = crate::conversation::n_made_ready();
    for n in 0..10_000 {
        let call = json!({
            "sessionUpdate": "tool_call", "toolCallId": n.to_string(), "title": format!("Edit {n}"),
            "kind": "edit", "rawInput": { "path": "a.rs" },
            "content": [{ "type": "diff", "path": "a.rs", "oldText": "a\n", "newText": "b\n" }],
        });
        let end = json!({
            "sessionUpdate": "tool_call_update", "toolCallId": n.to_string(), "status": "completed",
        });
        hear(&mut state, [log.update(&call), log.update(&end)]);
    }
    assert!(screen(&state, &mut view, 80, 40).contains("✓ Edit 9999"));
    let n_made = crate::conversation::n_made_ready() - before;
    assert!(n_made < 100, "{n_made} calls were made ready for one screen");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(192))]
    #[test]
    fn no_events_keys_or_sizes_panic_or_leave_the_screen(
        steps in proptest::collection::vec(any_step(), 0..40),
    ) {
        let mut state = opened();
        let mut log = Log::default();
        let mut view = ConversationView::new(Theme::new(true));
        let (mut width, mut height) = (80, 24);
        for step in steps {
            let (effects, size) = take(&mut state, &mut log, step);
            (width, height) = size.unwrap_or((width, height));
            for effect in effects {
                if let Effect::Scroll(by) = effect {
                    view.scroll(&state, by);
                }
            }
            let shown = screen(&state, &mut view, width, height);
            prop_assert!(!shown.chars().any(|c| c.is_control() && c != '\n'), "{shown:?}");
        }
    }
}
