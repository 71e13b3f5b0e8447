use std::path::PathBuf;

use serde_json::json;

use super::*;

#[test]
fn what_is_too_long_is_cut_at_a_character_and_said_to_be() {
    let question = Question {
        title: "ü".repeat(MAX_TITLE_CHARS + 1),
        command: Some("x".repeat(MAX_COMMAND_CHARS)),
        paths: (0..=MAX_PATHS).map(|n| PathBuf::from(format!("/{n}"))).collect(),
        ..Question::default()
    };
    let brief = Brief::of_permission(&question);
    assert_eq!(brief.title.chars().count(), MAX_TITLE_CHARS);
    assert_eq!(brief.command.as_ref().unwrap().len(), MAX_COMMAND_CHARS);
    assert_eq!((brief.paths.len(), brief.is_cut), (MAX_PATHS, true));
    assert_eq!(Json::of(&brief).read::<Brief>().unwrap(), brief);
}

#[test]
fn a_form_is_known_by_its_message() {
    let params = Json::of(&json!({ "message": "who?", "requestedSchema": {} }));
    let brief = Brief::of_form(&params);
    assert_eq!(Json::of(&brief).as_str(), r#"{"title":"who?"}"#);
}
