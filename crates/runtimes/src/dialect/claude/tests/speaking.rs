//! What is said to the CLI over its stdin.

use serde_json::{Value, json};
use wire::Category;

use super::{DIALECT, all, ends};
use crate::dialect::testing::check;
use crate::dialect::{
    ComposedPrompt, ConversationOptions, Dialect, DialectOutput, OptionChange, Outputs,
    PermissionAnswer, PermissionMode, PermissionOptionKind, PermissionRequest, PromptImage,
    StopReason, TurnOutcome,
};
use crate::update::{SessionUpdate, ToolCallContent};

fn written(out: &[DialectOutput]) -> Vec<Value> {
    let lines = out.iter().filter_map(|said| match said {
        DialectOutput::StdinLine(line) => Some(serde_json::from_str(line).unwrap()),
        _ => None,
    });
    lines.collect()
}

fn asks(out: &[DialectOutput]) -> Vec<&PermissionRequest> {
    out.iter()
        .filter_map(
            |s| if let DialectOutput::PermissionRequest(ask) = s { Some(ask) } else { None },
        )
        .collect()
}

/// Opened and listening.
fn open(opening: &ConversationOptions) -> (Box<dyn Dialect>, Outputs) {
    let (mut dialect, mut out) = (DIALECT.start(), Outputs::default());
    dialect.open(opening, &mut out);
    let id = written(&out)[0]["request_id"].clone();
    let mut answer: Value = serde_json::from_str(&recorded("input-initialize")[0]).unwrap();
    answer["response"]["request_id"] = id;
    dialect.line(&answer.to_string(), &mut out);
    (dialect, out)
}

fn recorded(scenario: &str) -> Vec<String> {
    let (_, _, bytes, _) =
        all().into_iter().find(|(c, n, ..)| *c == "claude" && n == scenario).unwrap();
    String::from_utf8(bytes).unwrap().lines().map(str::to_owned).collect()
}

/// A turn of the recording, up to the first ask.
fn until_ask(scenario: &str) -> (Box<dyn Dialect>, Outputs, Vec<String>) {
    let (mut dialect, _) = open(&ConversationOptions::default());
    let mut out = Outputs::default();
    dialect
        .prompt(&ComposedPrompt { text: "go".to_owned(), ..ComposedPrompt::default() }, &mut out);
    out.clear();
    let mut lines = recorded(scenario);
    let at = lines.iter().position(|line| line.contains("can_use_tool")).unwrap();
    let rest = lines.split_off(at + 1);
    for line in &lines {
        dialect.line(line, &mut out);
    }
    (dialect, out, rest)
}

fn answer(dialect: &mut dyn Dialect, ask: &str, option: &str) -> Outputs {
    let mut out = Outputs::default();
    dialect.answer(ask, &PermissionAnswer::Chosen(option.to_owned()), &mut out);
    out
}

#[test]
fn opening_says_what_the_cli_offers() {
    let opening = ConversationOptions {
        system_prompt: Some("Be kind.".to_owned()),
        ..ConversationOptions::default()
    };
    let (_, out) = open(&opening);
    let request = &written(&out)[0]["request"];
    assert_eq!(request["subtype"], "initialize");
    assert_eq!(request["appendSystemPrompt"], "Be kind.");
    let opened = out
        .iter()
        .find_map(|s| if let DialectOutput::ConversationOpened(o) = s { Some(o) } else { None });
    let opened = opened.unwrap();
    assert_eq!(opened.model.as_deref(), Some("default"));
    let sonnet = opened.models.iter().find(|model| model.id == "sonnet").unwrap();
    assert_eq!(sonnet.efforts, ["low", "medium", "high", "xhigh", "max"]);
    let has_commands = out.iter().any(|said| {
        matches!(said, DialectOutput::Update(SessionUpdate::AvailableCommandsUpdate { available_commands })
            if available_commands.len() == 44)
    });
    assert!(has_commands);
}

