//! JSON with something else in place of one of its values.

use std::collections::HashSet;

use serde_json::{Value, json};

/// What a member is replaced with; beyond these it is left out.
pub(super) fn substitutes() -> Vec<Value> {
    vec![
        Value::Null,
        json!(true),
        json!(5),
        json!(-1),
        json!(u64::MAX),
        json!(i64::MIN),
        json!(1e308),
        json!(""),
        json!("x é 🙂"),
        json!([]),
        json!([1, "a", null, {}]),
        json!({}),
        json!({ "type": 1, "id": [], "content": "a" }),
    ]
}

/// Pointers to every value in `value`, itself included.
pub(super) fn pointers(value: &Value) -> Vec<String> {
    let mut found = vec![String::new()];
    let mut at = 0;
    while let Some(pointer) = found.get(at).cloned() {
        let children: Vec<String> = match value.pointer(&pointer) {
            Some(Value::Object(members)) => members
                .keys()
                .map(|key| format!("{pointer}/{}", key.replace('~', "~0").replace('/', "~1")))
                .collect(),
            Some(Value::Array(items)) => {
                (0..items.len()).map(|n| format!("{pointer}/{n}")).collect()
            }
            _ => Vec::new(),
        };
        found.extend(children);
        at += 1;
    }
    found
}

/// `value` with the value at `pointer` replaced, or left out.
pub(super) fn spoilt(value: &Value, pointer: &str, substitute: Option<&Value>) -> Value {
    let mut value = value.clone();
    match substitute {
        Some(substitute) => {
            if let Some(place) = value.pointer_mut(pointer) {
                *place = substitute.clone();
            }
        }
        None => {
            let (parent, name) = pointer.rsplit_once('/').unwrap_or_default();
            match value.pointer_mut(parent) {
                Some(Value::Object(members)) => {
                    members.shift_remove(&name.replace("~1", "/").replace("~0", "~"));
                }
                Some(Value::Array(items)) => {
                    // The whole line is no item of itself.
                    if let Ok(n) = name.parse() {
                        items.remove(n);
                    }
                }
                _ => {}
            }
        }
    }
    value
}

/// Remembers which places of which kinds of lines have been spoilt: one of a kind is enough.
#[derive(Debug, Default)]
pub(super) struct Seen(HashSet<String>);

impl Seen {
    pub(super) fn is_new(&mut self, line: &Value, pointer: &str) -> bool {
        const KINDS: [&str; 8] = [
            "/type",
            "/subtype",
            "/method",
            "/role",
            "/event/type",
            "/assistantMessageEvent/type",
            "/item/type",
            "/params/item/type",
        ];
        let kind = KINDS
            .map(|kind| line.pointer(kind).map(Value::to_string).unwrap_or_default())
            .join(" ");
        // All items of a list are alike.
        let place: Vec<&str> =
            pointer.split('/').map(|n| if n.parse::<u64>().is_ok() { "0" } else { n }).collect();
        self.0.insert(format!("{kind} {}", place.join("/")))
    }
}
