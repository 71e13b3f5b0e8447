//! Reads JSON that need not have the shape we hope for.
//!
//! In: the text of one JSON value. Out: its members, items and scalars, each on demand and
//! each optional. Nothing is parsed deeper than asked, so nesting of any depth, numbers of
//! any size and broken values in members nobody looks at do no harm. Of a member that is
//! given twice the last one counts, as in JavaScript.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, Visitor};
use serde_json::value::RawValue;
use wire::{Json, RawJson};

/// One JSON value, not read yet.
#[derive(Debug, Clone, Copy)]
pub struct JsonNode<'a>(&'a str);

/// The members of a JSON object; empty for anything that is no object.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct JsonObject<'a>(
    #[serde(borrow, deserialize_with = "wire::members_in_order")]
    Vec<(LossyText<'a>, &'a RawValue)>,
);

impl<'a> JsonNode<'a> {
    pub fn of(json: impl Into<RawJson<'a>>) -> Self {
        Self(json.into().as_str().trim_ascii())
    }

    pub fn object(self) -> JsonObject<'a> {
        if self.is_object() { self.read().unwrap_or_default() } else { JsonObject::default() }
    }

    pub fn items(self) -> Vec<JsonNode<'a>> {
        if !self.is_list() {
            return Vec::new();
        }
        let items: Vec<&RawValue> = self.read().unwrap_or_default();
        items.into_iter().map(|item| JsonNode(item.get())).collect()
    }

    /// A string. Half of a surrogate pair, which JavaScript leaves behind when it cuts
    /// strings, becomes a replacement character.
    pub fn text(self) -> Option<Cow<'a, str>> {
        if !self.0.starts_with('"') {
            return None;
        }
        self.read().map(|LossyText(text)| text)
    }

    /// A string, or a number as it was written: ids come as either.
    pub fn label(self) -> Option<Cow<'a, str>> {
        let is_number = self.0.starts_with(|c: char| c.is_ascii_digit() || c == '-');
        if is_number { Some(Cow::Borrowed(self.0)) } else { self.text() }
    }

    /// A count: a number that is not negative, its fraction dropped.
    pub fn count(self) -> Option<u64> {
        self.read::<u64>().or_else(|| {
            let number = self.number()?;
            // Beyond 2^53 a float is no exact count, so it is none at all.
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
            (0.0..9e15).contains(&number).then_some(number as u64)
        })
    }

    pub fn number(self) -> Option<f64> {
        self.read::<f64>().filter(|number| number.is_finite())
    }

    pub fn flag(self) -> Option<bool> {
        match self.0 {
            "true" => Some(true),
            "false" => Some(false),
            _ => None,
        }
    }

    pub fn is_object(self) -> bool {
        self.0.starts_with('{')
    }

    pub fn is_list(self) -> bool {
        self.0.starts_with('[')
    }

    /// The value's own bytes.
    pub fn raw(self) -> &'a str {
        self.0
    }

    pub fn to_json(self) -> Json {
        Json::trusted(self.0)
    }

    fn read<T: Deserialize<'a>>(self) -> Option<T> {
        serde_json::from_str(self.0).ok()
    }
}

impl<'a> JsonObject<'a> {
    /// The member `key`, unless it is missing or null.
    pub fn get(&self, key: &str) -> Option<JsonNode<'a>> {
        let (_, value) = self.0.iter().rev().find(|(name, _)| name.0 == key)?;
        Some(JsonNode(value.get())).filter(|node| node.0 != "null")
    }

    #[must_use]
    pub fn object(&self, key: &str) -> JsonObject<'a> {
        self.get(key).map(JsonNode::object).unwrap_or_default()
    }

    pub fn items(&self, key: &str) -> Vec<JsonNode<'a>> {
        self.get(key).map(JsonNode::items).unwrap_or_default()
    }

    pub fn text(&self, key: &str) -> Option<Cow<'a, str>> {
        self.get(key)?.text()
    }

    /// A string that is not blank.
    pub fn non_blank_text(&self, key: &str) -> Option<Cow<'a, str>> {
        self.text(key).filter(|text| !text.trim().is_empty())
    }

    pub fn label(&self, key: &str) -> Option<Cow<'a, str>> {
        self.get(key)?.label()
    }

    pub fn count(&self, key: &str) -> Option<u64> {
        self.get(key)?.count()
    }

    pub fn members(&self) -> impl Iterator<Item = (String, &'a RawValue)> {
        self.0.iter().map(|(name, value)| (name.0.clone().into_owned(), *value))
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[derive(Debug, Clone)]
struct LossyText<'a>(Cow<'a, str>);

impl<'de> Deserialize<'de> for LossyText<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Bytes;
        impl<'de> Visitor<'de> for Bytes {
            type Value = LossyText<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }

            fn visit_borrowed_bytes<E>(self, bytes: &'de [u8]) -> Result<LossyText<'de>, E> {
                Ok(LossyText(String::from_utf8_lossy(bytes)))
            }

            fn visit_bytes<E>(self, bytes: &[u8]) -> Result<LossyText<'de>, E> {
                Ok(LossyText(Cow::Owned(String::from_utf8_lossy(bytes).into_owned())))
            }
        }
        // As bytes, because serde_json refuses half a surrogate pair in a `str`.
        deserializer.deserialize_bytes(Bytes)
    }
}

#[cfg(test)]
mod tests;
