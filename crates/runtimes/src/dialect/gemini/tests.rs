//! Recordings, repeated and repetitive answers, exit codes.

use serde_json::{Value, json};
use wire::Category;

use super::super::testing::{
    check, exit_of, recordings, render, stdout_of, survives_anything, text_of, translate, turn_ends,
};
use super::super::{CliExit, DialectName, DialectOutput, Outputs, StopReason, TurnOutcome};

const NAME: DialectName = DialectName::GeminiStreamJson;

#[test]
fn recordings_are_translated() {
    for (scenario, path) in recordings("gemini") {
        let said = translate(NAME, &stdout_of(&path), &[], &exit_of(&path));
        check(&said);
        assert_eq!(turn_ends(&said), 1, "{scenario}");
        insta::assert_snapshot!(scenario, render(&said));
    }
}

#[test]
fn the_answer_is_all_pieces_in_order() {
    for (scenario, path) in recordings("gemini") {
        if scenario == "stream-cut" {
            continue;
        }
        let bytes = stdout_of(&path);
        let said = translate(NAME, &bytes, &[], &exit_of(&path));
        let pieces: String = String::from_utf8(bytes)
            .unwrap()
            .split('\n')
            .filter_map(|line| serde_json::from_str::<Value>(line).ok())
            .filter(|event| event["role"] == "assistant")
            .filter_map(|event| event["content"].as_str().map(str::to_owned))
            .collect();
        assert_eq!(text_of(&said), pieces, "{scenario}");
    }
}

#[test]
fn spoilt_recordings_do_no_harm() {
    let samples = recordings("gemini").iter().map(|(_, path)| stdout_of(path)).collect();
    survives_anything(NAME, samples);
}

/// Pieces of an answer with the pause before each.
fn answer(pieces: &[(u64, &str)], end: &Value) -> Outputs {
    let mut now = 3_600_000 * 23 + 59 * 60_000;
    let mut lines = Vec::new();
    for (pause, text) in pieces {
        now += pause;
        let (h, m, s) = (now / 3_600_000 % 24, now / 60_000 % 60, now / 1000 % 60);
        let time = format!("2026-11-15T{h:02}:{m:02}:{s:02}.{:03}Z", now % 1000);
        let line = json!({
            "type": "message", "timestamp": time, "role": "assistant", "content": text,
        });
        lines.push(line.to_string());
    }
    lines.push(end.to_string());
    translate(
        NAME,
        lines.join("\n").as_bytes(),
        &[],
        &CliExit { code: Some(0), ..CliExit::default() },
    )
}

fn success() -> Value {
    json!({ "type": "result", "status": "success" })
}

#[test]
fn an_answer_that_recovered_is_told_once() {
    let pieces = [(0, "One "), (30, "two "), (1200, "One "), (20, "two "), (30, "three.")];
    assert_eq!(text_of(&answer(&pieces, &success())), "One two three.");

    // Cut elsewhere, dropped earlier the second time, and over midnight.
    let pieces =
        [(59_000, "One "), (30, "two "), (1100, "One t"), (2100, "One two three"), (20, ".")];
    assert_eq!(text_of(&answer(&pieces, &success())), "One two three.");
}

#[test]
fn an_answer_that_repeats_itself_is_told_in_full() {
    for pieces in [
        // At speed.
        &[(0, "ha "), (30, "ha "), (30, "ha ")][..],
        // At a slow and steady pace.
        &[(0, "ha "), (1500, "ha "), (1500, "ha "), (1400, "ha ")],
        // After a pause, but not from the beginning.
        &[(0, "a b "), (20, "c "), (5000, "b c "), (20, "d")],
        // After a pause, from the beginning, but not all of it.
        &[(0, "The cat "), (20, "sat. "), (5000, "The "), (20, "dog "), (20, "too.")],
        // The same, and then the answer is over.
        &[(0, "The cat "), (20, "sat. "), (5000, "The ")],
        // More often than the CLI tries.
        &[(0, "x"), (990, "x"), (990, "x"), (990, "x"), (990, "x"), (990, "x")],
    ] {
        let whole: String = pieces.iter().map(|(_, text)| *text).collect();
        assert_eq!(text_of(&answer(pieces, &success())), whole, "{pieces:?}");
    }
}

#[test]
fn another_wording_after_a_dropped_stream_is_told_in_full() {
    let pieces = [(0, "It is "), (20, "42"), (1200, "It is "), (20, "forty-two.")];
    assert_eq!(text_of(&answer(&pieces, &success())), "It is 42It is forty-two.");
}

