use proptest::prelude::*;

use super::*;

const MAX: usize = 24;

fn cut_all(chunks: &[&[u8]]) -> Vec<LineCut> {
    let (mut inbox, mut cuts) = (LineCutter::default(), Vec::new());
    for chunk in chunks {
        let mut chunk = Bytes::copy_from_slice(chunk);
        while let Some(cut) = inbox.cut(&mut chunk, MAX) {
            cuts.push(cut);
        }
        assert!(chunk.is_empty());
    }
    cuts.extend(inbox.finish(MAX));
    cuts
}

fn line(text: &str) -> LineCut {
    LineCut::Line(Bytes::copy_from_slice(text.as_bytes()))
}

#[test]
fn lines_are_cut_at_newlines_only() {
    let cuts = cut_all(&[b"{\"a\":1}\r\n\n  \n{\"b\"", b":\xe2\x80\xa8}\n{}"]);
    assert_eq!(cuts, [line("{\"a\":1}"), line("{\"b\":\u{2028}}"), line("{}")]);
}

#[test]
fn a_byte_order_mark_is_no_part_of_a_line() {
    assert_eq!(cut_all(&[b"\xEF\xBB", b"\xBF{}\n"]), [line("{}")]);
}

#[test]
fn a_line_over_the_limit_is_told_once_and_the_next_one_is_whole() {
    let long = [b"{\"id\":7,".as_slice(), &[b'x'; 100]].concat();
    let cuts = cut_all(&[&long, &long, b"x\n{\"ok\":1}\n"]);
    assert!(
        matches!(&cuts[0], LineCut::TooLong(head) if head.starts_with(b"{\"id\":7,")),
        "{cuts:?}"
    );
    assert_eq!(cuts[1..], [line("{\"ok\":1}")]);
}

#[test]
fn a_line_that_just_fits_may_end_in_a_carriage_return() {
    let fits = [b'x'; MAX];
    let cuts = cut_all(&[&fits, b"\r", b"\n"]);
    assert_eq!(cuts, [LineCut::Line(Bytes::copy_from_slice(&fits))]);
}

#[test]
fn the_buffer_is_used_again() {
    let (read, write) = rustix::pipe::pipe().unwrap();
    let mut buffer = ReadBuffer::default();
    let mut places = Vec::new();
    for _ in 0..3 {
        rustix::io::write(&write, b"one\ntwo\n").unwrap();
        let (whole, n) = buffer.read(&read).unwrap();
        let mut chunk = whole.slice(..n);
        let first = LineCutter::default().cut(&mut chunk, MAX);
        assert_eq!(first, Some(line("one")));
        places.push(whole.as_ptr() as usize);
        drop((first, chunk));
        buffer.give_back(whole);
    }
    assert!(places.windows(2).all(|pair| pair[0] == pair[1]), "{places:?}");
}

proptest! {
    /// However the stream is cut into chunks, the lines are those of the whole.
    #[test]
    fn any_split_gives_the_same_lines(
        stream in prop::collection::vec(prop_oneof![Just(b'\n'), Just(b'\r'), Just(b' '), 97_u8..100], 0..200),
        splits in prop::collection::vec(1_usize..40, 0..40),
    ) {
        let mut chunks = Vec::new();
        let mut rest = stream.as_slice();
        for split in splits {
            let (chunk, after) = rest.split_at(split.min(rest.len()));
            chunks.push(chunk);
            rest = after;
        }
        chunks.push(rest);
        // How much of an endless line is at hand depends on where it was cut.
        let without_heads = |cuts: Vec<LineCut>| -> Vec<LineCut> {
            let blank = |cut| match cut {
                LineCut::TooLong(_) => LineCut::TooLong(Bytes::new()),
                line @ LineCut::Line(_) => line,
            };
            cuts.into_iter().map(blank).collect()
        };
        // An endless line of spaces is told before it is known to be blank.
        prop_assume!(!stream.split(|byte| *byte == b'\n').any(|line| {
            line.len() > MAX && line.iter().all(u8::is_ascii_whitespace)
        }));
        prop_assert_eq!(without_heads(cut_all(&chunks)), without_heads(cut_all(&[&stream])));
    }
}
