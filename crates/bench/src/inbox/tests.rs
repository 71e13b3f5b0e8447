//! Lines come out the same however the bytes come in.

use std::io::Write;
use std::net::Shutdown;
use std::os::unix::net::UnixStream;

use super::*;

#[test]
fn lines_do_not_depend_on_how_the_stream_is_cut() {
    let text = b"one\n\ntwo two\nthree\n";
    for first in 0..text.len() {
        for second in first..text.len() {
            let (mut ours, theirs) = UnixStream::pair().unwrap();
            theirs.set_nonblocking(true).unwrap();
            let mut inbox = Inbox::default();
            let mut lines = Vec::new();
            for part in [&text[..first], &text[first..second], &text[second..]] {
                ours.write_all(part).unwrap();
                let expected =
                    if part.is_empty() { FillOutcome::NothingYet } else { FillOutcome::Some };
                assert_eq!(inbox.fill(&theirs).unwrap(), expected);
                while let Some(line) = inbox.next_line() {
                    lines.push(String::from_utf8(line.to_vec()).unwrap());
                }
            }
            assert_eq!(lines, ["one\n", "\n", "two two\n", "three\n"], "{first} {second}");

            // Not by dropping it: a process that another test just starts may hold it too.
            ours.shutdown(Shutdown::Write).unwrap();
            assert_eq!(inbox.fill(&theirs).unwrap(), FillOutcome::End);
        }
    }
}
