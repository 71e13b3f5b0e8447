//! Finds members that an object has twice.
//!
//! JSON allows them, and each reader takes another one: what was checked by the first would then
//! be done by the second.

use std::collections::HashSet;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

/// The reason why others may read a text in another way than we do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Ambiguity {
    #[error("a member occurs twice")]
    Duplicate,
    /// It is no JSON, or none that we read: see [`crate::readable()`].
    #[error("it cannot be read: {0}")]
    Unreadable(String),
}

/// Refuses a text in which any object, at any depth, has a member twice, and what cannot be read.
pub fn check_unambiguous(text: &str) -> Result<(), Ambiguity> {
    let mut reader = serde_json::Deserializer::from_str(text);
    let read = UniqueMembers.deserialize(&mut reader).and_then(|()| reader.end());
    read.map_err(|error| match error.is_data() {
        // All else that is wrong with a text is wrong with its syntax.
        true => Ambiguity::Duplicate,
        false => Ambiguity::Unreadable(error.to_string()),
    })
}

/// Reads any value and fails at the second of two members of one name.
#[derive(Clone, Copy)]
struct UniqueMembers;

impl<'de> DeserializeSeed<'de> for UniqueMembers {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for UniqueMembers {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("any value")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let mut names = HashSet::new();
        while let Some(name) = map.next_key::<std::borrow::Cow<'de, str>>()? {
            if !names.insert(name) {
                return Err(A::Error::custom("a member occurs twice"));
            }
            map.next_value_seed(Self)?;
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        while list.next_element_seed(Self)?.is_some() {}
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }
}

#[cfg(test)]
mod tests;
