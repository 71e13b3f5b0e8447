use std::os::unix::fs::PermissionsExt as _;

use super::*;

fn record(cgroup: Option<Cgroup>) -> WorkerRecord {
    WorkerRecord {
        marker: Marker::parse("00112233445566778899aabbccddeeff").unwrap(),
        owner: ProcessIdentity { pid: 10, start: 100 },
        keeper: ProcessIdentity { pid: 11, start: 101 },
        cgroup,
    }
}

#[test]
fn a_record_reads_back_and_is_closed_to_others() {
    let place = tempfile::tempdir().unwrap();
    let dir = place.path().join("a/b");
    let marker = Marker::parse("00112233445566778899aabbccddeeff").unwrap();
    let group = Cgroup::existing(format!("/c/switchyard-{marker}").into(), &marker).unwrap();

    prepare_dir(&dir).unwrap();
    let path = record(Some(group)).write(&dir).unwrap();

    assert!(WorkerRecord::read(&path).unwrap().cgroup.is_some());
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(fs::metadata(&dir).unwrap().permissions().mode() & 0o777, 0o700);
}

#[test]
fn a_directory_that_others_can_write_is_refused() {
    let place = tempfile::tempdir().unwrap();
    fs::set_permissions(place.path(), fs::Permissions::from_mode(0o777)).unwrap();

    let error = prepare_dir(place.path()).unwrap_err();

    assert_eq!(error.kind(), io::ErrorKind::PermissionDenied);
}

#[test]
fn a_damaged_record_is_no_record() {
    let whole = record(None).to_text();
    assert_eq!(WorkerRecord::parse(&whole), Some(record(None)));

    for damaged in ["", "x", &whole[..40], &whole.replace("owner 10", "owner ten")] {
        assert_eq!(WorkerRecord::parse(damaged), None);
    }
}

#[test]
fn a_forged_cgroup_is_ignored() {
    let forged = format!("{}cgroup /sys/fs/cgroup/system.slice\n", record(None).to_text());

    assert_eq!(WorkerRecord::parse(&forged), Some(record(None)));
}

#[test]
fn we_are_alive_and_a_later_process_of_our_pid_is_not_us() {
    let own = ProcessIdentity::of(std::process::id().cast_signed()).unwrap();

    assert!(own.is_alive());
    assert!(!ProcessIdentity { start: own.start + 1, ..own }.is_alive());
}
