//! Cutting a stream into server-sent events: any pieces of it give what the whole stream gives.

use wire::sse::{SseEvent, SseParser, SseTooLong};

use super::script::Script;

/// Some streams are longer than the smallest limits, and shorter than the largest.
const LIMIT_STEP: usize = 16;

pub fn cut(data: &[u8]) {
    let script = Script::read(data);
    let limit = usize::from(script.setting) * LIMIT_STEP;
    let pieces: Vec<&[u8]> = script.pieces().map(|(piece, _)| piece).collect();
    let (events, outcome) = events_of(&pieces, limit);
    for event in &events {
        let largest =
            [&event.name, &event.data].into_iter().chain(&event.id).map(String::len).max();
        // A broken character becomes one of three bytes.
        assert!(largest <= Some(3 * limit), "more is held than an event");
    }
    assert_eq!((events, outcome), events_of(&[script.bytes], limit));
}

fn events_of(pieces: &[&[u8]], limit: usize) -> (Vec<SseEvent>, Result<(), SseTooLong>) {
    let (mut reader, mut events) = (SseParser::new(limit), Vec::new());
    let outcome = pieces.iter().try_for_each(|piece| reader.feed(piece, &mut events));
    (events, outcome)
}
