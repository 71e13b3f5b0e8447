//! Reads the members of a JSON object, and changes one place of a JSON text; every other byte stays
//! as it is.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::{Json, NotJson};

/// Sets the member at `path` of an object, making objects on the way where they are
/// missing. Members that are not on the path keep their bytes and their order.
pub fn set_member(object: &Json, path: &[&str], value: &Json) -> Result<Json, NotJson> {
    let Some((name, rest)) = path.split_first() else { return Ok(value.clone()) };
    let members = lenient_members(object)?;
    let mut members: Vec<(&str, &str)> =
        members.iter().map(|(key, value)| (key.as_str(), value.get())).collect();
    let old = members.iter_mut().find(|(key, _)| key == name);
    let new = match (rest, &old) {
        ([], _) => value.clone(),
        (_, Some((_, old))) if old.starts_with('{') => {
            set_member(&Json::trusted(*old), rest, value)?
        }
        _ => set_member(&Json::trusted("{}"), rest, value)?,
    };
    match old {
        Some((_, old)) => *old = new.as_str(),
        None => members.push((name, new.as_str())),
    }
    Ok(joined(members))
}

/// Takes the top-level member `name` away.
pub fn remove_member(object: &Json, name: &str) -> Result<Json, NotJson> {
    let members = lenient_members(object)?;
    let others = members.iter().filter(|(key, _)| key != name);
    Ok(joined(others.map(|(key, value)| (key.as_str(), value.get()))))
}

/// The members of an object in order, values raw.
pub fn raw_members(object: &str) -> Result<Vec<(String, &RawValue)>, serde_json::Error> {
    let mut reader = serde_json::Deserializer::from_str(object);
    let members = members_in_order(&mut reader)?;
    reader.end().map(|()| members)
}

/// Reads a map as a list, with every member as often as it is there.
pub fn members_in_order<'de, D, K, V>(deserializer: D) -> Result<Vec<(K, V)>, D::Error>
where
    D: Deserializer<'de>,
    K: Deserialize<'de>,
    V: Deserialize<'de>,
{
    struct MembersVisitor<K, V>(PhantomData<(K, V)>);
    impl<'de, K: Deserialize<'de>, V: Deserialize<'de>> Visitor<'de> for MembersVisitor<K, V> {
        type Value = Vec<(K, V)>;
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object")
        }
        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            let mut members = Vec::new();
            while let Some(member) = map.next_entry()? {
                members.push(member);
            }
            Ok(members)
        }
    }
    deserializer.deserialize_map(MembersVisitor(PhantomData))
}

fn lenient_members(object: &Json) -> Result<Vec<(String, &RawValue)>, NotJson> {
    raw_members(object.as_str()).or_else(|_| {
        // `null` and absent results of lenient agents become objects once we add to them.
        Json::parse(object.as_str()).map(|_| Vec::new())
    })
}

fn joined<'a>(members: impl IntoIterator<Item = (&'a str, &'a str)>) -> Json {
    let mut out = String::from("{");
    for (index, (key, value)) in members.into_iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        out.push_str(Json::of(&key).as_str());
        out.push(':');
        out.push_str(value);
    }
    out.push('}');
    Json::trusted(out)
}

#[cfg(test)]
mod tests;
