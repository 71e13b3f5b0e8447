use super::*;

#[test]
fn a_name_full_of_parentheses_does_not_shift_the_fields() {
    let stat = b"42 (a) Z (b\xff) S 7 42 9 0 -1 4194560 1 0 0 0 1 2 3 4 20 0 1 0 5555 1 2 3";

    let process = parse_stat(stat).unwrap();

    let plain =
        Proc { pid: 42, parent: 7, session: 9, start: 5555, is_zombie: false, is_stopped: false };
    assert_eq!(process, plain);
}

#[test]
fn a_cut_stat_is_nobody() {
    for stat in [&b""[..], b"42", b"42 (a)", b"42 (a) S 7 42"] {
        assert_eq!(parse_stat(stat), None);
    }
}

#[test]
fn descendants_are_found_at_any_depth_and_loops_end() {
    let process = |pid, parent| Proc {
        pid,
        parent,
        session: 0,
        start: 0,
        is_zombie: false,
        is_stopped: false,
    };
    let all = [process(2, 1), process(3, 2), process(4, 9), process(9, 4), process(5, 3)];

    let mut pids: Vec<i32> = descendants(&[1], &all).iter().map(|found| found.pid).collect();

    pids.sort_unstable();
    assert_eq!(pids, [2, 3, 5]);
    assert_eq!(descendants(&[4], &all).len(), 1);
}

#[test]
fn a_process_that_is_not_the_one_we_saw_gets_no_signal() {
    let own_pid = i32::try_from(std::process::id()).unwrap();
    let mut own = Proc::read(own_pid).unwrap();
    own.start += 1;

    assert_eq!(own.signal(Signal::KILL), Err(Errno::SRCH));
}
