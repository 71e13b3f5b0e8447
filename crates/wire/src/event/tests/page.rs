//! The tables of `docs/events.md`, made from the types; `UPDATE_DOCS=1` writes them anew.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use serde_json::Value;
use utoipa::{PartialSchema as _, ToSchema as _};

use super::super::OwnEvent;

const BEGIN: &str = "<!-- made from the types in crates/wire/src/event: UPDATE_DOCS=1 -->\n";
const END: &str = "<!-- end of what is made -->\n";
const REF: &str = "#/components/schemas/";

/// What the kinds are made of, by name.
type Types = BTreeMap<String, Value>;

#[test]
fn the_page_about_events_is_made_from_their_types() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/events.md");
    let page = std::fs::read_to_string(&path).unwrap();
    let (before, rest) = page.split_once(BEGIN).expect("the place of the tables");
    let (_, after) = rest.split_once(END).expect("the end of the tables");
    let made = format!("{before}{BEGIN}\n{}\n{END}{after}", tables());
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, made).unwrap();
    } else {
        assert!(page == made, "docs/events.md is old: UPDATE_DOCS=1 cargo test -p wire page");
    }
}

fn tables() -> String {
    let mut schemas = Vec::new();
    OwnEvent::schemas(&mut schemas);
    let types: Types = schemas
        .into_iter()
        .map(|(name, schema)| (name, serde_json::to_value(schema).unwrap()))
        .collect();
    let kinds = serde_json::to_value(OwnEvent::schema()).unwrap();
    let mut out = "| kind | payload |\n|---|---|\n".to_owned();
    let mut payloads = Vec::new();
    for one in kinds["oneOf"].as_array().unwrap() {
        let kind = one["properties"]["kind"]["enum"][0].as_str().unwrap();
        let payload = name_of(&one["properties"]["payload"]).unwrap();
        let _ = writeln!(out, "| `{kind}` | {} |", cell(&types[payload]));
        payloads.push(payload);
    }
    out.push_str("\nWhat stands in several of them, or is one of a few words:\n\n");
    out.push_str("| name | value |\n|---|---|\n");
    let others = types.iter().filter(|(name, _)| {
        // A failure is a payload of its own, and part of another.
        !payloads.contains(&name.as_str()) || *name == "Fault"
    });
    for (name, schema) in others {
        let _ =
            writeln!(out, "| <a id=\"{}\"></a>{name} | {} |", name.to_lowercase(), cell(schema));
    }
    out
}

/// What a type means, and what it is made of.
fn cell(schema: &Value) -> String {
    let about = text(&schema["description"]);
    let parts: Vec<String> = match schema["oneOf"].as_array() {
        Some(words) => words.iter().map(word).collect(),
        None => members(schema),
    };
    match (about.as_str(), parts.is_empty()) {
        ("", _) => parts.join("; "),
        (about, true) => about.to_owned(),
        (about, false) => format!("{about} {}", parts.join("; ")),
    }
}

fn word(schema: &Value) -> String {
    let word = schema["enum"][0].as_str().unwrap();
    match text(&schema["description"]).as_str() {
        "" => format!("`{word}`"),
        meaning => format!("`{word}`: {}", inside(meaning)),
    }
}

/// Those that are always there first.
fn members(schema: &Value) -> Vec<String> {
    let Some(properties) = schema["properties"].as_object() else { return Vec::new() };
    let required = schema["required"].as_array();
    let is_required = |name: &str| required.is_some_and(|all| all.iter().any(|one| one == name));
    let (always, sometimes): (Vec<_>, Vec<_>) =
        properties.iter().partition(|(name, _)| is_required(name));
    let tell = |(name, property): (&String, &Value), mark: &str| {
        let named = name_of(property).map(|name| format!("[{name}](#{})", name.to_lowercase()));
        let meaning = inside(&text(&property["description"]));
        let more = [named.unwrap_or_default(), meaning];
        let more: Vec<String> = more.into_iter().filter(|part| !part.is_empty()).collect();
        match more.is_empty() {
            true => format!("`{name}{mark}`"),
            false => format!("`{name}{mark}` ({})", more.join(": ")),
        }
    };
    let always = always.into_iter().map(|member| tell(member, ""));
    always.chain(sometimes.into_iter().map(|member| tell(member, "?"))).collect()
}

/// The type that a property is of.
fn name_of(property: &Value) -> Option<&str> {
    let given = [&property["$ref"], &property["oneOf"][0]["$ref"], &property["allOf"][0]["$ref"]];
    given.into_iter().find_map(|name| name.as_str()?.strip_prefix(REF))
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A sentence as a part of another.
fn inside(sentence: &str) -> String {
    let sentence = sentence.trim_end_matches('.');
    let mut letters = sentence.chars();
    let Some(first) = letters.next() else { return String::new() };
    let is_name = letters.clone().next().is_some_and(char::is_uppercase)
        || ["ACP", "SIG", "Switchyard"].iter().any(|name| sentence.starts_with(name));
    match is_name {
        true => sentence.to_owned(),
        false => first.to_lowercase().chain(letters).collect(),
    }
}
