//! A process we started is a process we end, while we live; `crash` is about when we do not. Every
//! story is told twice, with and without a cgroup, and `ordinary_user` tells all of them again
//! without being root.

use std::fs;
use std::path::Path;
use std::time::Duration;

use bus::{Containment, StopLadder, StopStep, Worker};
use tempfile::TempDir;

use crate::stage::{
    Witnesses, has_cgroup, is_empty, is_marked_anywhere, kill_9, launch, launch_testbin, read_line,
    testbin, until,
};

const QUICK: StopLadder =
    StopLadder { after_eof: Duration::from_millis(20), after_term: Duration::from_millis(50) };

struct Hostile {
    worker: Worker,
    witnesses: Witnesses,
    place: TempDir,
}

impl Hostile {
    async fn start(how: &str, cgroups: bool) -> Self {
        let place = tempfile::tempdir().unwrap();
        let marks = place.path().join("marks");
        fs::create_dir(&marks).unwrap();
        let mut launch = launch_testbin(["hostile", marks.to_str().unwrap(), how]);
        launch.cgroups = cgroups;
        launch.records_dir = Some(place.path().join("records"));
        let mut worker = launch.spawn().await.unwrap();
        assert_eq!(read_line(&mut worker.stdout).await, "ready");
        let witnesses = Witnesses::of(worker.handle.keeper_pid(), &marks);
        assert!(witnesses.len() >= 5, "{witnesses:?}");
        Self { worker, witnesses, place }
    }

    async fn nothing_is_left(witnesses: &Witnesses, id: &str, place: &Path) {
        until("tree gone", || witnesses.are_gone()).await;
        assert!(!is_marked_anywhere(id));
        until("record removed", || is_empty(&place.join("records"))).await;
        assert!(!has_cgroup(id));
    }
}

#[tokio::test]
async fn stop_leaves_nothing_and_tells_every_rung() {
    for cgroups in [false, true] {
        let Hostile { mut worker, witnesses, place } = Hostile::start("stay", cgroups).await;
        worker.stdin = None;

        let mut steps = Vec::new();
        let report = worker.handle.stop_with(&QUICK, |step| steps.push(step)).await;

        assert!(witnesses.are_gone(), "{} left", witnesses.n_living());
        Hostile::nothing_is_left(&witnesses, worker.handle.id(), place.path()).await;
        // The worker itself ends at SIGTERM; the five it started do not.
        assert_eq!(report.signal, Some(15), "{report}");
        assert_eq!((report.keeper_lost, report.n_left), (false, 0));
        assert_eq!(steps[0], StopStep::AwaitExit);
        assert_eq!(steps[1], StopStep::Terminate);
    }
}

#[tokio::test]
async fn a_stop_from_two_tasks_ends_once_for_both() {
    let Hostile { mut worker, witnesses, .. } = Hostile::start("stay", false).await;
    worker.stdin = None;

    let other = worker.handle.clone();
    let (one, two) = tokio::join!(worker.handle.stop(&QUICK), other.stop(&QUICK));

    assert_eq!(one, two);
    assert!(witnesses.are_gone());
    assert_eq!(worker.handle.stop(&QUICK).await, one);
}

#[tokio::test]
async fn kill_needs_no_ladder() {
    for cgroups in [false, true] {
        let Hostile { worker, witnesses, place } = Hostile::start("stay", cgroups).await;

        worker.handle.kill();
        let report = worker.handle.ended().await;

        assert_eq!(report.signal, Some(9), "{report}");
        Hostile::nothing_is_left(&witnesses, worker.handle.id(), place.path()).await;
    }
}

#[tokio::test]
async fn a_worker_that_exits_leaves_nothing_behind() {
    for cgroups in [false, true] {
        let Hostile { worker, witnesses, place } = Hostile::start("exit", cgroups).await;

        let exited = worker.handle.exited().await;
        let ended = worker.handle.ended().await;

        assert_eq!((exited.code, exited, ended.keeper_lost), (Some(7), ended, false));
        Hostile::nothing_is_left(&witnesses, worker.handle.id(), place.path()).await;
    }
}

#[tokio::test]
async fn dropping_the_last_handle_ends_the_tree() {
    for cgroups in [false, true] {
        let Hostile { worker, witnesses, place } = Hostile::start("stay", cgroups).await;
        let id = worker.handle.id().to_owned();
        let clone = worker.handle.clone();

        drop(worker);
        assert_eq!(witnesses.n_living(), witnesses.len(), "a clone still holds it");
        drop(clone);

        Hostile::nothing_is_left(&witnesses, &id, place.path()).await;
    }
}

