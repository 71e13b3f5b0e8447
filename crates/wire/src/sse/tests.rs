use proptest::prelude::*;

use super::*;

/// What a line says, kept.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Kept {
    Blank,
    Field(Vec<u8>, Option<Vec<u8>>),
}

impl From<SseLine<'_>> for Kept {
    fn from(line: SseLine<'_>) -> Self {
        match line {
            SseLine::Blank => Self::Blank,
            SseLine::Field { name, value } => Self::Field(name.into(), value.map(Into::into)),
        }
    }
}

fn field(name: &str, value: &str) -> Kept {
    Kept::Field(name.into(), Some(value.into()))
}

fn lines_of(chunks: &[&[u8]]) -> Vec<Kept> {
    let (mut lines, mut kept) = (SseLines::default(), Vec::new());
    for mut chunk in chunks.iter().copied() {
        while let Some(line) = lines.next(&mut chunk, 1 << 20).unwrap() {
            kept.push(line.into());
        }
    }
    kept.extend(lines.finish().map(Kept::from));
    assert_eq!(lines.finish(), None, "the last line is told once");
    kept
}

fn events_of(chunks: &[&[u8]]) -> Vec<SseEvent> {
    let (mut reader, mut events) = (SseParser::new(1000), Vec::new());
    for chunk in chunks {
        reader.feed(chunk, &mut events).unwrap();
    }
    events
}

fn check_lines(input: &str, expected: &[Kept]) {
    assert_eq!(lines_of(&[input.as_bytes()]), expected, "whole");
    let bytes: Vec<&[u8]> = input.as_bytes().chunks(1).collect();
    assert_eq!(lines_of(&bytes), expected, "byte by byte");
}

fn event(name: &str, data: &str) -> SseEvent {
    SseEvent { name: name.into(), data: data.into(), ..SseEvent::default() }
}

#[test]
fn the_space_after_the_colon_may_be_missing_and_only_one_is_taken() {
    check_lines(
        "data:a\ndata: b\ndata:  c",
        &[field("data", "a"), field("data", "b"), field("data", " c")],
    );
}

#[test]
fn every_kind_of_line_end_is_one() {
    let expected = [field("data", "a"), Kept::Blank, field("data", "b"), Kept::Blank];
    for end in ["\n", "\r\n", "\r"] {
        check_lines(&format!("data: a{end}{end}data: b{end}{end}"), &expected);
    }
}

#[test]
fn a_mark_of_byte_order_is_taken_from_the_first_line_alone() {
    let expected = [field("data", "ä"), field("\u{feff}data", "b")];
    check_lines("\u{feff}data: ä\n\u{feff}data: b", &expected);
    check_lines("\u{feff}data: ä", &expected[..1]);
}

#[test]
fn a_line_without_a_colon_and_a_comment_are_told_apart_from_fields() {
    check_lines(
        "data\n: ping\nerror: {}\n",
        &[Kept::Field(b"data".into(), None), field("", "ping"), field("error", "{}")],
    );
}

#[test]
fn a_line_is_refused_before_it_fills_the_memory() {
    let mut lines = SseLines::default();
    assert_eq!(lines.next(&mut [b'x'; 100].as_slice(), 100), Ok(None));
    assert_eq!(lines.next(&mut b"x".as_slice(), 100), Err(SseTooLong { limit: 100 }));
}

/// Every line end, a mark, an unknown field, fields that come twice, and an end in mid-event.
const ODD: &str = "\u{feff}: hello\nevent: endpoint\ndata: /messages?a=1\n\n\
    data:first\rdata: second\r\rid: 7\r\nretry: 10\r\nretry: x\r\ndata: üñ\r\nwhat: ever\r\nalone\r\n\r\n\
    event: none\n\ndata\n\ndata: unfinished";

/// As the daemon's own streams are.
const PLAIN: &str = "retry: 1000\n\nevent: stream\ndata: {\"a\":1}\n\n: still here\n\n\
    id: 8-9f\r\ndata: {\"seq\":8,\"text\":\"é\"}\r\n\r\nid: 9-9f\ndata: one\ndata: two\n\n";

#[test]
fn a_stream_is_cut_into_its_events() {
    let numbered = |id: &str, data: &str| SseEvent { id: Some(id.into()), ..event("", data) };
    let expected = [
        event("endpoint", "/messages?a=1"),
        event("", "first\nsecond"),
        numbered("7", "üñ"),
        event("", ""),
    ];
    assert_eq!(events_of(&[ODD.as_bytes()]), expected);

    let expected = [
        event("stream", "{\"a\":1}"),
        numbered("8-9f", "{\"seq\":8,\"text\":\"é\"}"),
        numbered("9-9f", "one\ntwo"),
    ];
    assert_eq!(events_of(&[PLAIN.as_bytes()]), expected);
}

#[test]
fn an_endless_line_and_endless_data_are_refused() {
    let (mut one_line, mut many_lines) = (SseParser::new(100), SseParser::new(100));
    let mut events = Vec::new();
    assert!(one_line.feed(&[b'x'; 60], &mut events).is_ok());
    assert!(one_line.feed(&[b'x'; 60], &mut events).is_err());
    assert!((0..50).any(|_| many_lines.feed(b"data: 0123456789\n", &mut events).is_err()));
}

#[test]
fn what_came_before_an_endless_line_is_told() {
    let mut events = Vec::new();
    let stream = format!("data: a\n\ndata: {}", "x".repeat(100));
    assert!(SseParser::new(50).feed(stream.as_bytes(), &mut events).is_err());
    assert_eq!(events, [event("", "a")]);
}

fn cut<'a>(input: &'a [u8], cuts: &[prop::sample::Index]) -> Vec<&'a [u8]> {
    let mut cuts: Vec<_> = cuts.iter().map(|cut| cut.index(input.len() + 1)).collect();
    cuts.extend([0, input.len()]);
    cuts.sort_unstable();
    cuts.windows(2).map(|pair| &input[pair[0]..pair[1]]).collect()
}

proptest! {
    #[test]
    fn any_cut_gives_the_same_lines_and_events(
        input in prop::collection::vec(
            prop::sample::select(vec![
                "data:", "data: ", "\n", "\r", "\r\n", ": c", "event: error", "id: 1", "retry: 1",
                "ä", "🦀", "{", "x", " ", "\u{feff}",
            ]),
            0..40,
        ),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..8),
    ) {
        for input in [&input.concat(), ODD, PLAIN] {
            let input = input.as_bytes();
            prop_assert_eq!(lines_of(&cut(input, &cuts)), lines_of(&[input]));
            prop_assert_eq!(events_of(&cut(input, &cuts)), events_of(&[input]));
        }
    }

    #[test]
    fn no_bytes_make_it_panic(chunks in prop::collection::vec(any::<Vec<u8>>(), 0..8)) {
        let chunks: Vec<&[u8]> = chunks.iter().map(Vec::as_slice).collect();
        lines_of(&chunks);
        let (mut reader, mut events) = (SseParser::new(64), Vec::new());
        for chunk in chunks {
            let _ = reader.feed(chunk, &mut events);
        }
    }
}
