//! A session that has used enough: it pauses, asks, and does what it is told.
//!
//! In: sessions of this process with a real agent, with and without cgroups. Out: verdicts on
//! their logs and on the processes.

use std::time::Duration;

use serde_json::{Value, json};
use sessions::budget::BudgetLimits;
use sessions::permission::PermissionMode;
use sessions::session::{ServedRequests, SessionError, SessionPhase};
use sessions::settings::SessionSettings;
use testkit::proc;
use testkit::test_home::{PATIENCE, until};

use crate::limits_stage::{Session, Stage, is_stopped};

/// `usage` of the demo agent tells 5300 tokens and $0.0421.
fn tokens(n: u64) -> BudgetLimits {
    BudgetLimits { tokens: Some(n), ..BudgetLimits::default() }
}

fn running(time: Duration) -> BudgetLimits {
    BudgetLimits { running: Some(time), ..BudgetLimits::default() }
}

async fn all_stopped(pids: &[u32]) {
    let stopped = until(PATIENCE, || pids.iter().all(|pid| is_stopped(*pid))).await;
    assert!(stopped, "running: {:?}", pids.iter().filter(|p| !is_stopped(**p)).collect::<Vec<_>>());
}

async fn all_gone(pids: &[u32]) {
    assert!(until(PATIENCE, || !pids.iter().any(|pid| proc::is_alive(*pid))).await);
}

/// A session that is paused in the middle of a turn, stopped to the last descendant.
async fn paused(stage: &Stage, then: &str) -> (Session, crate::limits_stage::Asked, Vec<u32>) {
    let mut session = stage.session(tokens(1_000)).await;
    session.prompt(&format!("children 2 2 ; echo before ; usage ; {then}")).await;
    let asked = session.asked().await;
    let pids = session.pids().await;
    assert_eq!(pids.len(), 5, "{pids:?}");
    assert_eq!(asked.reached["frozen"], true);
    all_stopped(&pids).await;
    (session, asked, pids)
}

#[tokio::test]
async fn at_its_limit_a_turn_stands_still_and_then_goes_on_with_nothing_lost_or_doubled() {
    for cgroups in [false, true] {
        let stage = Stage::new(cgroups, SessionSettings::default());
        let mut plain = stage.session(BudgetLimits::default()).await;
        let turn = plain.prompt("slow 50 1 ; think so ; echo end").await;
        plain.ended(turn).await;
        let (mut session, asked, pids) =
            paused(&stage, "sleep 1000 ; slow 50 1 ; think so ; echo end").await;

        assert_eq!(asked.reached["limit"], "tokens");
        assert_eq!(
            (&asked.reached["used"], &asked.reached["allowed"]),
            (&5300.into(), &1000.into())
        );
        assert!(session.answer(&asked, "continue").await);
        assert!(!session.answer(&asked, "continue").await, "answered already");
        let ended = session.wait_for_kind("turn_ended").await;

        assert_eq!(ended["stopReason"], "end_turn");
        let text = session.text().await;
        let after = text.split_once("before").unwrap().1;
        assert_eq!(after, plain.text().await);
        let resolved = session.payloads("permission_resolved").await;
        assert_eq!(resolved.len(), 1);
        assert_eq!(resolved[0]["by"]["who"], "client");
        assert_eq!(resolved[0]["outcome"]["kind"], "allow_once");
        let raised = session.payloads("limit_raised").await;
        assert_eq!((raised.len(), &raised[0]["allowed"]), (1, &6300.into()));
        session.end().await;
        plain.end().await;
        all_gone(&pids).await;
    }
}

#[tokio::test]
async fn the_question_is_one_that_any_client_can_show() {
    let stage = Stage::new(false, SessionSettings::default());
    let (session, asked, _) = paused(&stage, "hang").await;
    let request = &asked.question["request"];

    assert_eq!(asked.question["ask"], true);
    assert_eq!(asked.question["limit"], "tokens");
    assert_eq!(request["sessionId"], json!(session.handle.id()));
    assert_eq!(request["toolCall"]["kind"], "other");
    assert_eq!(request["toolCall"]["status"], "pending");
    let title = request["toolCall"]["title"].as_str().unwrap();
    assert!(title.contains("5300 of 1000 tokens"), "{title}");
    let options: Vec<(&Value, &Value)> = request["options"]
        .as_array()
        .unwrap()
        .iter()
        .map(|option| (&option["optionId"], &option["kind"]))
        .collect();
    assert_eq!(
        options,
        [
            (&"continue".into(), &"allow_once".into()),
            (&"continue_without".into(), &"allow_always".into()),
            (&"stop".into(), &"reject_once".into()),
        ]
    );
    session.end().await;
}

