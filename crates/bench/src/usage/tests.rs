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
    // Another process: the threads of this one, which count only while they live, are other tests.
    let mut busy = Command::new("sh").args(["-c", "while :; do :; done"]).spawn().unwrap();
    let before = cpu_of(busy.id());
    let started = Instant::now();
    while cpu_of(busy.id()) <= before && started.elapsed().as_secs() < 60 {
        std::thread::yield_now();
    }

    let (after, memory) = (cpu_of(busy.id()), memory_of(busy.id()));
    // Before anything can fail: nobody else would end it.
    busy.kill().unwrap();
    busy.wait().unwrap();

    assert!(after > before);
    assert!(busy_of_all() > Duration::ZERO);
    assert!(memory.resident_kib > 0 && memory.peak_kib >= memory.resident_kib);
}
