//! Arguments that fit a JSON schema.
//!
//! In: what is known (a path, a command …) and the schema of a tool. Out: an object with what is
//! known under the names that the schema uses, and all else that it requires.

use serde_json::{Map, Value, json};

const PATH: &[&str] = &["filepath", "path", "absolutepath", "filename", "file", "targetfile"];
const CONTENT: &[&str] = &["content", "filetext", "contents", "text"];
const OLD: &[&str] = &["oldstring", "oldtext", "oldstr", "old", "search"];
const NEW: &[&str] = &["newstring", "newtext", "newstr", "new", "replace", "replacement"];
const COMMAND: &[&str] = &["command", "cmd", "commands", "script"];
const PATCH: &[&str] = &["input", "patch"];
const STEP: &[&str] = &["content", "description", "step", "title", "subject", "text", "task"];

// Deeper schemas than this describe themselves.
const MAX_DEPTH: usize = 8;

/// What is known, each under all the names that it may have.
#[derive(Debug)]
pub(super) struct KnownArguments(Vec<(&'static [&'static str], Value)>);

impl KnownArguments {
    pub(super) fn write(path: &str, content: &str) -> Self {
        Self(vec![(PATH, json!(path)), (CONTENT, json!(content))])
    }

    pub(super) fn path(path: &str) -> Self {
        Self(vec![(PATH, json!(path))])
    }

    pub(super) fn edit(path: &str, old: &str, new: &str) -> Self {
        Self(vec![(PATH, json!(path)), (OLD, json!(old)), (NEW, json!(new))])
    }

    pub(super) fn command(command: &str) -> Self {
        Self(vec![(COMMAND, json!(command))])
    }

    pub(super) fn patch(patch: &str) -> Self {
        Self(vec![(PATCH, json!(patch))])
    }

    pub(super) fn plan() -> Self {
        Self(vec![(STEP, json!("step one"))])
    }

    pub(super) fn fill(&self, schema: &Value) -> Value {
        self.value(schema, schema, MAX_DEPTH)
    }

    fn value(&self, schema: &Value, root: &Value, depth: usize) -> Value {
        let schema = resolved(schema, root);
        if depth == 0 {
            return Value::Null;
        }
        match kind(schema).as_str() {
            "object" => self.object(schema, root, depth),
            "array" => match schema.get("items") {
                Some(items) => json!([self.value(items, root, depth - 1)]),
                None => json!([]),
            },
            _ => scalar(schema),
        }
    }

    fn object(&self, schema: &Value, root: &Value, depth: usize) -> Value {
        let Some(properties) = schema["properties"].as_object() else { return json!({}) };
        let mut object = Map::new();
        for (name, property) in properties {
            let property = resolved(property, root);
            let is_list_of_objects = kind(property) == "array"
                && property
                    .get("items")
                    .is_some_and(|items| kind(resolved(items, root)) == "object");
            let value = match self.known(name) {
                Some(fact) if !is_list_of_objects && kind(property) != "object" => {
                    as_wanted(fact, name, property)
                }
                _ if is_required(schema, name) => self.value(property, root, depth - 1),
                _ => continue,
            };
            object.insert(name.clone(), value);
        }
        Value::Object(object)
    }

    fn known(&self, name: &str) -> Option<&Value> {
        let name = name.replace(['_', '-'], "").to_lowercase();
        self.0.iter().find(|(names, _)| names.contains(&name.as_str())).map(|(_, fact)| fact)
    }
}

/// The smallest value that fits a schema.
pub fn smallest(schema: &Value) -> Value {
    KnownArguments(Vec::new()).fill(schema)
}

fn as_wanted(fact: &Value, name: &str, property: &Value) -> Value {
    match kind(property).as_str() {
        // One command as a list is an argv, several are a list of commands.
        "array" if name == "command" => json!(["bash", "-lc", fact]),
        "array" => json!([fact]),
        _ => fact.clone(),
    }
}

fn is_required(schema: &Value, name: &str) -> bool {
    schema["required"].as_array().is_some_and(|all| all.iter().any(|one| one == name))
}

fn scalar(schema: &Value) -> Value {
    if let Some(choices) = schema["enum"].as_array() {
        let preferred = choices.iter().find(|choice| *choice == "in_progress");
        return preferred.or(choices.first()).cloned().unwrap_or(Value::Null);
    }
    if let Some(default) = schema.get("default").or(schema.get("const")) {
        return default.clone();
    }
    match kind(schema).as_str() {
        "number" | "integer" => schema.get("minimum").cloned().unwrap_or(json!(1)),
        "boolean" => json!(false),
        "null" => Value::Null,
        _ => json!("ok"),
    }
}

/// Google writes types in capitals, and lists stand for "this or null".
fn kind(schema: &Value) -> String {
    let name = match &schema["type"] {
        Value::String(name) => Some(name.as_str()),
        Value::Array(names) => names.iter().filter_map(Value::as_str).find(|name| *name != "null"),
        _ if schema.get("properties").is_some() => Some("object"),
        _ => None,
    };
    name.unwrap_or("string").to_lowercase()
}

fn resolved<'a>(schema: &'a Value, root: &'a Value) -> &'a Value {
    if let Some(pointer) = schema["$ref"].as_str().and_then(|path| path.strip_prefix('#')) {
        return root.pointer(pointer).unwrap_or(schema);
    }
    let choices = schema["anyOf"].as_array().or(schema["oneOf"].as_array());
    choices
        .and_then(|all| all.iter().find(|one| one["type"] != "null"))
        .map_or(schema, |one| if one.get("$ref").is_some() { resolved(one, root) } else { one })
}
