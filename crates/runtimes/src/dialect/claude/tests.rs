//! Claude Code and Qwen Code, as recorded.

mod speaking;
mod unrecorded;

use serde_json::Value;

use crate::dialect::testing::{
    check, exit_of, recordings, render, stdout_of, survives_anything, text_of, translate, turn_ends,
};
use crate::dialect::{
    CliExit, DialectName, DialectOutput, Outputs, StopReason, TurnEnd, TurnOutcome,
};
use crate::update::{SessionUpdate, ToolCall, ToolCallStatus};

const DIALECT: DialectName = DialectName::ClaudeStreamJson;

/// Everything that was recorded: the CLI, the scenario, what it printed, how it ended.
fn all() -> Vec<(&'static str, String, Vec<u8>, CliExit)> {
    let of = |cli: &'static str| {
        let recordings = recordings(cli).into_iter();
        recordings.map(move |(name, path)| (cli, name, stdout_of(&path), exit_of(&path)))
    };
    of("claude").chain(of("qwen")).collect()
}

fn one(cli: &str, scenario: &str) -> Outputs {
    let found = all().into_iter().find(|(c, name, ..)| *c == cli && name == scenario);
    let (_, _, bytes, exit) = found.unwrap_or_else(|| panic!("no {cli}/{scenario}"));
    translate(DIALECT, &bytes, &[], &exit)
}

fn objects(bytes: &[u8]) -> Vec<Value> {
    let lines = bytes.split(|b| *b == b'\n');
    let read = lines.filter_map(|line| serde_json::from_slice::<Value>(line).ok());
    read.flat_map(|value| match value {
        Value::Array(all) => all,
        one => vec![one],
    })
    .collect()
}

fn ends(said: &[DialectOutput]) -> Vec<&TurnEnd> {
    said.iter()
        .filter_map(|s| if let DialectOutput::TurnEnded(end) = s { Some(end) } else { None })
        .collect()
}

fn calls(said: &[DialectOutput]) -> Vec<&ToolCall> {
    let calls = said.iter().filter_map(|said| match said {
        DialectOutput::Update(
            SessionUpdate::ToolCall(call) | SessionUpdate::ToolCallUpdate(call),
        ) => Some(call),
        _ => None,
    });
    calls.collect()
}

#[test]
fn recordings_become_this() {
    for (cli, name, bytes, exit) in all() {
        let said = translate(DIALECT, &bytes, &[], &exit);
        insta::assert_snapshot!(format!("{cli}-{name}"), render(&said));
    }
}

#[test]
fn every_recorded_turn_ends_once_and_nothing_is_left_open() {
    for (cli, name, bytes, exit) in all() {
        let said = translate(DIALECT, &bytes, &[], &exit);
        check(&said);
        let results = objects(&bytes).iter().filter(|line| line["type"] == "result").count();
        assert_eq!(turn_ends(&said), results.max(1), "{cli}/{name}");
    }
}

/// The CLI's own whole answer is the text of the last message.
#[test]
fn the_text_is_what_the_cli_says_it_said() {
    let mut n_compared = 0;
    for (cli, name, bytes, exit) in all() {
        let lines = objects(&bytes);
        let results: Vec<&str> = lines
            .iter()
            .filter(|line| line["type"] == "result" && line["is_error"] == false)
            .filter_map(|line| line["result"].as_str())
            .collect();
        let text = text_of(&translate(DIALECT, &bytes, &[], &exit));
        for result in &results {
            assert!(text.contains(result), "{cli}/{name}: {result:?} is not in {text:?}");
            n_compared += 1;
        }
        if let Some(last) = results.last() {
            assert!(text.ends_with(last), "{cli}/{name}: {text:?}");
        }
        // Whole blocks, each once, are the whole text; unless one was thrown away.
        let is_retried = lines.iter().any(|line| {
            line["subtype"] == "retry" || line["abandoned_blocks"]["from_block_index"] == 0
        });
        let is_background = name == "input-background";
        if !is_retried && !is_background && exit.code == Some(0) {
            let whole: String = lines
                .iter()
                .filter(|line| line["type"] == "assistant" && line["parent_tool_use_id"].is_null())
                .flat_map(|line| line["message"]["content"].as_array().cloned().unwrap_or_default())
                .filter_map(|block| block["text"].as_str().map(str::to_owned))
                .collect();
            if !whole.is_empty() {
                assert_eq!(text, whole, "{cli}/{name}");
            }
        }
    }
    assert!(n_compared > 30, "{n_compared}");
}

#[test]
fn text_after_a_dropped_stream_is_not_doubled() {
    let hello = "Hello, this is the fake model speaking.";
    assert_eq!(text_of(&one("claude", "stream-cut")), hello);
    assert_eq!(text_of(&one("claude", "sse-error")), hello);
    assert_eq!(text_of(&one("qwen", "stream-cut")), "Hello, ");
    assert_eq!(text_of(&one("qwen", "text-max-tokens")), "This was cutok");
}

#[test]
fn a_result_that_was_cut_off_still_ends_the_turn_well() {
    let said = one("qwen", "text-long");
    assert_eq!(text_of(&said).len(), 120_003);
    assert_eq!(ends(&said)[0].ending, TurnOutcome::Stopped(StopReason::EndTurn));
    assert!(!said.iter().any(|said| matches!(said, DialectOutput::UnknownLine(_))));
}

