use serde_json::json;

use super::*;
use crate::LogReader;
use crate::tests::log::Log;
use wire::Kind;

const PLAIN: TextOptions =
    TextOptions { color: false, width: 80, verbose: false, show_thinking: true };

fn render(style: TextOptions, log: &Log) -> String {
    let mut renderer = LogReader::new(TextProjection::new(style));
    let mut out = String::new();
    for event in &log.events {
        renderer.project(event, &mut out);
    }
    out
}

fn check(log: &Log, expected: &str) {
    assert_eq!(render(PLAIN, log), expected);
}

#[test]
fn the_answer_streams_as_it_comes() {
    let log = Log::started().text("one, ").text("tw");
    check(&log, "one, tw");

    check(&log.text("o").end("end_turn"), "one, two\n");
}

#[test]
fn parts_are_set_apart() {
    let log = Log::started().thought("hm").thought(" so").text("\n\nyes").end("end_turn");
    check(&log, "thinking\nhm so\n\nyes\n");

    let quiet = TextOptions { show_thinking: false, ..PLAIN };
    assert_eq!(render(quiet, &log), "yes\n");
}

#[test]
fn two_answers_are_two_parts() {
    let log = Log::started().text("one").end("end_turn").in_turn(2).start().text("two");

    check(&log, "one\n\ntwo");
}

#[test]
fn a_tool_call_is_a_line() {
    let call =
        json!({ "title": "Edit", "kind": "edit", "locations": [{ "path": "/w/src/main.rs" }] });
    let log = Log::new().own(Kind::SessionCreated, json!({ "cwd": "/w" })).in_turn(1).start();
    let log = log.tool("c", call).tool_update("c", json!({ "status": "in_progress" }));
    let log = log.tool_update("c", json!({ "status": "completed" })).text("done");

    check(&log, "● Edit src/main.rs\n\ndone");
}

/// What a terminal shows of it.
fn on_screen(text: &str) -> String {
    let mut rows: Vec<&str> = Vec::new();
    for line in text.split('\n') {
        let mut line = line;
        while let Some(rest) = line.strip_prefix("\u{1b}[1A\u{1b}[2K") {
            rows.pop();
            line = rest;
        }
        rows.push(line);
    }
    rows.join("\n")
}

#[test]
fn at_a_terminal_the_end_of_a_call_takes_the_place_of_its_beginning() {
    let render = |log: &Log, width: usize, is_disturbed: bool| {
        let style = TextOptions { width, ..PLAIN };
        let mut renderer = LogReader::new(TextProjection::new(style));
        renderer.projection_mut().replace_lines();
        let mut out = String::new();
        for event in &log.events {
            if is_disturbed {
                renderer.projection_mut().note_foreign_output();
            }
            renderer.project(event, &mut out);
        }
        on_screen(&out)
    };
    let begin = || Log::started().tool("a", json!({ "title": "A", "rawInput": { "x": 1 } }));
    let (done, failed) = (json!({ "status": "completed" }), json!({ "status": "failed" }));
    let alone = begin().tool_update("a", done.clone()).text("so");
    assert_eq!(render(&alone, 80, false), "✓ A\n\nso");
    let bad = begin().tool_update("a", failed).text("so");
    assert_eq!(render(&bad, 80, false), "✗ A failed\n\nso");
    let between = begin().text("hm").tool_update("a", done.clone());
    assert_eq!(render(&between, 80, false), "● A\n\nhm\n\n✓ A\n");
    // What was said to run stays, if something else is said to have run.
    let renamed = json!({ "status": "completed", "title": "B" });
    let renamed = begin().tool_update("a", renamed).text("so");
    assert_eq!(render(&renamed, 80, false), "● A\n✓ B\n\nso");
    // Somebody else's line, or a terminal of which the width is not known.
    assert_eq!(render(&alone, 80, true), "● A\n✓ A\n\nso");
    assert_eq!(render(&alone, 0, false), "● A\n\nso");
    let long = json!({ "title": "漢".repeat(30), "rawInput": { "x": 1 } });
    let long = Log::started().tool("a", long).tool_update("a", done);
    assert!(render(&long, 50, false).starts_with("● 漢"));
}

