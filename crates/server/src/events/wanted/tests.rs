use super::*;
use crate::events::cursor::Place;
use wire::Seq;

fn read(asked: Asked, last: Option<&'static str>) -> Result<Wanted, Problem> {
    let mut headers = HeaderMap::new();
    if let Some(last) = last {
        headers.insert("last-event-id", last.parse().unwrap());
    }
    Wanted::read(&asked, &headers)
}

fn after(text: &str) -> Asked {
    Asked { after: Some(text.to_owned()), ..Asked::default() }
}

fn seq(wanted: &Wanted) -> u64 {
    match wanted.cursor {
        Cursor::At { place: Place { seq: Seq(seq), .. }, .. } => seq,
        Cursor::Unreadable => panic!("no cursor"),
    }
}

#[test]
fn the_header_of_a_reconnecting_browser_wins_over_its_url() {
    assert_eq!(seq(&read(after("3"), None).unwrap()), 3);
    assert_eq!(seq(&read(after("3"), Some("7-a")).unwrap()), 7);
    assert_eq!(seq(&read(after("3"), Some("")).unwrap()), 3);
    assert_eq!(seq(&read(Asked::default(), None).unwrap()), 0);
}

#[test]
fn a_bad_cursor_is_refused_in_the_url_and_told_in_the_stream() {
    for bad in ["-1", "18446744073709551616", "abc", ""] {
        assert_eq!(read(after(bad), None).unwrap_err().status, 400, "{bad:?}");
    }
    let wanted = read(Asked::default(), Some("abc")).unwrap();
    assert_eq!(wanted.cursor, Cursor::Unreadable);
}

#[test]
fn formats_and_ends_are_known_or_refused() {
    let asked = |format: Option<&str>, until: Option<&str>, turn: Option<&str>| {
        let own = |text: Option<&str>| text.map(str::to_owned);
        let asked = Asked { after: None, format: own(format), until: own(until), turn: own(turn) };
        read(asked, None)
    };
    let turn = "nmnj9izbvzupgatrwp2595d0";

    assert_eq!(asked(None, None, None).unwrap().format, Format::Acp);
    assert_eq!(asked(Some("ui"), None, None).unwrap().format, Format::Ui);
    assert_eq!(asked(Some("envelopes"), None, None).unwrap().format, Format::Envelopes);
    assert_eq!(asked(None, Some("idle"), None).unwrap().until, Until::Idle);
    assert!(matches!(asked(None, None, Some(turn)).unwrap().until, Until::Turn(_)));

    assert_eq!(asked(Some("xml"), None, None).unwrap_err().status, 400);
    assert_eq!(asked(None, Some("noon"), None).unwrap_err().status, 400);
    assert_eq!(asked(None, None, Some("1")).unwrap_err().status, 400);
    assert_eq!(asked(None, Some("idle"), Some(turn)).unwrap_err().status, 400);
}
