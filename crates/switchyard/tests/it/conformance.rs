//! Switchyard between a client and an agent that were not written for it.
//!
//! In: the official SDK's client on one side, the SDK's agent or the demo agent behind a tap on
//! the other. Out: whether everything that ACP v1 knows passes, and the schema's verdict on every
//! line of both sides.

use crate::front::{code_of, home};
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Command, Stdio};
use testkit::sdk_client::{ClientBehavior, FormAnswer, PermissionReply, SdkClient, Turn};
use testkit::test_home::TestHome;
use testkit::{Direction, Validator, tap};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Agent {
    Demo,
    Sdk,
}

const BOTH: [Agent; 2] = [Agent::Demo, Agent::Sdk];

/// `switchyard acp -- acp-tap tap.ndjson -- AGENT`.
fn tapped(home: &TestHome, agent: Agent) -> Command {
    let mut command = home.command(["acp", "--"]);
    command.arg(home.tool("acp-tap")).arg(home.path().join("tap.ndjson")).arg("--");
    match agent {
        Agent::Demo => command.arg(home.exe()).args(["demo-agent", "--all-sessions"]),
        Agent::Sdk => command.arg(home.tool("sdk-agent")),
    };
    command.arg("--state").arg(home.path().join("agent-state"));
    command
}

async fn client(home: &TestHome, agent: Agent, behavior: ClientBehavior) -> SdkClient {
    SdkClient::ready(tapped(home, agent), behavior).await.unwrap()
}

/// Ends the conversation and checks what was said on both sides of Switchyard.
async fn judge(home: &TestHome, client: SdkClient) {
    let (exit, seen) = client.stop().await;
    assert!(exit.success(), "{exit}");
    Validator::v1().assert_valid(&seen);
    Validator::v1().assert_valid(&tap::read(home.path().join("tap.ndjson")).unwrap());
}

fn stop_reason(turn: &Turn) -> Value {
    serde_json::to_value(turn.stop_reason).unwrap()
}

#[tokio::test]
async fn text_thoughts_plans_tool_calls_of_each_kind_and_diffs_pass() {
    let home = home();
    let client = client(&home, Agent::Demo, ClientBehavior::default()).await;
    let session = client.new_session(home.work()).await.unwrap().session_id;
    let kinds = "read edit delete move search execute think fetch switch_mode other";
    let kinds: Vec<&str> = kinds.split(' ').collect();

    let mut script = "say hello dear world\nthink it over\nplan\ndiff\ntool-fail\n".to_owned();
    script.extend(kinds.iter().map(|kind| format!("tool {kind}\n")));
    script.push_str("usage\ntitle A title\ncommands\nmode code\nmarkdown\nimage\nunicode\nempty");
    let turn = client.prompt(&session, &script).await.unwrap();

    assert_eq!(stop_reason(&turn), "end_turn");
    assert!(turn.text().starts_with("hello dear world"), "{}", turn.text());
    assert_eq!(turn.thoughts(), "it over");
    let updates = serde_json::to_value(&turn.updates).unwrap();
    let updates = updates.as_array().unwrap();
    let calls = updates.iter().filter(|update| update["sessionUpdate"] == "tool_call");
    // The SDK leaves out the default kind when it writes one.
    let seen: Vec<&str> = calls.map(|call| call["kind"].as_str().unwrap_or("other")).collect();
    assert_eq!(seen[..2], ["edit", "execute"], "the diff and the failure");
    assert_eq!(seen[2..], kinds);
    for kind in ["plan", "tool_call_update", "usage_update", "session_info_update"] {
        assert!(turn.kinds().iter().any(|seen| seen == kind), "no {kind}");
    }
    assert!(updates.iter().any(|update| update["content"][0]["type"] == "diff"));
    judge(&home, client).await;
}

#[tokio::test]
async fn the_built_in_demo_agent_is_known_by_name() {
    let home = home();
    let demo =
        SdkClient::ready(home.command(["acp", "demo"]), ClientBehavior::default()).await.unwrap();
    let session = demo.new_session(home.work()).await.unwrap().session_id;

    assert_eq!(demo.prompt(&session, "say by name").await.unwrap().text(), "by name");
    Validator::v1().assert_valid(&demo.stop().await.1);
}

