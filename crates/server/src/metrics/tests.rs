use bus::ExitReport;
use sessions::observer::{Observer, ReceivedPrompt};
use store::{LogHealth, LogTrouble, LostSession, StoreError, TroubleKind};
use wire::event::{StopReason, TurnEnded};
use wire::{Json, Millis, Seq, SessionId, TurnId};

use super::*;

fn metrics() -> Metrics {
    Metrics::new(["demo", "claude"])
}

/// The value of the line that begins with `name`.
fn value(metrics: &Metrics, name: &str) -> Option<f64> {
    let text = metrics.render();
    let line = text
        .lines()
        .find(|line| line.strip_prefix(name).is_some_and(|rest| rest.starts_with(' ')))?;
    line.rsplit(' ').next()?.parse().ok()
}

fn prompt(metrics: &Metrics, agent: &str) -> Box<dyn sessions::observer::TurnWatch> {
    let params = Json::trusted("{}");
    let (session, turn) = (SessionId::from_entropy(&[1; 64]), TurnId::from_entropy(&[2; 64]));
    metrics.prompt(&ReceivedPrompt { session, turn, agent, params: &params }).unwrap()
}

#[test]
fn the_text_is_openmetrics_and_ends_as_such() {
    let text = metrics().render();
    assert!(text.ends_with("# EOF\n"), "{text}");
    assert!(text.contains("switchyard_build_info{version=\""), "{text}");
    for kernel in ["process_resident_memory_bytes", "process_open_fds", "process_threads"] {
        assert!(value(&metrics(), kernel).unwrap() > 0.0, "{kernel}");
    }
    // Every line is a comment or a name, maybe labels, and a number.
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let (name, number) = line.rsplit_once(' ').unwrap();
        assert!(name.starts_with("switchyard_") || name.starts_with("process_"), "{line}");
        assert!(number.parse::<f64>().is_ok(), "{line}");
    }
}

#[test]
fn a_turn_is_counted_from_its_prompt_to_its_end() {
    let metrics = metrics();
    let mut turn = prompt(&metrics, "demo");
    assert_eq!(value(&metrics, "switchyard_prompts_total{agent=\"demo\"}"), Some(1.0));
    assert_eq!(value(&metrics, "switchyard_turns_started_total{agent=\"demo\"}"), None);
    turn.begun();
    assert_eq!(value(&metrics, "switchyard_turns_started_total{agent=\"demo\"}"), Some(1.0));
    assert_eq!(value(&metrics, "switchyard_turns_running{agent=\"demo\"}"), Some(1.0));
    turn.ended(&TurnEnded::of(StopReason::EndTurn));
    drop(turn);
    assert_eq!(value(&metrics, "switchyard_turns_running{agent=\"demo\"}"), Some(0.0));
    let ended = "switchyard_turns_ended_total{agent=\"demo\",reason=\"end_turn\"}";
    assert_eq!(value(&metrics, ended), Some(1.0));
}

#[test]
fn a_turn_that_is_lost_does_not_run_for_ever() {
    let metrics = metrics();
    let mut turn = prompt(&metrics, "demo");
    turn.begun();
    drop(turn);
    assert_eq!(value(&metrics, "switchyard_turns_running{agent=\"demo\"}"), Some(0.0));
}

#[test]
fn labels_do_not_grow_with_what_comes_from_outside() {
    let metrics = metrics();
    for n in 0..2000 {
        let mut turn = prompt(&metrics, &format!("agent{n}\"}} 1\n"));
        turn.begun();
        turn.ended(&TurnEnded::of(format!("because {n}").into()));
        metrics.request(&format!("/x/{n}"), &format!("M{n}"), 7, Duration::from_millis(1));
        metrics.decided("demo", &format!("who{n}"), true);
    }
    let ended = "switchyard_turns_ended_total{agent=\"other\",reason=\"other\"}";
    assert_eq!(value(&metrics, ended), Some(2000.0));
    let text = metrics.render();
    assert!(!text.contains("agent1"), "{text}");
    let n_routes = text.lines().filter(|l| l.starts_with("switchyard_http_requests_total")).count();
    assert_eq!(n_routes, MAX_ROUTES + 1);
    let n_deciders =
        text.lines().filter(|l| l.starts_with("switchyard_permissions_decided_total")).count();
    assert_eq!(n_deciders, MAX_DECIDERS + 1);
}