#[tokio::test]
async fn stop_cancels_the_turn_and_refuses_prompts_until_the_limit_is_raised() {
    let stage = Stage::new(true, SessionSettings::default());
    let (mut session, asked, pids) = paused(&stage, "hang").await;
    let waiting = session.prompt("echo waits").await;

    assert!(session.answer(&asked, "stop").await);

    let dropped = session.wait_for("prompt_dropped", move |e| e.turn == Some(waiting)).await;
    assert_eq!(dropped["reason"], "limit");
    assert_eq!(session.wait_for_kind("cancel_requested").await["by"], "limit");
    assert_eq!(session.wait_for_kind("turn_ended").await["stopReason"], "cancelled");
    let refused = session.try_prompt("echo no").await.unwrap_err();
    assert!(matches!(&refused, SessionError::LimitReached(_)), "{refused}");
    assert!(refused.to_string().contains("raise the limit"), "{refused}");

    let mut session = stage.reopen(session).await;
    assert!(session.try_prompt("echo no").await.is_err(), "forgotten by another process");
    session.handle.set_limits(tokens(100_000), "test").await.unwrap();
    let turn = session.prompt("echo yes").await;
    assert_eq!(session.ended(turn).await["stopReason"], "end_turn");
    session.end().await;
    all_gone(&pids).await;
}