#[test]
fn a_call_is_told_again_only_if_its_line_says_something_new() {
    let log = Log::started().tool("a", json!({ "title": "A", "rawInput": { "x": 1 } }));
    let log = log.tool("b", json!({ "title": "B", "rawInput": { "x": 1 } }));
    let log = log.tool_update("b", json!({ "status": "completed" }));
    let log = log.tool_update("a", json!({ "status": "completed", "title": "A, 3 lines" }));

    check(&log, "● A\n● B\n✓ A, 3 lines\n");
}

#[test]
fn a_failure_says_why() {
    let output =
        json!([{ "type": "content", "content": { "type": "text", "text": "1\n2\n3\n4\n5" } }]);
    let log =
        Log::started().tool("a", json!({ "title": "A", "status": "failed", "content": output }));

    check(&log, "✗ A failed\n  1\n  2\n  3\n  … 2 more lines\n");
}

#[test]
fn a_command_shows_the_end_of_its_output_and_its_code_when_it_failed() {
    let call = |code: i32, output: &str| {
        let terminal = json!([{ "type": "terminal", "terminalId": "t" }]);
        let raw = json!({ "output": output, "exitCode": code });
        let input = json!({ "command": "make" });
        Log::started()
            .tool("a", json!({ "title": "make", "kind": "execute", "rawInput": input }))
            .tool_update("a", json!({ "content": terminal, "status": "in_progress" }))
            .tool_update("a", json!({ "status": "completed", "rawOutput": raw }))
    };

    check(&call(0, "all is\nbuilt"), "● make\n  all is\n  built\n");
    let lines = (1..=12).map(|n| n.to_string()).collect::<Vec<_>>().join("\n");
    let out = render(PLAIN, &call(2, &lines));
    let expected = "● make\n✗ make failed with exit code 2\n  … 2 lines before\n  3\n";
    assert!(out.starts_with(expected), "{out}");
    assert!(out.ends_with("  12\n"), "{out}");
}

#[test]
fn a_diff_is_shown_once_and_not_endlessly() {
    let new = (0..100).map(|n| format!("line {n}")).collect::<Vec<_>>().join("\n");
    let diff = json!([{ "type": "diff", "path": "a.txt", "newText": new }]);
    let call = json!({ "title": "Write", "content": diff, "status": "in_progress" });
    let done = json!({ "status": "completed", "content": diff });
    let unasked = Log::started().tool("c", call.clone()).tool_update("c", done.clone());
    let out = render(PLAIN, &unasked);
    assert!(out.contains("\n  +line 38\n  … 61 more lines\n"), "{out}");

    let asked = Log::started().ask("r", "c", call).tool_update("c", done);
    let out = render(PLAIN, &asked);
    assert_eq!(out.matches("a.txt (+100 -0)").count(), 1, "{out}");
}

#[test]
fn a_question_is_numbered_and_its_answer_names_who_gave_it() {
    let call = json!({ "title": "Run tests", "rawInput": { "command": "cargo test" } });
    let by = json!({ "who": "rule", "detail": "tests are fine" });
    let outcome = json!({ "outcome": "selected", "optionId": "yes" });
    let log = Log::started().ask("r", "c", call);
    let resolved = json!({ "requestId": "r", "by": by, "outcome": outcome });

    check(
        &log.own(Kind::PermissionResolved, resolved),
        "? Run tests: cargo test\n  $ cargo test\n  1. Yes (allow once)\n  2. No (reject once)\n  \
         allowed once by a rule (tests are fine)\n",
    );
}

#[test]
fn every_decision_has_its_words() {
    for (outcome, expected) in [
        (json!({ "outcome": "selected", "optionId": "no" }), "rejected: nobody answered in time"),
        (json!({ "outcome": "cancelled" }), "cancelled: nobody answered in time"),
        (
            json!({ "outcome": "selected", "optionId": "x", "kind": "allow_always" }),
            "allowed always: nobody answered in time",
        ),
        (
            json!({ "outcome": "selected", "optionId": "odd\u{1b}" }),
            "answered \"odd\\x1b\": nobody answered in time",
        ),
    ] {
        let log = Log::started().ask("r", "c", json!({ "title": "T" }));
        let by = json!({ "who": "timeout" });
        let resolved = json!({ "requestId": "r", "by": by, "outcome": outcome });
        let out = render(PLAIN, &log.own(Kind::PermissionResolved, resolved));

        assert_eq!(out.lines().last().map(str::trim), Some(expected));
    }
    let outcome = json!({ "outcome": "selected", "optionId": "no" });
    let by = json!({ "who": "unattended" });
    let resolved = json!({ "requestId": "r", "by": by, "outcome": outcome });
    let log = Log::started().ask("r", "c", json!({ "title": "T" }));
    let out = render(PLAIN, &log.own(Kind::PermissionResolved, resolved));
    assert!(out.ends_with("  rejected: nobody was there to ask\n"), "{out}");
}

