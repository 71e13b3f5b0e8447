//! Two readers of the same lines agree about them: the one of the bus, which only walks over
//! the bytes, and the one of sessions, which is `serde_json`.

use bytes::Bytes;
use wire::{Envelope, Json, Message, MessageError, MessageKind};

pub fn read(line: &[u8]) {
    let message = Message::parse(Bytes::copy_from_slice(line));
    match (message, Envelope::read(line)) {
        (Ok(message), Ok(envelope)) => agree(line, &message, &envelope),
        // What is left of the line is an id that can be answered.
        (Err(_), Err(error)) => {
            let id = std::str::from_utf8(error.id.of(line)).expect("it is ASCII, or a text");
            assert!(id.is_empty() || Json::parse(id).is_ok(), "{id}");
        }
        // Only this reader looks at these members, so only it minds seeing them twice.
        (Ok(_), Err(error)) if error.why == "a member occurs twice" => {}
        // Only that reader decodes texts, so only it minds halves of characters.
        (Err(MessageError::Invalid { why, .. }), Ok(_)) if is_half(&why) => {}
        (message, envelope) => {
            panic!("{}: {message:?} against {envelope:?}", String::from_utf8_lossy(line))
        }
    }
}

fn agree(line: &[u8], message: &Message, envelope: &Envelope) {
    assert_eq!(message.kind(), envelope.kind);
    let id = envelope.id.of(line);
    assert_eq!(message.id().as_str().as_bytes(), if id.is_empty() { b"null" } else { id });
    assert_eq!(message.method(), envelope.method.text(line).unwrap_or_default());
    let body = envelope.body.of(line);
    assert_eq!(message.body().as_bytes(), if body.is_empty() { b"null" } else { body });
    if envelope.kind != MessageKind::Error && body.starts_with(b"{") {
        match message.peek() {
            Ok(peek) => {
                let session = peek.session_id().filter(|name| !name.is_empty());
                assert_eq!(session, envelope.session.text(line).as_deref());
            }
            Err(MessageError::Invalid { why, .. }) => assert!(is_half(&why), "{why}"),
            Err(error) => panic!("{error}"),
        }
    }
}

/// What `serde_json` says of an escape for half a character.
fn is_half(why: &str) -> bool {
    why.contains("surrogate") || why.contains("hex escape")
}