#[tokio::test]
async fn a_killed_keeper_is_noticed_and_replaced() {
    for cgroups in [false, true] {
        let Hostile { worker, witnesses, place } = Hostile::start("stay", cgroups).await;

        kill_9(worker.handle.keeper_pid());
        let report = worker.handle.ended().await;

        assert!(report.keeper_lost, "{report}");
        assert_eq!(report.n_left, 0);
        assert!(worker.handle.exited().await.keeper_lost);
        Hostile::nothing_is_left(&witnesses, worker.handle.id(), place.path()).await;
    }
}

#[tokio::test]
async fn keepers_that_are_killed_together_are_all_replaced() {
    let mut all = Vec::new();
    for n in 0..soak::size(6, 60) {
        all.push(Hostile::start("stay", n % 2 == 0).await);
    }

    for one in &all {
        kill_9(one.worker.handle.keeper_pid());
    }

    for Hostile { worker, witnesses, place } in all {
        let report = worker.handle.ended().await;
        assert_eq!((report.keeper_lost, report.n_left), (true, 0), "{report}");
        Hostile::nothing_is_left(&witnesses, worker.handle.id(), place.path()).await;
    }
}

#[tokio::test]
async fn what_each_thread_of_a_worker_has_started_is_ended() {
    let place = tempfile::tempdir().unwrap();
    let worker = launch_testbin(["threads", place.path().to_str().unwrap()]).spawn().await.unwrap();
    until("all run", || Witnesses::marked_in(place.path()).len() == 5).await;
    let witnesses = Witnesses::of(worker.handle.keeper_pid(), place.path());

    worker.handle.kill();
    let report = worker.handle.ended().await;

    assert_eq!((report.keeper_lost, report.n_left), (false, 0), "{report}");
    assert!(witnesses.are_gone());
}

#[tokio::test]
async fn a_worker_that_is_hurried_has_a_moment_and_is_killed() {
    let Hostile { worker, witnesses, place } = Hostile::start("stay", false).await;
    let hurry = tokio_util::sync::CancellationToken::new();
    let mut launch = launch_testbin(["hang"]);
    launch.hurry = hurry.clone();
    let polite = launch.spawn().await.unwrap();
    let marks = tempfile::tempdir().unwrap();
    let mut launch = launch_testbin(["hostile", marks.path().to_str().unwrap(), "stay"]);
    launch.hurry = hurry.clone();
    let mut deaf = launch.spawn().await.unwrap();
    assert_eq!(read_line(&mut deaf.stdout).await, "ready");

    hurry.cancel();

    assert_eq!(polite.handle.ended().await.signal, Some(15));
    assert_eq!(deaf.handle.ended().await.n_left, 0);
    assert!(Witnesses::marked_in(marks.path()).are_gone());
    assert_eq!(witnesses.n_living(), witnesses.len(), "one with another owner goes on");
    worker.handle.kill();
    worker.handle.ended().await;
    Hostile::nothing_is_left(&witnesses, worker.handle.id(), place.path()).await;
}

#[tokio::test]
async fn a_launcher_that_swallows_signals_is_ended_with_its_child() {
    let place = tempfile::tempdir().unwrap();
    let script = r#"trap "" TERM; "$0" linger "$1"; echo never"#;
    let bin = testbin();
    let args = ["-c", script, bin.to_str().unwrap(), place.path().to_str().unwrap()];
    let mut worker = launch("sh", args).spawn().await.unwrap();
    until("child runs", || !is_empty(place.path())).await;
    let witnesses = Witnesses::of(worker.handle.keeper_pid(), place.path());
    worker.stdin = None;

    let report = worker.handle.stop(&QUICK).await;

    assert_eq!(report.signal, Some(9), "{report}");
    assert!(witnesses.are_gone());
}

#[tokio::test]
async fn a_worker_that_forks_while_it_is_killed_is_ended() {
    for cgroups in [false, true] {
        let place = tempfile::tempdir().unwrap();
        let marks = place.path().join("marks");
        fs::create_dir(&marks).unwrap();
        fs::create_dir(place.path().join("slots")).unwrap();
        let mut launch = launch_testbin(["forker", place.path().to_str().unwrap(), "300"]);
        launch.cgroups = cgroups;
        let worker = launch.spawn().await.unwrap();
        until("it forks", || fs::read_dir(&marks).unwrap().count() > 20).await;

        worker.handle.kill();
        let report = worker.handle.ended().await;

        // On a starved machine the keeper may be too slow and be replaced; ended is ended.
        assert_eq!(report.n_left, 0, "{report}");
        assert!(Witnesses::of(worker.handle.keeper_pid(), &marks).are_gone());
        assert!(!is_marked_anywhere(worker.handle.id()));
    }
}

