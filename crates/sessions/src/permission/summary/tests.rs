use std::path::PathBuf;

use serde_json::json;

use super::super::ToolFacts;
use super::*;
use wire::Json;
use wire::event::QuestionSummary;

#[test]
fn what_is_too_long_is_cut_at_a_character_and_said_to_be() {
    let facts = ToolFacts {
        title: "ü".repeat(MAX_TITLE_CHARS + 1),
        command: Some("x".repeat(MAX_COMMAND_CHARS)),
        ..ToolFacts::default()
    };
    let question = PolicyQuestion {
        facts,
        paths: (0..=MAX_PATHS).map(|n| PathBuf::from(format!("/{n}"))).collect(),
        ..PolicyQuestion::default()
    };
    let summary = of_permission(&question);
    assert_eq!(summary.title.chars().count(), MAX_TITLE_CHARS);
    assert_eq!(summary.command.as_ref().unwrap().len(), MAX_COMMAND_CHARS);
    assert_eq!((summary.paths.len(), summary.is_cut), (MAX_PATHS, true));
    assert_eq!(Json::of(&summary).read::<QuestionSummary>().unwrap(), summary);
}

#[test]
fn a_form_is_known_by_its_message() {
    let params = Json::of(&json!({ "message": "who?", "requestedSchema": {} }));
    let summary = of_form(&params);
    assert_eq!(Json::of(&summary).as_str(), r#"{"title":"who?"}"#);
}
