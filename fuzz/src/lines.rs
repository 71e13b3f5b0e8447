//! Cutting a stream into lines: any pieces of it give the lines that the whole stream has.

use wire::{LineError, LineSplitter};

use super::script::Script;

type Line = Result<Vec<u8>, LineError>;

pub fn cut(data: &[u8]) {
    let script = Script::read(data);
    let limit = usize::from(script.setting);
    let (mut splitter, mut lines) = (LineSplitter::new(limit), Vec::new());
    for (piece, _) in script.pieces() {
        splitter.feed(piece);
        while let Some(line) = splitter.next_line() {
            lines.push(line.map(|line| line.to_vec()));
        }
        // What waits is no more than a line and its `\r`, however little of it was asked for.
        assert!(splitter.buffer().len() <= limit + 1, "more is held than a line");
    }
    lines.extend(splitter.finish().map(|line| line.map(|line| line.to_vec())));
    assert_eq!(lines, lines_of(script.bytes, limit));
}

/// The same with all of the stream at hand, too simple to be wrong.
fn lines_of(stream: &[u8], limit: usize) -> Vec<Line> {
    let mut lines: Vec<&[u8]> = stream.split(|byte| *byte == b'\n').collect();
    let unended = lines.pop().unwrap_or_default();
    let ended = lines.into_iter().map(|line| line.strip_suffix(b"\r").unwrap_or(line));
    let read = |line: &[u8]| match line {
        _ if line.len() > limit => Some(Err(LineError::TooLong { limit })),
        _ if line.iter().all(u8::is_ascii_whitespace) => None,
        _ if std::str::from_utf8(line).is_err() => {
            Some(Err(LineError::NotUtf8 { line: line.to_vec().into() }))
        }
        _ => Some(Ok(line.to_vec())),
    };
    ended.chain([unended]).filter_map(read).collect()
}
