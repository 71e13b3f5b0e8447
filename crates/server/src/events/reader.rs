//! One reader of a session's log, from its cursor on.
//!
//! In: the log, from where the reader left it. Out: frames, at most a chunk at a time; then a wait
//! for more. What is read is kept no longer than it takes to send it.

use std::sync::Arc;

use serde_json::json;
use sessions::session::SessionPhase;
use store::{ReadBudget, ReadPermit, SessionRecord};
use tokio::sync::watch;
use wire::{Event, Kind, Seq};

use super::ending::StreamEnd;
use super::frame_buffer::FrameBuffer;
use super::frame_encoder::FrameEncoder;
use super::query::{
    EventsRequest, LogPosition, LogView, ResyncReason, StreamFormat, StreamStart, StreamUntil,
};
use crate::daemon::Daemon;

/// Events read at once.
const N_READ: usize = 256;
/// Bytes with which a buffer is full; most are then one chunk.
const BUFFER_BYTES: usize = 32 << 10;
const BUFFER_FRAMES: usize = 256;

#[derive(Debug)]
pub(super) struct EventReader {
    daemon: Arc<Daemon>,
    log: LogView,
    until: StreamUntil,
    encoder: FrameEncoder,
    /// The last event that the encoder was given.
    read_to: Seq,
    /// Events that were read, and not given to the encoder yet.
    read_ahead: std::vec::IntoIter<Event>,
    budget: ReadBudget,
    /// Budget taken for these events and for the buffer that was last written.
    taken: Option<ReadPermit>,
    /// The last read reached the log's end.
    is_at_end: bool,
    /// A recovery up to here belongs to the epoch that the reader knows.
    epoch_known_to: Seq,
    /// What the first frames tell, until they are written.
    opening: Option<StreamStart>,
    ending: Option<StreamEnd>,
    /// Why the session could not go on, if the client was told that since the last event.
    halted: Option<String>,
}

impl EventReader {
    pub(super) async fn new(
        daemon: &Arc<Daemon>,
        record: &SessionRecord,
        wanted: &EventsRequest,
        budget: ReadBudget,
    ) -> Self {
        let start = wanted.cursor.start(record.epoch, record.head);
        let told = match start {
            StreamStart::After(place) => place,
            StreamStart::Resync(_) => LogPosition::START,
        };
        let log = LogView { session: record.id, epoch: record.epoch, format: wanted.format };
        let (encoder, read_to) = FrameEncoder::new(log, told, &daemon.vocabulary_snapshots).await;
        Self {
            daemon: daemon.clone(),
            log,
            until: wanted.until,
            read_to,
            encoder,
            read_ahead: Vec::new().into_iter(),
            budget,
            taken: None,
            is_at_end: false,
            epoch_known_to: record.head,
            opening: Some(start),
            ending: None,
            halted: None,
        }
    }

    /// Waits for new frames and writes them to `buffer`, which is empty. Returns the reason when the
    /// stream ends with them. Dropping the future loses nothing.
    pub(super) async fn next(&mut self, buffer: &mut FrameBuffer) -> Option<StreamEnd> {
        if let Some(opening) = self.opening.take() {
            self.open(opening, buffer);
            return None;
        }
        loop {
            let is_silent = !self.read_ahead.as_slice().is_empty();
            let is_suspect = self.encode_pending(buffer);
            if self.ending.is_some() || !buffer.text.is_empty() {
                return self.ending.take();
            }
            if is_silent {
                // Events before a cursor can be many and give no frames; other tasks want to run
                // too.
                tokio::task::yield_now().await;
            }
            let read = match is_suspect {
                true => self.check_epoch(buffer).await,
                false => self.read(buffer).await,
            };
            if let Err(ending) = read {
                return Some(ending);
            }
        }
    }

    /// Writes what is left in the log; returns the end if that was all.
    pub(super) async fn write_rest(&mut self, buffer: &mut FrameBuffer) -> Option<StreamEnd> {
        if let Some(opening) = self.opening.take() {
            self.open(opening, buffer);
            return None;
        }
        loop {
            // Events of a new epoch are not sent any more now.
            let is_suspect = self.encode_pending(buffer);
            if self.ending.is_some() || !buffer.text.is_empty() {
                return self.ending.take();
            }
            self.taken = None;
            if is_suspect
                || self.read_page().await.is_err()
                || self.read_ahead.as_slice().is_empty()
            {
                return Some(StreamEnd::DaemonStopping);
            }
        }
    }

