use super::*;

#[test]
fn a_name_full_of_parentheses_does_not_shift_the_fields() {
    let stat = b"42 (a) Z (b\xff) S 7 42 9 0 -1 4194560 1 0 0 0 1 2 3 4 20 0 1 0 5555 1 2 3";

    let process = parse_stat(stat).unwrap();

    let plain = Proc {
        pid: 42,
        parent: 7,
        session: 9,
        start: 5555,
        has_main_thread: true,
        is_zombie: false,
        is_stopped: false,
    };
    assert_eq!(process, plain);
}

#[test]
fn a_process_lives_while_one_of_its_threads_does() {
    let stat = |n_threads: u32| {
        let stat = format!("42 (a) Z 7 42 9 0 -1 4 1 0 0 0 1 2 3 4 20 0 {n_threads} 0 5555 1");
        parse_stat(stat.as_bytes()).unwrap()
    };

    assert!(stat(1).is_zombie && !stat(1).has_main_thread);
    assert!(!stat(2).is_zombie && !stat(2).has_main_thread, "another thread runs");
}

#[test]
fn a_cut_stat_is_nobody() {
    for stat in [&b""[..], b"42", b"42 (a)", b"42 (a) S 7 42"] {
        assert_eq!(parse_stat(stat), None);
    }
}

#[test]
fn a_process_that_is_not_the_one_we_saw_gets_no_signal() {
    let own_pid = i32::try_from(std::process::id()).unwrap();
    let mut own = Proc::read(own_pid).unwrap();
    own.start += 1;

    assert_eq!(own.signal(Signal::KILL), Err(Errno::SRCH));
}
