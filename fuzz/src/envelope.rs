//! Two readers of the same lines agree about them: the one of the bus, which only walks over
//! the bytes, and the one of sessions, which is `serde_json`.

use bytes::Bytes;
use serde_json::Value;
use wire::{Envelope, Message, MessageError, MessageKind};

pub fn read(line: &[u8]) {
    let message = Message::parse(Bytes::copy_from_slice(line));
    match (message, Envelope::read(line)) {
        (Ok(message), Ok(envelope)) => agree(line, &message, &envelope),
        (Err(_), Err(error)) => {
            let id = error.id.of(line);
            assert!(error.id.is_some() || id.is_empty());
            assert!(id.is_empty() || serde_json::from_slice::<Value>(id).is_ok());
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
                assert_eq!(session, envelope.session.text(line));
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