fn ending(lines: &[Value], exit: &CliExit) -> TurnOutcome {
    let text = lines.iter().map(Value::to_string).collect::<Vec<_>>().join("\n");
    let mut said = translate(NAME, text.as_bytes(), &[], exit);
    check(&said);
    assert_eq!(turn_ends(&said), 1);
    match said.pop() {
        Some(DialectOutput::TurnEnded(end)) => end.ending,
        other => panic!("the end is {other:?}"),
    }
}

fn category(lines: &[Value], code: i32, stderr: &str) -> Category {
    let exit = CliExit { code: Some(code), stderr: stderr.to_owned(), ..CliExit::default() };
    match ending(lines, &exit) {
        TurnOutcome::Failed(failure) => failure.category,
        ending @ TurnOutcome::Stopped(_) => panic!("{ending:?}"),
    }
}

#[test]
fn exit_codes_tell_what_words_do_not() {
    for (code, expected) in [
        (145, Category::Auth),
        (147, Category::Auth),
        (144, Category::BadInput),
        (148, Category::ModelUnavailable),
        (173, Category::RateLimit),
        (244, Category::UpstreamUnavailable),
        (247, Category::UpstreamUnavailable),
        (17, Category::UpstreamUnavailable),
        (41, Category::Auth),
        (42, Category::BadInput),
        (55, Category::Rejected),
        (1, Category::ProcessExit),
    ] {
        assert_eq!(category(&[], code, "it did not work"), expected, "exit code {code}");
    }
    let vague = json!({ "type": "result", "status": "error", "error": { "message": "oh no" } });
    assert_eq!(category(std::slice::from_ref(&vague), 173, ""), Category::RateLimit);
    assert_eq!(category(&[vague], 1, ""), Category::Internal);
}

#[test]
fn a_lost_session_is_said_to_be_lost() {
    let exit = CliExit {
        code: Some(42),
        stderr: "Error resuming session: No previous sessions found for this project.".into(),
        ..CliExit::default()
    };
    let said = translate(NAME, b"", &[], &exit);
    assert!(
        matches!(&said[0], DialectOutput::ConversationLost(failure) if failure.category == Category::SessionLost)
    );
    assert_eq!(turn_ends(&said), 1);
}

#[test]
fn an_untrusted_folder_has_a_remedy() {
    let exit = CliExit { code: Some(55), stderr: "not trusted".into(), ..CliExit::default() };
    let TurnOutcome::Failed(failure) = ending(&[], &exit) else { panic!("no failure") };
    assert!(failure.remedy.unwrap().contains("GEMINI_CLI_TRUST_WORKSPACE"));
}

#[test]
fn limits_and_cancels_are_stops() {
    let ended = |status: &str, kind: &str| {
        json!({ "type": "result", "status": status,
                "error": { "type": kind, "message": "Operation ended." } })
    };
    let warned = json!({ "type": "error", "severity": "error",
                         "message": "Maximum session turns exceeded" });
    let exit = CliExit { code: Some(0), ..CliExit::default() };
    let is = |lines: &[Value], exit: &CliExit, reason| {
        assert_eq!(ending(lines, exit), TurnOutcome::Stopped(reason));
    };
    is(&[warned.clone(), success()], &exit, StopReason::MaxTurnRequests);
    is(&[warned, ended("error", "x")], &exit, StopReason::MaxTurnRequests);
    is(&[ended("error", "FatalCancellationError")], &exit, StopReason::Cancelled);
    is(&[], &CliExit { code: Some(53), ..CliExit::default() }, StopReason::MaxTurnRequests);
    is(&[], &CliExit { is_stopped_by_us: true, ..CliExit::default() }, StopReason::Cancelled);
}

#[test]
fn todos_are_a_plan() {
    let lines = [
        json!({ "type": "tool_use", "tool_name": "write_todos", "tool_id": "t1",
                "parameters": { "todos": [{ "description": "Look", "status": "in_progress" }] } }),
        json!({ "type": "tool_result", "tool_id": "t1", "status": "success", "output": "ok" }),
        success(),
    ];
    let text = lines.iter().map(Value::to_string).collect::<Vec<_>>().join("\n");
    let said = translate(NAME, text.as_bytes(), &[], &CliExit::default());
    let said = render(&said);
    assert!(said.contains("\"plan\"") && !said.contains("tool_call"), "{said}");
}
