use proptest::prelude::*;
use wire::{Json, SessionId};

use super::*;
use crate::events::frame_buffer::FrameEncoding;
use crate::events::query::{Cursor, StreamStart};
use crate::events::testing;

const EPOCH: u64 = 0x5eed;
const FORMATS: [StreamFormat; 4] =
    [StreamFormat::Acp, StreamFormat::Ui, StreamFormat::Envelopes, StreamFormat::Conversation];
const DRESSES: [FrameEncoding; 2] = [FrameEncoding::Sse, FrameEncoding::Object];

fn view(format: StreamFormat) -> LogView {
    LogView { session: SessionId::from_entropy(&[7; 64]), epoch: EPOCH, format }
}

/// The states of a vocabulary after each event.
type States = Vec<(Seq, Json)>;

/// The frames of a log for somebody who has come to `sent_to`, each with its id. Reading begins
/// after the last of the `states` that serves; new ones are added.
fn sent_to(
    log: &[Event],
    format: StreamFormat,
    encoding: FrameEncoding,
    sent_to: LogPosition,
    states: &mut States,
) -> Vec<(FrameId, String)> {
    let log_of = view(format);
    let (mut encoder, first) = match log_of.snapshots() {
        Some(key) => {
            let fresh = key.format.vocabulary(key.session);
            let known = states.iter().rfind(|(seq, _)| *seq <= sent_to.complete());
            let (after, vocabulary) = match known {
                Some((seq, state)) => (*seq, fresh.restored(state.as_str()).expect("a state")),
                None => (Seq(0), fresh),
            };
            (FrameEncoder::after(log_of, sent_to, vocabulary), after)
        }
        None => FrameEncoder::without_snapshots(log_of, sent_to),
    };
    let mut buffer = FrameBuffer::new(encoding);
    for event in log.iter().filter(|event| event.seq > first) {
        encoder.encode(event, &mut buffer);
        let last = states.last().map(|(seq, _)| *seq);
        if let EncoderVocabulary::Projected(vocabulary) = &encoder.vocabulary
            && last.is_none_or(|last| last < event.seq)
            && let Some(state) = vocabulary.state()
        {
            states.push((event.seq, state));
        }
    }
    buffer.frames().map(|(id, text)| (id.expect("an id"), text.to_owned())).collect()
}

fn all_sent(log: &[Event], format: StreamFormat) -> Vec<(FrameId, String)> {
    sent_to(log, format, FrameEncoding::Sse, LogPosition::START, &mut States::new())
}

/// What a client does with an id: it sends the text back.
fn resumed(id: FrameId, head: Seq) -> LogPosition {
    match Cursor::parse(&id.to_string()).start(EPOCH, head) {
        StreamStart::After(place) => place,
        StreamStart::Resync(reason) => panic!("{id}: {reason:?}"),
    }
}

fn check_every_cut(log: &[Event], format: StreamFormat, encoding: FrameEncoding) {
    let head = log.last().map(|event| event.seq).unwrap_or_default();
    let mut states = States::new();
    let whole = sent_to(log, format, encoding, LogPosition::START, &mut states);
    for (n, (id, _)) in whole.iter().enumerate() {
        let rest = sent_to(log, format, encoding, resumed(*id, head), &mut states);
        assert_eq!(whole.get(n + 1..), Some(&*rest), "{format:?} cut after {id}");
        let rest = sent_to(log, format, encoding, resumed(*id, head), &mut States::new());
        assert_eq!(whole.get(n + 1..), Some(&*rest), "{format:?} without states after {id}");
    }
}

#[test]
fn a_stream_cut_after_any_frame_goes_on_with_the_next() {
    let log = testing::events();
    for format in FORMATS {
        for encoding in DRESSES {
            check_every_cut(&log, format, encoding);
        }
    }
}

#[test]
fn ids_grow_and_an_event_ends_with_an_id_without_part() {
    let log = testing::events();
    for format in FORMATS {
        let frames = all_sent(&log, format);
        assert!(frames.len() > 20, "{format:?} tells little: {}", frames.len());
        for pair in frames.windows(2) {
            let (a, b) = (pair[0].0.place, pair[1].0.place);
            assert!(b.covers(a) && !a.covers(b), "{a:?} before {b:?}");
            assert!(a.part.is_none() || a.seq == b.seq, "{a:?} is not followed by its rest");
        }
        assert_eq!(frames.last().unwrap().0.place.part, None);
    }
    let ui = all_sent(&log, StreamFormat::Ui);
    assert!(ui.iter().any(|(id, _)| id.place.part.is_some()), "no event gives several frames");
}

#[test]
fn acp_tells_each_event_as_it_is_in_the_log() {
    let log = testing::events();
    let frames = all_sent(&log, StreamFormat::Acp);
    let lines: Vec<String> = log.iter().map(Event::to_json_line).collect();
    let data = frames.iter().map(|(_, text)| {
        text.lines().find_map(|line| line.strip_prefix("data: ")).expect("data").to_owned()
    });
    assert_eq!(data.collect::<Vec<_>>(), lines);
}

#[test]
fn a_reader_who_changes_the_format_in_the_middle_of_an_event_gets_the_event() {
    let log = testing::events();
    let ui = all_sent(&log, StreamFormat::Ui);
    let (id, _) = ui.iter().find(|(id, _)| id.place.part.is_some()).unwrap();
    let acp = sent_to(&log, StreamFormat::Acp, FrameEncoding::Sse, id.place, &mut States::new());
    assert_eq!(acp.first().unwrap().0.place, LogPosition { seq: id.place.seq, part: None });
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Logs that no agent would write: events left out, doubled and out of order.
    #[test]
    fn any_log_can_be_cut_anywhere(
        picks in proptest::collection::vec(any::<prop::sample::Index>(), 1..40),
        format in prop::sample::select(FORMATS.to_vec()),
        encoding in prop::sample::select(DRESSES.to_vec()),
    ) {
        let recorded = testing::events();
        let log: Vec<Event> = (1..)
            .zip(picks)
            .map(|(seq, pick)| Event { seq: Seq(seq), ..pick.get(&recorded).clone() })
            .collect();
        check_every_cut(&log, format, encoding);
    }
}
