//! Limits of a session, with the real binary: on the command line, for an editor, and when
//! Switchyard is killed in the middle of a pause.

use serde_json::Value;
use testkit::sdk_client::{ClientBehavior, PermissionReply, SdkClient};
use testkit::test_home::{PATIENCE, TestHome, until};
use testkit::{Validator, proc};

use crate::faults::{Live, Ran, SHORT_WAITS, configured, home, run};
use crate::faults_kill::export;
use crate::limits_stage::is_stopped;

fn run_demo<'a>(home: &TestHome, prompt: &'a str, rest: &[&'a str]) -> Ran {
    let args = ["run", "demo", prompt, "--format", "json"].into_iter().chain(rest.iter().copied());
    run(home, args)
}

fn go_on<'a>(home: &TestHome, prompt: &'a str, rest: &[&'a str]) -> Ran {
    let args = ["run", "-s", "last", prompt, "--format", "json"].into_iter();
    run(home, args.chain(rest.iter().copied()))
}

#[test]
fn with_nobody_there_to_ask_the_turn_is_stopped_and_the_way_on_is_named() {
    let home = home();
    let ran = run_demo(&home, "echo before ; usage ; hang", &["--max-tokens", "5000"]);

    assert_eq!(ran.code, Some(5), "{}", ran.stderr);
    assert_eq!(ran.end()["stopReason"], "cancelled");
    assert_eq!(ran.text(), "before");
    let reached = ran.of_kind("limit_reached");
    assert_eq!((reached.len(), &reached[0]["used"]), (1, &5300.into()));
    let resolved = &ran.of_kind("permission_resolved")[0];
    assert_eq!(
        (&resolved["by"]["who"], &resolved["allowed"]),
        (&"unattended".into(), &false.into())
    );
    assert!(ran.stderr.contains("--max-tokens"), "{}", ran.stderr);
    home.assert_empty_within(PATIENCE);
}

#[test]
fn an_agent_that_falls_silent_is_stopped_where_nobody_can_be_asked() {
    let home = home();
    let ran = run_demo(&home, "echo before ; hang", &["--max-inactivity", "700ms"]);

    assert_eq!(ran.code, Some(5), "{}", ran.stderr);
    assert_eq!(ran.end()["stopReason"], "cancelled");
    let reached = ran.of_kind("limit_reached");
    assert_eq!((reached.len(), &reached[0]["limit"]), (1, &"inactiveSeconds".into()));
    assert_eq!(reached[0]["allowed"], 0.7);
    assert!(ran.stderr.contains("--max-inactivity"), "{}", ran.stderr);
    // A silence is over with its turn: what was stopped there is not refused.
    let again = go_on(&home, "echo more", &["--max-inactivity", "10m"]);
    assert_eq!((again.code, again.text().as_str()), (Some(0), "more"), "{}", again.stderr);
    home.assert_empty_within(PATIENCE);
}

#[test]
fn limits_hold_for_the_next_run_too_until_they_are_raised() {
    let home = home();
    assert_eq!(run_demo(&home, "usage", &["--max-cost", "1"]).code, Some(0));

    for rest in [&["--max-cost", "0.02"][..], &[]] {
        let again = go_on(&home, "echo more", rest);
        assert_eq!(again.code, Some(5), "{}", again.stderr);
        assert_eq!(again.of_kind("limit_reached")[0]["limit"], "costUsd");
        assert_eq!(again.of_kind("limit_reached")[0]["allowed"], 0.02);
        assert_eq!(again.of_kind("turn_started").len(), 0);
        assert_eq!(again.of_kind("prompt_dropped")[0]["reason"], "limit");
    }

    let raised = go_on(&home, "echo more", &["--max-cost", "$1.50"]);
    assert_eq!((raised.code, raised.text().as_str()), (Some(0), "more"), "{}", raised.stderr);
    home.assert_empty_within(PATIENCE);
}

#[test]
fn a_run_ends_at_its_turns_and_its_time() {
    let home = home();
    let first = run_demo(&home, "echo one", &["--max-turns", "1"]);
    assert_eq!((first.code, first.of_kind("limit_reached").len()), (Some(0), 0));
    let second = go_on(&home, "echo two", &[]);
    assert_eq!(second.code, Some(5));
    assert_eq!(second.of_kind("limit_reached")[0]["limit"], "turns");

    let third = go_on(&home, "hang", &["--max-turns", "9", "--max-time", "200ms"]);
    assert_eq!(third.code, Some(5), "{}", third.stderr);
    assert_eq!(third.of_kind("limit_reached")[0]["limit"], "runningSeconds");
    home.assert_empty_within(PATIENCE);
}

