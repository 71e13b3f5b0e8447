//! What `/proc` tells about processes that we start here.

use crate::stage::home;
use std::time::Duration;
use testkit::proc;
use testkit::test_home::{PATIENCE, wait_until};

// `sh` must not replace itself by its last command.
const FAMILY: &str = "sleep 1000 & (setsid sleep 1000 & wait) & wait; true";

#[test]
fn descendants_are_found_and_killed() {
    let home = home();
    let mut root = home.other("sh", ["-c", FAMILY]).spawn().unwrap();

    let sleeps = |pids: Vec<u32>| {
        pids.into_iter().filter(|pid| proc::command_line(*pid) == "sleep 1000").count()
    };
    assert!(wait_until(PATIENCE, || sleeps(proc::descendants(root.id())) == 2));
    let family = proc::descendants(root.id());
    assert!(!family.contains(&root.id()));
    proc::kill9(root.id());
    root.wait().unwrap();

    assert!(!proc::is_alive(root.id()));
    assert_eq!(sleeps(home.left_over()), 2, "orphans still carry the mark");
    for pid in family {
        proc::kill9(pid);
    }
    home.assert_empty_within(PATIENCE);
}

#[test]
fn a_home_takes_its_processes_with_it() {
    let home = home();
    let mut child = home.other("sleep", ["1000"]).spawn().unwrap();
    assert!(wait_until(PATIENCE, || home.left_over().contains(&child.id())));

    drop(home);

    assert!(!child.wait().unwrap().success());
}

#[test]
fn a_zombie_is_not_alive() {
    let home = home();
    let mut child = home.other("true", [""]).spawn().unwrap();

    assert!(wait_until(PATIENCE, || !proc::is_alive(child.id())));

    assert_eq!(proc::descendants(std::process::id()).iter().find(|pid| **pid == child.id()), None);
    child.wait().unwrap();
    assert_eq!(proc::memory(child.id()), None);
}

#[test]
fn memory_is_measured() {
    let memory = proc::memory(std::process::id()).unwrap();

    assert!(memory.resident_kib > 500, "{memory:?}");
    assert!(memory.peak_kib >= memory.resident_kib, "{memory:?}");
}

#[test]
fn patience_ends() {
    assert!(!wait_until(Duration::from_millis(10), || false));
}

#[test]
fn a_zombie_is_known_until_somebody_has_looked_at_it() {
    let mut child = std::process::Command::new("true").spawn().unwrap();
    let identity = proc::ProcessIdentity::of(child.id()).unwrap();
    assert!(wait_until(PATIENCE, || identity.zombie_of() == Some(std::process::id())));
    child.wait().unwrap();
    assert_eq!(identity.zombie_of(), None);
}
