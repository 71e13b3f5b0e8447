use proptest::prelude::*;

use super::*;

const STREAM: &[u8] = "\u{feff}: hello\nevent: endpoint\ndata: /messages?a=1\n\n\
    data:first\rdata: second\r\rid: 7\r\nretry: 10\r\nretry: x\r\ndata: üñ\r\nwhat: ever\r\nalone\r\n\r\n\
    event: none\n\ndata\n\ndata: unfinished"
    .as_bytes();

fn event(name: &str, data: &str) -> Event {
    Event { name: name.into(), data: data.into(), ..Event::default() }
}

#[test]
fn all_line_ends_and_odd_fields_are_read() {
    let events = Events::new(1000).feed(STREAM).unwrap();
    let numbered = Event { id: Some("7".into()), ..event("", "üñ") };
    let expected = [event("endpoint", "/messages?a=1"), event("", "first\nsecond"), numbered];
    assert_eq!(events, [expected.as_slice(), &[event("", "")]].concat());
}

#[test]
fn an_endless_line_and_endless_data_are_refused() {
    let mut one_line = Events::new(100);
    assert!(one_line.feed(&[b'x'; 60]).is_ok());
    assert!(one_line.feed(&[b'x'; 60]).is_err());
    let mut many_lines = Events::new(100);
    assert!((0..50).any(|_| many_lines.feed(b"data: 0123456789\n").is_err()));
}

proptest! {
    #[test]
    fn cuts_do_not_matter(cuts in proptest::collection::vec(0..STREAM.len(), 0..12)) {
        let mut cuts = cuts;
        cuts.sort_unstable();
        let mut events = Events::new(1000);
        let (mut seen, mut from) = (Vec::new(), 0);
        for to in cuts.into_iter().chain([STREAM.len()]) {
            seen.extend(events.feed(&STREAM[from..to]).unwrap());
            from = to;
        }
        prop_assert_eq!(seen, Events::new(1000).feed(STREAM).unwrap());
    }

    #[test]
    fn nothing_panics(chunks in proptest::collection::vec(any::<Vec<u8>>(), 0..8)) {
        let mut events = Events::new(64);
        for chunk in chunks {
            let _ = events.feed(&chunk);
        }
    }
}
