//! Walks over JSON text without decoding it.
//!
//! Checks the grammar as it goes: strings, numbers, literals, nesting, and that nothing
//! follows. The text is known to be UTF-8. No recursion, no allocation: what is open stands
//! in the bits of one integer.

use std::borrow::Cow;

use super::Span;
use crate::limits::NESTING;

/// What stopped the walk.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fault {
    pub(super) why: &'static str,
    pub(super) is_parse_error: bool,
}

impl Fault {
    pub(super) const fn json(why: &'static str) -> Self {
        Self { why, is_parse_error: true }
    }

    pub(super) const fn message(why: &'static str) -> Self {
        Self { why, is_parse_error: false }
    }
}

const CUT_OFF: Fault = Fault::json("the line ends inside a value");
const BAD_VALUE: Fault = Fault::json("a value is not JSON");
const BAD_STRING: Fault = Fault::json("a string is not JSON");
const BAD_NUMBER: Fault = Fault::json("a number is not JSON");
const BAD_OBJECT: Fault = Fault::json("an object is not JSON");
const BAD_ARRAY: Fault = Fault::json("an array is not JSON");
const TOO_DEEP: Fault = Fault::message("it is nested too deeply");

/// A string of at least this many bytes is searched with wide registers instead of words.
const LONG_STRING: usize = 64;

/// A string, with its quotes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Key {
    span: Span,
    has_escapes: bool,
}

pub(super) struct Scanner<'a> {
    text: &'a [u8],
    at: usize,
    /// Whether the object that is read member by member has just been opened.
    is_first: bool,
}

impl<'a> Scanner<'a> {
    pub(super) fn new(line: &'a [u8]) -> Self {
        let at = if line.starts_with("\u{feff}".as_bytes()) { 3 } else { 0 };
        Self { text: line, at, is_first: false }
    }

    pub(super) fn position(&self) -> usize {
        self.at
    }

    pub(super) fn span_from(&self, start: usize) -> Span {
        // The line's length was checked to fit.
        let narrow = |place: usize| u32::try_from(place).unwrap_or(u32::MAX);
        Span { start: narrow(start), end: narrow(self.at) }
    }

    /// Whether the next value starts with `byte`.
    pub(super) fn is_at(&mut self, byte: u8) -> bool {
        self.skip_space();
        self.peek() == Some(byte)
    }

    /// Enters an object; `false` if something else stands there.
    pub(super) fn open_object(&mut self) -> Result<bool, Fault> {
        self.skip_space();
        match self.peek() {
            None => Err(CUT_OFF),
            Some(b'{') => {
                self.at += 1;
                self.is_first = true;
                Ok(true)
            }
            Some(_) => Ok(false),
        }
    }

    /// The next member's name, with the colon consumed; `None` after the last one.
    pub(super) fn next_key(&mut self) -> Result<Option<Key>, Fault> {
        self.skip_space();
        let is_first = std::mem::take(&mut self.is_first);
        match (self.peek(), is_first) {
            (Some(b'}'), _) => {
                self.at += 1;
                return Ok(None);
            }
            (Some(b','), false) => self.at += 1,
            (Some(_), true) => {}
            (Some(_), false) => return Err(BAD_OBJECT),
            (None, _) => return Err(CUT_OFF),
        }
        self.key().map(Some)
    }

