//! What may be a model's name, and what a session was set to.

use serde_json::json;
use sessions::details::CreationParams;
use sessions::details::SessionDetails;
use sessions::options::{InitialOptions, OptionChoice, SettingRequest};
use wire::Json;

use super::{is_noted, is_plain_model};

#[test]
fn a_model_is_one_plain_word() {
    let long = "x".repeat(200);
    for good in ["gpt-5", "openai/gpt-5:free", "a@b", &long] {
        assert!(is_plain_model(good), "{good}");
    }
    let longer = "x".repeat(201);
    for bad in ["", "--dangerous", "a b", "a;b", "$(a)", "a\nb", ".a", "/a", &longer] {
        assert!(!is_plain_model(bad), "{bad:?}");
    }
}

#[test]
fn what_was_set_last_counts() {
    let initial_options =
        InitialOptions { model: Some("small".into()), ..InitialOptions::default() };
    let made_of = CreationParams { new_params: Json::trusted("{}"), preface: None };
    let mut details = SessionDetails::new(Vec::new(), &made_of);
    details.initial_options = initial_options;
    assert!(is_noted(&details, OptionChoice::Model, "small"));
    assert!(!is_noted(&details, OptionChoice::Effort, "low"));

    let set = |id: &str, value: &str| SettingRequest {
        method: "session/set_config_option".into(),
        params: Json::of(&json!({ "configId": id, "value": value })),
    };
    details.settings.insert("1".into(), set("effort", "low"));
    details.settings.insert("2".into(), set("model", "large"));

    assert!(is_noted(&details, OptionChoice::Model, "large"));
    assert!(!is_noted(&details, OptionChoice::Model, "small"));
    assert!(is_noted(&details, OptionChoice::Effort, "low"));
}