#[test]
fn a_limit_of_nothing_is_wrong_usage() {
    let home = home();
    for wrong in [
        ["--max-turns", "0"],
        ["--max-tokens", "none"],
        ["--max-time", "0s"],
        ["--max-cost", "-1"],
        ["--max-cost", "nan"],
    ] {
        let ran = run_demo(&home, "echo x", &[&format!("{}={}", wrong[0], wrong[1])]);
        assert_eq!(ran.code, Some(2), "{wrong:?}: {}", ran.stderr);
    }
}

#[test]
fn every_vocabulary_tells_of_the_pause() {
    let home = home();
    run_demo(&home, "usage ; hang", &["--max-tokens", "5000"]);
    let as_lines = |format: &str| {
        let mut command = home.command(["sessions", "export", "last", "--format", format]);
        let output = command.output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let find = |format: &str, fits: &dyn Fn(&Value) -> bool| {
        let text = as_lines(format);
        let found = text.lines().filter(|line| fits(&serde_json::from_str(line).unwrap())).count();
        assert_eq!(found, 1, "{format}: {text}");
    };

    find("ui", &|event| event["data"]["label"] == "paused");
    find("ui", &|event| event["data"]["type"] == "permission_request");
    find("envelopes", &|envelope| {
        envelope["ev"]["text"].as_str().is_some_and(|text| text.contains("5300 of 5000 tokens"))
    });
    // A question of ours is no tool call.
    assert!(!as_lines("envelopes").contains("tool-call-start"));
    assert!(!as_lines("ui").contains("tool_use"));
    assert!(as_lines("text").contains("5300 of 5000 tokens"), "{}", as_lines("text"));
}

/// An editor that has the last session open; its agent has used nothing yet.
async fn editor(home: &TestHome, permission: PermissionReply) -> (SdkClient, String) {
    let first = run_demo(home, "echo hello", &["--max-tokens", "5000"]);
    assert_eq!(first.code, Some(0), "{}", first.stderr);
    let said = first.of_kind("agent_message_chunk");
    let id = said[0]["sessionId"].as_str().unwrap().to_owned();
    let behavior = ClientBehavior::default().permission(permission);
    let client = SdkClient::ready(home.tokio_command(["acp", "demo"]), behavior).await.unwrap();
    client.load_session(&id.clone().into(), home.work()).await.unwrap();
    (client, id)
}

#[tokio::test(flavor = "multi_thread")]
async fn an_editor_is_asked_like_for_any_permission_and_its_answer_counts() {
    for (permission, reason) in
        [(PermissionReply::Allow, "EndTurn"), (PermissionReply::Reject, "Cancelled")]
    {
        let home = configured(SHORT_WAITS);
        let (client, id) = editor(&home, permission).await;
        let turn = client.prompt(&id.into(), "usage ; sleep 2000 ; echo after").await.unwrap();

        assert_eq!(format!("{:?}", turn.stop_reason), reason);
        assert_eq!(turn.text().ends_with("after"), reason == "EndTurn");
        assert_eq!(client.permissions_asked().len(), 1);
        let (_, seen) = client.stop().await;
        Validator::v1().assert_valid(&seen);
        home.assert_empty_within(PATIENCE);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_that_stands_still_outlives_a_killed_switchyard() {
    for cgroups in ["", "[workers]\ncgroups = false\n"] {
        let home = configured(&format!("{SHORT_WAITS}{cgroups}"));
        let (client, id) = editor(&home, PermissionReply::Never).await;
        let running = client.start_prompt(&id.into(), "children 2 2 ; usage ; hang");
        client.wait_for_permissions(1).await;
        let family: Vec<u32> = proc::descendants(client.pid())
            .into_iter()
            .filter(|pid| !proc::command_line(*pid).contains("__keeper"))
            .collect();
        assert!(family.len() >= 5, "{family:?}");
        assert!(until(PATIENCE, || family.iter().all(|pid| is_stopped(*pid))).await);

        proc::kill9(client.pid());

        home.assert_empty_within(PATIENCE);
        assert!(until(PATIENCE, || !family.iter().any(|pid| proc::is_alive(*pid))).await);
        drop(running);
        // Who comes next is told, and can go on.
        let next = Live::start(home.command([
            "run",
            "-s",
            "last",
            "echo on",
            "--format",
            "json",
            "--max-tokens",
            "50000",
        ]));
        assert_eq!(next.finish().code, Some(0));
        let ends = export(&home).of_kind("turn_ended");
        assert_eq!(ends[1]["error"]["category"], "interrupted");
        assert_eq!(ends[2]["stopReason"], "end_turn");
    }
}
