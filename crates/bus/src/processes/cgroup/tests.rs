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
