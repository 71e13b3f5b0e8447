//! Finds members that an object has twice.
//!
//! JSON allows them, and each reader takes another one: what was checked by the first would then
//! be done by the second.

use std::collections::HashSet;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

use crate::Json;

/// Whether any object in `json`, at any depth, has a member twice.
pub fn has_twins(json: &Json) -> bool {
    text_has_twins(json.as_str())
}

/// The same of JSON that is not known to be any.
pub fn text_has_twins(text: &str) -> bool {
    let mut reader = serde_json::Deserializer::from_str(text);
    // What is no JSON, or too deep, is not taken for harmless either.
    Once.deserialize(&mut reader).is_err()
}

/// Reads any value and fails at the second of two members of one name.
#[derive(Clone, Copy)]
struct Once;

impl<'de> DeserializeSeed<'de> for Once {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Once {
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
mod tests {
    //! Two of one name are found wherever they are, and nothing else is.

    use super::has_twins;
    use crate::Json;

    #[test]
    fn twins_are_found_at_any_depth() {
        for text in [
            r#"{"sessionId":"a","sessionId":"b"}"#,
            r#"{"a":{"b":[1,{"c":1,"c":1}]}}"#,
            r#"{"a":1,"\u0061":2}"#,
        ] {
            assert!(has_twins(&Json::trusted(text)), "{text}");
        }
        for text in [
            r#"{"a":{"a":{"a":[{"a":1},{"a":1.5e3},null,true,-1,"a"]}}}"#,
            "[]",
            "{}",
            "\"x\"",
            "18446744073709551616",
        ] {
            assert!(!has_twins(&Json::trusted(text)), "{text}");
        }
    }
}
