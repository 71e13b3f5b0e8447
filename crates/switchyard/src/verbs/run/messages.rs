//! Prompts that come on stdin, a line each.
//!
//! In: stdin. Out: its lines, in order. A blank line is no message; one that is too long or not
//! UTF-8 is reported on stderr by its number and skipped. No more than one message is read ahead,
//! so whoever writes faster than the agent answers waits at the pipe.

use std::io::{self, Read};

use tokio::sync::mpsc;
use wire::{LineError, LineSplitter};

use crate::terminal;

/// How many bytes are read at once.
const CHUNK_BYTES: usize = 64 << 10;

#[derive(Debug)]
pub(super) struct Messages {
    lines: mpsc::Receiver<Result<String, String>>,
    /// Whether something on stdin could not be read.
    pub(super) has_unread: bool,
}

impl Messages {
    /// Reads on a thread that nothing can interrupt.
    pub(super) fn from_stdin() -> Self {
        let (sender, lines) = mpsc::channel(1);
        std::thread::spawn(move || {
            let stdin = io::stdin().lock();
            let take = |line| sender.blocking_send(line).is_ok();
            read(stdin, wire::limits::CLIENT_LINE_BYTES, take);
        });
        Self { lines, has_unread: false }
    }

    /// The next message; `None` when there are no more. Cancel-safe.
    pub(super) async fn next(&mut self) -> Option<String> {
        loop {
            match self.lines.recv().await? {
                Ok(text) => return Some(text),
                Err(why) => {
                    self.has_unread = true;
                    terminal::say(&format!("switchyard: {why}"));
                }
            }
        }
    }
}

/// Gives the lines of `source` to `take`, or why one cannot be read, until nobody takes them.
fn read(mut source: impl Read, max_bytes: usize, take: impl Fn(Result<String, String>) -> bool) {
    let mut lines = LineSplitter::new(max_bytes);
    let mut chunk = vec![0; CHUNK_BYTES];
    let mut number = 0;
    let mut pass_on = |line: Result<String, LineError>| {
        number += 1;
        match line {
            Ok(text) if text.trim().is_empty() => true,
            text => take(text.map_err(|error| format!("message {number} on stdin: {error}"))),
        }
    };
    loop {
        match source.read(&mut chunk) {
            Ok(0) => break,
            Ok(n) => lines.feed(chunk.get(..n).unwrap_or_default()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => {
                take(Err(format!("cannot read stdin any further: {error}")));
                return;
            }
        }
        while let Some(line) = lines.next_line() {
            if !pass_on(line.map(text)) {
                return;
            }
        }
    }
    if let Some(line) = lines.finish() {
        pass_on(line.map(text));
    }
}

/// The splitter lets nothing through that is not UTF-8.
fn text(line: impl AsRef<[u8]>) -> String {
    String::from_utf8_lossy(line.as_ref()).into_owned()
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    fn read_all(source: &[u8], max_bytes: usize) -> Vec<Result<String, String>> {
        let taken = RefCell::new(Vec::new());
        read(source, max_bytes, |line| {
            taken.borrow_mut().push(line);
            true
        });
        taken.into_inner()
    }

    #[test]
    fn a_line_is_a_message_and_one_that_cannot_be_read_is_told_by_its_number() {
        let lines = read_all(b"one\r\n\n  \nway too long\nb\xffd\n\xc2\xa0\nlast", 8);
        let [first, long, bad, last] = &lines[..] else { panic!("{lines:?}") };
        assert_eq!((first, last), (&Ok("one".to_owned()), &Ok("last".to_owned())));
        let why = long.as_ref().unwrap_err();
        assert!(why.starts_with("message 2 on stdin: a line is longer than 8 bytes"), "{why}");
        let why = bad.as_ref().unwrap_err();
        assert!(why.starts_with("message 3 on stdin: ") && why.contains("UTF-8"), "{why}");
    }

    #[test]
    fn nothing_is_read_for_somebody_who_has_gone() {
        let taken = RefCell::new(0);
        read(&b"a\nb\nc\n"[..], 8, |_| {
            *taken.borrow_mut() += 1;
            false
        });
        assert_eq!(taken.into_inner(), 1);
    }
}
