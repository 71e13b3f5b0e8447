use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;

use super::*;
use crate::processes::procs::freeze_and_kill;

fn process(pid: i32, parent: i32) -> Proc {
    Proc {
        pid,
        parent,
        session: 0,
        start: 0,
        has_main_thread: true,
        is_zombie: false,
        is_stopped: false,
    }
}

fn pids(mut found: Vec<Proc>) -> Vec<i32> {
    found.sort_unstable_by_key(|process| process.pid);
    found.iter().map(|process| process.pid).collect()
}

/// A shell that waits until it is killed, as do those that it has started.
struct Shells {
    top: Child,
}

impl Shells {
    /// So many shells, each a child of the one before.
    fn nested(depth: usize) -> Self {
        let script =
            r#"if [ "$1" -gt 1 ]; then sh -c "$0" "$0" $(($1 - 1)) & fi; echo; sleep 1000"#;
        let mut top = Command::new("sh")
            .args(["-c", script, script, &depth.to_string()])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let ready = BufReader::new(top.stdout.take().unwrap()).lines();
        assert_eq!(ready.take(depth).count(), depth);
        Self { top }
    }

    fn pid(&self) -> i32 {
        self.top.id().cast_signed()
    }
}

impl Drop for Shells {
    fn drop(&mut self) {
        // Any of them may be about to start another one.
        Proc::read(self.pid()).unwrap().signal(rustix::process::Signal::STOP).unwrap();
        freeze_and_kill(|| below(self.pid()));
        self.top.kill().unwrap();
        self.top.wait().unwrap();
    }
}

#[test]
fn descendants_are_found_at_any_depth_and_loops_end() {
    let all = [process(2, 1), process(3, 2), process(4, 9), process(9, 4), process(5, 3)];

    assert_eq!(pids(descendants(&[1], &all)), [2, 3, 5]);
    assert_eq!(descendants(&[4], &all).len(), 1);
}

#[test]
fn a_walk_finds_those_that_a_scan_of_all_processes_finds() {
    let shells = Shells::nested(4);
    let scanned = || pids(descendants(&[shells.pid()], &snapshot()));

    // The shells start `sleep` when they have said that they are ready.
    let give_up_at = std::time::Instant::now() + soak::PATIENCE;
    while scanned().len() < 7 {
        assert!(std::time::Instant::now() < give_up_at);
        thread::yield_now();
    }

    assert_eq!(pids(walk(shells.pid())), scanned());
    assert!(walk(i32::MAX).is_empty(), "nobody is below a process that is not there");
}

#[test]
fn children_of_every_thread_are_found() {
    let (started, children_started) = mpsc::channel();
    let forkers: Vec<_> = (0..3)
        .map(|_| {
            let started = started.clone();
            // The thread stays: children of one that has ended are given to another.
            thread::spawn(move || {
                let mut child = Command::new("sleep").arg("1000").spawn().unwrap();
                started.send(child.id().cast_signed()).unwrap();
                child.wait().unwrap();
            })
        })
        .collect();
    let own = std::process::id().cast_signed();

    for _ in &forkers {
        let child = children_started.recv().unwrap();
        assert!(children(own).contains(&child));
        let found = walk(own).into_iter().find(|process| process.pid == child);
        found.unwrap().signal(rustix::process::Signal::KILL).unwrap();
    }
    for forker in forkers {
        forker.join().unwrap();
    }
}

#[test]
fn memory_is_that_of_everything_below() {
    let (small, large) = (Shells::nested(1), Shells::nested(6));
    let keepers = [small.pid().cast_unsigned(), large.pid().cast_unsigned(), u32::MAX];

    let give_up_at = std::time::Instant::now() + soak::PATIENCE;
    loop {
        let measured = resident_bytes(&keepers);
        assert_eq!(measured[2], 0);
        if measured[0] > 0 && measured[1] > 2 * measured[0] {
            return;
        }
        assert!(std::time::Instant::now() < give_up_at, "{measured:?}");
    }
}
