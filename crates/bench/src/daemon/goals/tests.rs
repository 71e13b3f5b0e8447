//! What counts as reached.

use super::*;
use crate::daemon::tally::Burst;

fn goal<'a>(goals: &'a [Goal], what: &str) -> &'a Goal {
    goals.iter().find(|goal| goal.what.starts_with(what)).unwrap()
}

fn sse() -> Figures {
    Figures::new(MeasuredService::Switchyard(EventTransport::Sse))
}

#[test]
fn what_was_not_measured_is_neither_met_nor_missed() {
    let goals = of(&[sse()]);
    assert_eq!(goals.len(), 8);
    assert!(goals.iter().all(|goal| goal.mark() == "not measured"));
    assert!(of(&[Figures::new(MeasuredService::Acpx)]).is_empty());
}

#[test]
fn the_worst_burst_counts() {
    let burst = |share_delivered, n_doubled| Burst {
        per_second: 60_000.0,
        share_delivered,
        n_doubled,
        n_disordered: 0,
    };
    let mut row = sse();
    row.bursts = vec![burst(1.0, 0), burst(1.0, 0)];
    let goals = of(std::slice::from_ref(&row));
    assert_eq!(goal(&goals, "delivered").mark(), "ok");
    assert_eq!(goal(&goals, "events per second").mark(), "ok");
    assert_eq!(goal(&goals, "came twice").mark(), "ok");

    row.bursts = vec![burst(1.0, 0), burst(0.99999, 1)];
    let goals = of(&[row]);
    assert_eq!(goal(&goals, "delivered").mark(), "MISSED");
    assert_eq!(goal(&goals, "came twice").mark(), "MISSED");
}

#[test]
fn memory_and_starts_are_compared_with_their_floor() {
    let mut row = sse();
    row.idle_mb = vec![10.0];
    row.many_mb = Some(10.0 + 50.0);
    row.cold_ms = vec![1100.0];
    row.warm_ms = vec![60.0];
    let goals = of(&[row]);
    let per_session = goal(&goals, "memory per idle session");
    assert_eq!((per_session.found, per_session.mark()), (Some(51.2), "ok"));
    assert_eq!(goal(&goals, "session start").mark(), "MISSED");
}