#[test]
fn a_prompt_is_written_with_its_images() {
    let (mut dialect, _) = open(&ConversationOptions::default());
    let image = PromptImage { mime_type: "image/png".to_owned(), data: "AAAA".to_owned() };
    let prompt = ComposedPrompt { text: "What is it?".to_owned(), images: vec![image] };
    let mut out = Outputs::default();
    dialect.prompt(&prompt, &mut out);
    let line = &written(&out)[0];
    assert_eq!(line["type"], "user");
    let source = json!({ "type": "base64", "media_type": "image/png", "data": "AAAA" });
    let expected = json!([
        { "type": "image", "source": source },
        { "type": "text", "text": "What is it?" },
    ]);
    assert_eq!(line["message"], json!({ "role": "user", "content": expected }));
}

#[test]
fn a_cli_that_does_not_listen_is_only_watched() {
    let (mut dialect, mut out) = (DIALECT.start(), Outputs::default());
    dialect
        .prompt(&ComposedPrompt { text: "go".to_owned(), ..ComposedPrompt::default() }, &mut out);
    assert!(!dialect.interrupt(&mut out));
    assert!(!dialect.set(&OptionChange::Model("opus".to_owned()), &mut out));
    assert!(out.is_empty());
    // Opened, as every process is, but silent on stdin's matters.
    dialect.open(&ConversationOptions::default(), &mut out);
    assert!(!dialect.interrupt(&mut out));
}

#[test]
fn allowing_writes_back_the_input() {
    let (mut dialect, out, rest) = until_ask("input-can-use-tool-allow");
    let asks = asks(&out);
    let [ask] = asks.as_slice() else { panic!("{asks:?}") };
    assert_eq!(ask.id, "f3a8c347-df6c-4591-8363-69ca8a235cf5");
    assert_eq!(ask.call.id, "toolu_fake0001_1");
    assert!(matches!(ask.call.content.as_ref().unwrap()[0], ToolCallContent::Diff { .. }));
    let kinds: Vec<PermissionOptionKind> = ask.options.iter().map(|option| option.kind).collect();
    assert_eq!(
        kinds,
        [
            PermissionOptionKind::AllowOnce,
            PermissionOptionKind::AllowAlways,
            PermissionOptionKind::RejectOnce
        ]
    );

    let mut out = answer(&mut *dialect, &ask.id, &ask.options[0].option_id);
    let response = &written(&out)[0]["response"];
    assert_eq!(response["request_id"], ask.id);
    assert_eq!(response["response"]["behavior"], "allow");
    assert_eq!(response["response"]["updatedInput"], *ask.call.raw_input.as_ref().unwrap());
    assert!(response["response"].get("updatedPermissions").is_none());
    for line in rest {
        dialect.line(&line, &mut out);
    }
    assert_eq!(ends(&out)[0].ending, TurnOutcome::Stopped(StopReason::EndTurn));
    assert!(!out.iter().any(|said| matches!(said, DialectOutput::RequestWithdrawn(_))));
    // A second answer finds nothing to answer.
    assert!(answer(&mut *dialect, &ask.id, "allow").is_empty());
}

#[test]
fn allowing_for_good_gives_the_cli_its_own_rules_back() {
    let (mut dialect, out, _) = until_ask("input-always");
    let ask = asks(&out)[0].clone();
    assert!(ask.options[1].name.starts_with("Always allow Bash(touch"), "{:?}", ask.options[1]);
    let out = answer(&mut *dialect, &ask.id, &ask.options[1].option_id);
    let rules = &written(&out)[0]["response"]["response"]["updatedPermissions"];
    assert_eq!(rules[0]["type"], "addRules");
}

#[test]
fn rejecting_goes_on_and_cancelling_does_not() {
    let (mut dialect, out, _) = until_ask("input-can-use-tool-deny");
    let ask = asks(&out)[0].clone();
    let out = answer(&mut *dialect, &ask.id, "reject");
    let response = &written(&out)[0]["response"]["response"];
    assert_eq!(response["behavior"], "deny");
    assert!(response.get("interrupt").is_none());

    let (mut dialect, out, _) = until_ask("input-can-use-tool-deny");
    let ask = asks(&out)[0].clone();
    let mut out = Outputs::default();
    dialect.answer(&ask.id, &PermissionAnswer::Cancelled, &mut out);
    let response = &written(&out)[0]["response"]["response"];
    assert_eq!((&response["behavior"], &response["interrupt"]), (&json!("deny"), &json!(true)));
}

