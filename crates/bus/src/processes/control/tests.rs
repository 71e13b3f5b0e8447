use std::os::unix::ffi::OsStringExt as _;

use super::*;

#[test]
fn an_order_survives_the_way_with_any_bytes_in_it() {
    let order = Order {
        program: OsString::from_vec(vec![b'a', 0xff, b'=']),
        args: vec!["".into(), "two words".into()],
        cwd: "/tmp/x y".into(),
        env: vec![("A".into(), "".into()), ("B".into(), OsString::from_vec(vec![0xfe]))],
        cgroup: Some("/sys/fs/cgroup/switchyard-1".into()),
        n_descriptors: Some(1024),
    };

    let sent = Json::of(&order);
    assert_eq!(sent.read::<Order>().unwrap(), order);
}

#[test]
fn a_cut_order_is_refused() {
    let order = Order {
        program: "p".into(),
        args: vec!["a".into()],
        cwd: "/".into(),
        env: vec![("A".into(), "1".into())],
        cgroup: None,
        n_descriptors: None,
    };
    let sent = Json::of(&order);
    for len in 0..sent.as_str().len() {
        let cut = serde_json::from_str::<Order>(&sent.as_str()[..len]);
        assert!(cut.is_err(), "cut at {len}");
    }
}

#[test]
fn every_report_survives_the_way() {
    for report in [
        Report::Started { pid: 7, in_cgroup: true },
        Report::Failed(StartFailure::Cwd(2)),
        Report::Failed(StartFailure::NotFound),
        Report::Failed(StartFailure::NotExecutable(13)),
        Report::Failed(StartFailure::Other(7)),
        Report::ExitedWith(255),
        Report::KilledBy(9),
        Report::Stuck(3),
        Report::Empty,
    ] {
        let sent = report.encode();
        assert!(sent.len() < MAX_REPORT_BYTES && sent.ends_with('\n'));
        assert_eq!(serde_json::from_str::<Report>(&sent).unwrap(), report);
    }
}
