use proptest::prelude::*;

use super::*;

fn split_in(chunks: &[&[u8]], limit: usize) -> Vec<Result<String, &'static str>> {
    let mut splitter = LineSplitter::new(limit);
    let mut lines = Vec::new();
    for chunk in chunks {
        splitter.feed(chunk);
        while let Some(line) = splitter.next_line() {
            lines.push(line);
        }
    }
    lines.extend(splitter.finish());
    lines.into_iter().map(name).collect()
}

fn name(line: Result<Bytes, LineError>) -> Result<String, &'static str> {
    match line {
        Ok(line) => Ok(String::from_utf8(line.to_vec()).unwrap()),
        Err(LineError::TooLong { .. }) => Err("too long"),
        Err(LineError::NotUtf8 { .. }) => Err("not utf-8"),
        Err(LineError::NoMemory { .. }) => Err("no memory"),
    }
}

fn check(input: &[u8], limit: usize, expect: &[Result<&str, &'static str>]) {
    let expect: Vec<_> = expect.iter().map(|line| line.map(str::to_owned)).collect();
    assert_eq!(split_in(&[input], limit), expect, "whole");
    let bytes: Vec<&[u8]> = input.chunks(1).collect();
    assert_eq!(split_in(&bytes, limit), expect, "byte by byte");
}

#[test]
fn lines_end_at_newlines_only() {
    check("a\u{2028}b\nc\n".as_bytes(), 100, &[Ok("a\u{2028}b"), Ok("c")]);
}

#[test]
fn crlf_and_blank_lines_are_tolerated() {
    check(b"\r\n\n  \na\r\n\r\nb\n", 100, &[Ok("a"), Ok("b")]);
}

#[test]
fn the_last_line_needs_no_newline() {
    check(b"a\nb", 100, &[Ok("a"), Ok("b")]);
}

#[test]
fn a_line_too_long_is_reported_once_and_the_next_one_is_kept() {
    check(b"123456789012345678901234567890\nok\n", 10, &[Err("too long"), Ok("ok")]);
    check(b"ok\n1234567890123", 10, &[Ok("ok"), Err("too long")]);
}

#[test]
fn a_line_of_just_the_limit_fits_also_with_crlf() {
    check(b"1234567890\r\n1234567890\n", 10, &[Ok("1234567890"), Ok("1234567890")]);
}

#[test]
fn invalid_utf8_is_reported_and_the_next_line_is_kept() {
    check(b"\xff\xfe\nok\n", 10, &[Err("not utf-8"), Ok("ok")]);
}

#[test]
fn an_endless_line_takes_no_more_memory_than_the_limit() {
    let mut splitter = LineSplitter::new(1000);
    let mut n_errors = 0;
    for _ in 0..1000 {
        splitter.feed(&[b'x'; 512]);
        while let Some(line) = splitter.next_line() {
            assert!(line.is_err());
            n_errors += 1;
        }
        assert!(splitter.buffer.len() <= 2048);
    }
    assert_eq!(n_errors, 1);
}

proptest! {
    #[test]
    fn any_cut_of_the_stream_gives_the_same_lines(
        input in prop::collection::vec(
            prop_oneof![Just(b'\n'), Just(b'\r'), Just(b'a'), Just(0xff), any::<u8>()], 0..300),
        cuts in prop::collection::vec(0usize..300, 0..20),
        limit in 1usize..40,
    ) {
        let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(input.len())).collect();
        cuts.extend([0, input.len()]);
        cuts.sort_unstable();
        let chunks: Vec<&[u8]> = cuts.windows(2).map(|pair| &input[pair[0]..pair[1]]).collect();

        prop_assert_eq!(split_in(&chunks, limit), split_in(&[&input], limit));
    }
}

#[test]
fn a_large_line_that_has_no_room_is_an_error() {
    // More than any machine has.
    let too_much = isize::MAX.cast_unsigned() / 4;
    let mut lines = LineSplitter::new(usize::MAX / 8);
    lines.make_room(LARGE_BYTES).unwrap();
    lines.feed(&vec![b'x'; LARGE_BYTES]);
    assert_eq!(lines.make_room(too_much), Err(LineError::NoMemory { n_bytes: LARGE_BYTES }));
    assert!(lines.buffer().is_empty() && lines.buffer().capacity() == 0, "it is let go");
}
