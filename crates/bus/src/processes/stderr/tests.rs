use super::*;

fn lines_of(chunks: &[&[u8]]) -> Vec<StderrLine> {
    let (mut sink, mut lines) = channel();
    for chunk in chunks {
        sink.feed(chunk);
    }
    sink.finish();
    drop(sink);
    std::iter::from_fn(|| lines.lines.try_recv().ok()).collect()
}

fn check(chunks: &[&[u8]], expect: &[&str]) {
    let texts: Vec<String> = lines_of(chunks).into_iter().map(|line| line.text).collect();
    assert_eq!(texts, expect);
}

#[test]
fn lines_are_the_same_however_they_are_chunked() {
    check(&[b"one\ntwo\n"], &["one", "two"]);
    check(&[b"o", b"ne\nt", b"wo", b"\n"], &["one", "two"]);
    check(&[b"one\r\n\nlast"], &["one", "", "last"]);
    check(&[b"bad \xff byte\n"], &["bad \u{fffd} byte"]);
    check(&[], &[]);
}

#[test]
fn a_long_line_is_cut_and_the_next_one_is_whole() {
    let long = vec![b'x'; MAX_LINE_BYTES * 3];

    let lines = lines_of(&[&long, b"more\nnext\n"]);

    assert_eq!(lines[0].text.len(), MAX_LINE_BYTES);
    assert_eq!(lines[1].text, "next");
}

#[test]
fn what_a_slow_reader_missed_is_counted() {
    let (mut sink, mut lines) = channel();

    for _ in 0..QUEUE_LINES + 3 {
        sink.feed(b"line\n");
    }
    lines.lines.try_recv().unwrap();
    assert_eq!(lines.n_dropped(), 3);
    sink.feed(b"after\n");

    assert_eq!(lines.n_dropped(), 3);
    let last = std::iter::from_fn(|| lines.lines.try_recv().ok()).last().unwrap();
    assert_eq!(last.text, "after");
}

#[test]
fn the_tail_keeps_the_end() {
    let tail = StderrTail::default();

    tail.push(&vec![b'a'; TAIL_BYTES * 2]);
    tail.push(b"the end");

    assert_eq!(tail.text().len(), TAIL_BYTES);
    assert!(tail.text().ends_with("aaathe end"));
}
