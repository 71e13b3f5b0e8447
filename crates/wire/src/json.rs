//! One JSON value as text, kept byte for byte.
//!
//! A `Json` is known to be a single well-formed value without a raw line break, so it can
//! be placed into a line as it is. It is what events carry: numbers of any size, unknown
//! members and escapes stay exactly as the agent wrote them.

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Json(Box<str>);

#[derive(Debug, thiserror::Error)]
#[error("not one JSON value on one line: {0}")]
pub struct NotJson(String);

impl Json {
    /// Checks `text` and keeps it.
    pub fn parse(text: impl Into<Box<str>>) -> Result<Self, NotJson> {
        let text = text.into();
        if text.contains('\n') {
            return Err(NotJson("it has a line break".into()));
        }
        match serde_json::from_str::<&RawValue>(&text) {
            Ok(_) => Ok(Self(text)),
            Err(error) => Err(NotJson(error.to_string())),
        }
    }

    /// Keeps text that a JSON parser has already walked over, or that Switchyard itself
    /// wrote earlier and has verified by checksum.
    pub fn trusted(text: impl Into<Box<str>>) -> Self {
        Self(text.into())
    }

    /// Serialises a value of our own.
    pub fn of(value: &impl Serialize) -> Self {
        // Our own types have string keys and no failing `Serialize`; `null` is still JSON
        // should one ever fail.
        Self(serde_json::to_string(value).unwrap_or_else(|_| "null".into()).into())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The value with its unreadable parts replaced, as by [`crate::readable()`].
    #[must_use]
    pub fn made_readable(self) -> Self {
        match crate::readable(&self.0) {
            Cow::Borrowed(_) => self,
            Cow::Owned(text) => Self(text.into()),
        }
    }

    pub fn as_raw(&self) -> RawJson<'_> {
        RawJson(&self.0)
    }

    /// Reads the value into a type that borrows from it.
    pub fn read<'a, T: Deserialize<'a>>(&'a self) -> Result<T, serde_json::Error> {
        self.as_raw().read()
    }
}

/// A [`Json`] that is part of another, or of a line.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct RawJson<'a>(&'a str);

impl<'a> RawJson<'a> {
    pub const EMPTY_LIST: Self = Self("[]");

    pub fn as_str(self) -> &'a str {
        self.0
    }

    pub fn read<T: Deserialize<'a>>(self) -> Result<T, serde_json::Error> {
        serde_json::from_str(self.0)
    }

    pub fn to_json(self) -> Json {
        Json::trusted(self.0)
    }
}

impl Default for RawJson<'_> {
    fn default() -> Self {
        Self("null")
    }
}

impl<'a> From<&'a Json> for RawJson<'a> {
    fn from(json: &'a Json) -> Self {
        Self(json.as_str())
    }
}

impl fmt::Debug for RawJson<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl Serialize for RawJson<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let raw: &RawValue = serde_json::from_str(self.0).map_err(serde::ser::Error::custom)?;
        raw.serialize(serializer)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for RawJson<'a> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self(<&'a RawValue>::deserialize(deserializer)?.get()))
    }
}

impl From<&RawValue> for Json {
    fn from(raw: &RawValue) -> Self {
        Self::trusted(raw.get())
    }
}

impl fmt::Debug for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Serialize for Json {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        RawJson::from(self).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self::from(&*Box::<RawValue>::deserialize(deserializer)?))
    }
}
