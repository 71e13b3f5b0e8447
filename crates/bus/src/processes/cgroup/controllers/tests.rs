//! The cgroup file system is imitated by a directory of plain files: what is written stays to be
//! read, and nothing is enforced.

use super::*;

const OWN_PID: u32 = 42;
const WANTED: [Controller; 2] = [Controller::Pids, Controller::Memory];

fn cgroup(controllers: &str, procs: &str) -> tempfile::TempDir {
    let place = tempfile::tempdir().unwrap();
    for (file, text) in [
        ("cgroup.controllers", controllers),
        ("cgroup.subtree_control", ""),
        ("cgroup.type", "domain\n"),
        ("cgroup.procs", procs),
    ] {
        fs::write(place.path().join(file), text).unwrap();
    }
    place
}

fn read(place: &tempfile::TempDir, file: &str) -> String {
    fs::read_to_string(place.path().join(file)).unwrap()
}

#[test]
fn a_process_that_is_alone_in_its_cgroup_makes_room_for_workers() {
    let place = cgroup("cpu memory pids\n", "42\n");

    assert_eq!(enable(place.path(), &[Controller::Pids], OWN_PID), []);

    fs::create_dir(place.path().join(DAEMON_GROUP)).unwrap_err();
    assert_eq!(read(&place, &format!("{DAEMON_GROUP}/cgroup.procs")), "0");
    assert_eq!(read(&place, "cgroup.subtree_control"), "+pids");
}

#[test]
fn an_empty_cgroup_and_the_root_are_used_as_they_are() {
    let empty = cgroup("pids\n", "");
    let root = cgroup("pids\n", "1\n42\n");
    fs::remove_file(root.path().join("cgroup.type")).unwrap();

    for place in [empty, root] {
        assert_eq!(enable(place.path(), &[Controller::Pids], OWN_PID), []);
        assert_eq!(read(&place, "cgroup.subtree_control"), "+pids");
        assert!(!place.path().join(DAEMON_GROUP).exists());
    }
}

#[test]
fn nothing_is_moved_where_others_are_in_the_cgroup() {
    let place = cgroup("memory pids\n", "41\n42\n");

    let missing = enable(place.path(), &WANTED, OWN_PID);

    let names: Vec<_> = missing.iter().map(|(controller, _)| *controller).collect();
    assert_eq!(names, WANTED);
    assert!(missing.iter().all(|(_, why)| why.contains("other processes")), "{missing:?}");
    assert_eq!(read(&place, "cgroup.subtree_control"), "");
    assert!(!place.path().join(DAEMON_GROUP).exists());
}

#[test]
fn what_is_handed_on_already_needs_no_room() {
    let place = cgroup("memory pids\n", "41\n42\n");
    fs::write(place.path().join("cgroup.subtree_control"), "memory pids\n").unwrap();

    assert_eq!(enable(place.path(), &WANTED, OWN_PID), []);
}

#[test]
fn a_limit_without_its_controller_is_missing_and_the_others_are_in_force() {
    let place = cgroup("pids\n", "");

    let missing = enable(place.path(), &WANTED, OWN_PID);

    let worker = GroupLimits { pids: 7, memory_bytes: 8, cpu_weight: 0 };
    let limits = WorkerLimits::without(worker, GroupLimits::default(), missing);
    assert_eq!(limits.worker, GroupLimits { pids: 7, ..GroupLimits::default() });
    let [missing] = limits.missing() else { panic!("{limits:?}") };
    assert_eq!(missing.limit, "memory_bytes");
    assert!(missing.why.contains("has no controller `memory`"), "{missing:?}");
}

#[test]
fn a_controller_that_the_kernel_refuses_is_missing() {
    let place = cgroup("pids\n", "");
    fs::remove_file(place.path().join("cgroup.subtree_control")).unwrap();
    fs::create_dir(place.path().join("cgroup.subtree_control")).unwrap();

    let missing = enable(place.path(), &[Controller::Pids], OWN_PID);

    assert!(matches!(&missing[..], [(Controller::Pids, why)] if why.contains("does not hand on")));
}

#[test]
fn limits_that_nobody_wants_are_not_missing() {
    let none = GroupLimits::default();
    assert_eq!(WorkerLimits::prepare(none, none).missing(), []);
    assert_eq!(WorkerLimits::without_cgroups(none, none).missing(), []);
}
