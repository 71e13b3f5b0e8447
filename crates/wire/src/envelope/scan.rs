//! Walks over JSON text without decoding it.
//!
//! Checks the grammar as it goes: strings, numbers, literals, nesting, and that nothing
//! follows. No recursion, no allocation: what is open stands in the bits of one integer.

use std::ops::Range;

use super::Span;
use super::fault::ScanFault;
use super::strings::string_end;
use crate::limits::MAX_NESTING;

/// The members that routing looks at, wherever they stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Member {
    Jsonrpc,
    Id,
    Method,
    Params,
    Result,
    Error,
    Session,
    Pool,
    Request,
    Meta,
    Other,
}

impl Member {
    /// The member that `rest` starts with, if it is a frequent one written as nearly always;
    /// and how long its name is, with the colon.
    fn frequent(rest: &[u8]) -> Option<(Self, usize)> {
        match rest.get(1)? {
            b'i' if rest.starts_with(b"\"id\":") => Some((Self::Id, 5)),
            b'm' if rest.starts_with(b"\"method\":") => Some((Self::Method, 9)),
            b'p' if rest.starts_with(b"\"params\":") => Some((Self::Params, 9)),
            b'r' if rest.starts_with(b"\"result\":") => Some((Self::Result, 9)),
            b's' if rest.starts_with(b"\"sessionId\":") => Some((Self::Session, 12)),
            b'j' if rest.starts_with(b"\"jsonrpc\":") => Some((Self::Jsonrpc, 10)),
            _ => None,
        }
    }

    fn named(name: &[u8]) -> Self {
        match name {
            b"jsonrpc" => Self::Jsonrpc,
            b"id" => Self::Id,
            b"method" => Self::Method,
            b"params" => Self::Params,
            b"result" => Self::Result,
            b"error" => Self::Error,
            b"sessionId" => Self::Session,
            b"pool" => Self::Pool,
            b"requestId" => Self::Request,
            b"_meta" => Self::Meta,
            _ => Self::Other,
        }
    }
}

pub(super) struct Scanner<'a> {
    text: &'a [u8],
    pub(super) at: usize,
    last: LastToken,
    /// Whether the line has control characters, if only as space.
    has_control: bool,
}

/// The token that was read last of the object that is read member by member.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LastToken {
    Brace,
    Member,
    Comma,
}

impl<'a> Scanner<'a> {
    pub(super) fn new(line: &'a [u8], has_control: bool) -> Self {
        let at = if line.starts_with("\u{feff}".as_bytes()) { 3 } else { 0 };
        Self { text: line, at, last: LastToken::Brace, has_control }
    }

    /// Skips the beginning that nearly every line has, up to and with its comma; returns the span
    /// of its version.
    pub(super) fn usual_opening(&mut self) -> Option<Span> {
        const OPENING: &[u8] = b"{\"jsonrpc\":\"2.0\",";
        const VERSION: Span = Span::new(11, 16);
        let is_usual = self.text.starts_with(OPENING);
        if is_usual {
            self.at = OPENING.len();
            self.last = LastToken::Comma;
        }
        is_usual.then_some(VERSION)
    }

    pub(super) fn span_from(&self, start: usize) -> Span {
        // The line's length was checked to fit.
        let narrow = |place: usize| u32::try_from(place).unwrap_or(u32::MAX);
        Span::new(narrow(start), narrow(self.at))
    }

    /// Whether the next value starts with `byte`.
    pub(super) fn is_at(&mut self, byte: u8) -> bool {
        self.next_byte() == Some(byte)
    }

    /// Enters an object; `false` if something else stands there.
    pub(super) fn open_object(&mut self) -> Result<bool, ScanFault> {
        match self.next_byte() {
            None => Err(ScanFault::CutOff),
            Some(b'{') => {
                self.at += 1;
                self.last = LastToken::Brace;
                Ok(true)
            }
            Some(_) => Ok(false),
        }
    }

    /// The next member, with its name and the colon consumed; `None` after the last one.
    pub(super) fn next_member(&mut self) -> Result<Option<Member>, ScanFault> {
        let last = std::mem::replace(&mut self.last, LastToken::Member);
        match (self.next_byte(), last) {
            (Some(b'}'), LastToken::Brace | LastToken::Member) => {
                self.at += 1;
                return Ok(None);
            }
            (Some(b','), LastToken::Member) => self.at += 1,
            (Some(_), LastToken::Brace | LastToken::Comma) => {}
            (Some(_), LastToken::Member) => return Err(ScanFault::BadObject),
            (None, _) => return Err(ScanFault::CutOff),
        }
        let rest = self.text.get(self.at..).unwrap_or_default();
        if let Some((member, n_bytes)) = Member::frequent(rest) {
            self.at += n_bytes;
            return Ok(Some(member));
        }
        self.any_member().map(Some)
    }

