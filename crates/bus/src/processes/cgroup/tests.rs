use super::*;

fn check(mountinfo: &str, own: &str, expect: Option<&str>) {
    assert_eq!(own_dir(mountinfo, own), expect.map(PathBuf::from));
}

#[test]
fn our_directory_is_mount_point_plus_path() {
    let hybrid = "30 1 0:5 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids\n\
                  41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n";
    check(hybrid, "8:pids:/x\n0::/\n", Some("/sys/fs/cgroup/unified/"));
    check(
        "41 31 0:38 / /sys/fs/cgroup rw shared:4 - cgroup2 cgroup2 rw\n",
        "0::/user.slice/a.scope\n",
        Some("/sys/fs/cgroup/user.slice/a.scope"),
    );
}

#[test]
fn a_mount_that_shows_a_part_is_honoured() {
    let part = "41 31 0:38 /box /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n";
    check(part, "0::/box/inner\n", Some("/sys/fs/cgroup/inner"));
    check(part, "0::/elsewhere\n", None);
}

#[test]
fn without_cgroup_v2_there_is_none() {
    check("30 1 0:5 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids\n", "0::/\n", None);
    check("", "8:pids:/x\n", None);
}

#[test]
fn a_path_that_does_not_carry_the_marker_is_refused() {
    let marker = Marker::parse("00112233445566778899aabbccddeeff").unwrap();
    let right = PathBuf::from("/sys/fs/cgroup/switchyard-00112233445566778899aabbccddeeff");

    assert!(Cgroup::existing(right, &marker).is_some());
    assert!(Cgroup::existing("/sys/fs/cgroup/system.slice".into(), &marker).is_none());
}

/// A directory that stands for a cgroup which hands its controllers on; its files are plain ones.
fn imitated(limits: &WorkerLimits) -> (tempfile::TempDir, Cgroup) {
    let place = tempfile::tempdir().unwrap();
    let marker = Marker::parse("00112233445566778899aabbccddeeff").unwrap();
    let group = Cgroup::create_below(place.path(), &marker, limits).unwrap();
    (place, group)
}

fn read(dir: &Path, file: &str) -> Option<String> {
    fs::read_to_string(dir.join(file)).ok()
}

const PER_WORKER: GroupLimits = GroupLimits { pids: 100, memory_bytes: 5000, cpu_weight: 50 };

#[test]
fn a_group_is_held_to_its_limits() {
    let limits = WorkerLimits::without(PER_WORKER, GroupLimits::default(), Vec::new());

    let (place, group) = imitated(&limits.of_session("one"));

    assert_eq!(group.dir().parent(), Some(place.path()));
    let values = ["pids.max", "memory.max", "memory.oom.group", "cpu.weight"]
        .map(|file| read(group.dir(), file).unwrap());
    assert_eq!(values, ["100", "5000", "1", "50"]);
}

#[test]
fn a_group_without_limits_is_left_as_the_kernel_makes_it() {
    let (_place, group) = imitated(&WorkerLimits::default());
    assert_eq!(fs::read_dir(group.dir()).unwrap().count(), 0);
}

#[test]
fn workers_of_a_session_share_its_limits() {
    let session = GroupLimits { pids: 300, memory_bytes: 9000, cpu_weight: 0 };
    let limits = WorkerLimits::without(GroupLimits::default(), session, Vec::new());

    let (place, group) = imitated(&limits.of_session("one"));

    let around = place.path().join("switchyard-session-one");
    assert_eq!(group.dir().parent(), Some(around.as_path()));
    assert_eq!(read(&around, "pids.max").as_deref(), Some("300"));
    assert_eq!(read(&around, "memory.max").as_deref(), Some("9000"));
    assert_eq!(read(&around, "cgroup.subtree_control").as_deref(), Some("+memory"));
    // When the session has too much, one of its workers dies, and that one whole.
    assert_eq!(read(&around, "memory.oom.group"), None);
    assert_eq!(read(group.dir(), "memory.oom.group").as_deref(), Some("1"));

    let other = Marker::parse("ffeeddccbbaa99887766554433221100").unwrap();
    let second = Cgroup::create_below(place.path(), &other, &limits.of_session("one")).unwrap();
    assert_eq!(second.dir().parent(), Some(around.as_path()));
    let shared = Cgroup::create_below(place.path(), &other, &limits).unwrap();
    assert_eq!(shared.dir().parent(), Some(place.path()));
}

#[test]
fn the_group_of_a_session_goes_with_its_last_worker() {
    let place = tempfile::tempdir().unwrap();
    let around = place.path().join("switchyard-session-one");
    let markers = ["00112233445566778899aabbccddeeff", "ffeeddccbbaa99887766554433221100"];
    let groups = markers.map(|marker| Cgroup { dir: around.join(format!("switchyard-{marker}")) });
    for group in &groups {
        fs::create_dir_all(group.dir()).unwrap();
    }

    let [first, last] = groups;
    assert!(first.remove());
    assert!(around.exists());
    assert!(last.remove());
    assert!(!around.exists());
    assert!(place.path().exists());
}
