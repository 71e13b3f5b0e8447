//! Encodes the events of a log as frames in one of its vocabularies.
//!
//! In: events in order, from the first or from where a snapshot was made. Out: those frames that
//! the reader has not seen yet, each under its id. No I/O and no clock, so that a stream
//! that was cut anywhere goes on as if it had not been.

use projection::{Frame, Vocabulary};
use wire::{Event, Seq};

use super::frame_buffer::FrameBuffer;
use super::query::{FrameId, LogPosition, LogView, StreamFormat};
use crate::daemon::vocabulary_snapshots::{SnapshotKey, VocabularySnapshots};
use crate::open_design::run_vocabulary::{RunVocabulary, is_end};

#[derive(Debug)]
pub(super) struct FrameEncoder {
    sent_to: LogPosition,
    epoch: u64,
    snapshots: Option<SnapshotKey>,
    vocabulary: EncoderVocabulary,
}

#[derive(Debug)]
enum EncoderVocabulary {
    Log,
    Projected(Vocabulary),
    Run(Box<RunVocabulary>),
}

impl FrameEncoder {
    /// An encoder for a reader who has come to `sent_to`, and the event after which it needs the log:
    /// frames depend on all events before them, but for those that a snapshot covers.
    pub(super) async fn new(
        log: LogView,
        sent_to: LogPosition,
        snapshots: &VocabularySnapshots,
    ) -> (Self, Seq) {
        match log.snapshots() {
            Some(key) => {
                let (after, vocabulary) = snapshots.before(key, sent_to.complete()).await;
                (Self::after(log, sent_to, vocabulary), after)
            }
            None => Self::without_snapshots(log, sent_to),
        }
    }

    /// An encoder whose vocabulary has read the log up to some event that is not after `sent_to`.
    fn after(log: LogView, sent_to: LogPosition, vocabulary: Vocabulary) -> Self {
        let (epoch, snapshots) = (log.epoch, log.snapshots());
        Self { sent_to, epoch, snapshots, vocabulary: EncoderVocabulary::Projected(vocabulary) }
    }

    fn without_snapshots(log: LogView, sent_to: LogPosition) -> (Self, Seq) {
        let (vocabulary, after) = match log.format {
            StreamFormat::Run(turn) => {
                (EncoderVocabulary::Run(Box::new(RunVocabulary::new(turn))), Seq(0))
            }
            _ => (EncoderVocabulary::Log, sent_to.complete()),
        };
        (Self { sent_to, epoch: log.epoch, snapshots: None, vocabulary }, after)
    }

    /// Keeps a snapshot after the event that was encoded last, if it is time for one.
    pub(super) fn keep_snapshot(&self, read_to: Seq, snapshots: &VocabularySnapshots) {
        if let (Some(key), EncoderVocabulary::Projected(vocabulary)) =
            (self.snapshots, &self.vocabulary)
        {
            snapshots.keep(key, read_to, vocabulary);
        }
    }

    pub(super) fn encode(&mut self, event: &Event, buffer: &mut FrameBuffer) {
        let Self { sent_to, epoch, vocabulary, snapshots: _ } = self;
        let (sent_to, epoch) = (*sent_to, *epoch);
        let whole = FrameId { place: LogPosition { seq: event.seq, part: None }, epoch };
        let frames = match vocabulary {
            EncoderVocabulary::Log => {
                if !sent_to.covers(whole.place) {
                    buffer.push(Some(whole), None, |text| event.write_json(text));
                }
                return;
            }
            EncoderVocabulary::Projected(vocabulary) => vocabulary.frames(event),
            EncoderVocabulary::Run(run) => run.read(event),
        };
        for (n, Frame { name, data }) in (1..).zip(&frames) {
            let part = u32::try_from(n).ok().filter(|_| n < frames.len());
            let place = LogPosition { seq: event.seq, part };
            if !sent_to.covers(place) {
                let id = FrameId { place, epoch };
                buffer.push(Some(id), *name, |text| text.push_str(data.as_str()));
            }
        }
        // The end of a run is sent to everybody: a client that comes back after it and gets nothing
        // would reconnect again and again.
        let end = frames.last().filter(|one| is_end(one));
        if let (EncoderVocabulary::Run(_), Some(end)) =
            (vocabulary, end.filter(|_| sent_to.covers(whole.place)))
        {
            buffer.push(Some(whole), end.name, |text| text.push_str(end.data.as_str()));
        }
    }

    /// Whether it is one run alone that is read, and that has not begun.
    pub(super) fn is_run_waiting(&self) -> bool {
        matches!(&self.vocabulary, EncoderVocabulary::Run(run) if run.is_waiting())
    }

    /// Writes the end of a run of which the log has none, and `why` it has none.
    pub(super) fn conclude(&mut self, why: Option<&str>, buffer: &mut FrameBuffer) {
        if let EncoderVocabulary::Run(run) = &mut self.vocabulary {
            for Frame { name, data } in run.conclude(why) {
                buffer.push_notice(name.unwrap_or_default(), &data);
            }
        }
    }
}

#[cfg(test)]
mod tests;
