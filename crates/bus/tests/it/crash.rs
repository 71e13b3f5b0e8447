//! A process we started is a process we end, also when we are killed ourselves.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use bus::sweep;
use tempfile::TempDir;

use crate::stage::{
    Witnesses, has_cgroup, is_empty, is_gone_once_reaped, is_marked_anywhere, kill_9, testbin,
    until,
};

/// A Switchyard of its own, to be killed.
struct Parent {
    process: std::process::Child,
    keeper_pid: u32,
    id: String,
    witnesses: Witnesses,
    place: TempDir,
}

impl Parent {
    fn start(cgroups: bool) -> Self {
        let place = tempfile::tempdir().unwrap();
        let records = place.path().join("records");
        Self::start_in(place, &records, cgroups)
    }

    fn start_in(place: TempDir, records: &Path, cgroups: bool) -> Self {
        // Init would reap the keeper of a killed parent; here we do, and nobody above us.
        rustix::process::set_child_subreaper(Some(rustix::process::getpid())).unwrap();
        let marks = place.path().join("marks");
        fs::create_dir(&marks).unwrap();
        let mut process = Command::new(testbin())
            .args(["parent".as_ref(), marks.as_os_str()])
            .arg(records)
            .arg(if cgroups { "cgroups" } else { "keeper" })
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let (keeper_pid, id) = line.trim().split_once(' ').unwrap();
        let keeper_pid = keeper_pid.parse().unwrap();
        let witnesses = Witnesses::of(keeper_pid, &marks).without(keeper_pid);
        assert!(witnesses.len() >= 5);
        Self { process, keeper_pid, id: id.to_owned(), witnesses, place }
    }

    fn records(&self) -> std::path::PathBuf {
        self.place.path().join("records")
    }

    /// Kills it and its keeper, so that nobody is left to end the worker's processes.
    async fn kill_with_keeper(&mut self) {
        // The keeper first: stopped, so that it cannot act on its parent's death.
        let keeper = rustix::process::Pid::from_raw(self.keeper_pid.cast_signed()).unwrap();
        rustix::process::kill_process(keeper, rustix::process::Signal::STOP).unwrap();
        self.process.kill().unwrap();
        self.process.wait().unwrap();
        kill_9(self.keeper_pid);
        until("keeper gone", || is_gone_once_reaped(self.keeper_pid)).await;
        assert!(self.witnesses.n_living() >= 5, "the tree outlived both");
    }
}

#[tokio::test]
async fn a_killed_parent_leaves_nothing_but_a_record() {
    for cgroups in [false, true] {
        let mut parent = Parent::start(cgroups);
        let while_alive = sweep(&parent.records()).unwrap();
        assert_eq!((while_alive.n_alive, while_alive.ended.len()), (1, 0));
        assert_eq!(parent.witnesses.n_living(), parent.witnesses.len());

        parent.process.kill().unwrap();
        parent.process.wait().unwrap();

        until("tree gone", || parent.witnesses.are_gone()).await;
        until("keeper gone", || is_gone_once_reaped(parent.keeper_pid)).await;
        assert!(!is_marked_anywhere(&parent.id));
        assert!(!has_cgroup(&parent.id));

        let swept = sweep(&parent.records()).unwrap();
        assert_eq!(swept.ended.len(), 1);
        assert!(swept.ended[0].pids.is_empty());
        assert!(is_empty(&parent.records()));
    }
}

#[tokio::test]
async fn when_parent_and_keeper_are_killed_the_sweep_ends_the_tree() {
    for cgroups in [false, true] {
        let mut parent = Parent::start(cgroups);

        parent.kill_with_keeper().await;

        let swept = sweep(&parent.records()).unwrap();

        assert_eq!(swept.ended.len(), 1);
        assert_eq!(swept.ended[0].id, parent.id);
        assert!(swept.ended[0].pids.len() >= 6 || cgroups, "{swept:?}");
        assert_eq!(swept.ended[0].n_left, 0);
        until("tree gone", || parent.witnesses.are_gone()).await;
        assert!(!is_marked_anywhere(&parent.id));
        assert!(!has_cgroup(&parent.id));
        assert!(is_empty(&parent.records()));
    }
}

#[tokio::test]
async fn a_sweep_ends_many_workers_and_tells_whose_processes_they_were() {
    let place = tempfile::tempdir().unwrap();
    let records = place.path().join("records");
    let mut parents = Vec::new();
    for cgroups in [false, true, false] {
        parents.push(Parent::start_in(tempfile::tempdir().unwrap(), &records, cgroups));
    }
    let mut alive = Parent::start_in(tempfile::tempdir().unwrap(), &records, false);
    for parent in &mut parents {
        parent.kill_with_keeper().await;
    }

    let swept = sweep(&records).unwrap();

    assert_eq!((swept.n_alive, swept.ended.len()), (1, 3));
    for parent in &parents {
        let ended = swept.ended.iter().find(|ended| ended.id == parent.id).unwrap();
        assert_eq!(ended.n_left, 0);
        let own = |pid: &u32| parent.witnesses.has(*pid);
        assert!(ended.pids.iter().all(own), "{ended:?} {:?}", parent.witnesses);
        until("tree gone", || parent.witnesses.are_gone()).await;
    }
    assert_eq!(alive.witnesses.n_living(), alive.witnesses.len(), "the supervised one stays");
    alive.process.kill().unwrap();
    alive.process.wait().unwrap();
    until("tree gone", || alive.witnesses.are_gone()).await;
    until("keeper gone", || is_gone_once_reaped(alive.keeper_pid)).await;
}

#[test]
fn a_killed_keeper_is_replaced_even_when_no_thread_can_be_had() {
    if rustix::process::geteuid().is_root() {
        println!("skipped: root has no limit on processes; `ordinary_user` runs this");
        return;
    }
    let place = tempfile::tempdir().unwrap();

    let output = Command::new(testbin()).arg("exhausted").arg(place.path()).output().unwrap();

    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.stdout, b"exit status unknown, keeper lost\n", "{stderr}");
    assert_eq!(Witnesses::marked_in(place.path()).n_living(), 0);
}
