//! Goals are ratios of the same round, and are checked the right way round.

use bench::report::{BusUsage, Report};

use super::super::series::Run;
use super::*;

fn run(per_second: f64, p50_us: f64, cpu_us_per_answer: f64, n_lost: usize) -> Run {
    let report = Report {
        n_sessions: 16,
        n_connections: 16,
        n_bytes: SMALL,
        seconds: 1.0,
        n_answers: 1,
        per_second,
        p50_us,
        p99_us: p50_us,
        longest_us: p50_us,
        n_errors: 0,
        n_wrong: 0,
        n_lost,
        n_lost_connections: 0,
        client_cpu_seconds: 0.1,
        bus: Some(BusUsage { cpu_us_per_answer, resident_kib: 20 << 10, peak_kib: 20 << 10 }),
        other_cores: 0.0,
    };
    Run { outcome: Ok(report), idle_kib: Some(5 << 10) }
}

fn series(runs: Vec<Run>) -> Series {
    let mut series = Series::default();
    for run in runs {
        series.add(run);
    }
    series
}

fn found<'a>(goals: &'a [Goal], what: &str) -> &'a Goal {
    goals.iter().find(|goal| goal.what.contains(what)).unwrap()
}

#[test]
fn a_slow_round_for_all_does_not_change_the_ratio() {
    let point = Point { over: BusTransport::Tcp, n_sessions: 16, n_bytes: SMALL };
    let reference = series(vec![run(100.0, 10.0, 5.0, 0), run(10.0, 100.0, 5.0, 0)]);
    let stdio_bus = series(vec![run(50.0, 20.0, 9.0, 0), run(5.0, 20.0, 9.0, 0)]);
    let ours = series(vec![run(95.0, 10.0, 6.5, 0), run(9.5, 100.0, 6.5, 0)]);
    let all = [(
        point,
        vec![
            (MeasuredRouter::Reference, reference),
            (MeasuredRouter::StdioBus, stdio_bus),
            (MeasuredRouter::Switchyard, ours),
        ],
    )];

    let goals = of(&all);

    let rate = found(&goals, "rate to the reference");
    assert!((rate.found - 0.95).abs() < 1e-9 && rate.is_met(), "{rate:?}");
    let rate = found(&goals, "rate to stdio Bus");
    assert!((rate.found - 1.9).abs() < 1e-9 && rate.is_met(), "{rate:?}");
    let cpu = found(&goals, "CPU");
    assert!((cpu.found - 1.3).abs() < 1e-9 && !cpu.is_met(), "{cpu:?}");
    assert!(found(&goals, "idle").is_met());
    assert!(found(&goals, "lost").is_met());
}

#[test]
fn one_lost_session_or_one_failed_run_misses_the_goal() {
    let failed = Run { outcome: Err("it ended".to_owned()), idle_kib: None };
    for bad in [run(1.0, 1.0, 1.0, 1), failed] {
        let point = Point { over: BusTransport::Unix, n_sessions: 1000, n_bytes: LARGE };
        let all = [(point, vec![(MeasuredRouter::Switchyard, series(vec![bad]))])];
        let goals = of(&all);
        assert!(!found(&goals, "lost").is_met());
    }
}

#[test]
fn nothing_is_claimed_of_what_was_not_measured() {
    let point = Point { over: BusTransport::Tcp, n_sessions: 16, n_bytes: SMALL };
    let reference = series(vec![run(100.0, 10.0, 5.0, 0)]);
    assert!(of(&[(point, vec![(MeasuredRouter::Reference, reference)])]).is_empty());
}
