//! Turns a command's output into pieces for the log: as it comes at first, then by samples.
//!
//! In: bytes, in any pieces; the end. Out: text to append, a piece at a time. No I/O and no
//! clock: whoever asks says what time it is.
//!
//! Always true: pieces are whole characters, in order, and small; the first comes at once, the
//! next ones at a pace at which people read, and slower the more there were. All pieces of a
//! terminal together are bounded by what they take of the log, escapes and the events around
//! them included: a long output is logged as it comes up to half of the limit, then by glances
//! that become rarer, each the last lines there are, and to its end once it has ended. Where
//! something is left out, a line says so. Nobody who writes here ever waits.

use std::time::{Duration, Instant};

use bus::ExitReport;

/// Largest text of one piece.
pub(super) const MAX_PIECE_BYTES: usize = 16 << 10;
/// Shortest time between two pieces: nobody reads faster.
const PACE: Duration = Duration::from_millis(100);
/// After so many pieces the pace is half of what it was.
const PIECES_AT_A_PACE: u32 = 100;
const MAX_PACE_DOUBLINGS: u32 = 9;
/// Bytes that an event costs besides its text.
const EVENT_COST: usize = 150;
/// Bytes of the line that says what is missing, at most.
const NOTE_COST: usize = 60;
/// From the first sample of an output that has grown long to the second; it doubles from there.
const FIRST_SAMPLE_INTERVAL: Duration = Duration::from_secs(1);
/// The number of samples: the last one comes after most of a day.
const MAX_SAMPLES: u32 = 16;
/// No command's output takes more of a log than this.
const MAX_LOGGED_BYTES: usize = 256 << 10;

#[derive(Debug, Default)]
pub(super) struct OutputSampler {
    /// Bytes that a sample may cost.
    max_sample_bytes: usize,
    /// Bytes that the end may cost.
    max_end_bytes: usize,
    /// Bytes of a character that has not come whole.
    open: Vec<u8>,
    /// Text that waits to be logged, all of it.
    waiting: String,
    /// Bytes that are left for output that is logged as it comes.
    live_bytes_left: usize,
    n_pieces: u32,
    /// The newest of what came after that.
    newest: String,
    /// Bytes left out between the last piece and `newest`.
    n_left_out: u64,
    is_truncated: bool,
    /// When the next piece may come; at once, if there is no time.
    next_at: Option<Instant>,
    sample_at: Option<Instant>,
    n_samples: u32,
    /// The exit report, until it is taken.
    end: Option<ExitReport>,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum LogPiece {
    Output(String),
    Exited { report: ExitReport, is_truncated: bool },
}

/// The part of the output that is to be taken now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TakeScope {
    /// Output that is due.
    Due,
    /// All output, because nobody may look later.
    All,
}

impl OutputSampler {
    /// `limit` is the size of the output that is kept elsewhere; the log keeps no more.
    pub(super) fn new(limit: usize) -> Self {
        let limit = limit.min(MAX_LOGGED_BYTES);
        Self {
            // Half live, a quarter in glances, a quarter at the end.
            max_sample_bytes: limit / 4 / MAX_SAMPLES as usize,
            max_end_bytes: limit / 4,
            live_bytes_left: limit / 2,
            ..Self::default()
        }
    }

    /// Adds output; returns whether there is something to log and was nothing before.
    pub(super) fn push(&mut self, bytes: &[u8]) -> bool {
        let was_silent = self.is_silent();
        self.open.extend_from_slice(bytes);
        let bytes = std::mem::take(&mut self.open);
        let (text, rest) = decode(&bytes);
        self.open = rest.to_vec();
        self.add(&text);
        was_silent && !self.is_silent()
    }

    /// Notes the end of the output.
    pub(super) fn end(&mut self, report: ExitReport) {
        let open = std::mem::take(&mut self.open);
        self.add(&String::from_utf8_lossy(&open));
        self.end = Some(report);
    }

    /// When there is something to log; never before `now`.
    pub(super) fn due(&self, now: Instant) -> Option<Instant> {
        let at = |at: Option<Instant>| at.map_or(now, |at| at.max(now));
        if self.end.is_some() {
            return Some(now);
        }
        if !self.waiting.is_empty() {
            return Some(at(self.next_at));
        }
        let may_glance = !self.newest.is_empty() && self.may_sample();
        may_glance.then(|| at(self.next_at).max(at(self.sample_at)))
    }

    pub(super) fn take(&mut self, now: Instant, wanted: TakeScope) -> Vec<LogPiece> {
        let mut pieces = Vec::new();
        let is_due = self.due(now).is_some_and(|at| at <= now);
        if let Some(report) = self.end.take() {
            self.take_waiting(&mut pieces);
            self.take_newest(self.max_end_bytes, &mut pieces);
            let is_truncated = self.is_truncated;
            pieces.push(LogPiece::Exited { report, is_truncated });
        } else if wanted == TakeScope::All {
            self.take_waiting(&mut pieces);
            if self.may_sample() {
                self.take_sample(now, &mut pieces);
            }
        } else if is_due && !self.waiting.is_empty() {
            pieces.extend(self.next_waiting());
        } else if is_due {
            self.take_sample(now, &mut pieces);
        }
        if !pieces.is_empty() {
            self.n_pieces =
                self.n_pieces.saturating_add(pieces.len().try_into().unwrap_or(u32::MAX));
            let n_doublings = (self.n_pieces / PIECES_AT_A_PACE).min(MAX_PACE_DOUBLINGS);
            self.next_at = Some(now + PACE * 2_u32.pow(n_doublings));
        }
        pieces
    }

