//! A filter for text that Gemini CLI prints again after a dropped stream.
//!
//! When a model's stream is dropped, the CLI waits one second (two the second time, four the
//! third), asks again, and prints the new answer from its beginning, with no line in between.
//! So a piece begins a repetition when all of this holds:
//!
//! * no other line came since the piece before it;
//! * it came after at least that wait by the CLI's own time stamps, and after a pause that is
//!   out of step with the stream before it;
//! * the answer so far is more than one short piece;
//! * the text that follows repeats all of it, from the first character. Until it has, it is held
//!   back, and emitted after all if it turns out different.
//!
//! An ordinary answer does not repeat itself from its first character right after a pause.
//! Not recognised: a stream that was dropped after one short piece, and a second attempt with
//! other words; both are emitted in full.

use super::super::repetition_filter::RepetitionFilter;

/// The CLI's wait before its first new attempt, less what a timer may be early.
const FIRST_WAIT_MS: u64 = 990;
/// How many new attempts the CLI makes.
const MAX_ATTEMPTS: u32 = 3;
/// A pause may be a new attempt when it is this many times the longest one before it.
const OUT_OF_STEP: u64 = 2;
/// One piece alone must be at least a phrase to be recognised.
const MIN_LONE_BYTES: usize = 24;
const DAY_MS: u64 = 24 * 60 * 60 * 1000;
/// A longer pause is a clock that was set, not a wait.
const MAX_WAIT_MS: u64 = 60 * 60 * 1000;

#[derive(Debug, Default)]
pub(super) struct ReplayFilter {
    retold: RepetitionFilter,
    n_pieces: usize,
    n_attempts: u32,
    longest_pause: u64,
    last: Option<u64>,
}

#[derive(Debug)]
pub(super) struct FilteredPiece {
    pub(super) new: String,
    /// Whether the new attempt has just repeated all text before it.
    pub(super) has_caught_up: bool,
}

impl ReplayFilter {
    pub(super) fn push(&mut self, piece: &str, time: Option<&str>) -> FilteredPiece {
        let now = time.and_then(time_of_day);
        let pause = self.last.zip(now).map(|(last, now)| (now + DAY_MS - last) % DAY_MS);
        let pause = pause.filter(|pause| *pause <= MAX_WAIT_MS).unwrap_or_default();
        self.last = now;
        if !self.retold.continues_repetition(piece)
            && self.is_new_attempt(pause)
            && self.retold.fits(0, piece)
        {
            self.n_attempts += 1;
            self.retold.restart();
        } else {
            self.longest_pause = self.longest_pause.max(pause);
        }
        self.n_pieces += 1;
        let was_repeating = self.retold.is_repeating() && self.retold.continues_repetition(piece);
        let new = self.retold.push(piece);
        FilteredPiece { new, has_caught_up: was_repeating && !self.retold.is_repeating() }
    }

    /// The answer is over. Gives what was held back.
    pub(super) fn end(&mut self) -> String {
        let withheld = self.retold.withheld();
        *self = Self::default();
        withheld
    }

    fn is_new_attempt(&self, pause: u64) -> bool {
        let is_enough =
            self.n_attempts > 0 || self.n_pieces > 1 || self.retold.emitted.len() >= MIN_LONE_BYTES;
        is_enough
            && self.n_attempts < MAX_ATTEMPTS
            && pause >= FIRST_WAIT_MS << self.n_attempts
            && pause >= self.longest_pause * OUT_OF_STEP
    }
}

/// Milliseconds since midnight, of `2026-11-15T00:46:04.029Z`.
fn time_of_day(time: &str) -> Option<u64> {
    let (_, time) = time.split_once('T')?;
    let mut parts = time.trim_end_matches('Z').split([':', '.']);
    let mut number = || parts.next()?.parse::<u64>().ok().filter(|n| *n < 1000);
    let (hours, minutes, seconds) = (number()?, number()?, number()?);
    let millis = number().unwrap_or_default();
    Some((((hours * 60 + minutes) * 60 + seconds) * 1000 + millis) % DAY_MS)
}
