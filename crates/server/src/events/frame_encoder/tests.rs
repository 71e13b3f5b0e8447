use proptest::prelude::*;

use super::*;
use crate::events::frame_buffer::FrameEncoding;
use crate::events::query::{Cursor, StreamStart};
use crate::events::testing;

const EPOCH: u64 = 0x5eed;
const FORMATS: [StreamFormat; 4] =
    [StreamFormat::Acp, StreamFormat::Ui, StreamFormat::Envelopes, StreamFormat::Conversation];
const DRESSES: [FrameEncoding; 2] = [FrameEncoding::Sse, FrameEncoding::Object];

/// The frames of a log for somebody who has come to `sent_to`, each with its id.
fn sent_to(
    log: &[Event],
    format: StreamFormat,
    encoding: FrameEncoding,
    sent_to: LogPosition,
    snapshots: &VocabularySnapshots,
) -> Vec<(FrameId, String)> {
    let session = SessionId::from_entropy(&[7; 64]);
    let log_of = SnapshotKey { session, epoch: EPOCH, format };
    let (mut encoder, first) = FrameEncoder::new(log_of, sent_to, snapshots);
    let mut buffer = FrameBuffer::new(encoding);
    for event in log.iter().filter(|event| event.seq > first) {
        encoder.encode(event, &mut buffer);
        encoder.keep_snapshot(log_of, event.seq, snapshots);
    }
    buffer.frames().map(|(id, text)| (id.expect("an id"), text.to_owned())).collect()
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
    // Kept of what was read before, as often as can be.
    let snapshots = VocabularySnapshots::every(1);
    let whole = sent_to(log, format, encoding, LogPosition::START, &snapshots);
    for (n, (id, _)) in whole.iter().enumerate() {
        let rest = sent_to(log, format, encoding, resumed(*id, head), &snapshots);
        assert_eq!(whole.get(n + 1..), Some(&*rest), "{format:?} cut after {id}");
        let rest =
            sent_to(log, format, encoding, resumed(*id, head), &VocabularySnapshots::default());
        assert_eq!(whole.get(n + 1..), Some(&*rest), "{format:?} without snapshots after {id}");
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
    let (log, snapshots) = (testing::events(), VocabularySnapshots::default());
    for format in FORMATS {
        let frames = sent_to(&log, format, FrameEncoding::Sse, LogPosition::START, &snapshots);
        assert!(frames.len() > 20, "{format:?} tells little: {}", frames.len());
        for pair in frames.windows(2) {
            let (a, b) = (pair[0].0.place, pair[1].0.place);
            assert!(b.covers(a) && !a.covers(b), "{a:?} before {b:?}");
            assert!(a.part.is_none() || a.seq == b.seq, "{a:?} is not followed by its rest");
        }
        assert_eq!(frames.last().unwrap().0.place.part, None);
    }
    let ui = sent_to(&log, StreamFormat::Ui, FrameEncoding::Sse, LogPosition::START, &snapshots);
    assert!(ui.iter().any(|(id, _)| id.place.part.is_some()), "no event gives several frames");
}

#[test]
fn acp_tells_each_event_as_it_is_in_the_log() {
    let (log, snapshots) = (testing::events(), VocabularySnapshots::default());
    let frames =
        sent_to(&log, StreamFormat::Acp, FrameEncoding::Sse, LogPosition::START, &snapshots);
    let lines: Vec<String> = log.iter().map(Event::to_json_line).collect();
    let data = frames.iter().map(|(_, text)| {
        text.lines().find_map(|line| line.strip_prefix("data: ")).expect("data").to_owned()
    });
    assert_eq!(data.collect::<Vec<_>>(), lines);
}

#[test]
fn a_reader_who_changes_the_format_in_the_middle_of_an_event_gets_the_event() {
    let (log, snapshots) = (testing::events(), VocabularySnapshots::default());
    let ui = sent_to(&log, StreamFormat::Ui, FrameEncoding::Sse, LogPosition::START, &snapshots);
    let (id, _) = ui.iter().find(|(id, _)| id.place.part.is_some()).unwrap();
    let acp = sent_to(&log, StreamFormat::Acp, FrameEncoding::Sse, id.place, &snapshots);
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
