use std::os::fd::OwnedFd;

use proptest::prelude::*;
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};

use super::*;

const MARKS: QueueMarks = QueueMarks { low: 10, high: 20, full: 40 };

fn nonblocking_pipe() -> (OwnedFd, OwnedFd) {
    pipe_with(PipeFlags::NONBLOCK | PipeFlags::CLOEXEC).unwrap()
}

fn read_some(from: &OwnedFd, n: usize, into: &mut Vec<u8>) -> bool {
    let mut buffer = vec![0; n];
    match rustix::io::read(from, &mut buffer) {
        Ok(n) => into.extend_from_slice(&buffer[..n]),
        Err(Errno::AGAIN) => return false,
        Err(error) => panic!("{error}"),
    }
    true
}

#[test]
fn a_line_that_waits_alone_is_no_pressure() {
    let mut outbox = Outbox::default();
    outbox.push(Bytes::from(vec![b'x'; 100]));
    assert_eq!(outbox.crossing(MARKS), None);
    outbox.push(Bytes::from_static(b"y"));
    assert_eq!(outbox.crossing(MARKS), Some(QueueLevel::Full));
    assert_eq!(outbox.crossing(MARKS), None, "each crossing is told once");
}

#[test]
fn levels_fall_behind_the_marks() {
    let (read, write) = nonblocking_pipe();
    let mut outbox = Outbox::default();
    for _ in 0..30 {
        outbox.push(Bytes::from_static(b"z"));
    }
    assert_eq!(outbox.crossing(MARKS), Some(QueueLevel::High));
    assert_eq!(outbox.flush(&write), FlushOutcome::All);
    assert_eq!(outbox.crossing(MARKS), Some(QueueLevel::Low));
    let mut seen = Vec::new();
    read_some(&read, 100, &mut seen);
    assert_eq!(seen, [b'z'; 30]);
}

#[test]
fn a_reader_that_is_gone_is_told_from_one_that_is_slow() {
    let (read, write) = nonblocking_pipe();
    let mut outbox = Outbox::default();
    outbox.push(Bytes::from(vec![b'x'; 1 << 20]));
    assert_eq!(outbox.flush(&write), FlushOutcome::Blocked);
    drop(read);
    assert_eq!(outbox.flush(&write), FlushOutcome::Broken);
}

proptest! {
    /// Whatever the sizes and however slow the reader: every byte once, in order.
    #[test]
    fn nothing_is_lost_doubled_or_reordered(
        steps in prop::collection::vec((0_usize..40_000, any::<bool>(), 0_usize..90_000), 1..40),
    ) {
        let (read, write) = nonblocking_pipe();
        let (mut outbox, mut sent, mut seen) = (Outbox::default(), Vec::new(), Vec::new());
        for (index, (size, is_flushed, n_read)) in steps.into_iter().enumerate() {
            let line = vec![u8::try_from(index % 251).unwrap(); size];
            sent.extend_from_slice(&line);
            outbox.push(Bytes::from(line));
            prop_assert!(outbox.n_bytes() <= sent.len());
            if is_flushed {
                outbox.flush(&write);
                read_some(&read, n_read.max(1), &mut seen);
            }
        }
        while outbox.flush(&write) == FlushOutcome::Blocked {
            while read_some(&read, 65_536, &mut seen) {}
        }
        while read_some(&read, 65_536, &mut seen) {}
        prop_assert_eq!(outbox.n_bytes(), 0);
        prop_assert!(seen == sent, "{} of {} bytes arrived as sent", seen.len(), sent.len());
    }
}
