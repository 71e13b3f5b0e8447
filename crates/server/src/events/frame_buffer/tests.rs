use serde_json::{Value, json};
use wire::Seq;

use super::*;
use crate::events::query::LogPosition;

fn id(seq: u64) -> FrameId {
    FrameId { place: LogPosition { seq: Seq(seq), part: None }, epoch: 0xab }
}

#[test]
fn frames_are_written_as_server_sent_events() {
    let mut buffer = FrameBuffer::new(FrameEncoding::Sse);

    buffer.push_comment("retry: 1000");
    buffer.push_notice("stream", &json!({ "head": 7 }));
    buffer.push(Some(id(3)), None, |text| text.push_str(r#"{"seq":3}"#));
    buffer.push(Some(id(4)), Some("agent"), |text| text.push_str("{}"));

    let expected = "retry: 1000\n\nevent: stream\ndata: {\"head\":7}\n\n\
                    id: 3-ab\ndata: {\"seq\":3}\n\nid: 4-ab\nevent: agent\ndata: {}\n\n";
    assert_eq!(buffer.text, expected);
    assert_eq!(buffer.last_id(), Some(id(4)));
    assert_eq!(buffer.frames().map(|(_, text)| text).collect::<String>(), expected);
}

#[test]
fn frames_are_written_as_objects() {
    let mut buffer = FrameBuffer::new(FrameEncoding::Object);

    buffer.push_comment("retry: 1000");
    buffer.push_notice("stream", &json!({ "head": 7 }));
    buffer.push(Some(id(3)), None, |text| text.push_str(r#"{"seq":3}"#));

    let frames: Vec<Value> =
        buffer.frames().map(|(_, text)| serde_json::from_str(text).unwrap()).collect();
    assert_eq!(
        frames,
        [
            json!({ "event": "stream", "data": { "head": 7 } }),
            json!({ "id": "3-ab", "event": "message", "data": { "seq": 3 } }),
        ]
    );
}

#[test]
fn a_carriage_return_between_tokens_does_not_end_the_line() {
    let mut buffer = FrameBuffer::new(FrameEncoding::Sse);

    buffer.push(Some(id(1)), None, |text| text.push_str("{\"a\":\r1,\r\n\"b\":\"\\r\"}"));

    let data = buffer.text.lines().find_map(|line| line.strip_prefix("data: ")).unwrap();
    let read: Value = serde_json::from_str(data).unwrap();
    assert_eq!(read, json!({ "a": 1, "b": "\r" }));
    assert!(!buffer.text.contains('\r'));
}
