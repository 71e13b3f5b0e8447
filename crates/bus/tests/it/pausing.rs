//! A tree that is paused does nothing, loses nothing, and still ends when it has to. Told with and
//! without a cgroup, and again as an ordinary user.

use std::fs;
use std::path::Path;
use std::time::Duration;

use bus::{StopLadder, StopStep, Worker};
use tempfile::TempDir;

use crate::stage::{Witnesses, is_stopped, kill_9, launch_testbin, read_line, until};

const QUICK: StopLadder =
    StopLadder { after_eof: Duration::from_millis(20), after_term: Duration::from_millis(50) };

struct Tree {
    worker: Worker,
    witnesses: Witnesses,
    _place: TempDir,
}

impl Tree {
    /// The worker and five descendants that left it, all stopped.
    async fn paused(cgroups: bool) -> Self {
        let place = tempfile::tempdir().unwrap();
        let mut launch = launch_testbin(["hostile", place.path().to_str().unwrap(), "stay"]);
        launch.cgroups = cgroups;
        let mut worker = launch.spawn().await.unwrap();
        assert_eq!(read_line(&mut worker.stdout).await, "ready");
        let keeper = worker.handle.keeper_pid();
        let witnesses = Witnesses::of(keeper, place.path()).without(keeper);
        assert!(witnesses.len() >= 6 && witnesses.are_running(), "{witnesses:?}");

        worker.handle.pause();

        until("all stopped", || witnesses.are_stopped()).await;
        Self { worker, witnesses, _place: place }
    }
}

#[tokio::test]
async fn a_paused_tree_stands_still_to_its_last_descendant_and_goes_on_when_resumed() {
    for cgroups in [false, true] {
        let Tree { worker, witnesses, .. } = Tree::paused(cgroups).await;

        worker.handle.resume();
        until("all run", || witnesses.are_running()).await;
        worker.handle.pause();
        until("all stopped again", || witnesses.are_stopped()).await;

        worker.handle.kill();
        assert_eq!(worker.handle.ended().await.n_left, 0);
        assert!(witnesses.are_gone());
    }
}

#[tokio::test]
async fn the_stop_ladder_works_on_a_paused_tree() {
    for cgroups in [false, true] {
        let Tree { mut worker, witnesses, .. } = Tree::paused(cgroups).await;
        worker.stdin = None;

        let mut steps = Vec::new();
        let report = worker.handle.stop_with(&QUICK, |step| steps.push(step)).await;

        // SIGTERM reached the worker, so it ran again.
        assert_eq!(report.signal, Some(15), "{report}");
        assert_eq!(steps[..2], [StopStep::AwaitExit, StopStep::Terminate]);
        assert!(witnesses.are_gone());
    }
}

#[tokio::test]
async fn a_paused_worker_whose_input_ends_sees_it_when_it_is_stopped() {
    let mut worker = crate::stage::launch("cat", []).spawn().await.unwrap();
    worker.handle.pause();
    let pid = worker.handle.pid().cast_signed();
    until("stopped", || is_stopped(pid)).await;
    worker.stdin = None;

    let patient = StopLadder { after_eof: Duration::from_mins(1), ..QUICK };
    let report = worker.handle.stop(&patient).await;

    assert_eq!(report.code, Some(0), "{report}");
}

#[tokio::test]
async fn a_paused_tree_does_not_outlive_its_owner() {
    for cgroups in [false, true] {
        let Tree { worker, witnesses, .. } = Tree::paused(cgroups).await;

        drop(worker);

        until("tree gone", || witnesses.are_gone()).await;
    }
}

#[tokio::test]
async fn a_paused_tree_does_not_outlive_its_keeper() {
    for cgroups in [false, true] {
        let Tree { worker, witnesses, .. } = Tree::paused(cgroups).await;

        kill_9(worker.handle.keeper_pid());
        let report = worker.handle.ended().await;

        assert!(report.keeper_lost, "{report}");
        assert_eq!(report.n_left, 0);
        // The kernel hangs up on stopped processes whose session leader dies, so some may have
        // died before anybody looked; they wait here to be reaped.
        until("nobody lives", || witnesses.are_dead()).await;
    }
}

#[tokio::test]
async fn a_paused_worker_that_is_killed_takes_its_tree_with_it() {
    for cgroups in [false, true] {
        let Tree { worker, witnesses, .. } = Tree::paused(cgroups).await;

        kill_9(worker.handle.pid());

        assert_eq!(worker.handle.ended().await.signal, Some(9));
        assert!(witnesses.are_gone());
    }
}

#[tokio::test]
async fn a_tree_that_forks_while_it_is_paused_stops_whole_and_then_finishes_its_work() {
    const N: usize = 150;
    for cgroups in [false, true] {
        let place = tempfile::tempdir().unwrap();
        let marks = place.path().join("marks");
        fs::create_dir(&marks).unwrap();
        fs::create_dir(place.path().join("slots")).unwrap();
        let mut launch = launch_testbin(["forker", place.path().to_str().unwrap(), &N.to_string()]);
        launch.cgroups = cgroups;
        let worker = launch.spawn().await.unwrap();
        let n_marks = || fs::read_dir(&marks).unwrap().count();
        until("it forks", || n_marks() > 10).await;

        worker.handle.pause();
        let keeper = worker.handle.keeper_pid();
        let nobody_forks = |dir: &Path| {
            let before = Witnesses::of(keeper, dir).without(keeper);
            before.are_stopped() && Witnesses::of(keeper, dir).without(keeper).are_stopped()
        };
        until("all stopped", || nobody_forks(&marks)).await;
        let n_stopped = n_marks();
        assert!(nobody_forks(&marks));
        assert_eq!(n_marks(), n_stopped);

        worker.handle.resume();
        // The worker itself marks too, and takes no slot.
        until("all work done", || n_marks() == N + 1).await;
        worker.handle.kill();
        assert_eq!(worker.handle.ended().await.n_left, 0);
    }
}

#[tokio::test]
async fn what_somebody_else_has_stopped_is_not_continued() {
    let place = tempfile::tempdir().unwrap();
    let launch = launch_testbin(["hostile", place.path().to_str().unwrap(), "stay"]);
    let mut tree = launch.spawn().await.unwrap();
    assert_eq!(read_line(&mut tree.stdout).await, "ready");
    let handle = tree.handle.clone();
    let entry = fs::read_dir(place.path()).unwrap().next().unwrap().unwrap();
    let theirs: i32 = entry.file_name().to_str().unwrap().parse().unwrap();
    let pid = rustix::process::Pid::from_raw(theirs).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::STOP).unwrap();
    until("stopped", || is_stopped(theirs)).await;

    let worker = handle.pid().cast_signed();
    handle.pause();
    until("the worker stopped", || is_stopped(worker)).await;
    handle.resume();
    until("the worker runs", || !is_stopped(worker)).await;

    assert!(is_stopped(theirs));
    handle.kill();
    handle.ended().await;
}
