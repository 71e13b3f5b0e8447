//! What the agent numbers, clients read.

use super::*;

#[test]
fn a_chunk_says_its_number_through_any_wrapping() {
    let mut chunks = Chunks::new("s", 40);
    for number in [1, 17, 99_999, 12_345_678] {
        let line = chunks.line(number).to_vec();
        assert_eq!(number_in(&line), Some(number));
        let wrapped = serde_json::json!({ "seq": 9, "line": String::from_utf8(line).unwrap() });
        assert_eq!(number_in(wrapped.to_string().as_bytes()), Some(number));
    }
}

#[test]
fn a_chunk_is_one_line_of_acp_with_a_text_of_the_size_asked_for() {
    let mut chunks = Chunks::new("a \"chunk #00000005\" session", 40);
    let line = chunks.line(3);
    assert_eq!(memchr::memchr_iter(b'\n', line).count(), 1);
    let message: serde_json::Value = serde_json::from_slice(line).unwrap();
    let text = message["params"]["update"]["content"]["text"].as_str().unwrap();
    assert_eq!(text, "chunk #00000003 ........................");
    assert_eq!(text.len(), 40);
}

#[test]
fn other_lines_have_no_number() {
    for line in ["", "chunk", "chunk #", "chunk #1234567", "chunk #1234567x", "chunk 00000001"] {
        assert_eq!(number_in(line.as_bytes()), None, "{line}");
    }
}

#[test]
fn a_chunk_request_is_found_among_other_words() {
    let request = ChunkRequest { n_chunks: 100_000, n_bytes: 40 };
    assert_eq!(ChunkRequest::find_in(&request.prompt()), Some(request));
    assert_eq!(
        ChunkRequest::find_in(&format!("Be brief.\n\n{} Thanks.", request.prompt())),
        Some(request)
    );
    for text in ["", "stream", "stream 1.", "stream x 2.", "stream 1 2"] {
        assert_eq!(ChunkRequest::find_in(text), None, "{text}");
    }
}

#[test]
fn a_model_answers_the_last_request_and_tokens_are_told_apart_in_one_update() {
    let (first, last) =
        (ChunkRequest { n_chunks: 1, n_bytes: 2 }, ChunkRequest { n_chunks: 30, n_bytes: 4 });
    let told = format!(
        "stream of words. {} and then {}, a stream at last.",
        first.prompt(),
        last.prompt()
    );
    assert_eq!(ChunkRequest::find_last_in(&told), Some(last));
    assert_eq!(ChunkRequest::find_last_in("nothing to stream here."), None);
    let update = format!("{}{}", token(7), token(123));
    assert_eq!(numbers_in(update.as_bytes()).collect::<Vec<_>>(), [7, 123]);
}
