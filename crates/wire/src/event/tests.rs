use super::*;

#[test]
fn an_update_can_not_pass_for_one_of_our_own_events() {
    for own in Kind::OWN {
        let forged = Kind::update(own.as_str());

        assert_ne!(&forged, own);
        assert_eq!(forged.as_str(), format!("agent:{own}"));
        assert_eq!(Kind::from_log(forged.as_str()), forged);
    }
}

#[test]
fn kinds_read_back_from_the_log_as_they_were_written() {
    for kind in Kind::OWN {
        assert_eq!(&Kind::from_log(kind.as_str()), kind);
    }
    for name in ["agent_message_chunk", "plan_update", "x", "", "agent:plan", "a\"b", "\n"] {
        let kind = Kind::update(name);
        assert_eq!(Kind::from_log(kind.as_str()), kind, "{name:?}");
    }
}

#[test]
fn an_event_line_keeps_the_payload_byte_for_byte() {
    let event = Event {
        seq: Seq(7),
        at: Millis(5),
        turn: None,
        kind: Kind::update("plan"),
        payload: Json::parse(r#"{"n":12345678901234567890123, "e":1e2,"s":"\u0041"}"#).unwrap(),
    };

    assert_eq!(
        event.to_json_line(),
        r#"{"seq":7,"time":5,"kind":"plan","payload":{"n":12345678901234567890123, "e":1e2,"s":"\u0041"}}"#
    );
}
