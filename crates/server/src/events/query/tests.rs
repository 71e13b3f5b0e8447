use proptest::prelude::*;
use wire::Seq;

use super::*;
use crate::events::query::LogPosition;

fn read(asked: EventsQuery, last: Option<&'static str>) -> Result<EventsRequest, Problem> {
    let mut headers = HeaderMap::new();
    if let Some(last) = last {
        headers.insert("last-event-id", last.parse().unwrap());
    }
    EventsRequest::read(&asked, &headers)
}

fn after(text: &str) -> EventsQuery {
    EventsQuery { after: Some(text.to_owned()), ..EventsQuery::default() }
}

fn seq(wanted: &EventsRequest) -> u64 {
    match wanted.cursor {
        Cursor::At { place: LogPosition { seq: Seq(seq), .. }, .. } => seq,
        Cursor::Unreadable => panic!("no cursor"),
    }
}

#[test]
fn the_header_of_a_reconnecting_browser_wins_over_its_url() {
    assert_eq!(seq(&read(after("3"), None).unwrap()), 3);
    assert_eq!(seq(&read(after("3"), Some("7-a")).unwrap()), 7);
    assert_eq!(seq(&read(after("3"), Some("")).unwrap()), 3);
    assert_eq!(seq(&read(EventsQuery::default(), None).unwrap()), 0);
}

#[test]
fn a_bad_cursor_is_refused_in_the_url_and_told_in_the_stream() {
    for bad in ["-1", "18446744073709551616", "abc", ""] {
        assert_eq!(read(after(bad), None).unwrap_err().status, 400, "{bad:?}");
    }
    let wanted = read(EventsQuery::default(), Some("abc")).unwrap();
    assert_eq!(wanted.cursor, Cursor::Unreadable);
}

#[test]
fn formats_and_ends_are_known_or_refused() {
    let asked = |format: Option<&str>, until: Option<&str>, turn: Option<&str>| {
        let own = |text: Option<&str>| text.map(str::to_owned);
        let asked =
            EventsQuery { after: None, format: own(format), until: own(until), turn: own(turn) };
        read(asked, None)
    };
    let turn = "nmnj9izbvzupgatrwp2595d0";

    assert_eq!(asked(None, None, None).unwrap().format, StreamFormat::Acp);
    assert_eq!(asked(Some("ui"), None, None).unwrap().format, StreamFormat::Ui);
    assert_eq!(asked(Some("envelopes"), None, None).unwrap().format, StreamFormat::Envelopes);
    assert_eq!(asked(None, Some("idle"), None).unwrap().until, StreamUntil::Idle);
    assert!(matches!(asked(None, None, Some(turn)).unwrap().until, StreamUntil::Turn(_)));

    assert_eq!(asked(Some("xml"), None, None).unwrap_err().status, 400);
    assert_eq!(asked(None, Some("noon"), None).unwrap_err().status, 400);
    assert_eq!(asked(None, None, Some("1")).unwrap_err().status, 400);
    assert_eq!(asked(None, Some("idle"), Some(turn)).unwrap_err().status, 400);
}

fn at(seq: u64, part: Option<u32>, epoch: Option<u64>) -> Cursor {
    Cursor::At { place: LogPosition { seq: Seq(seq), part }, epoch }
}

#[test]
fn a_number_and_the_id_of_a_frame_are_cursors() {
    assert_eq!(Cursor::parse("0"), Cursor::START);
    assert_eq!(Cursor::parse("17"), at(17, None, None));
    assert_eq!(Cursor::parse("17-9f3c"), at(17, None, Some(0x9f3c)));
    assert_eq!(Cursor::parse("17.2-9f3c"), at(17, Some(2), Some(0x9f3c)));
}

#[test]
fn what_we_never_wrote_is_no_cursor() {
    let garbage = [
        "",
        "-1",
        "+1",
        " 1",
        "1 ",
        "1.",
        ".1",
        "1.0-a",
        "0.1-a",
        "1.-a",
        "1-",
        "1-g",
        "1-A",
        "-a",
        "1-a-b",
        "1.2.3-a",
        "18446744073709551616",
        "1-10000000000000000",
        "1.4294967296-a",
        "abc",
        "1e3",
        "0x10",
        "NaN",
        "١",
        "1\u{0}",
    ];
    for text in garbage {
        assert_eq!(Cursor::parse(text), Cursor::Unreadable, "{text:?}");
    }
    assert_eq!(Cursor::parse(&"1".repeat(100_000)), Cursor::Unreadable);
}

#[test]
fn a_cursor_of_another_epoch_or_of_an_event_to_come_begins_anew() {
    let head = Seq(20);

    assert_eq!(
        at(20, None, Some(7)).start(7, head),
        StreamStart::After(LogPosition { seq: head, part: None })
    );
    assert_eq!(at(20, None, Some(8)).start(7, head), StreamStart::Resync(ResyncReason::OtherEpoch));
    assert_eq!(at(21, None, Some(7)).start(7, head), StreamStart::Resync(ResyncReason::BeyondHead));
    assert_eq!(
        at(u64::MAX, None, None).start(7, head),
        StreamStart::Resync(ResyncReason::BeyondHead)
    );
    assert_eq!(Cursor::Unreadable.start(7, head), StreamStart::Resync(ResyncReason::Unreadable));
}

proptest! {
    #[test]
    fn an_id_is_read_as_it_was_written(
        seq in 1_u64..,
        part in proptest::option::of(1_u32..),
        epoch: u64,
    ) {
        let id = FrameId { place: LogPosition { seq: Seq(seq), part }, epoch };
        prop_assert_eq!(Cursor::parse(&id.to_string()), at(seq, part, Some(epoch)));
    }

    #[test]
    fn any_text_is_judged(text in ".{0,80}", epoch: u64, head: u64) {
        let start = Cursor::parse(&text).start(epoch, Seq(head));
        if let StreamStart::After(place) = start {
            prop_assert!(place.seq.0 <= head);
        }
    }

    #[test]
    fn nearly_ids_are_judged(text in "[0-9a-f.+ -]{0,40}", head in 0_u64..100) {
        if let Cursor::At { place, epoch } = Cursor::parse(&text) {
            // It is the one way of writing it, but for zeros in front.
            let id = FrameId { place, epoch: epoch.unwrap_or_default() }.to_string();
            let canonical = if epoch.is_some() { &*id } else { id.split('-').next().unwrap() };
            let bare = |text: &str| text.replace('0', "");
            prop_assert_eq!(bare(canonical), bare(&text));
        }
        let _ = Cursor::parse(&text).start(1, Seq(head));
    }

    #[test]
    fn a_place_covers_what_is_not_after_it(
        a in (1_u64..4, proptest::option::of(1_u32..4)),
        b in (1_u64..4, proptest::option::of(1_u32..4)),
    ) {
        let place = |(seq, part)| LogPosition { seq: Seq(seq), part };
        // The frame without a part is the last of its event.
        let order = |(seq, part): (u64, Option<u32>)| (seq, part.unwrap_or(u32::MAX));
        prop_assert_eq!(place(a).covers(place(b)), order(b) <= order(a));
    }
}
