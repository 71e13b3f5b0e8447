//! The cgroup file system is imitated by directories of plain files.

use super::*;

const NOTHING: &str = "low 0\nhigh 0\nmax 0\noom 0\noom_kill 0\noom_group_kill 0\n";
const OWN_LIMIT: &str = "low 0\nhigh 0\nmax 31\noom 1\noom_kill 1\noom_group_kill 1\n";
const OTHERS_LIMIT: &str = "low 0\nhigh 0\nmax 0\noom 0\noom_kill 1\noom_group_kill 0\n";

/// A worker's group in a session's.
fn groups(worker: &[(&str, &str)], session: &[(&str, &str)]) -> tempfile::TempDir {
    let place = tempfile::tempdir().unwrap();
    fs::create_dir(place.path().join("worker")).unwrap();
    for (file, text) in worker {
        fs::write(place.path().join("worker").join(file), text).unwrap();
    }
    for (file, text) in session {
        fs::write(place.path().join(file), text).unwrap();
    }
    place
}

fn check_killed(worker: &[(&str, &str)], session: &[(&str, &str)], expect: Option<&str>) {
    let place = groups(worker, session);
    let hit = LimitHit::why_killed(&place.path().join("worker"), Some(place.path()));
    assert_eq!(hit.map(|hit| hit.to_string()).as_deref(), expect);
}

#[test]
fn a_worker_that_was_killed_for_memory_is_told_whose_limit_it_was() {
    let limit = ("memory.max", "3145728\n");
    check_killed(
        &[limit, ("memory.events", OWN_LIMIT)],
        &[],
        Some("ran out of the memory that it may use (limit 3 MiB)"),
    );
    check_killed(
        &[("memory.max", "max\n"), ("memory.events", OTHERS_LIMIT)],
        &[limit, ("memory.events", OWN_LIMIT)],
        Some("ran out of the memory that its session may use (limit 3 MiB)"),
    );
    check_killed(
        &[limit, ("memory.events", OTHERS_LIMIT)],
        &[limit, ("memory.events", OTHERS_LIMIT)],
        Some("the machine ran out of memory"),
    );
}

#[test]
fn a_worker_that_was_killed_by_somebody_has_reached_no_limit() {
    check_killed(&[("memory.max", "3145728\n"), ("memory.events", NOTHING)], &[], None);
    check_killed(&[], &[], None);
}

#[test]
fn a_worker_that_failed_is_told_that_it_could_start_nothing_more() {
    let place = groups(&[("pids.max", "64\n"), ("pids.events", "max 3\n")], &[]);
    let hit = LimitHit::why_failed(&place.path().join("worker"), Some(place.path())).unwrap();
    assert_eq!(hit.to_string(), "had as many processes as it may have (limit 64)");

    let none = ("pids.events", "max 0\n");
    let place = groups(&[none], &[("pids.max", "9\n"), ("pids.events", "max 1\n")]);
    let hit = LimitHit::why_failed(&place.path().join("worker"), Some(place.path())).unwrap();
    assert_eq!(hit, LimitHit::Pids { limit: 9, of_session: true });

    let place = groups(&[("pids.max", "64\n"), none], &[]);
    assert_eq!(LimitHit::why_failed(&place.path().join("worker"), None), None);
}
