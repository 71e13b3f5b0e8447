//! Reading a message and putting something else into one place of it: every other byte stays.

use bytes::Bytes;
use serde_json::Value;
use wire::{
    Event, Json, Kind, Message, MessageKind, Millis, RpcError, RpcId, Seq, error_line,
    remove_member, salvage_id, set_member,
};

/// Needs escapes, so that a place where they are forgotten shows.
const SESSION: &str = "a\"\\é\n";

pub fn splice(data: &[u8]) {
    // A line has no line ends; nothing else is promised.
    let line = data.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let _ = salvage_id(line);
    let message = match Message::parse(Bytes::copy_from_slice(line)) {
        Ok(message) => message,
        Err(error) => {
            let (id, error) = error.to_rpc();
            return answered(&id, &error);
        }
    };
    in_session(&message);
    members(&message.body_json());
    if message.kind() == MessageKind::Error {
        answered(&message.id(), &message.error());
    }
}

/// The body of another session differs in its `sessionId` only; its update can be logged.
fn in_session(message: &Message) {
    let Ok(peek) = message.peek() else { return };
    let other = message.body_for_session(&peek, SESSION);
    assert!(Json::parse(other.as_str()).is_ok(), "{other:?}");
    let read = |text: &str| serde_json::from_str::<Value>(text).ok();
    if let (Some(mut expected), Some(other)) = (read(message.body()), read(other.as_str())) {
        if let Some(session) = expected.get_mut("sessionId") {
            *session = SESSION.into();
        }
        assert_eq!(other, expected);
    }
    let kind = Kind::update(peek.update_name().unwrap_or_default());
    assert!(!Kind::OWN.iter().any(|own| own.as_str() == kind.as_str()), "{kind}");
    assert_eq!(Kind::from_log(kind.as_str()), kind);
    let event = Event { seq: Seq(1), at: Millis(0), turn: None, kind, payload: other };
    assert!(Json::parse(event.to_json_line()).is_ok());
}

/// A member that is set is there, one that is taken away is not, and the others are as before.
fn members(body: &Json) {
    let without = remove_member(body, "sessionId").expect("it is JSON");
    let with = set_member(&without, &["sessionId"], &Json::of(&SESSION)).expect("it is JSON");
    let deep = set_member(&without, &["_meta", "a", "b"], &Json::of(&1)).expect("it is JSON");
    let back = remove_member(&with, "sessionId").expect("it is JSON");
    assert_eq!(back, without);
    for made in [&without, &with, &deep] {
        assert!(Json::parse(made.as_str()).is_ok(), "{made:?}");
    }
    let [Ok(without), Ok(with), Ok(deep)] = [&without, &with, &deep].map(Json::read::<Value>)
    else {
        return;
    };
    assert_eq!(without.get("sessionId"), None);
    assert_eq!(with["sessionId"], SESSION);
    assert!(deep["_meta"].is_object());
}

/// An error that we answer with is a message, under the same id and with the same words.
fn answered(id: &RpcId, error: &RpcError) {
    let _ = error.to_string();
    let line = error_line(id, error);
    let answer = Message::parse(line.trim_end().to_owned().into()).expect("we wrote it");
    assert_eq!((answer.kind(), answer.id()), (MessageKind::Error, id.clone()));
    let heard = answer.error();
    assert_eq!((heard.code, &heard.message), (error.code, &error.message));
}
