use super::*;

const LINK: ChainedEvent<'_> =
    ChainedEvent { seq: Seq(1), at: Millis(2), turn: Some("ab"), kind: "cd", payload: "{}" };

#[test]
fn every_field_and_the_event_before_count() {
    let session = SessionId::derived(&[b"one"]);
    let crc = LINK.crc(session, 7);

    assert_eq!(crc, LINK.crc(session, 7));
    assert_ne!(crc, LINK.crc(session, 8));
    assert_ne!(crc, LINK.crc(SessionId::derived(&[b"two"]), 7));
    for other in [
        ChainedEvent { seq: Seq(2), ..LINK },
        ChainedEvent { at: Millis(3), ..LINK },
        ChainedEvent { turn: None, ..LINK },
        ChainedEvent { turn: Some("a"), kind: "bcd", ..LINK },
        ChainedEvent { kind: "c", payload: "d{}", ..LINK },
        ChainedEvent { payload: "[]", ..LINK },
    ] {
        assert_ne!(crc, other.crc(session, 7), "{other:?}");
    }
}
