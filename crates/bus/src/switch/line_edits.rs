//! Lines that go out: the sender's bytes with a few spans replaced, or lines of the switch itself.

use bytes::Bytes;
use wire::{Json, Span};

/// The raw text of a JSON-RPC id, kept apart from the line it came in: a slice of the line
/// would keep the whole read buffer alive as long as the request is open.
#[derive(Clone, PartialEq, Eq)]
pub(super) enum RawId {
    /// A decimal number, as most clients count.
    Number(Digits),
    Short {
        text: [u8; Self::SHORT],
        n_bytes: u8,
    },
    Long(Box<[u8]>),
}

impl RawId {
    /// Room for a UUID in quotes.
    const SHORT: usize = 38;

    pub(super) fn new(raw: &[u8]) -> Self {
        if let Some(n) = number(raw) {
            return Self::Number(Digits::of(n));
        }
        let raw = if raw.is_empty() { b"null" } else { raw };
        let mut text = [0; Self::SHORT];
        match (text.get_mut(..raw.len()), u8::try_from(raw.len())) {
            (Some(start), Ok(n_bytes)) => {
                start.copy_from_slice(raw);
                Self::Short { text, n_bytes }
            }
            _ => Self::Long(raw.into()),
        }
    }

    pub(super) fn as_bytes(&self) -> &[u8] {
        match self {
            Self::Number(digits) => digits.as_bytes(),
            Self::Short { text, n_bytes } => text.get(..usize::from(*n_bytes)).unwrap_or_default(),
            Self::Long(text) => text,
        }
    }
}

impl std::fmt::Debug for RawId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&String::from_utf8_lossy(self.as_bytes()))
    }
}

/// The decimal digits of a number.
///
/// They are gathered in one register: bytes that are written one by one and read together soon
/// after make the processor wait.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Digits {
    text: [u8; Self::MAX],
    n_bytes: u8,
}

impl Digits {
    /// Digits for more requests than anybody will make; longer numbers are cut off.
    const MAX: usize = 16;

    pub(super) fn of(mut n: u64) -> Self {
        let (mut text, mut n_bytes) = (0_u128, 0);
        loop {
            text = text << 8 | u128::from(b'0') | u128::from(n % 10);
            n /= 10;
            n_bytes += 1;
            if n == 0 || usize::from(n_bytes) == Self::MAX {
                return Self { text: text.to_le_bytes(), n_bytes };
            }
        }
    }

    pub(super) fn as_bytes(&self) -> &[u8] {
        self.text.get(..usize::from(self.n_bytes)).unwrap_or_default()
    }
}

/// The number of a raw id that we could have given out.
pub(super) fn number(raw: &[u8]) -> Option<u64> {
    if raw.is_empty() || raw.len() > Digits::MAX || (raw.len() > 1 && raw.starts_with(b"0")) {
        return None;
    }
    raw.iter()
        .try_fold(0_u64, |n, byte| byte.is_ascii_digit().then(|| n * 10 + u64::from(byte - b'0')))
}

/// Up to three spans of a line that are to be replaced.
#[derive(Default)]
pub(super) struct LineEdits<'a> {
    places: [(Span, &'a [u8]); 3],
    n_places: usize,
}

impl<'a> LineEdits<'a> {
    /// Sets the replacement of one span; a span that is not in the line is left out.
    pub(super) fn set(&mut self, at: Span, with: &'a [u8]) {
        if !at.is_some() {
            return;
        }
        if let Some(place) = self.places.get_mut(self.n_places) {
            *place = (at, with);
            self.n_places += 1;
        }
    }

    /// The line with its spans replaced, every other byte untouched, and its newline.
    pub(super) fn apply(&mut self, line: &[u8]) -> Bytes {
        let places = self.places.get_mut(..self.n_places).unwrap_or_default();
        if places.len() > 1 {
            places.sort_unstable_by_key(|(at, _)| at.range().start);
        }
        // The exact size: a buffer with room to spare would be allocated twice.
        let n_bytes = places.iter().fold(line.len() + 1, |n_bytes, (at, with)| {
            (n_bytes + with.len()).saturating_sub(at.range().len())
        });
        let mut out = Vec::with_capacity(n_bytes);
        let mut copied = 0;
        for (at, with) in places {
            out.extend_from_slice(line.get(copied..at.range().start).unwrap_or_default());
            out.extend_from_slice(with);
            copied = at.range().end;
        }
        out.extend_from_slice(line.get(copied..).unwrap_or_default());
        out.push(b'\n');
        out.into()
    }
}

/// The line with one of its spans replaced.
pub(super) fn replaced(line: &[u8], at: Span, with: &[u8]) -> Bytes {
    let mut edits = LineEdits::default();
    edits.set(at, with);
    edits.apply(line)
}

/// `text` as a JSON string.
pub(super) fn quoted(text: &str) -> String {
    Json::of(&text).as_str().to_owned()
}

pub(super) fn cancel_request(n: u64) -> Bytes {
    wire::notification_line("$/cancel_request", &format!("{{\"requestId\":{n}}}")).into()
}

pub(super) fn session_cancel(session: &str) -> Bytes {
    let params = format!("{{\"sessionId\":{}}}", quoted(session));
    wire::notification_line("session/cancel", &params).into()
}
