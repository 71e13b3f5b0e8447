//! Repairs JSON with small faults, in one pass.

use std::fmt::Write as _;

/// Why a text has more than one possible meaning, so that it is not repaired.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum RepairError {
    /// It ends inside a string.
    InString,
    /// It ends where something has to follow.
    InValue,
    /// Brackets that do not belong together.
    Brackets,
}

/// Takes out commas before closing brackets, escapes what must be in strings, and adds the
/// closing brackets that are missing at the end. Whether the result is JSON is another question.
pub(super) fn repair(text: &str) -> Result<String, RepairError> {
    let mut out = String::with_capacity(text.len() + 8);
    let mut open = Vec::new();
    let mut chars = text.chars().peekable();
    // A comma and the white space after it, until it shows whether it is one too many.
    let mut pending = String::new();
    while let Some(c) = chars.next() {
        if c.is_ascii_whitespace() && !pending.is_empty() {
            pending.push(c);
            continue;
        }
        match c {
            '}' | ']' => {
                let is_one_too_many = pending.starts_with(',') && pending.matches(',').count() == 1;
                if !is_one_too_many {
                    out.push_str(&pending);
                }
                pending.clear();
                if open.pop() != Some(c) {
                    return Err(RepairError::Brackets);
                }
                out.push(c);
                continue;
            }
            ',' => {
                pending.push(c);
                continue;
            }
            _ => {
                out.push_str(&pending);
                pending.clear();
            }
        }
        match c {
            '{' => {
                open.push('}');
                out.push(c);
            }
            '[' => {
                open.push(']');
                out.push(c);
            }
            '"' => string(&mut chars, &mut out)?,
            c => out.push(c),
        }
    }
    if !pending.is_empty() {
        return Err(RepairError::InValue);
    }
    if !open.is_empty() {
        // After anything else more was to come: a number has digits left, a name its value.
        let is_whole = is_after_value(&out);
        if !is_whole {
            return Err(RepairError::InValue);
        }
        out.extend(open.iter().rev());
    }
    Ok(out)
}

/// Copies the rest of a string to `out`, its quotes included.
fn string(
    chars: &mut std::iter::Peekable<std::str::Chars<'_>>,
    out: &mut String,
) -> Result<(), RepairError> {
    out.push('"');
    while let Some(c) = chars.next() {
        match c {
            '"' => {
                out.push('"');
                return Ok(());
            }
            '\\' => match chars.next() {
                None => return Err(RepairError::InString),
                Some(c @ ('"' | '\\' | '/' | 'b' | 'f' | 'n' | 'r' | 't' | 'u')) => {
                    out.push('\\');
                    out.push(c);
                }
                // JSON has no such escapes, and languages that have this one mean the quote.
                Some('\'') => out.push('\''),
                // A regular expression or a path whose backslash was not doubled.
                Some(c) => {
                    out.push_str("\\\\");
                    plain(c, out);
                }
            },
            c => plain(c, out),
        }
    }
    Err(RepairError::InString)
}

fn plain(c: char, out: &mut String) {
    match c {
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        c if u32::from(c) < 0x20 => {
            // Writing to a String cannot fail.
            let _ = write!(out, "\\u{:04x}", u32::from(c));
        }
        c => out.push(c),
    }
}

/// Whether a whole JSON value stands at the end. A string there may also be the name of a member:
/// then what comes out is no JSON, which the caller finds out.
fn is_after_value(text: &str) -> bool {
    let text = text.trim_end();
    text.ends_with(['"', '}', ']'])
        || ["true", "false", "null"].iter().any(|word| text.ends_with(word))
}
