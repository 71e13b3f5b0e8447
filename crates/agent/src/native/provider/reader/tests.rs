use proptest::prelude::*;
use serde_json::json;

use super::*;

fn read(chunks: &[&[u8]]) -> Result<Vec<BodyPiece>, BodyError> {
    let mut reader = BodyReader::default();
    let mut pieces = Vec::new();
    for chunk in chunks {
        reader.feed(chunk, &mut pieces)?;
    }
    reader.finish(&mut pieces)?;
    Ok(pieces)
}

fn check(input: &str, expect: Vec<BodyPiece>) {
    assert_eq!(read(&[input.as_bytes()]).unwrap(), expect, "whole");
    let bytes: Vec<&[u8]> = input.as_bytes().chunks(1).collect();
    assert_eq!(read(&bytes).unwrap(), expect, "byte by byte");
}

#[test]
fn a_chunk_comes_before_the_blank_line_after_it() {
    let mut reader = BodyReader::default();
    let mut pieces = Vec::new();
    reader.feed(b"data: {\"a\":1}\n", &mut pieces).unwrap();
    assert_eq!(pieces, [BodyPiece::Chunk(json!({ "a": 1 }))]);
}

#[test]
fn data_over_several_lines_is_one_chunk() {
    check("data: {\"a\":\ndata: 1}\n\n", vec![BodyPiece::Chunk(json!({ "a": 1 }))]);
}

#[test]
fn what_is_not_json_is_skipped_and_the_rest_is_not() {
    let input = "data: {\"a\":\n\ndata: nonsense\ndata: {\"b\":2}\n\ndata: [DONE]";
    check(input, vec![BodyPiece::Chunk(json!({ "b": 2 })), BodyPiece::Done]);
}

#[test]
fn a_whole_document_is_taken_for_a_stream_of_one() {
    let one = || vec![BodyPiece::Chunk(json!({ "choices": [] })), BodyPiece::Done];
    check("\n {\"choices\": []}\n", one());
    check("[{\"choices\": []}]", one());
}

#[test]
fn pages_and_cut_documents_are_refused() {
    let foreign = |input: &str| read(&[input.as_bytes()]).unwrap_err();
    assert_eq!(foreign("<html>\n <b>"), BodyError::Foreign("<html> <b>".to_owned()));
    assert_eq!(foreign("{\"choices\": ["), BodyError::Foreign("{\"choices\": [".to_owned()));
    assert_eq!(foreign("It works!"), BodyError::Foreign("It works!".to_owned()));
}

#[test]
fn errors_are_told_apart_in_all_their_forms() {
    check(
        "event: error\ndata: {\"message\":\"m\"}\n\n",
        vec![BodyPiece::Error(json!({ "message": "m" }))],
    );
    check("event: error\ndata: oh no\n\n", vec![BodyPiece::Error(json!("oh no"))]);
    check("error: {\"code\":500}\n\n", vec![BodyPiece::Error(json!({ "code": 500 }))]);
    let chunk = BodyPiece::Chunk(json!({ "error": "x" }));
    check("event: error\ndata: {\"error\":\"x\"}\n\n", vec![chunk]);
}

#[test]
fn a_broken_character_does_not_lose_its_chunk() {
    let pieces = read(&[b"data: {\"a\":\"\xff\"}\n\n"]).unwrap();
    assert_eq!(pieces, [BodyPiece::Chunk(json!({ "a": "\u{fffd}" }))]);
}

#[test]
fn only_comments_are_an_answer_that_is_none() {
    assert!(matches!(read(&[b": ping\n\n"]), Err(BodyError::Foreign(_))));
    assert_eq!(read(&[b" \n"]), Ok(vec![]));
}

proptest! {
    #[test]
    fn any_cut_of_a_stream_gives_the_same_chunks(
        texts in prop::collection::vec("\\PC{0,8}", 1..6),
        end in prop::sample::select(vec!["\n", "\r\n", "\r"]),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..10),
    ) {
        let chunks: Vec<_> = texts.iter().map(|text| json!({ "text": text })).collect();
        let events: Vec<_> =
            chunks.iter().map(|chunk| format!("data: {chunk}{end}{end}")).collect();
        let mut input = events.concat();
        input.push_str("data: [DONE]");
        let mut cuts: Vec<_> = cuts.iter().map(|cut| cut.index(input.len() + 1)).collect();
        cuts.extend([0, input.len()]);
        cuts.sort_unstable();
        let pieces: Vec<&[u8]> =
            cuts.windows(2).map(|pair| &input.as_bytes()[pair[0]..pair[1]]).collect();

        let mut expect: Vec<_> = chunks.into_iter().map(BodyPiece::Chunk).collect();
        expect.push(BodyPiece::Done);
        prop_assert_eq!(read(&pieces).unwrap(), expect);
    }

    #[test]
    fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = read(&[&bytes]);
    }
}