    /// A name as it is meant, for comparison.
    pub(super) fn key_text(&self, key: Key) -> Cow<'a, [u8]> {
        let quoted = self.text.get(key.span.range()).unwrap_or_default();
        let inner = quoted.get(1..quoted.len().saturating_sub(1)).unwrap_or_default();
        if !key.has_escapes {
            return Cow::Borrowed(inner);
        }
        let decoded = serde_json::from_slice::<String>(quoted);
        decoded.map_or(Cow::Borrowed(inner), |text| Cow::Owned(text.into_bytes()))
    }

    /// Nothing but space may follow.
    pub(super) fn end(&mut self) -> Result<(), Fault> {
        self.skip_space();
        match self.peek() {
            None => Ok(()),
            Some(_) => Err(Fault::json("something follows the message")),
        }
    }

    /// The fault of a line whose outermost value is no object.
    pub(super) fn not_an_object(&mut self) -> Fault {
        let is_array = self.is_at(b'[');
        match self.value(0).and_then(|_| self.end()) {
            Err(fault) => fault,
            Ok(()) if is_array => Fault::message("batches are not supported"),
            Ok(()) => Fault::message("it is not an object"),
        }
    }

    /// Walks over one value that stands inside `outer` other ones.
    pub(super) fn value(&mut self, outer: usize) -> Result<Span, Fault> {
        self.skip_space();
        let start = self.at;
        // One bit for each open value: 1 for an object, 0 for an array.
        let (mut open, mut depth) = (0_u128, 0_usize);
        'value: loop {
            self.skip_space();
            match self.peek().ok_or(CUT_OFF)? {
                b'"' => _ = self.string()?,
                byte @ (b'{' | b'[') => {
                    if outer + depth >= NESTING {
                        return Err(TOO_DEEP);
                    }
                    self.at += 1;
                    let is_object = byte == b'{';
                    if self.is_at(if is_object { b'}' } else { b']' }) {
                        self.at += 1;
                    } else {
                        open = open << 1 | u128::from(is_object);
                        depth += 1;
                        if is_object {
                            self.key()?;
                        }
                        continue 'value;
                    }
                }
                b'-' | b'0'..=b'9' => self.number()?,
                b't' => self.literal(b"true")?,
                b'f' => self.literal(b"false")?,
                b'n' => self.literal(b"null")?,
                _ => return Err(BAD_VALUE),
            }
            // A value is complete; so are those that end with it.
            while depth > 0 {
                self.skip_space();
                let is_object = open & 1 == 1;
                match (self.peek().ok_or(CUT_OFF)?, is_object) {
                    (b',', _) => {
                        self.at += 1;
                        if is_object {
                            self.key()?;
                        }
                        continue 'value;
                    }
                    (b'}', true) | (b']', false) => {
                        self.at += 1;
                        open >>= 1;
                        depth -= 1;
                    }
                    (_, true) => return Err(BAD_OBJECT),
                    (_, false) => return Err(BAD_ARRAY),
                }
            }
            return Ok(self.span_from(start));
        }
    }

    fn key(&mut self) -> Result<Key, Fault> {
        if !self.is_at(b'"') {
            return Err(if self.peek().is_none() { CUT_OFF } else { BAD_OBJECT });
        }
        let key = self.string()?;
        if !self.is_at(b':') {
            return Err(if self.peek().is_none() { CUT_OFF } else { BAD_OBJECT });
        }
        self.at += 1;
        Ok(key)
    }

    fn string(&mut self) -> Result<Key, Fault> {
        let (start, mut has_escapes) = (self.at, false);
        self.at += 1;
        loop {
            self.at += self.plain_length();
            match self.peek().ok_or(CUT_OFF)? {
                b'"' => {
                    self.at += 1;
                    return Ok(Key { span: self.span_from(start), has_escapes });
                }
                b'\\' => {
                    has_escapes = true;
                    self.escape()?;
                }
                _ => return Err(BAD_STRING),
            }
        }
    }

    /// How many bytes from here on stand for themselves inside a string.
    fn plain_length(&self) -> usize {
        let rest = self.text.get(self.at..).unwrap_or_default();
        let mut n_plain = 0;
        for chunk in rest.chunks_exact(8).take(LONG_STRING / 8) {
            let word = chunk.try_into().map_or(0, u64::from_le_bytes);
            let stops = special_bytes(word);
            if stops != 0 {
                return n_plain + stops.trailing_zeros() as usize / 8;
            }
            n_plain += 8;
        }
        let rest = rest.get(n_plain..).unwrap_or_default();
        let n_more = if rest.len() < 8 {
            rest.iter().position(|byte| matches!(byte, b'"' | b'\\')).unwrap_or(rest.len())
        } else {
            memchr::memchr2(b'"', b'\\', rest).unwrap_or(rest.len())
        };
        let run = rest.get(..n_more).unwrap_or_default();
        // Without an early exit, so that it becomes vector code; control bytes are rare.
        let has_control = run.iter().fold(0, |seen, byte| seen | u8::from(*byte < b' ')) != 0;
        match has_control {
            false => n_plain + n_more,
            true => n_plain + run.iter().position(|byte| *byte < b' ').unwrap_or(n_more),
        }
    }

    fn escape(&mut self) -> Result<(), Fault> {
        let rest = self.text.get(self.at + 1..).unwrap_or_default();
        let n_escaped = match rest {
            [b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't', ..] => 1,
            [b'u', hex @ ..] => match hex.get(..4) {
                Some(digits) if digits.iter().all(u8::is_ascii_hexdigit) => 5,
                Some(_) => return Err(BAD_STRING),
                None => return Err(CUT_OFF),
            },
            [] => return Err(CUT_OFF),
            _ => return Err(BAD_STRING),
        };
        self.at += 1 + n_escaped;
        Ok(())
    }

    fn number(&mut self) -> Result<(), Fault> {
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        if self.peek() == Some(b'0') {
            self.at += 1;
        } else {
            self.digits()?;
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.digits()?;
        }
        Ok(())
    }

    fn digits(&mut self) -> Result<(), Fault> {
        let rest = self.text.get(self.at..).unwrap_or_default();
        let n_digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        if n_digits == 0 {
            return Err(if rest.is_empty() { CUT_OFF } else { BAD_NUMBER });
        }
        self.at += n_digits;
        Ok(())
    }

    fn literal(&mut self, word: &[u8]) -> Result<(), Fault> {
        let rest = self.text.get(self.at..).unwrap_or_default();
        if !rest.starts_with(word) {
            return Err(BAD_VALUE);
        }
        self.at += word.len();
        Ok(())
    }

    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn skip_space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\r' | b'\n')) {
            self.at += 1;
        }
    }
}

/// Marks, in the top bit of its place, the first byte that is a quote, a backslash or a
/// control character. Marks above the first one may be wrong.
fn special_bytes(word: u64) -> u64 {
    const ONES: u64 = u64::from_le_bytes([1; 8]);
    const TOPS: u64 = u64::from_le_bytes([0x80; 8]);
    let zero_bytes = |word: u64| word.wrapping_sub(ONES) & !word & TOPS;
    let quotes = zero_bytes(word ^ (ONES * u64::from(b'"')));
    let backslashes = zero_bytes(word ^ (ONES * u64::from(b'\\')));
    let controls = word.wrapping_sub(ONES * 0x20) & !word & TOPS;
    quotes | backslashes | controls
}