    fn is_silent(&self) -> bool {
        self.waiting.is_empty() && self.newest.is_empty()
    }

    fn may_sample(&self) -> bool {
        self.n_samples < MAX_SAMPLES && self.max_sample_bytes > EVENT_COST + NOTE_COST
    }

    fn add(&mut self, text: &str) {
        let n_live = affordable(text.chars(), &mut self.live_bytes_left);
        let (live, rest) = text.split_at(n_live);
        self.waiting.push_str(live);
        self.newest.push_str(rest);
        if !rest.is_empty() {
            // What did not fit ends it: nothing that comes later may be logged before it.
            self.live_bytes_left = 0;
        }
        // Not each time, and never less than the end may cost.
        if self.newest.len() > self.max_end_bytes * 2 {
            self.leave_out_before(self.newest.len() - self.max_end_bytes);
        }
    }

    fn leave_out_before(&mut self, from: usize) {
        let from = self.newest.ceil_char_boundary(from);
        self.newest.drain(..from);
        self.n_left_out += from as u64;
    }

    fn take_sample(&mut self, now: Instant, pieces: &mut Vec<LogPiece>) {
        if self.newest.is_empty() {
            return;
        }
        self.sample_at = Some(now + FIRST_SAMPLE_INTERVAL * 2_u32.pow(self.n_samples));
        self.n_samples += 1;
        self.take_newest(self.max_sample_bytes, pieces);
    }

    fn take_waiting(&mut self, pieces: &mut Vec<LogPiece>) {
        while let Some(piece) = self.next_waiting() {
            pieces.push(piece);
        }
    }

    fn next_waiting(&mut self) -> Option<LogPiece> {
        let piece = cut_off(&mut self.waiting)?;
        self.live_bytes_left = self.live_bytes_left.saturating_sub(EVENT_COST);
        Some(LogPiece::Output(piece))
    }

    /// Takes as much of the newest as may be spent, from the start of a line if it is not all.
    fn take_newest(&mut self, may_cost: usize, pieces: &mut Vec<LogPiece>) {
        let mut left = may_cost.saturating_sub(EVENT_COST + NOTE_COST);
        let n_kept = affordable(self.newest.chars().rev(), &mut left);
        self.leave_out_before(self.newest.len() - n_kept);
        if self.n_left_out > 0 {
            let line = self.newest.find('\n').map_or(0, |at| at + 1);
            if line < self.newest.len() {
                self.leave_out_before(line);
            }
            let n = std::mem::take(&mut self.n_left_out);
            self.is_truncated = true;
            self.newest.insert_str(0, &format!("\n[… {n} bytes left out …]\n"));
        }
        while let Some(piece) = cut_off(&mut self.newest) {
            pieces.push(LogPiece::Output(piece));
        }
    }
}

/// How many bytes of the characters can be paid for; what they cost is taken off.
fn affordable(characters: impl Iterator<Item = char>, budget: &mut usize) -> usize {
    let mut n_bytes = 0;
    for character in characters {
        let Some(left) = budget.checked_sub(cost(character)) else { break };
        *budget = left;
        n_bytes += character.len_utf8();
    }
    n_bytes
}

/// The bytes of a character in JSON.
fn cost(character: char) -> usize {
    match character {
        '"' | '\\' | '\n' | '\r' | '\t' | '\u{8}' | '\u{c}' => 2,
        '\0'..='\u{1f}' => 6,
        other => other.len_utf8(),
    }
}

/// The first piece of `text`, which is taken out of it.
fn cut_off(text: &mut String) -> Option<String> {
    if text.is_empty() {
        return None;
    }
    let rest = text.split_off(text.floor_char_boundary(MAX_PIECE_BYTES));
    Some(std::mem::replace(text, rest))
}

/// The characters that are whole, and the beginning of one at the end that is not. What is no
/// character becomes one that says so, as if everything had come at once.
fn decode(bytes: &[u8]) -> (String, &[u8]) {
    let mut text = String::with_capacity(bytes.len());
    let mut chunks = bytes.utf8_chunks().peekable();
    while let Some(chunk) = chunks.next() {
        text.push_str(chunk.valid());
        let invalid = chunk.invalid();
        let is_open = chunks.peek().is_none()
            && std::str::from_utf8(invalid).is_err_and(|error| error.error_len().is_none());
        if is_open {
            return (text, invalid);
        }
        if !invalid.is_empty() {
            text.push(char::REPLACEMENT_CHARACTER);
        }
    }
    (text, &[])
}

#[cfg(test)]
mod tests;
