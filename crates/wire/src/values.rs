//! Counts the values of a message before anything is read into a tree, which takes many times the
//! text.

use crate::limits::CLIENT_VALUES;

/// Whether a client's message has more values than anybody means to send.
pub fn has_too_many_values(text: &[u8]) -> bool {
    has_more_values(text, CLIENT_VALUES)
}

/// Whether a text that may be JSON has more than `max` values. A text that is too short for that
/// is not looked at.
pub fn has_more_values(text: &[u8], max: usize) -> bool {
    let begins_value = |byte: &u8| matches!(byte, b'[' | b'{' | b',');
    text.len() > max && outside_strings(text).filter(begins_value).nth(max).is_some()
}

/// The bytes of a JSON text that stand outside of its strings.
pub(crate) fn outside_strings(text: &[u8]) -> impl Iterator<Item = u8> {
    let mut rest = text;
    std::iter::from_fn(move || {
        loop {
            let (&byte, after) = rest.split_first()?;
            if byte != b'"' {
                rest = after;
                return Some(byte);
            }
            rest = after_string(after);
        }
    })
}

/// What follows a string, of which the first quote is gone.
fn after_string(mut rest: &[u8]) -> &[u8] {
    // Strings are most of a large message, and looked at a few dozen bytes at a time.
    while let Some(at) = memchr::memchr2(b'"', b'\\', rest) {
        let is_end = rest.get(at) == Some(&b'"');
        let next = if is_end { at + 1 } else { at + 2 };
        rest = rest.get(next..).unwrap_or_default();
        if is_end {
            return rest;
        }
    }
    &[]
}

#[cfg(test)]
mod tests {
    //! Values are counted, and what looks like them in text is not.

    use super::*;

    #[test]
    fn one_more_than_may_be_is_too_many() {
        let list = |n: usize| format!("[{}1]", "1,".repeat(n - 1));
        for max in [CLIENT_VALUES, 10] {
            assert!(!has_more_values(list(max).as_bytes(), max), "{max}");
            assert!(has_more_values(list(max + 1).as_bytes(), max), "{max}");
        }
        assert!(!has_too_many_values(list(CLIENT_VALUES).as_bytes()));
        assert!(has_too_many_values(list(CLIENT_VALUES + 1).as_bytes()));
        let objects = format!("[{}]", r#"{"a":{}},"#.repeat(10));
        assert!(
            has_more_values(objects.as_bytes(), 30) && !has_more_values(objects.as_bytes(), 31)
        );
    }

    #[test]
    fn text_is_no_values_however_it_is_written() {
        for text in [r#"",,,,[[[{{{""#, r#""\",,,,,,,,\\""#, r#"["\\\",,,,,,",",,,,"]"#] {
            assert!(!has_more_values(text.as_bytes(), 2), "{text}");
        }
    }
}
