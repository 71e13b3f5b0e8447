//! Makes JSON readable that is well-formed and that `serde_json` does not take all the same.
//!
//! In: a text. Out: the same text, but for halves of surrogate pairs, which JavaScript leaves
//! behind when it cuts strings, and numbers beyond all floats. Agents send both, and nothing else
//! of such a message may be passed over for them. What is no JSON stays none.

use std::borrow::Cow;
use std::ops::Range;

use serde::de::IgnoredAny;

/// The replacement of half a pair, as most readers make it.
const REPLACEMENT: &str = "\\ufffd";
/// The replacements of numbers that are larger than any float, and smaller.
const LARGEST: [&str; 2] = ["1e308", "-1e308"];
/// A number with fewer digits and no exponent is no larger than a float can be.
const MAX_PLAIN_DIGITS: usize = 300;
const UNIT_BYTES: usize = r"\u0000".len();

pub fn readable(text: &str) -> Cow<'_, str> {
    let mut out = String::new();
    let mut copied = 0;
    for (range, instead) in (Flaws { text, at: 0, is_in_string: false }) {
        out.push_str(text.get(copied..range.start).unwrap_or_default());
        out.push_str(instead);
        copied = range.end;
    }
    if copied == 0 {
        return Cow::Borrowed(text);
    }
    out.push_str(text.get(copied..).unwrap_or_default());
    Cow::Owned(out)
}

/// A range that cannot be read, and its replacement.
type Flaw = (Range<usize>, &'static str);

struct Flaws<'a> {
    text: &'a str,
    at: usize,
    is_in_string: bool,
}

impl Iterator for Flaws<'_> {
    type Item = Flaw;

    fn next(&mut self) -> Option<Flaw> {
        loop {
            let rest = self.text.as_bytes().get(self.at..)?;
            let n_plain = match self.is_in_string {
                true => memchr::memchr2(b'"', b'\\', rest)?,
                false => rest.iter().position(|byte| matches!(byte, b'"' | b'-' | b'0'..=b'9'))?,
            };
            let start = self.at + n_plain;
            let flaw = match rest.get(n_plain)? {
                b'"' => {
                    self.is_in_string = !self.is_in_string;
                    self.at = start + 1;
                    None
                }
                b'\\' => self.escape(start),
                _ => self.number(start),
            };
            if flaw.is_some() {
                return flaw;
            }
        }
    }
}

impl Flaws<'_> {
    fn escape(&mut self, start: usize) -> Option<Flaw> {
        let Some(unit) = self.unit(start) else {
            self.at = start + 2;
            return None;
        };
        let end = start + UNIT_BYTES;
        let is_pair = matches!(unit, 0xd800..=0xdbff)
            && self.unit(end).is_some_and(|unit| matches!(unit, 0xdc00..=0xdfff));
        self.at = if is_pair { end + UNIT_BYTES } else { end };
        let is_half = matches!(unit, 0xd800..=0xdfff) && !is_pair;
        is_half.then_some((start..end, REPLACEMENT))
    }

    /// The code unit that is escaped there.
    fn unit(&self, start: usize) -> Option<u16> {
        let digits = self.text.get(start..start + UNIT_BYTES)?.strip_prefix("\\u")?;
        u16::from_str_radix(digits, 16).ok()
    }

    fn number(&mut self, start: usize) -> Option<Flaw> {
        let is_part = |c: char| c.is_ascii_digit() || "+-.eE".contains(c);
        let rest = self.text.get(start..)?;
        let number = rest.split(|c| !is_part(c)).next()?;
        self.at = start + number.len();
        let may_be_large = number.contains(['e', 'E']) || number.len() > MAX_PLAIN_DIGITS;
        let is_flaw = may_be_large
            && serde_json::from_str::<f64>(number).is_err()
            && serde_json::from_str::<IgnoredAny>(number).is_ok();
        let [most, least] = LARGEST;
        let instead = if number.starts_with('-') { least } else { most };
        is_flaw.then_some((start..self.at, instead))
    }
}

#[cfg(test)]
mod tests;