#[test]
fn workers_questions_streams_and_sessions_are_counted_while_they_last() {
    let metrics = metrics();
    let worker = metrics.worker("claude");
    let question = metrics.question("claude");
    let session = metrics.session("claude");
    let stream = metrics.stream("sse");
    let held = [
        "switchyard_workers_running{agent=\"claude\"}",
        "switchyard_permissions_pending",
        "switchyard_sessions_live{agent=\"claude\"}",
        "switchyard_streams_open{kind=\"sse\"}",
    ];
    for name in held {
        assert_eq!(value(&metrics, name), Some(1.0), "{name}");
    }
    drop((worker, question, session, stream));
    for name in held {
        assert_eq!(value(&metrics, name), Some(0.0), "{name}");
    }
    let killed = ExitReport { signal: Some(9), ..ExitReport::default() };
    metrics.worker_exited("claude", &killed);
    let exited = "switchyard_workers_exited_total{agent=\"claude\",how=\"killed\"}";
    assert_eq!(value(&metrics, exited), Some(1.0));
}

#[test]
fn requests_appends_and_refusals_are_counted() {
    let metrics = metrics();
    metrics.request("/v1/sessions/{id}", "GET", 200, Duration::from_millis(3));
    metrics.appended(5, Duration::from_micros(80));
    metrics.slow_client(SlowClient::Evicted);
    metrics.auth_failed("wrong");
    metrics.stream("sse").sent(512);
    metrics.dropped_lines_from(|| 4);
    for (name, wanted) in [
        (
            "switchyard_http_requests_total{route=\"/v1/sessions/{id}\",method=\"GET\",status=\"200\"}",
            1.0,
        ),
        ("switchyard_http_request_duration_seconds_count{route=\"/v1/sessions/{id}\"}", 1.0),
        ("switchyard_events_appended_total", 5.0),
        ("switchyard_append_seconds_count", 1.0),
        ("switchyard_append_seconds_bucket{le=\"0.0001\"}", 1.0),
        ("switchyard_slow_clients_total{what=\"evicted\"}", 1.0),
        ("switchyard_auth_failures_total{why=\"wrong\"}", 1.0),
        ("switchyard_sent_bytes_total{kind=\"sse\"}", 512.0),
        ("switchyard_log_lines_dropped_total", 4.0),
    ] {
        assert_eq!(value(&metrics, name), Some(wanted), "{name}");
    }
}

#[test]
fn trouble_with_the_log_is_told_by_its_kind() {
    let metrics = metrics();
    let full = "switchyard_store_trouble{kind=\"disk_full\"}";
    assert_eq!(value(&metrics, full), None, "nobody has said anything");
    let error = StoreError::DiskFull { path: "switchyard.db".into() };
    let trouble = LogTrouble { kind: TroubleKind::Writing, since: Millis(1), error };
    let lost = LostSession { id: SessionId::derived(&[b"a"]), head: Seq(3) };
    let health = LogHealth { troubles: vec![trouble], lost: vec![lost] };
    metrics.log_state_from(move || LogState { health: health.clone(), n_halted: 2 });
    assert_eq!(value(&metrics, full), Some(1.0));
    assert_eq!(value(&metrics, "switchyard_store_trouble{kind=\"read_failed\"}"), Some(0.0));
    assert_eq!(value(&metrics, "switchyard_sessions_lost"), Some(1.0));
    assert_eq!(value(&metrics, "switchyard_sessions_halted"), Some(2.0));
}

#[test]
fn warm_pools_are_asked_with_every_scrape() {
    use std::sync::atomic::{AtomicU64, Ordering};
    let metrics = metrics();
    let ready = Arc::new(AtomicU64::new(1));
    let source = ready.clone();
    metrics.warm_pools_from(move || {
        let n_ready = source.load(Ordering::Relaxed);
        let pool = |agent: &str| WarmPool { agent: agent.into(), n_ready, ..WarmPool::default() };
        vec![pool("claude"), pool("claude"), pool("unheard-of")]
    });
    let name = "switchyard_warm_workers{agent=\"claude\",state=\"ready\"}";
    assert_eq!(value(&metrics, name), Some(2.0));
    ready.store(3, Ordering::Relaxed);
    assert_eq!(value(&metrics, name), Some(6.0));
    let other = "switchyard_warm_workers{agent=\"other\",state=\"ready\"}";
    assert_eq!(value(&metrics, other), Some(3.0));
}
