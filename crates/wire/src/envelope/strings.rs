//! Finds the end of JSON strings, and checks them on the way.
//!
//! Most of a line is inside strings, so this decides how fast a line is read. Short strings are
//! searched by words. Longer ones are searched by blocks, of which one number says where quotes
//! and backslashes are: text full of escapes costs little more than plain text. Plain text is
//! skipped with wide registers. What must not be in a string, and hardly ever is, is looked for
//! in the whole line at once.

use super::fault::ScanFault;

/// Words of 8 bytes behind the opening quote that are searched before a string counts as long.
const SHORT_WORDS: usize = 2;
const BLOCK: usize = 64;

/// The kinds of bytes that a line has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LineSurvey {
    pub(super) is_ascii: bool,
    pub(super) has_control: bool,
}

impl LineSurvey {
    pub(super) fn of(line: &[u8]) -> Self {
        // By words and without an early exit: fast where the compiler makes vector code of it, and
        // not much slower where code is made small and it does not.
        let (mut bits, mut below) = (0, 0);
        let mut add = |word: &[u8; 8]| {
            let word = u64::from_le_bytes(*word);
            bits |= word;
            below |= word.wrapping_sub(ONES * u64::from(b' ')) & !word;
        };
        let (words, rest) = line.as_chunks::<8>();
        words.iter().for_each(&mut add);
        // The last word may overlap the one before it.
        match line.last_chunk::<8>() {
            Some(last) => add(last),
            None => rest.iter().for_each(|byte| add(&[*byte; 8])),
        }
        Self { is_ascii: bits & TOPS == 0, has_control: below & TOPS != 0 }
    }
}

/// The end of the string that starts at `start`, behind its closing quote. The text is known to
/// have a quote at `start`. Control characters are not looked for.
pub(super) fn string_end(text: &[u8], start: usize) -> Result<usize, ScanFault> {
    let mut at = start + 1;
    let rest = text.get(at..).unwrap_or_default();
    for word in rest.as_chunks::<8>().0.iter().take(SHORT_WORDS) {
        let stops = stops_in_word(u64::from_le_bytes(*word));
        if stops != 0 {
            at += stops.trailing_zeros() as usize / 8;
            return match text.get(at) {
                Some(b'"') => Ok(at + 1),
                _ => long_string_end(text, at),
            };
        }
        at += 8;
    }
    long_string_end(text, at)
}

fn long_string_end(text: &[u8], mut at: usize) -> Result<usize, ScanFault> {
    'blocks: while let Some(block) = text.get(at..).and_then(<[u8]>::first_chunk::<BLOCK>) {
        let mut stops = stops_in_block(block);
        if stops == 0 {
            let rest = text.get(at + BLOCK..).unwrap_or_default();
            at += BLOCK + memchr::memchr2(b'"', b'\\', rest).unwrap_or(rest.len());
            continue;
        }
        while stops != 0 {
            let place = stops.trailing_zeros() as usize;
            match block.get(place) {
                Some(b'"') => return Ok(at + place + 1),
                _ => {
                    let next = place + escape_length(text, at + place)?;
                    if next >= BLOCK {
                        at += next;
                        continue 'blocks;
                    }
                    stops &= u64::MAX << next;
                }
            }
        }
        at += BLOCK;
    }
    // Less than a block is left of the line.
    loop {
        while let Some(word) = text.get(at..).and_then(<[u8]>::first_chunk::<8>) {
            let stops = stops_in_word(u64::from_le_bytes(*word));
            at += stops.trailing_zeros() as usize / 8;
            if stops != 0 {
                break;
            }
        }
        match text.get(at) {
            Some(b'"') => return Ok(at + 1),
            Some(b'\\') => at += escape_length(text, at)?,
            Some(_) => at += 1,
            None => return Err(ScanFault::CutOff),
        }
    }
}

/// The length of the escape that starts at `at` with a backslash.
fn escape_length(text: &[u8], at: usize) -> Result<usize, ScanFault> {
    match text.get(at + 1) {
        Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => Ok(2),
        Some(b'u') => match text.get(at + 2..at + 6) {
            Some(digits) if digits.iter().all(u8::is_ascii_hexdigit) => Ok(6),
            Some(_) => Err(ScanFault::BadString),
            None => Err(ScanFault::CutOff),
        },
        Some(_) => Err(ScanFault::BadString),
        None => Err(ScanFault::CutOff),
    }
}

const ONES: u64 = u64::from_le_bytes([1; 8]);
const TOPS: u64 = u64::from_le_bytes([0x80; 8]);

/// Marks, in the top bit of its place, every quote and backslash.
fn stops_in_word(word: u64) -> u64 {
    // With its top bit away a byte cannot carry into the next one.
    let low = word & !TOPS;
    let not_quote = (low ^ (ONES * u64::from(b'"'))) + !TOPS;
    let not_backslash = (low ^ (ONES * u64::from(b'\\'))) + !TOPS;
    let plain = (not_quote & not_backslash) | word;
    !plain & TOPS
}

/// Marks the quotes and backslashes of a block, one bit for each byte.
fn stops_in_block(block: &[u8; BLOCK]) -> u64 {
    // The product has the lowest bits of all bytes of the word side by side in its top byte.
    const GATHER: u64 = 0x0102_0408_1020_4080;
    let mut bits = 0;
    for word in block.as_chunks::<8>().0.iter().rev() {
        let stops = stops_in_word(u64::from_le_bytes(*word)) >> 7;
        bits = bits << 8 | stops.wrapping_mul(GATHER) >> 56;
    }
    bits
}

#[cfg(test)]
mod tests;
