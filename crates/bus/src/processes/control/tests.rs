use std::os::unix::ffi::OsStringExt as _;

use super::*;

#[test]
fn an_order_survives_the_way_with_any_bytes_in_it() {
    let order = StartOrder {
        program: OsString::from_vec(vec![b'a', 0xff, b'=']),
        args: vec!["".into(), "two words".into()],
        cwd: "/tmp/x y".into(),
        env: vec![("A".into(), "".into()), ("B".into(), OsString::from_vec(vec![0xfe]))],
        cgroup: Some("/sys/fs/cgroup/switchyard-1".into()),
        n_descriptors: Some(1024),
    };

    let sent = Json::of(&order);
    assert_eq!(sent.read::<StartOrder>().unwrap(), order);
}

#[test]
fn a_cut_order_is_refused() {
    let order = StartOrder {
        program: "p".into(),
        args: vec!["a".into()],
        cwd: "/".into(),
        env: vec![("A".into(), "1".into())],
        cgroup: None,
        n_descriptors: None,
    };
    let sent = Json::of(&order);
    for len in 0..sent.as_str().len() {
        let cut = serde_json::from_str::<StartOrder>(&sent.as_str()[..len]);
        assert!(cut.is_err(), "cut at {len}");
    }
}

#[test]
fn every_report_survives_the_way() {
    for report in [
        KeeperReport::Started { pid: 7, in_cgroup: true },
        KeeperReport::Failed(StartFailure::Cwd(2)),
        KeeperReport::Failed(StartFailure::NotFound),
        KeeperReport::Failed(StartFailure::NotExecutable(13)),
        KeeperReport::Failed(StartFailure::Other(7)),
        KeeperReport::AtLimit(LimitHit::Memory { limit: u64::MAX, of_session: true }),
        KeeperReport::AtLimit(LimitHit::MachineMemory),
        KeeperReport::ExitedWith(255),
        KeeperReport::KilledBy(9),
        KeeperReport::Stuck(3),
        KeeperReport::Empty,
    ] {
        let sent = report.encode();
        assert!(sent.len() < MAX_REPORT_BYTES && sent.ends_with('\n'));
        assert_eq!(serde_json::from_str::<KeeperReport>(&sent).unwrap(), report);
    }
}