    /// A member however it is written. Apart, so that frequent ones do not pay for it.
    #[inline(never)]
    fn any_member(&mut self) -> Result<Member, ScanFault> {
        let name = self.key()?;
        let name = self.text.get(name).unwrap_or_default();
        if !name.contains(&b'\\') {
            let name = name.get(1..name.len() - 1).unwrap_or_default();
            return Ok(Member::named(name));
        }
        let name = serde_json::from_slice::<String>(name).unwrap_or_default();
        Ok(Member::named(name.as_bytes()))
    }

    /// Checks that nothing but space follows.
    pub(super) fn end(&mut self) -> Result<(), ScanFault> {
        match self.next_byte() {
            None => Ok(()),
            Some(_) => Err(ScanFault::Followed),
        }
    }

    /// The fault of a line whose outermost value is no object.
    pub(super) fn not_an_object(&mut self) -> ScanFault {
        let is_array = self.is_at(b'[');
        match self.value(0).and_then(|_| self.end()) {
            Err(fault) => fault,
            Ok(()) if is_array => ScanFault::Batch,
            Ok(()) => ScanFault::NoObject,
        }
    }

    /// Walks over one value that stands inside `outer` other ones.
    pub(super) fn value(&mut self, outer: usize) -> Result<Span, ScanFault> {
        let first = self.next_byte().ok_or(ScanFault::CutOff)?;
        let start = self.at;
        match first {
            b'"' => self.string()?,
            b'{' | b'[' => self.nested(outer)?,
            _ => self.scalar(first)?,
        }
        Ok(self.span_from(start))
    }

    /// Walks over an object or an array.
    fn nested(&mut self, outer: usize) -> Result<(), ScanFault> {
        // One bit for each open value: 1 for an object, 0 for an array.
        let (mut open, mut depth) = (0_u128, 0_usize);
        'value: loop {
            match self.next_byte().ok_or(ScanFault::CutOff)? {
                byte @ (b'{' | b'[') => {
                    if outer + depth >= MAX_NESTING {
                        return Err(ScanFault::TooDeep);
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
                byte => self.scalar(byte)?,
            }
            // A value is complete; so are those that end with it.
            while depth > 0 {
                let is_object = open & 1 == 1;
                match (self.next_byte().ok_or(ScanFault::CutOff)?, is_object) {
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
                    (_, true) => return Err(ScanFault::BadObject),
                    (_, false) => return Err(ScanFault::BadArray),
                }
            }
            return Ok(());
        }
    }

    /// Walks over a value without parts that starts with `first`.
    fn scalar(&mut self, first: u8) -> Result<(), ScanFault> {
        match first {
            b'"' => self.string()?,
            b'-' | b'0'..=b'9' => self.number()?,
            b't' => self.literal(b"true")?,
            b'f' => self.literal(b"false")?,
            b'n' => self.literal(b"null")?,
            _ => return Err(ScanFault::BadValue),
        }
        Ok(())
    }

    /// Walks over a name and its colon; returns the range of the name, with its quotes.
    fn key(&mut self) -> Result<Range<usize>, ScanFault> {
        self.expect(b'"')?;
        let start = self.at;
        self.string()?;
        let end = self.at;
        self.expect(b':')?;
        self.at += 1;
        Ok(start..end)
    }

    fn string(&mut self) -> Result<(), ScanFault> {
        let start = self.at;
        self.at = string_end(self.text, start)?;
        if self.has_control {
            let string = self.text.get(start..self.at).unwrap_or_default();
            if string.iter().any(|byte| *byte < b' ') {
                return Err(ScanFault::BadString);
            }
        }
        Ok(())
    }

    fn expect(&mut self, byte: u8) -> Result<(), ScanFault> {
        match self.next_byte() {
            Some(found) if found == byte => Ok(()),
            Some(_) => Err(ScanFault::BadObject),
            None => Err(ScanFault::CutOff),
        }
    }

    fn number(&mut self) -> Result<(), ScanFault> {
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

    fn digits(&mut self) -> Result<(), ScanFault> {
        let start = self.at;
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        match self.peek() {
            _ if self.at > start => Ok(()),
            Some(_) => Err(ScanFault::BadNumber),
            None => Err(ScanFault::CutOff),
        }
    }

    fn literal(&mut self, word: &[u8]) -> Result<(), ScanFault> {
        let rest = self.text.get(self.at..).unwrap_or_default();
        if !rest.starts_with(word) {
            return Err(ScanFault::BadValue);
        }
        self.at += word.len();
        Ok(())
    }

    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    /// The next byte that is no space; the scanner stands there.
    fn next_byte(&mut self) -> Option<u8> {
        loop {
            match self.text.get(self.at) {
                Some(b' ' | b'\t' | b'\r' | b'\n') => self.at += 1,
                byte => return byte.copied(),
            }
        }
    }
}