#[test]
fn a_plan_is_a_check_list_that_is_shown_when_it_changes() {
    let entries = json!([
        { "content": "a", "status": "completed" },
        { "content": "b", "status": "in_progress" },
        { "content": "c\u{7}", "status": "pending" },
    ]);
    let plan = json!({ "entries": entries });
    let log = Log::started().update("plan", plan.clone()).update("plan", plan);

    check(&log, "Plan\n  [x] a\n  [~] b\n  [ ] c\\x07\n");
}

#[test]
fn of_a_plan_that_goes_on_what_has_changed_is_shown() {
    let plan = |statuses: [&str; 3]| {
        let names = ["a", "b", "c"].iter().zip(statuses);
        let entry = |(name, status)| json!({ "content": name, "status": status });
        json!({ "entries": names.map(entry).collect::<Vec<_>>() })
    };
    let log = Log::started()
        .update("plan", plan(["in_progress", "pending", "pending"]))
        .update("plan", plan(["completed", "in_progress", "pending"]))
        .update("plan", json!({ "entries": [{ "content": "d", "status": "pending" }] }));

    let first = "Plan\n  [~] a\n  [ ] b\n  [ ] c\n";
    check(&log, &format!("{first}Plan\n  [x] a\n  [~] b\nPlan\n  [ ] d\n"));
}

#[test]
fn options_are_shown_to_those_who_can_choose_and_say_nothing_twice() {
    let options = json!([{ "optionId": "y", "name": "Allow once", "kind": "allow_once" },
        { "optionId": "n", "name": "No", "kind": "reject_once" }]);
    let request = json!({ "toolCall": { "toolCallId": "c", "title": "T" }, "options": options });
    let asked = |ask: bool| {
        let payload = json!({ "requestId": "r", "ask": ask, "request": request });
        render(PLAIN, &Log::started().own(Kind::PermissionRequested, payload))
    };
    assert!(asked(true).ends_with("  1. Allow once\n  2. No (reject once)\n"), "{}", asked(true));
    assert!(!asked(false).contains("1."), "{}", asked(false));
}

#[test]
fn an_error_comes_with_its_hint_and_once() {
    let fault =
        json!({ "category": "auth", "message": "not logged in", "remedy": "run `x login`" });
    let end = json!({ "stopReason": "error", "error": fault });
    let log = Log::started().own(Kind::Error, fault).own(Kind::TurnEnded, end);

    check(&log, "error: not logged in\nhint: run `x login`\n");
    check(&Log::started().end("error"), "error: the turn failed\n");
}

#[test]
fn a_failure_that_the_agent_has_put_into_words_is_told_once() {
    let fault = json!({ "category": "auth", "message": "no key", "remedy": "set X" });
    let end = json!({ "stopReason": "error", "error": fault });
    let log = Log::started().text("no key").own(Kind::TurnEnded, end.clone());
    check(&log, "no key\n\nhint: set X\n");

    let log = Log::started().text("there is no key").own(Kind::TurnEnded, end);
    check(&log, "there is no key\n\nerror: no key\nhint: set X\n");
}

#[test]
fn an_unusual_end_says_why() {
    check(&Log::started().end("cancelled"), "cancelled\n");
    check(&Log::started().end("refusal"), "stopped: the agent refused to go on\n");
    check(&Log::started().end("max_tokens"), "stopped: the model's token limit was reached\n");
    check(&Log::started().end("odd\n"), "stopped: odd\n");
}

#[test]
fn usage_is_told_at_the_end_when_it_is_known() {
    let usage = json!({ "inputTokens": 1200, "outputTokens": 34 });
    let cost = json!({ "cost": { "amount": 0.0123, "currency": "USD" } });
    let log = Log::started().update("usage_update", cost);
    let end = json!({ "stopReason": "end_turn", "usage": usage });

    check(&log.own(Kind::TurnEnded, end), "1200 tokens in, 34 out · $0.0123 · 20 ms\n");
}

