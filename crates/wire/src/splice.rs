//! Changes one place of a JSON text and leaves every other byte as it is.

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::{Json, NotJson};

/// Sets the member at `path` of an object, making objects on the way where they are
/// missing. Members that are not on the path keep their bytes and their order.
pub fn set_member(object: &Json, path: &[&str], value: &Json) -> Result<Json, NotJson> {
    let Some((name, rest)) = path.split_first() else { return Ok(value.clone()) };
    let mut members = ObjectMembers::of(object)?;
    let old = members.get(name);
    let new = match (rest, old) {
        ([], _) => value.clone(),
        (_, Some(old)) if old.as_str().starts_with('{') => set_member(old, rest, value)?,
        _ => set_member(&Json::trusted("{}"), rest, value)?,
    };
    members.set(name, new);
    Ok(members.to_json())
}

/// Takes the top-level member `name` away.
pub fn remove_member(object: &Json, name: &str) -> Result<Json, NotJson> {
    let mut members = ObjectMembers::of(object)?;
    members.0.retain(|(key, _)| key != name);
    Ok(members.to_json())
}

/// An object's members in order, values raw.
struct ObjectMembers(Vec<(String, Json)>);

impl ObjectMembers {
    fn of(object: &Json) -> Result<Self, NotJson> {
        serde_json::from_str(object.as_str()).or_else(|_| {
            // `null` and absent results of lenient agents become objects once we add to them.
            Json::parse(object.as_str()).map(|_| Self(Vec::new()))
        })
    }

    fn get(&self, name: &str) -> Option<&Json> {
        self.0.iter().find(|(key, _)| key == name).map(|(_, value)| value)
    }

    fn set(&mut self, name: &str, value: Json) {
        match self.0.iter_mut().find(|(key, _)| key == name) {
            Some((_, slot)) => *slot = value,
            None => self.0.push((name.to_owned(), value)),
        }
    }

    fn to_json(&self) -> Json {
        let mut out = String::from("{");
        for (index, (key, value)) in self.0.iter().enumerate() {
            if index > 0 {
                out.push(',');
            }
            out.push_str(Json::of(key).as_str());
            out.push(':');
            out.push_str(value.as_str());
        }
        out.push('}');
        Json::trusted(out)
    }
}

impl<'de> Deserialize<'de> for ObjectMembers {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct MembersVisitor;
        impl<'de> Visitor<'de> for MembersVisitor {
            type Value = ObjectMembers;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<ObjectMembers, A::Error> {
                let mut members = Vec::new();
                while let Some((key, value)) = map.next_entry::<String, &RawValue>()? {
                    members.push((key, Json::from(value)));
                }
                Ok(ObjectMembers(members))
            }
        }
        deserializer.deserialize_map(MembersVisitor)
    }
}

#[cfg(test)]
mod tests;