#[tokio::test]
async fn a_descendant_that_shed_its_marker_is_ended_by_the_keeper() {
    let place = tempfile::tempdir().unwrap();
    let script = r#"env -i "$0" linger "$1" & exec cat"#;
    let bin = testbin();
    let args = ["-c", script, bin.to_str().unwrap(), place.path().to_str().unwrap()];
    let mut launch = launch("sh", args);
    launch.cgroups = false;
    let mut worker = launch.spawn().await.unwrap();
    until("child runs", || !is_empty(place.path())).await;
    let witnesses = Witnesses::of(worker.handle.keeper_pid(), place.path());
    worker.stdin = None;

    // `cat` ends with its input; the keeper then ends what is left.
    let report = worker.handle.ended().await;

    assert_eq!(report.code, Some(0));
    assert!(witnesses.are_gone());
}

#[tokio::test]
async fn a_keeper_that_is_stopped_is_replaced() {
    let Hostile { worker, witnesses, place } = Hostile::start("stay", false).await;
    let keeper = rustix::process::Pid::from_raw(worker.handle.keeper_pid().cast_signed()).unwrap();
    rustix::process::kill_process(keeper, rustix::process::Signal::STOP).unwrap();

    worker.handle.kill();
    let report = worker.handle.ended().await;

    assert!(report.keeper_lost, "{report}");
    Hostile::nothing_is_left(&witnesses, worker.handle.id(), place.path()).await;
}

#[tokio::test]
async fn polite_signals_do_not_end_a_keeper() {
    use rustix::process::Signal;
    let worker = launch_testbin(["hang"]).spawn().await.unwrap();
    let keeper = rustix::process::Pid::from_raw(worker.handle.keeper_pid().cast_signed()).unwrap();

    for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
        rustix::process::kill_process(keeper, signal).unwrap();
    }
    worker.handle.kill();

    let report = worker.handle.ended().await;
    assert_eq!((report.signal, report.keeper_lost), (Some(9), false));
}

#[tokio::test]
async fn a_cgroup_is_used_where_one_can_be_made() {
    let mut launch = launch_testbin(["hang"]);
    launch.cgroups = true;
    let worker = launch.spawn().await.unwrap();

    let is_in_cgroup = worker.handle.containment() == Containment::Cgroup;
    let own = fs::read_to_string(format!("/proc/{}/cgroup", worker.handle.pid())).unwrap();
    let keepers = fs::read_to_string(format!("/proc/{}/cgroup", worker.handle.keeper_pid()));

    let name = format!("switchyard-{}", worker.handle.id());
    assert_eq!(own.contains(&name), is_in_cgroup);
    assert!(!keepers.unwrap().contains(&name), "the keeper must not kill itself");
    worker.handle.kill();
    worker.handle.ended().await;
    assert!(!has_cgroup(worker.handle.id()));
}

#[test]
fn a_worker_outlives_the_thread_that_spawned_it() {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let on_runtime = runtime.handle().clone();
    let spawner =
        std::thread::spawn(move || on_runtime.block_on(launch("cat", []).spawn()).unwrap());
    let mut worker = spawner.join().unwrap();

    runtime.block_on(async {
        use tokio::io::AsyncWriteExt as _;
        let stdin = worker.stdin.as_mut().unwrap();
        stdin.write_all(b"still here\n").await.unwrap();
        assert_eq!(read_line(&mut worker.stdout).await, "still here");
        worker.stdin = None;
        assert_eq!(worker.handle.ended().await.code, Some(0));
    });
}

#[tokio::test]
async fn a_spawn_that_is_given_up_leaves_nothing() {
    let place = tempfile::tempdir().unwrap();
    let records = place.path().join("records");
    let mut launch = launch_testbin(["hang"]);
    launch.records_dir = Some(records.clone());

    let mut spawning = Box::pin(launch.spawn());
    let first_poll = std::future::poll_fn(|context| {
        std::task::Poll::Ready(spawning.as_mut().poll(context).is_ready())
    });
    assert!(!first_poll.await, "the keeper cannot have answered yet");
    let record = fs::read_dir(&records).unwrap().next().unwrap().unwrap().path();
    let id = record.file_stem().unwrap().to_str().unwrap().to_owned();
    drop(spawning);

    until("record removed", || is_empty(&records)).await;
    assert!(!is_marked_anywhere(&id));
}
