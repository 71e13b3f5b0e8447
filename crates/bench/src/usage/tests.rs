//! Our own process is one of known kind.

use std::process::{Command, Stdio};
use std::time::Instant;

use super::*;

#[test]
fn a_child_belongs_to_the_family() {
    let mut child = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();

    let family = family_of(std::process::id());

    assert!(family.contains(&child.id()));
    assert!(!family.contains(&1));
    drop(child.stdin.take());
    child.wait().unwrap();
}

#[test]
fn work_shows_in_cpu_time_and_memory() {
    let me = std::process::id();
    let before = cpu_of(me);
    let started = Instant::now();
    let mut n = 0_u64;
    while cpu_of(me) == before && started.elapsed().as_secs() < 60 {
        n = n.wrapping_mul(31).wrapping_add(7);
    }

    assert!(cpu_of(me) > before, "{n}");
    assert!(busy_of_all() > Duration::ZERO);
    let memory = memory_of(me);
    assert!(memory.resident_kib > 0 && memory.peak_kib >= memory.resident_kib);
}
