//! Markers in a prompt, which choose the model's answer.
//!
//! In: any text. Out: every `[model:SCENARIO key=value …]` in it, in order.
//! What only looks like one is text like any other.

use std::fmt;

const OPENING: &str = "[model:";

/// `[model:write path=/tmp/note.txt]`: a scenario and what it needs to know.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Marker {
    pub scenario: String,
    keys: Vec<(String, String)>,
}

impl Marker {
    /// Every marker of a text.
    pub fn all(text: &str) -> Vec<Self> {
        let mut found = Vec::new();
        let mut rest = text;
        while let Some(start) = rest.find(OPENING) {
            rest = &rest[start + OPENING.len()..];
            let Some(end) = rest.find(']') else { break };
            found.extend(Self::parse(&rest[..end]));
        }
        found
    }

    pub fn is_in(text: &str) -> bool {
        !Self::all(text).is_empty()
    }

    pub fn get(&self, key: &str) -> Option<&str> {
        self.keys.iter().find(|(name, _)| name == key).map(|(_, value)| value.as_str())
    }

    pub fn number(&self, key: &str) -> Option<u64> {
        self.get(key)?.parse().ok()
    }

    fn parse(inside: &str) -> Option<Self> {
        let mut words = inside.split(' ');
        let scenario = words.next().filter(|name| is_name(name))?;
        let keys = words
            .map(|word| {
                let (key, value) = word.split_once('=')?;
                is_name(key).then(|| (key.to_owned(), value.to_owned()))
            })
            .collect::<Option<_>>()?;
        Some(Self { scenario: scenario.to_owned(), keys })
    }
}

impl fmt::Display for Marker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{OPENING}{}", self.scenario)?;
        for (key, value) in &self.keys {
            write!(f, " {key}={value}")?;
        }
        write!(f, "]")
    }
}

fn is_name(word: &str) -> bool {
    let is_letter = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    !word.is_empty() && word.chars().all(is_letter)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markers_are_found_in_order_and_with_their_keys() {
        let found = Marker::all("a [model:text] b [model:write path=/x/y.txt pace=5] c");

        assert_eq!(found.len(), 2);
        assert_eq!(found[1].to_string(), "[model:write path=/x/y.txt pace=5]");
        assert_eq!((found[1].get("path"), found[1].number("pace")), (Some("/x/y.txt"), Some(5)));
    }

    #[test]
    fn what_only_looks_like_a_marker_is_text() {
        for text in ["[model:", "[model:]", "[model:A]", "[model:a b]", "[model: text]", "[mode:x]"]
        {
            assert!(!Marker::is_in(text), "{text}");
        }
    }
}