#[tokio::test]
async fn permissions_are_granted_and_refused_by_the_client() {
    for agent in BOTH {
        let answers = [
            (PermissionReply::Allow, "granted allow_once"),
            (PermissionReply::Reject, "refused reject_once"),
        ];
        for (permission, expected) in answers {
            let home = home();
            let client =
                client(&home, agent, ClientBehavior::default().permission(permission)).await;
            let session = client.new_session(home.work()).await.unwrap().session_id;

            let turn = client.prompt(&session, "permission").await.unwrap();

            assert_eq!(client.permissions_asked().len(), 1);
            assert_eq!(client.permissions_asked()[0].session_id, session);
            let said = turn.text();
            assert!(expected.split(' ').any(|word| said.contains(word)), "{agent:?}: {said}");
            judge(&home, client).await;
        }
    }
}

#[tokio::test]
async fn an_open_question_is_withdrawn_when_the_turn_is_cancelled() {
    for agent in BOTH {
        let home = home();
        let client =
            client(&home, agent, ClientBehavior::default().permission(PermissionReply::Never))
                .await;
        let session = client.new_session(home.work()).await.unwrap().session_id;

        let turn = client.start_prompt(&session, "permission");
        client.wait_for_permissions(1).await;
        client.cancel(&session).unwrap();

        assert_eq!(stop_reason(&turn.finish().await.unwrap()), "cancelled", "{agent:?}");
        judge(&home, client).await;
    }
}

#[tokio::test]
async fn files_terminals_and_forms_of_the_client_reach_the_agent() {
    for agent in BOTH {
        let home = home();
        let form = FormAnswer::Accept([("name".to_owned(), "Ada".into())].into());
        let behavior = ClientBehavior::default().files(home.work()).elicitation(form);
        let client = client(&home, agent, behavior).await;
        let session = client.new_session(home.work()).await.unwrap().session_id;
        let (run, ask) = match agent {
            Agent::Demo => ("run echo from-the-terminal", "ask Name"),
            Agent::Sdk => ("terminal echo from-the-terminal", "elicit"),
        };

        client.prompt(&session, "write note.txt some words").await.unwrap();
        let read = client.prompt(&session, "read note.txt").await.unwrap();
        let outside = client.prompt(&session, "read /etc/hostname").await.unwrap();
        let ran = client.prompt(&session, run).await.unwrap();
        let asked = client.prompt(&session, ask).await.unwrap();

        assert_eq!(std::fs::read_to_string(home.work().join("note.txt")).unwrap(), "some words");
        assert_eq!(read.text(), "some words");
        assert!(outside.text().contains("not below the client's directory"), "{}", outside.text());
        assert!(ran.text().contains("from-the-terminal"), "{}", ran.text());
        assert!(asked.text().contains("Ada"), "{}", asked.text());
        judge(&home, client).await;
    }
}

#[tokio::test]
async fn modes_and_config_options_are_set_in_the_agent_and_its_refusal_is_passed_on() {
    let home = home();
    let client = client(&home, Agent::Demo, ClientBehavior::default()).await;
    let session = client.new_session(home.work()).await.unwrap().session_id;
    let option = |value: &str| json!({ "sessionId": session, "configId": "model", "value": value });

    client.set_mode(&session, "code").await.unwrap();
    let no_mode = client.set_mode(&session, "dance").await.unwrap_err();
    let set = client.call("session/set_config_option", option("demo-large")).await.unwrap();
    let no_value = client.call("session/set_config_option", option("huge")).await.unwrap_err();

    assert_eq!((code_of(&no_mode), code_of(&no_value)), (-32602, -32602));
    assert_eq!(set["configOptions"][0]["currentValue"], "demo-large");
    judge(&home, client).await;
}

#[tokio::test]
async fn a_running_turn_is_cancelled_and_the_session_goes_on() {
    for (agent, script) in [(Agent::Demo, "say begun\nhang"), (Agent::Sdk, "cancel")] {
        let home = home();
        let client = client(&home, agent, ClientBehavior::default()).await;
        let session = client.new_session(home.work()).await.unwrap().session_id;

        let turn = client.start_prompt(&session, script);
        client.cancel(&session).unwrap();
        let cancelled = turn.finish().await.unwrap();
        let next = client.prompt(&session, "say again").await.unwrap();

        assert_eq!(stop_reason(&cancelled), "cancelled", "{agent:?}");
        assert!(next.text().ends_with("again"), "{}", next.text());
        judge(&home, client).await;
    }
}