    /// Drops the events that were read ahead, which are in the log; `n_bytes` of the last buffer are
    /// still in memory.
    pub(super) fn drop_read_ahead(&mut self, n_bytes: usize) {
        self.read_ahead = Vec::new().into_iter();
        if let Some(taken) = &mut self.taken {
            taken.shrink_to(n_bytes);
        }
        self.is_at_end = false;
    }

    /// Writes the last frame of a stream.
    pub(super) fn close(&mut self, ending: &StreamEnd, buffer: &mut FrameBuffer) {
        match (self.log.format, ending) {
            // Its `end` is the last that a reader of a run waits for.
            (StreamFormat::Run(_), StreamEnd::Done(_)) => {
                self.encoder.conclude(self.halted.as_deref(), buffer);
            }
            _ => ending.write(buffer),
        }
    }

    fn open(&self, start: StreamStart, buffer: &mut FrameBuffer) {
        // Nothing was read yet, so this is the log's end as it was when the reader came.
        let head = self.epoch_known_to;
        buffer.push_comment("retry: 1000");
        // Readers of a run expect `start` and know of no other beginning.
        if !matches!(self.log.format, StreamFormat::Run(_)) {
            let after = match start {
                StreamStart::After(place) => place.seq,
                StreamStart::Resync(_) => Seq(0),
            };
            let data = json!({
                "session": self.log.session,
                "epoch": format!("{:x}", self.log.epoch),
                "head": head.0,
                "after": after.0,
                "format": self.log.format,
            });
            buffer.push_notice("stream", &data);
        }
        if let StreamStart::Resync(reason) = start {
            self.write_resync(reason, head, buffer);
        }
    }

    fn write_resync(&self, reason: ResyncReason, head: Seq, buffer: &mut FrameBuffer) {
        let epoch = format!("{:x}", self.log.epoch);
        let data = json!({ "reason": reason, "epoch": epoch, "head": head.0 });
        buffer.push_notice("state_resync_required", &data);
    }

    /// Writes frames of the events that were read, until the buffer is full. True if the log may have
    /// another epoch from the next event on.
    fn encode_pending(&mut self, buffer: &mut FrameBuffer) -> bool {
        while buffer.text.len() < BUFFER_BYTES && buffer.n_frames() < BUFFER_FRAMES {
            let Some(event) = self.read_ahead.next() else { break };
            if event.kind == Kind::LogRecovered && event.seq > self.epoch_known_to {
                self.drop_read_ahead(buffer.text.len());
                return true;
            }
            self.encoder.encode(&event, buffer);
            self.read_to = event.seq;
            self.encoder.keep_snapshot(event.seq, &self.daemon.vocabulary_snapshots);
            self.halted = None;
            if self.is_awaited_end(&event) {
                self.ending = Some(StreamEnd::Done("turn_ended"));
                break;
            }
        }
        false
    }

    fn is_awaited_end(&self, event: &Event) -> bool {
        let is_end = matches!(event.kind, Kind::TurnEnded | Kind::PromptDropped);
        matches!(self.until, StreamUntil::Turn(turn) if is_end && event.turn == Some(turn))
    }

    /// Checks for a new epoch: if events were lost, those that follow reuse their numbers.
    async fn check_epoch(&mut self, buffer: &mut FrameBuffer) -> Result<(), StreamEnd> {
        let record = self.record().await?;
        self.epoch_known_to = record.head;
        if record.epoch != self.log.epoch {
            self.log.epoch = record.epoch;
            (self.encoder, self.read_to) =
                FrameEncoder::new(self.log, LogPosition::START, &self.daemon.vocabulary_snapshots)
                    .await;
            self.write_resync(ResyncReason::OtherEpoch, record.head, buffer);
        }
        Ok(())
    }

