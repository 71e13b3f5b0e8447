//! Whatever dies, and in whatever order: nothing stays dead and unreaped below a living Switchyard.

use std::io::{BufRead as _, BufReader, Lines, Write as _};
use std::process::{Child, ChildStdout, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use crate::stage::{Witnesses, kill_9, parent_of, testbin, until};

/// A Switchyard with a hostile worker, and a dead child of its own that it has not waited for.
struct Adopter {
    process: Child,
    said: Lines<BufReader<ChildStdout>>,
    keeper_pid: u32,
    place: TempDir,
}

impl Adopter {
    async fn start(worker: &str) -> Self {
        let place = tempfile::tempdir().unwrap();
        let mut process = Command::new(testbin())
            .arg("adopter")
            .arg(place.path())
            .arg(worker)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut said = BufReader::new(process.stdout.take().unwrap()).lines();
        let keeper_pid = said.next().unwrap().unwrap().parse().unwrap();
        until("descendants run", || Witnesses::marked_in(place.path()).len() > 0).await;
        Self { process, said, keeper_pid, place }
    }

    /// Everything below it, and the child of its own.
    fn below(&self) -> Witnesses {
        Witnesses::at_and_below(self.process.id()).without(self.process.id())
    }

    /// Reaps all but the child of its own, of which it can still hear how it ended.
    async fn leaves_nothing_but_its_own_child(mut self) {
        until("the orphans are reaped", || self.below().len() == 1).await;
        self.process.stdin.as_mut().unwrap().write_all(b"\n").unwrap();
        assert_eq!(self.said.next().unwrap().unwrap(), "exit status: 7");
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
}

fn signal(pid: u32, signal: Signal) {
    kill_process(Pid::from_raw(pid.cast_signed()).unwrap(), signal).unwrap();
}

#[tokio::test]
async fn a_tree_that_is_killed_with_its_keeper_leaves_no_zombie() {
    for is_keeper_first in [false, true] {
        let adopter = Adopter::start("hostile").await;
        let tree = adopter.below().without(adopter.keeper_pid);
        assert!(tree.len() >= 7, "{tree:?}");

        // It sees nobody alive, nor does the keeper: all are dead when it looks.
        signal(adopter.process.id(), Signal::STOP);
        signal(adopter.keeper_pid, Signal::STOP);
        if is_keeper_first {
            kill_9(adopter.keeper_pid);
        }
        tree.pids().for_each(kill_9);
        if !is_keeper_first {
            kill_9(adopter.keeper_pid);
        }
        until("all are dead", || adopter.below().are_dead()).await;
        signal(adopter.process.id(), Signal::CONT);

        adopter.leaves_nothing_but_its_own_child().await;
    }
}

#[tokio::test]
async fn an_orphan_that_dies_long_after_its_keeper_is_reaped() {
    let adopter = Adopter::start("shedding").await;
    // Without a marker, and in a session of its own, nobody knows whose it was.
    let escaped = Witnesses::marked_in(adopter.place.path());
    let parents = || escaped.pids().map(parent_of);
    until("its parent is gone", || parents().all(|it| it == Some(adopter.keeper_pid))).await;
    kill_9(adopter.keeper_pid);
    until("the rest is gone", || adopter.below().len() == 2).await;
    assert_eq!(escaped.n_living(), 1);

    escaped.pids().for_each(kill_9);

    adopter.leaves_nothing_but_its_own_child().await;
}
