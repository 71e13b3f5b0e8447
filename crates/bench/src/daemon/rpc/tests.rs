//! What is said to agents and understood of them.

use super::*;

fn said(speaker: &AcpSession, line: &str) -> AgentLine {
    speaker.hear(line.as_bytes()).unwrap()
}

#[test]
fn a_prompt_goes_to_the_session_that_was_made() {
    let mut speaker = AcpSession::default();
    speaker.initialize();
    speaker.new_session(Path::new("/x"));
    let AgentLine::Result(result) = said(&speaker, r#"{"id":2,"result":{"sessionId":"s1"}}"#)
    else {
        panic!("no result");
    };
    speaker.set_session(&result).unwrap();

    let prompt: Value = serde_json::from_str(&speaker.prompt("hello")).unwrap();

    assert_eq!(prompt["id"], 3);
    assert_eq!(prompt["params"]["sessionId"], "s1");
    assert_eq!(prompt["params"]["prompt"][0]["text"], "hello");
}

#[test]
fn only_the_answer_to_the_last_request_counts() {
    let mut speaker = AcpSession::default();
    speaker.initialize();
    speaker.new_session(Path::new("/x"));

    assert_eq!(said(&speaker, r#"{"id":1,"result":{}}"#), AgentLine::Other);
    assert_eq!(said(&speaker, r#"{"id":2,"method":"fs/read_text_file"}"#), AgentLine::Other);
    assert_eq!(said(&speaker, r#"{"method":"session/update","params":{}}"#), AgentLine::Other);
    assert_eq!(said(&speaker, r#"{"id":2,"result":7}"#), AgentLine::Result(json!(7)));
    assert!(speaker.hear(br#"{"id":2,"error":{"code":1}}"#).is_err());
    assert!(speaker.hear(b"Listening on port 3000").is_err());
}

#[test]
fn chunks_are_known_by_their_number() {
    let speaker = AcpSession::default();
    let mut chunks = bench::chunk::Chunks::new("s", 40);
    assert_eq!(speaker.hear(chunks.line(12)).unwrap(), AgentLine::Chunk(12));
}