    /// Waits for more events and reads them; or writes that the session has halted.
    async fn read(&mut self, buffer: &mut FrameBuffer) -> Result<(), StreamEnd> {
        // All that was read has been sent.
        self.taken = None;
        if self.is_at_end {
            let mut halt = self.halt();
            if let Some(why) = halt.why() {
                // Its last events may have been written between the reading and the question.
                self.read_page().await?;
                if self.read_ahead.as_slice().is_empty() {
                    self.tell_halt(why, buffer);
                }
                return Ok(());
            }
            if let Some(reason) = self.is_over().await? {
                // Its end may have been written between the reading and the question.
                self.read_page().await?;
                let is_all_told = self.read_ahead.as_slice().is_empty();
                return if is_all_told { Err(StreamEnd::Done(reason)) } else { Ok(()) };
            }
            let log = self.daemon.registry.log();
            tokio::select! {
                waited = log.wait(self.log.session, self.read_to) => waited?,
                // The halt is written after all events before it.
                () = halt.come() => {}
            }
        }
        self.read_page().await
    }

    /// The failure of the session's task, which the log may not be able to record.
    fn halt(&self) -> HaltWatch {
        let (registry, id) = (&self.daemon.registry, self.log.session);
        // A run that waits goes on when the session can.
        match self.halted.is_some() || self.encoder.is_run_waiting() {
            true => HaltWatch::default(),
            false => HaltWatch { why: registry.halted(id), phase: registry.phase(id) },
        }
    }

    /// Writes that the session could not go on. Who waits for an end has it with that: the log may
    /// have none for long.
    fn tell_halt(&mut self, why: String, buffer: &mut FrameBuffer) {
        // Readers of a run know of no notices; its last frames say it.
        if !matches!(self.log.format, StreamFormat::Run(_)) {
            buffer.push_notice("session_halted", &json!({ "detail": why }));
        }
        self.halted = Some(why);
        if self.until != StreamUntil::Cut {
            self.ending = Some(StreamEnd::Done("session_halted"));
        }
    }

    async fn read_page(&mut self) -> Result<(), StreamEnd> {
        let log = self.daemon.registry.log();
        let reading = self.budget.read(&**log, self.log.session, self.read_to, N_READ).await?;
        self.is_at_end = reading.events.len() < N_READ;
        (self.read_ahead, self.taken) = (reading.events.into_iter(), reading.taken);
        Ok(())
    }

    /// Why a stream that has an end is over, at the end of the log.
    async fn is_over(&self) -> Result<Option<&'static str>, StreamEnd> {
        let (turn, reason) = match self.until {
            StreamUntil::Cut => return Ok(None),
            StreamUntil::Idle => (None, "idle"),
            StreamUntil::Turn(turn) => (Some(turn), "turn_ended"),
        };
        let is_over = match (turn, self.record().await?.active_turn) {
            (_, None) => true,
            (None, Some(_)) => false,
            (Some(turn), Some(active)) => active != turn && !self.is_queued(turn).await,
        };
        Ok(is_over.then_some(reason))
    }

    /// Whether a turn that does not run is still to come.
    async fn is_queued(&self, turn: wire::TurnId) -> bool {
        let Some(session) = self.daemon.registry.awake_handle(self.log.session) else {
            return false;
        };
        match session.waiting().await {
            Ok(waiting) => waiting.iter().any(|prompt| prompt.turn == turn),
            Err(_) => false,
        }
    }

    async fn record(&self) -> Result<SessionRecord, StreamEnd> {
        let record = self.daemon.registry.log().session(self.log.session).await?;
        record.ok_or(StreamEnd::SessionDeleted)
    }
}

/// A watch for the failure of a session's task, and why it failed: its log takes no more events,
/// and so may not record it.
#[derive(Debug, Default)]
pub(super) struct HaltWatch {
    /// Why it failed before.
    pub(super) why: Option<String>,
    pub(super) phase: Option<watch::Receiver<SessionPhase>>,
}

impl HaltWatch {
    pub(super) fn why(&self) -> Option<String> {
        let now = || self.phase.as_ref()?.borrow().halted().map(ToString::to_string);
        self.why.clone().or_else(now)
    }

    /// Waits until it has come, which is never where the session ends in good order, or is not
    /// awake: then its next event is what comes first.
    pub(super) async fn come(&mut self) {
        if let Some(phase) = &mut self.phase
            && phase.wait_for(|phase| phase.halted().is_some()).await.is_ok()
        {
            return;
        }
        std::future::pending::<()>().await;
    }
}

#[cfg(test)]
mod tests;