#[test]
fn the_death_of_an_agent_shows_its_last_words() {
    let stderr = (1..=8).map(|n| format!("e{n}\u{1b}[0m")).collect::<Vec<_>>().join("\n");
    let log = Log::started().own(Kind::WorkerExited, json!({ "code": 3, "stderr": stderr }));
    let out = render(PLAIN, &log);

    assert!(out.starts_with("the agent's process exited with code 3\n  e4\\x1b[0m\n"), "{out}");
    assert_eq!(out.lines().count(), 6);
    let clean = Log::new().own(Kind::WorkerExited, json!({ "code": 0 }));
    check(&clean, "");
    let killed = Log::started().own(Kind::WorkerExited, json!({ "signal": 9 }));
    check(&killed, "the agent's process was ended by signal 9\n");
}

#[test]
fn a_cancel_is_told_step_by_step_when_the_agent_resists() {
    let step = |log: Log, step| log.own(Kind::CancelStep, json!({ "step": step }));
    let log = Log::started().own(Kind::CancelRequested, json!({ "by": "client" }));
    let log = step(step(step(log, "notified"), "terminate"), "kill").end("cancelled");

    check(
        &log,
        "cancel requested by client\nthe agent did not stop when asked; ending it\n\
         the agent did not end; killing it\ncancelled\n",
    );
}

#[test]
fn a_memory_that_was_lost_is_told() {
    let resumed = |how, verified| {
        let tried = ["load: no such session"];
        let payload = json!({ "how": how, "verified": verified, "tried": tried });
        render(PLAIN, &Log::new().own(Kind::SessionResumed, payload))
    };

    assert_eq!(
        resumed("new", "new"),
        "the agent starts without memory of this session: load: no such session\n"
    );
    assert!(resumed("reseed", "new").contains("was told the conversation again"));
    assert!(resumed("resume", "unchecked").contains("could not prove"));
    assert_eq!(resumed("load", "listed"), "");
}

#[test]
fn prompts_are_shown_on_request() {
    let log = Log::new().in_turn(1).prompt("do\u{1b}c\nit").start().text("ok");
    check(&log, "ok");

    let mut renderer = LogReader::new(TextProjection::new(PLAIN).with_prompts());
    let mut out = String::new();
    for event in &log.events {
        renderer.project(event, &mut out);
    }
    assert_eq!(out, "› do\\x1bc\nit\n\nok");
}

#[test]
fn a_conversation_that_became_a_summary_is_told() {
    let log = Log::started()
        .update("compaction_update", json!({ "status": "in_progress" }))
        .update("compaction_update", json!({ "status": "completed" }));

    check(&log, "the conversation so far is now a summary\n");
}

#[test]
fn details_are_for_the_verbose() {
    let log = Log::started()
        .own(Kind::AgentStderr, json!({ "text": "warn\u{1b}[1m" }))
        .update("unheard_of", json!({}))
        .update("current_mode_update", json!({ "currentModeId": "plan" }));
    check(&log, "");

    let verbose = TextOptions { verbose: true, ..PLAIN };
    assert_eq!(
        render(verbose, &log),
        "stderr: warn\\x1b[1m\nupdate of the agent: unheard_of\nmode: plan\n"
    );
}

#[test]
fn colour_is_ours_alone() {
    let log = Log::started().thought("a\u{1b}[31mb").end("error");
    let style = TextOptions { color: true, ..PLAIN };
    let out = render(style, &log);

    assert!(out.contains("\u{1b}[2ma\\x1b[31mb\u{1b}[0m"), "{out:?}");
    assert!(out.contains("\u{1b}[31merror: the turn failed\u{1b}[0m"), "{out:?}");
}

#[test]
fn an_image_is_a_line() {
    let image =
        json!({ "type": "image", "mimeType": "image/png\u{1b}", "data": "A".repeat(16 << 10) });
    let log = Log::started().text("See:");
    let log = log.update("agent_message_chunk", json!({ "content": image })).text("Nice.");
    check(&log.end("end_turn"), "See:\n\n[image image/png, 12 KB]\n\nNice.\n");
}