#[test]
fn an_option_that_was_not_offered_is_a_no() {
    let (mut dialect, out, _) = until_ask("input-can-use-tool-deny");
    let ask = asks(&out)[0].clone();
    let out = answer(&mut *dialect, &ask.id, "whatever");
    assert_eq!(written(&out)[0]["response"]["response"]["behavior"], "deny");
}

#[test]
fn questions_are_asked_one_by_one_and_answered_together() {
    let (mut dialect, out, _) = until_ask("input-question");
    let first = asks(&out)[0].clone();
    assert_eq!(first.call.title.as_deref(), Some("Which colour?"));
    let names: Vec<&str> = first.options.iter().map(|option| option.name.as_str()).collect();
    assert_eq!(names, ["Red", "Blue", "Do not answer"]);
    let out = answer(&mut *dialect, &first.id, &first.options[1].option_id);
    assert!(written(&out).is_empty());
    let second = asks(&out)[0].clone();
    assert_ne!(second.id, first.id);
    let names: Vec<&str> = second.options.iter().map(|option| option.name.as_str()).collect();
    assert_eq!(names, ["Small", "Large", "All of these", "Do not answer"]);
    let out = answer(&mut *dialect, &second.id, &second.options[2].option_id);
    let response = &written(&out)[0]["response"]["response"];
    assert_eq!(response["behavior"], "allow");
    let expected = json!({ "Which colour?": "Blue", "Which sizes?": "Small, Large" });
    assert_eq!(response["updatedInput"]["answers"], expected);
    assert_eq!(response["updatedInput"]["questions"].as_array().unwrap().len(), 2);
}

#[test]
fn a_plan_is_shown_and_started_in_one_of_two_ways() {
    let (mut dialect, _, rest) = until_ask("input-plan-mode");
    let mut out = Outputs::default();
    for line in &rest {
        dialect.line(line, &mut out);
    }
    let ask = asks(&out)[0].clone();
    assert_eq!(ask.call.content, Some(vec![ToolCallContent::text("1. do it")]));
    // The ask was settled by the recording; ask again.
    let line = rest.iter().find(|line| line.contains("can_use_tool")).unwrap();
    for (option, mode) in [("allow", None), ("allow-always", Some("acceptEdits"))] {
        let mut out = Outputs::default();
        dialect.line(line, &mut out);
        let out = answer(&mut *dialect, &ask.id, option);
        let response = &written(&out)[0]["response"]["response"];
        assert_eq!(response["behavior"], "allow");
        assert_eq!(response["updatedPermissions"][0]["mode"].as_str(), mode);
    }
}

#[test]
fn an_ask_that_the_cli_takes_back_is_withdrawn() {
    let (mut dialect, out, _) = until_ask("input-can-use-tool-deny");
    let ask = asks(&out)[0].clone();
    let mut out = Outputs::default();
    let line = json!({ "type": "control_cancel_request", "request_id": ask.id });
    dialect.line(&line.to_string(), &mut out);
    assert_eq!(*out, [DialectOutput::RequestWithdrawn(ask.id.clone())]);
    assert!(answer(&mut *dialect, &ask.id, "allow").is_empty());
}

#[test]
fn requests_that_nobody_knows_are_refused() {
    for subtype in ["hook_callback", "mcp_message", "elicitation", "news"] {
        let (mut dialect, mut out) = (DIALECT.start(), Outputs::default());
        let line = json!({ "type": "control_request", "request_id": "x",
                           "request": { "subtype": subtype } });
        dialect.line(&line.to_string(), &mut out);
        let response = &written(&out)[0]["response"];
        assert_eq!((&response["subtype"], &response["request_id"]), (&json!("error"), &json!("x")));
    }
}

#[test]
fn an_interrupt_is_written_while_a_turn_runs_and_cancels_it() {
    let (mut dialect, _) = open(&ConversationOptions::default());
    let mut out = Outputs::default();
    assert!(dialect.interrupt(&mut out));
    assert!(out.is_empty(), "an interrupt without a turn would hit the next one");
    dialect
        .prompt(&ComposedPrompt { text: "go".to_owned(), ..ComposedPrompt::default() }, &mut out);
    out.clear();
    assert!(dialect.interrupt(&mut out));
    assert_eq!(written(&out)[0]["request"], json!({ "subtype": "interrupt" }));
    for line in recorded("input-interrupt") {
        dialect.line(&line, &mut out);
    }
    check(&out);
    // The recording has a second turn, which nobody here asked for.
    assert_eq!(ends(&out).len(), 1);
    assert_eq!(ends(&out)[0].ending, TurnOutcome::Stopped(StopReason::Cancelled));
}

