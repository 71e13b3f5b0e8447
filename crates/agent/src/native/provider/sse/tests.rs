use proptest::prelude::*;

use super::*;

fn read(chunks: &[&[u8]]) -> Vec<Field> {
    let mut reader = SseReader::new(1 << 20);
    let mut fields = Vec::new();
    for chunk in chunks {
        reader.feed(chunk, &mut fields).unwrap();
    }
    reader.finish(&mut fields);
    fields
}

fn data(text: &str) -> Field {
    Field::Data(text.as_bytes().to_vec())
}

fn check(input: &str, expect: &[Field]) {
    assert_eq!(read(&[input.as_bytes()]), expect, "whole");
    let bytes: Vec<&[u8]> = input.as_bytes().chunks(1).collect();
    assert_eq!(read(&bytes), expect, "byte by byte");
}

#[test]
fn the_space_after_the_colon_may_be_missing_and_only_one_is_taken() {
    check("data:a\ndata: b\ndata:  c", &[data("a"), data("b"), data(" c"), Field::End]);
}

#[test]
fn every_kind_of_line_end_is_one() {
    let expect = [data("a"), Field::End, data("b"), Field::End, Field::End];
    for end in ["\n", "\r\n", "\r"] {
        check(&format!("data: a{end}{end}data: b{end}{end}"), &expect);
    }
}

#[test]
fn comments_ids_and_lines_without_a_colon_are_passed_over() {
    check(
        ": ping\nid: 1\nretry: x\ndata\nevent: message\ndata: a\n\n",
        &[data("a"), Field::End, Field::End],
    );
}

#[test]
fn a_mark_of_byte_order_and_a_last_line_without_newline_are_taken() {
    check("\u{feff}data: ä", &[data("ä"), Field::End]);
}

#[test]
fn errors_are_told_apart() {
    check(
        "event: error\ndata: a\n\nerror: {}",
        &[
            Field::Error(Vec::new()),
            data("a"),
            Field::End,
            Field::Error(b"{}".to_vec()),
            Field::End,
        ],
    );
}

#[test]
fn a_line_without_end_is_refused_before_it_fills_the_memory() {
    let mut reader = SseReader::new(100);
    let mut fields = Vec::new();
    assert_eq!(reader.feed(&[b'x'; 100], &mut fields), Ok(()));
    assert_eq!(reader.feed(b"x", &mut fields), Err(LineTooLong));
}

proptest! {
    #[test]
    fn any_cut_gives_the_same_fields(
        input in prop::collection::vec(
            prop::sample::select(vec![
                "data:", "data: ", "\n", "\r", "\r\n", ": c", "event: error", "ä", "🦀", "{", "x", " ",
            ]),
            0..40,
        ),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..8),
    ) {
        let input = input.concat().into_bytes();
        let whole = read(&[&input]);
        let mut cuts: Vec<_> = cuts.iter().map(|cut| cut.index(input.len() + 1)).collect();
        cuts.extend([0, input.len()]);
        cuts.sort_unstable();
        let pieces: Vec<&[u8]> = cuts.windows(2).map(|pair| &input[pair[0]..pair[1]]).collect();
        prop_assert_eq!(read(&pieces), whole);
    }

    #[test]
    fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        read(&[&bytes]);
    }
}
