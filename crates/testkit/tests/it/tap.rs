//! The tap passes everything on and writes everything down.

use crate::stage::{TAP, home};
use std::io::{Read as _, Write as _};
use std::process::{Child, Stdio};
use testkit::test_home::TestHome;
use testkit::{Direction, tap};

fn tapped(home: &TestHome, script: &str) -> Child {
    let record = home.path().join("tap.ndjson");
    home.other(TAP, [record.to_str().unwrap(), "--", "sh", "-c", script])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

#[test]
fn bytes_pass_unchanged_and_lines_are_written_down() {
    let home = home();
    let sent = b"one\n\xff\xfe two\r\n\nlast without newline".to_vec();
    let mut child = tapped(&home, "cat");

    child.stdin.take().unwrap().write_all(&sent).unwrap();
    let mut received = Vec::new();
    child.stdout.take().unwrap().read_to_end(&mut received).unwrap();
    assert!(child.wait().unwrap().success());

    assert_eq!(received, sent);
    let record = tap::read(home.path().join("tap.ndjson")).unwrap();
    for direction in [Direction::ClientToAgent, Direction::AgentToClient] {
        let lines: Vec<_> = record
            .entries
            .iter()
            .filter(|entry| entry.direction == direction)
            .map(|entry| entry.line.as_str())
            .collect();
        assert_eq!(lines, ["one", "\u{fffd}\u{fffd} two\r", "", "last without newline"]);
    }
}

#[test]
fn megabytes_pass_unchanged() {
    let home = home();
    let sent: Vec<u8> = (0..4_000_000_u32).map(|n| b'a' + (n % 26) as u8).collect();
    let mut child = tapped(&home, "cat");

    let mut stdin = child.stdin.take().unwrap();
    let expected = sent.clone();
    let writing = std::thread::spawn(move || stdin.write_all(&sent).unwrap());
    let mut received = Vec::new();
    child.stdout.take().unwrap().read_to_end(&mut received).unwrap();
    writing.join().unwrap();

    assert!(received == expected);
    assert!(child.wait().unwrap().success());
}

#[test]
fn the_exit_is_that_of_the_child_while_our_stdin_is_open() {
    let home = home();

    let mut failing = tapped(&home, "exit 7");
    let mut killed = tapped(&home, "kill -9 $$");

    assert_eq!(failing.wait().unwrap().code(), Some(7));
    assert_eq!(killed.wait().unwrap().code(), Some(137));
}

#[test]
fn the_end_of_stdout_is_passed_on_while_the_child_lives() {
    let home = home();
    let mut child = tapped(&home, "echo bye; exec >&-; read line; exit 3");

    let mut received = String::new();
    child.stdout.take().unwrap().read_to_string(&mut received).unwrap();

    assert_eq!(received, "bye\n");
    assert!(child.try_wait().unwrap().is_none());
    drop(child.stdin.take());
    assert_eq!(child.wait().unwrap().code(), Some(3));
}