#[tokio::test]
async fn two_sessions_run_at_once_and_do_not_mix() {
    for agent in BOTH {
        let home = home();
        let client =
            client(&home, agent, ClientBehavior::default().permission(PermissionReply::Never))
                .await;
        let first = client.new_session(home.work()).await.unwrap().session_id;
        let second = client.new_session(home.work()).await.unwrap().session_id;

        let waiting = client.start_prompt(&first, "permission");
        client.wait_for_permissions(1).await;
        let meanwhile = client.prompt(&second, "say meanwhile").await.unwrap();
        client.cancel(&first).unwrap();

        assert!(meanwhile.text().ends_with("meanwhile"), "{}", meanwhile.text());
        assert_eq!(stop_reason(&meanwhile), "end_turn");
        assert_eq!(stop_reason(&waiting.finish().await.unwrap()), "cancelled");
        // Each has an agent of its own, and what these say is in one record.
        Validator::v1().assert_valid(&client.stop().await.1);
    }
}

#[tokio::test]
async fn a_prompt_that_comes_while_another_runs_waits_and_both_are_answered_in_order() {
    for agent in BOTH {
        let home = home();
        let client = client(&home, agent, ClientBehavior::default()).await;
        let session = client.new_session(home.work()).await.unwrap().session_id;

        let first = client.start_prompt(&session, "slow 20 1");
        let second = client.start_prompt(&session, "say second");
        for turn in [first, second] {
            assert_eq!(stop_reason(&turn.finish().await.unwrap()), "end_turn");
        }

        for record in [client.transcript(), tap::read(home.path().join("tap.ndjson")).unwrap()] {
            let asked = record.calls(Direction::ClientToAgent, "session/prompt");
            let is_answer = |message: &Value| message["result"]["stopReason"] == "end_turn";
            let answered = record.messages(Direction::AgentToClient).filter(is_answer);
            let ids = |messages: Vec<Value>| messages.into_iter().map(|m| m["id"].clone());
            assert!(ids(answered.collect()).eq(ids(asked.collect())), "{agent:?}");
        }
        judge(&home, client).await;
    }
}

#[tokio::test]
async fn what_nobody_knows_is_answered_by_the_agent() {
    for agent in BOTH {
        let home = home();
        let client = client(&home, agent, ClientBehavior::default()).await;
        let session = client.new_session(home.work()).await.unwrap().session_id;

        let alone = client.call("_nobody/knows", json!({})).await.unwrap_err();
        let of_session =
            client.call("_nobody/knows", json!({ "sessionId": session })).await.unwrap_err();

        assert_eq!((code_of(&alone), code_of(&of_session)), (-32601, -32601), "{agent:?}");
        judge(&home, client).await;
    }
}

#[tokio::test]
async fn nothing_is_done_before_initialize() {
    let home = home();
    let client = SdkClient::start(tapped(&home, Agent::Demo), ClientBehavior::default()).await;

    let refused = client.new_session(home.work()).await.unwrap_err();
    let known = client.call("_nobody/knows", json!({})).await.unwrap_err();

    assert_eq!((code_of(&refused), code_of(&known)), (-32600, -32600));
    Validator::v1().assert_valid(&client.stop().await.1);
}

/// Sends lines in one go; gives so many answers.
fn send(home: &TestHome, lines: &[&str], n_answers: usize) -> Vec<Value> {
    let mut acp = tapped(home, Agent::Demo);
    let mut acp = acp.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut stdin = acp.stdin.take().unwrap();
    stdin.write_all((lines.join("\n") + "\n").as_bytes()).unwrap();
    let answers = BufReader::new(acp.stdout.take().unwrap()).lines().take(n_answers);
    let answers = answers.map(|line| serde_json::from_str(&line.unwrap()).unwrap()).collect();
    drop(stdin);
    assert!(acp.wait().unwrap().success());
    answers
}

const INITIALIZE: &str =
    r#"{"jsonrpc":"2.0","id":"a","method":"initialize","params":{"protocolVersion":1}}"#;

#[test]
fn garbage_is_answered_and_the_conversation_goes_on() {
    let lines = ["this is no JSON", "[1, 2", r#"{"jsonrpc":"2.0"}"#, "", INITIALIZE];
    let answers = send(&home(), &lines, 4);

    for (answer, code) in answers.iter().zip([-32700, -32700, -32600]) {
        assert_eq!(answer["error"]["code"], code);
    }
    assert_eq!(answers[3]["result"]["protocolVersion"], 1);
}

#[test]
fn a_request_right_behind_initialize_is_not_too_early() {
    let unknown = r#"{"jsonrpc":"2.0","id":"b","method":"session/nonsense","params":{}}"#;
    let answers = send(&home(), &[INITIALIZE, unknown], 2);

    let to = |id: &str| answers.iter().find(|answer| answer["id"] == id).unwrap();
    assert_eq!(to("a")["result"]["protocolVersion"], 1);
    assert_eq!(to("b")["error"]["code"], -32601);
}