#[test]
fn errors_have_their_category_and_are_no_answer() {
    use wire::Category::{
        Auth, BadInput, ModelUnavailable, RateLimit, SessionLost, UpstreamUnavailable,
    };
    let expected = [
        ("claude", "http400", BadInput),
        ("claude", "http401", Auth),
        ("claude", "http404-model", ModelUnavailable),
        ("claude", "http429-forever", RateLimit),
        ("claude", "http529-forever", UpstreamUnavailable),
        ("claude", "no-server", UpstreamUnavailable),
        ("claude", "resume-unknown", SessionLost),
        ("claude", "resume-not-uuid", SessionLost),
        ("qwen", "http401", Auth),
        ("qwen", "no-api-key", Auth),
        ("qwen", "no-server", UpstreamUnavailable),
        ("qwen", "sse-error", UpstreamUnavailable),
        ("qwen", "stream-cut", UpstreamUnavailable),
    ];
    for (cli, name, category) in expected {
        let said = one(cli, name);
        let TurnOutcome::Failed(failure) = &ends(&said)[0].ending else { panic!("{cli}/{name}") };
        assert_eq!(failure.category, category, "{cli}/{name}: {failure:?}");
        assert!(!text_of(&said).contains("API"), "{cli}/{name}: {}", text_of(&said));
        let is_lost = said.iter().any(|said| matches!(said, DialectOutput::ConversationLost(_)));
        assert_eq!(is_lost, category == SessionLost, "{cli}/{name}");
    }
}

#[test]
fn a_conversation_that_only_stderr_says_is_gone_is_lost() {
    let said = one("qwen", "resume-unknown");
    assert!(
        matches!(
            said.as_slice(),
            [DialectOutput::ConversationLost(_), DialectOutput::TurnEnded(_)]
        ),
        "{said:?}"
    );
}

#[test]
fn stop_reasons_are_told_apart() {
    let expected = [
        ("text", StopReason::EndTurn),
        ("text-max-tokens", StopReason::MaxTokens),
        ("max-turns", StopReason::MaxTurnRequests),
        ("refusal", StopReason::Refusal),
        ("input-interrupt", StopReason::Cancelled),
        ("input-interrupt-tool", StopReason::Cancelled),
        ("input-cancel-ask", StopReason::Cancelled),
        ("sigint-stream", StopReason::Cancelled),
    ];
    for (name, reason) in expected {
        let said = one("claude", name);
        assert_eq!(ends(&said)[0].ending, TurnOutcome::Stopped(reason), "{name}");
    }
}

#[test]
fn a_sub_agents_work_is_its_own() {
    for name in ["input-subagent", "subagent-no-partial"] {
        let said = one("claude", name);
        assert_eq!(text_of(&said), "Delegating.All done.", "{name}");
        let inner = calls(&said).into_iter().find(|call| call.meta.is_some());
        let inner = inner.unwrap_or_else(|| panic!("{name}: no call of the sub-agent"));
        assert_eq!(inner.name.as_deref(), Some("Bash"));
        let parent = &inner.meta.as_ref().unwrap()["switchyard"]["parentToolCallId"];
        let outer = calls(&said).into_iter().find(|call| call.name.as_deref() == Some("Agent"));
        assert_eq!(parent, &outer.unwrap().id);
    }
}

#[test]
fn tasks_are_a_plan_and_no_calls() {
    let said = one("claude", "tasks");
    assert!(calls(&said).is_empty());
    let plans = said.iter().filter_map(|said| match said {
        DialectOutput::Update(SessionUpdate::Plan { entries }) => {
            let entries = entries.iter().map(|e| format!("{} {:?}", e.content, e.status));
            Some(entries.collect::<Vec<_>>().join(", "))
        }
        _ => None,
    });
    let expected = [
        "one Pending",
        "one Pending, two Pending",
        "one InProgress, two Pending",
        "one Completed, two Pending",
        "one Completed",
    ];
    assert_eq!(plans.collect::<Vec<_>>(), expected);
}

#[test]
fn a_list_that_the_cli_does_not_keep_is_a_failed_call_and_no_plan() {
    let said = one("claude", "todos-disabled");
    assert!(
        !said.iter().any(|said| matches!(said, DialectOutput::Update(SessionUpdate::Plan { .. })))
    );
    let calls = calls(&said);
    assert_eq!(calls.len(), 1);
    assert_eq!(calls[0].status, Some(ToolCallStatus::Failed));
}

#[test]
fn usage_is_of_one_turn() {
    for (cli, name) in [("claude", "input-two-turns"), ("qwen", "input-two-turns")] {
        let said = one(cli, name);
        let inputs = ends(&said).into_iter().map(|end| end.usage.unwrap().input_tokens);
        assert_eq!(inputs.collect::<Vec<_>>(), [100, 100], "{cli}");
    }
    // Qwen counts what the conversation used in an earlier process.
    assert_eq!(ends(&one("qwen", "resume"))[0].usage.unwrap().input_tokens, 100);
}

#[test]
fn any_spoilt_stream_is_survived() {
    survives_anything(DIALECT, all().into_iter().map(|(_, _, bytes, _)| bytes).collect());
}