#[test]
fn options_are_written_as_the_cli_knows_them() {
    let (mut dialect, _) = open(&ConversationOptions::default());
    let mut change = |change: OptionChange| {
        let mut out = Outputs::default();
        let is_done = dialect.set(&change, &mut out);
        (is_done, written(&out).first().map(|line| line["request"].clone()))
    };
    let (is_done, request) = change(OptionChange::Model("sonnet".to_owned()));
    assert!(is_done);
    assert_eq!(request, Some(json!({ "subtype": "set_model", "model": "sonnet" })));
    for (mode, name) in [
        (PermissionMode::Ask, "default"),
        (PermissionMode::AcceptEdits, "acceptEdits"),
        (PermissionMode::Auto, "default"),
        (PermissionMode::ReadOnly, "default"),
        (PermissionMode::DenyAll, "default"),
    ] {
        let (is_done, request) = change(OptionChange::Permissions(mode));
        assert!(is_done);
        assert_eq!(request, Some(json!({ "subtype": "set_permission_mode", "mode": name })));
    }
    assert_eq!(change(OptionChange::Effort("high".to_owned())), (false, None));
}

#[test]
fn an_option_that_is_refused_is_told() {
    let (mut dialect, _) = open(&ConversationOptions::default());
    let mut out = Outputs::default();
    dialect.set(&OptionChange::Model("x".to_owned()), &mut out);
    let id = written(&out)[0]["request_id"].clone();
    let line = json!({ "type": "control_response", "response":
        { "subtype": "error", "request_id": id, "error": "no such model" } });
    out.clear();
    dialect.line(&line.to_string(), &mut out);
    assert!(
        matches!(out.as_slice(), [DialectOutput::Update(SessionUpdate::Notice { .. })]),
        "{out:?}"
    );
}

#[test]
fn a_resume_of_what_is_gone_is_lost_before_it_is_open() {
    for scenario in ["resume-unknown", "resume-not-uuid"] {
        let (mut dialect, mut out) = (DIALECT.start(), Outputs::default());
        let opening =
            ConversationOptions { resume: Some("x".to_owned()), ..ConversationOptions::default() };
        dialect.open(&opening, &mut out);
        out.clear();
        for line in recorded(scenario) {
            dialect.line(&line, &mut out);
        }
        assert!(matches!(out.as_slice(), [DialectOutput::ConversationLost(_)]), "{out:?}");
    }
}

#[test]
fn a_greeting_that_is_refused_or_garbled_is_no_reason_to_wait() {
    let answer = |response: Value| json!({ "type": "control_response", "response": response });
    let id = "switchyard-1";
    for (line, category) in [
        (
            answer(json!({ "subtype": "error", "request_id": id, "error": "Not logged in" })),
            Category::Auth,
        ),
        (answer(json!({ "subtype": "error", "request_id": id })), Category::Protocol),
        (answer(json!({ "subtype": "error", "request_id": id, "error": 5 })), Category::Protocol),
        (
            answer(json!({ "subtype": "success", "request_id": id, "response": 5 })),
            Category::Protocol,
        ),
        (answer(json!({ "request_id": id })), Category::Protocol),
        (answer(json!("what?")), Category::Protocol),
        (answer(Value::Null), Category::Protocol),
    ] {
        let (mut dialect, mut out) = (DIALECT.start(), Outputs::default());
        dialect.open(&ConversationOptions::default(), &mut out);
        dialect.prompt(&ComposedPrompt::default(), &mut out);
        out.clear();
        dialect.line(&line.to_string(), &mut out);
        let [DialectOutput::ConversationLost(lost), DialectOutput::TurnEnded(_)] = out.as_slice()
        else {
            panic!("{line}: {out:?}")
        };
        assert_eq!(lost.category, category, "{line}");
    }
}