#[tokio::test]
async fn the_same_allowance_is_asked_for_again_and_a_lifted_limit_is_not() {
    let mut stage = Stage::new(false, SessionSettings::default());
    stage.mode = PermissionMode::Ask;
    let used = |n| format!(r#"update {{"sessionUpdate":"usage_update","used":{n},"size":9}}"#);
    let mut session = stage.session(tokens(1_000)).await;
    let _client = session.handle.attach(ServedRequests::default()).await.unwrap();
    // The agent waits for its permission, so the turn does not end before the limit is asked for.
    let all: Vec<String> = [1_500, 2_400, 2_600, 9_000].map(used).to_vec();
    let script = format!("{} ; permission execute x ; echo end", all.join(" ; sleep 20 ; "));
    let turn = session.prompt(&script).await;
    let mut allowed = Vec::new();

    // Several of them may come in one batch, so how often it asks is up to the pipe.
    loop {
        let asked = session.asked().await;
        allowed.push(asked.reached["allowed"].as_u64().unwrap());
        let is_last = asked.reached["used"] == 9_000;
        let option = if is_last { "continue_without" } else { "continue" };
        assert!(session.answer(&asked, option).await);
        if is_last {
            break;
        }
    }
    assert!(allowed.is_sorted_by(|a, b| a < b), "{allowed:?}");

    session.answer_agent().await;
    assert_eq!(session.ended(turn).await["stopReason"], "end_turn");
    let again = session.prompt(&used(50_000)).await;
    session.ended(again).await;
    assert_eq!(session.payloads("limit_reached").await.len(), allowed.len());
    assert!(session.budget().await.limits().is_empty());
    session.end().await;
}

#[tokio::test]
async fn the_turn_limit_lets_a_turn_finish_and_holds_the_next() {
    let stage = Stage::new(false, SessionSettings::default());
    let limits = BudgetLimits { turns: Some(1), ..BudgetLimits::default() };
    let mut session = stage.session(limits).await;
    let first = session.prompt("sleep 20 ; echo one").await;
    let second = session.prompt("echo two").await;

    assert_eq!(session.ended(first).await["stopReason"], "end_turn");
    let asked = session.asked().await;
    assert_eq!(
        (&asked.reached["limit"], &asked.reached["frozen"]),
        (&"turns".into(), &false.into())
    );
    let started = |events: Vec<wire::Event>| {
        events.iter().filter(|event| event.kind == wire::Kind::TurnStarted).count()
    };
    assert_eq!(started(session.events().await), 1);

    assert!(session.answer(&asked, "continue").await);
    assert_eq!(session.ended(second).await["stopReason"], "end_turn");
    assert_eq!(session.text().await, "onetwo");
    session.end().await;
}

#[tokio::test]
async fn a_question_about_a_prompt_that_is_dropped_is_withdrawn() {
    let stage = Stage::new(false, SessionSettings::default());
    let limits = BudgetLimits { turns: Some(1), ..BudgetLimits::default() };
    for how in ["drop", "cancel"] {
        let mut session = stage.session(limits).await;
        let first = session.prompt("echo one").await;
        session.ended(first).await;
        let second = session.prompt("echo two").await;
        let asked = session.asked().await;

        match how {
            "drop" => assert!(session.handle.drop_queued(second).await.unwrap()),
            _ => drop(session.handle.cancel("test").await.unwrap()),
        }

        let resolved = session.wait_for_kind("permission_resolved").await;
        assert_eq!(resolved["outcome"]["outcome"], "cancelled");
        assert!(!session.answer(&asked, "continue").await);
        let mut phase = session.handle.phase();
        let idle = phase.wait_for(|phase| *phase == SessionPhase::Idle);
        tokio::time::timeout(PATIENCE, idle).await.unwrap().unwrap();
        session.end().await;
    }
}

#[tokio::test]
async fn only_the_time_in_which_a_turn_runs_is_counted() {
    let mut stage = Stage::new(false, SessionSettings::default());
    stage.mode = PermissionMode::Ask;
    let limits = running(Duration::from_millis(300));
    // One waits for a person from the beginning, the other works.
    let mut waits = stage.session(limits).await;
    let _client = waits.handle.attach(ServedRequests::default()).await.unwrap();
    let turn = waits.prompt("permission execute x ; echo after").await;
    waits.wait_for_kind("permission_requested").await;
    let mut works = stage.session(limits).await;
    works.prompt("hang").await;

    let asked = works.asked().await;

    assert_eq!(asked.reached["limit"], "runningSeconds");
    assert!(asked.reached["used"].as_f64().unwrap() >= 0.3);
    assert_eq!(waits.payloads("limit_reached").await, Vec::<Value>::new());
    // The clock runs on with the answer.
    waits.answer_agent().await;
    waits.ended(turn).await;
    assert!(waits.budget().await.used().running > Duration::ZERO);
    waits.end().await;
    works.end().await;
}

#[tokio::test]
async fn no_mode_no_timeout_and_no_silence_ends_a_pause() {
    let settings = SessionSettings {
        permission_within: Duration::from_millis(50),
        quiet_after: Duration::from_millis(50),
        write_stall: Duration::from_millis(50),
        ..SessionSettings::default()
    };
    let mut stage = Stage::new(false, settings);
    let (paused, _, pids) = paused(&stage, "hang").await;
    // More than a pipe holds, to an agent that reads nothing.
    let big = wire::Json::of(&json!({ "sessionId": "", "filler": "x".repeat(3 << 20) }));
    paused.handle.notify_agent("_test/filler", &big).await.unwrap();

    // Another session meets all of them, in this order.
    stage.mode = PermissionMode::Ask;
    let mut other = stage.session(BudgetLimits::default()).await;
    let _client = other.handle.attach(ServedRequests::default()).await.unwrap();
    other.prompt("permission execute x ; stuck ; hang").await;
    let resolved = other.wait_for_kind("permission_resolved").await;
    assert_eq!(resolved["by"]["who"], "timeout");
    other.wait_for_kind("agent_quiet").await;
    other.handle.notify_agent("_test/filler", &big).await.unwrap();
    other.wait_for_kind("worker_exited").await;

    let mut kinds = paused.kinds().await;
    let at = kinds.iter().position(|kind| kind == "limit_reached").unwrap();
    kinds.drain(..at);
    for kind in ["permission_resolved", "agent_quiet", "worker_exited", "turn_ended"] {
        assert!(!kinds.iter().any(|found| found == kind), "{kind} in {kinds:?}");
    }
    assert_eq!(*paused.handle.phase().borrow(), SessionPhase::RequiresAction);
    all_stopped(&pids).await;
    paused.end().await;
    other.end().await;
    all_gone(&pids).await;
}

#[tokio::test]
async fn a_cancel_reaches_an_agent_that_stands_still() {
    for cgroups in [false, true] {
        let stage = Stage::new(cgroups, SessionSettings::default());
        let (mut session, _, pids) = paused(&stage, "hang").await;

        session.handle.cancel("test").await.unwrap();

        let ended = session.wait_for_kind("turn_ended").await;
        // The agent itself said so: it ran again, and was not killed.
        assert_eq!(ended["result"]["stopReason"], "cancelled");
        let resolved = session.payloads("permission_resolved").await;
        assert_eq!(resolved[0]["by"]["who"], "cancel");
        assert!(session.payloads("worker_exited").await.is_empty());
        let turn = session.prompt("echo more").await;
        let asked = session.asked().await;
        assert!(session.answer(&asked, "continue").await);
        assert_eq!(session.ended(turn).await["stopReason"], "end_turn");
        session.end().await;
        all_gone(&pids).await;
    }
}

#[tokio::test]
async fn an_agent_that_dies_while_it_stands_still_ends_the_turn_and_the_question() {
    for cgroups in [false, true] {
        let stage = Stage::new(cgroups, SessionSettings::default());
        let (mut session, asked, pids) = paused(&stage, "hang").await;

        proc::kill9(pids[0]);

        let ended = session.wait_for_kind("turn_ended").await;
        assert_eq!(ended["error"]["category"], "process_exit");
        let resolved = session.payloads("permission_resolved").await;
        assert_eq!(resolved[0]["outcome"]["outcome"], "cancelled");
        assert!(!session.answer(&asked, "continue").await);
        all_gone(&pids).await;
        session.end().await;
    }
}

#[tokio::test]
async fn raising_the_limit_ends_the_pause() {
    let stage = Stage::new(true, SessionSettings::default());
    // An agent that has said everything in one breath ends its turn before it is stopped.
    let (mut session, asked, _) = paused(&stage, "sleep 2000 ; echo end").await;

    session.handle.set_limits(tokens(5_000), "test").await.unwrap();
    assert_eq!(*session.handle.phase().borrow(), SessionPhase::RequiresAction, "not enough");
    session.handle.set_limits(tokens(6_000), "test").await.unwrap();

    assert_eq!(session.wait_for_kind("turn_ended").await["stopReason"], "end_turn");
    assert!(!session.answer(&asked, "stop").await);
    assert_eq!(session.payloads("limit_raised").await[0]["allowed"], 6_000);
    assert!(session.text().await.ends_with("end"));
    session.end().await;
}

#[tokio::test]
async fn an_agent_that_others_use_is_held_back_and_not_stopped() {
    let stage = Stage::new(false, SessionSettings::default());
    let slot = stage.slot();
    let mut held = stage.session_on(&slot, tokens(1_000)).await;
    let mut other = stage.session_on(&slot, BudgetLimits::default()).await;
    let turn = held.prompt("usage ; sleep 2000 ; permission execute x ; echo after").await;
    let asked = held.asked().await;
    assert_eq!(asked.reached["frozen"], false);

    let others = other.prompt("sleep 4000 ; permission execute y ; echo mine").await;
    other.ended(others).await;

    // What the agent asked for meanwhile is neither allowed nor answered.
    assert_eq!(held.payloads("permission_requested").await.len(), 1);
    assert!(!held.text().await.contains("after"));
    assert!(held.answer(&asked, "continue").await);
    assert_eq!(held.ended(turn).await["stopReason"], "end_turn");
    assert_eq!(held.payloads("permission_requested").await.len(), 2);
    assert!(held.text().await.ends_with("after"));
    held.end().await;
    let _ = other.handle.finish().await;
}

#[tokio::test]
async fn an_agent_that_stands_still_goes_on_when_another_session_needs_it() {
    let stage = Stage::new(false, SessionSettings::default());
    let slot = stage.slot();
    let mut first = stage.session_on(&slot, tokens(1_000)).await;
    let turn = first.prompt("usage ; sleep 2000 ; echo after").await;
    let asked = first.asked().await;
    assert_eq!(asked.reached["frozen"], true);

    let mut second = stage.session_on(&slot, BudgetLimits::default()).await;
    let others = second.prompt("echo mine").await;
    assert_eq!(second.ended(others).await["stopReason"], "end_turn");

    // Held back or done: in no case does it ask twice.
    session_goes_on(&mut first, &asked, turn).await;
    first.end().await;
    let _ = second.handle.finish().await;
}

async fn session_goes_on(
    session: &mut Session,
    asked: &crate::limits_stage::Asked,
    turn: wire::TurnId,
) {
    session.answer(asked, "continue").await;
    assert_eq!(session.ended(turn).await["stopReason"], "end_turn");
    assert_eq!(session.payloads("permission_resolved").await.len(), 1);
    assert!(session.text().await.ends_with("after"));
}

#[tokio::test]
async fn limits_and_what_was_used_survive_going_on_later() {
    let stage = Stage::new(false, SessionSettings::default());
    let limits = BudgetLimits { turns: Some(2), cost_usd: Some(0.05), ..tokens(6_000) };
    let mut session = stage.session(limits).await;
    let turn = session.prompt("usage ; echo one").await;
    session.ended(turn).await;

    let mut session = stage.reopen(session).await;
    let budget = session.budget().await;
    assert_eq!((budget.limits(), budget.used().turns), (limits, 1));
    assert_eq!(budget.used().tokens, 5_300);
    assert!((budget.used().cost_usd() - 0.0421).abs() < 1e-9);
    // The agent tells its sum again, and more tokens of a new turn.
    session.prompt("usage ; hang").await;
    let asked = session.asked().await;

    assert_eq!(
        (&asked.reached["limit"], &asked.reached["used"]),
        (&"tokens".into(), &10_600.into())
    );
    assert!((session.budget().await.used().cost_usd() - 0.0421).abs() < 1e-9);
    session.end().await;
}

#[tokio::test]
async fn commands_that_run_for_the_agent_stand_still_too() {
    let stage = Stage::new(false, SessionSettings::default());
    let mut session = stage.session(running(Duration::from_secs(3))).await;
    let turn = session.prompt(r#"run sh -c "sleep 8; echo stood-still""#).await;
    let commands = || {
        let mut found = proc::descendants(std::process::id());
        // Other tests run commands too.
        found.retain(|pid| proc::command_line(*pid).contains("echo stood-still"));
        found
    };
    assert!(until(PATIENCE, || !commands().is_empty()).await, "the command does not run");
    let asked = session.asked().await;
    let ours = until(PATIENCE, || commands().iter().all(|pid| is_stopped(*pid)));
    assert!(ours.await && !commands().is_empty(), "the command still runs");

    assert!(session.answer(&asked, "continue_without").await);
    assert_eq!(session.ended(turn).await["stopReason"], "end_turn");
    assert!(session.text().await.contains("stood-still"), "{}", session.text().await);
    session.end().await;
}

#[tokio::test]
async fn a_silent_agent_is_asked_about_again_and_again_until_nobody_answers() {
    let settings =
        SessionSettings { permission_within: Duration::from_secs(1), ..SessionSettings::default() };
    let stage = Stage::new(false, settings);
    let inactive = Some(Duration::from_millis(200));
    let mut session = stage.session(BudgetLimits { inactive, ..BudgetLimits::default() }).await;
    let turn = session.prompt("hang").await;

    let first = session.asked().await;
    assert_eq!(first.reached["limit"], "inactiveSeconds");
    assert_eq!((&first.reached["allowed"], &first.reached["frozen"]), (&0.2.into(), &true.into()));
    let title = first.question["request"]["toolCall"]["title"].as_str().unwrap();
    assert!(title.starts_with("Go on? The agent has said nothing for "), "{title}");
    // It may have been too late for this on a machine that is busy.
    session.answer(&first, "continue").await;
    let ended = session.ended(turn).await;

    assert_eq!(ended["stopReason"], "error");
    assert_eq!(ended["error"]["category"], "timeout", "{ended}");
    let resolved = session.payloads("permission_resolved").await;
    assert_eq!(resolved.last().unwrap()["by"]["who"], "timeout");
    session.end().await;
}

#[tokio::test]
async fn a_person_may_let_an_agent_be_silent() {
    let stage = Stage::new(false, SessionSettings::default());
    let inactive = Some(Duration::from_millis(200));
    let mut session = stage.session(BudgetLimits { inactive, ..BudgetLimits::default() }).await;
    let turn = session.prompt("sleep 3000 ; echo end").await;
    let asked = session.asked().await;
    assert!(session.answer(&asked, "continue_without").await);

    let ended = session.ended(turn).await;
    assert_eq!(ended["stopReason"], "end_turn", "{ended}");
    assert_eq!(session.payloads("limit_reached").await.len(), 1);
    session.end().await;
}
