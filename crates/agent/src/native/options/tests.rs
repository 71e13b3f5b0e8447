//! What can be chosen, and what cannot.

use super::*;
use crate::native::provider::Model;

fn offer(id: &str) -> OfferedModel {
    let model = Model { name: Some(id.to_uppercase()), ..Model::named(id) };
    OfferedModel { id: id.into(), provider: String::new(), model }
}

fn offers() -> Vec<OfferedModel> {
    ["small", "large"].map(offer).into()
}

fn options() -> SessionOptions {
    SessionOptions { model: "small".into(), ..SessionOptions::default() }
}

#[test]
fn a_choice_says_whether_it_changed_anything() {
    let mut options = options();
    let choices = [
        ("model", "small", false),
        ("model", "large", true),
        ("mode", "ask", false),
        ("mode", "plan", true),
        ("thought_level", "default", false),
        ("thought_level", "high", true),
        ("thought_level", "high", false),
        ("thought_level", "default", true),
    ];
    for (id, value, expected) in choices {
        assert_eq!(options.set(id, value, &offers()).unwrap(), expected, "{id} {value}");
    }
    let expected = SessionOptions {
        model: "large".into(),
        mode: ApprovalMode::Plan,
        ..SessionOptions::default()
    };
    assert_eq!(options, expected);
}

#[test]
fn what_is_not_there_is_refused_and_changes_nothing() {
    for (id, value) in
        [("model", "huge"), ("mode", "Plan"), ("thought_level", "max"), ("colour", "red")]
    {
        let mut options = options();
        let error = options.set(id, value, &offers()).unwrap_err();
        assert_eq!(options, super::tests::options(), "{id}");
        assert!(error.message.contains(value) || error.message.contains(id), "{error:?}");
    }
}

#[test]
fn a_short_name_stands_for_the_model_that_it_can_only_mean() {
    let of = |ids: &[&str]| -> Vec<OfferedModel> { ids.iter().map(|id| offer(id)).collect() };
    let one = of(&["qwen3:latest", "qwen3:8b"]);
    let several = of(&["a/small", "a/qwen3:latest", "b/small", "b/large"]);
    for (offers, value, expected) in [
        (&one, "qwen3", Some("qwen3:latest")),
        (&one, "qwen3:8b", Some("qwen3:8b")),
        (&one, "qwen", None),
        (&several, "small", Some("a/small")),
        (&several, "b/small", Some("b/small")),
        (&several, "large", Some("b/large")),
        (&several, "qwen3", Some("a/qwen3:latest")),
        (&several, "c/small", None),
    ] {
        let mut options = options();
        let chosen = options.set("model", value, offers).ok().map(|_| options.model);
        assert_eq!(chosen.as_deref(), expected, "{value}");
    }
}

#[test]
fn any_plausible_model_is_taken_where_none_are_listed() {
    let mut options = options();
    assert!(options.set("model", "my-deployment", &[]).unwrap());
    for bad in ["", "two words", "new\nline", &"x".repeat(201)] {
        assert!(options.set("model", bad, &[]).is_err(), "{bad:?}");
    }
    assert_eq!(options.model, "my-deployment");
    let told = options.to_acp(&[], false, &EnabledContextTools::default());
    assert_eq!(told[0]["_meta"]["switchyard"]["takesOthers"], true, "{told}");
    assert!(
        options.to_acp(&offers(), false, &EnabledContextTools::default())[0]["_meta"].is_null()
    );
}

#[test]
fn the_current_value_is_always_among_those_that_are_offered() {
    let effort = Some("low".into());
    let options = SessionOptions {
        model: "gone".into(),
        mode: ApprovalMode::Auto,
        effort,
        ..SessionOptions::default()
    };
    for option in
        options.to_acp(&offers(), false, &EnabledContextTools::default()).as_array().unwrap()
    {
        let current = &option["currentValue"];
        let all = option["options"].as_array().unwrap();
        let n = all.iter().filter(|one| one["value"] == *current).count();
        assert_eq!(n, 1, "{option}");
        assert_eq!(option["type"], "select");
    }
    let modes = options.modes_to_acp();
    assert_eq!(modes["currentModeId"], "auto");
    assert_eq!(modes["availableModes"].as_array().unwrap().len(), ApprovalMode::ALL.len());
}

#[test]
fn switches_are_on_off_or_as_configured() {
    let mut options = options();
    let some = EnabledContextTools([crate::native::settings::ContextToolName::Verify].into());
    let current =
        |options: &SessionOptions, configured: &(bool, EnabledContextTools), at: usize| {
            let told = options.to_acp(&[], configured.0, &configured.1);
            told[at]["currentValue"].as_str().unwrap().to_owned()
        };
    let configured = (true, some);
    assert_eq!(current(&options, &configured, 3), "on");
    assert_eq!(current(&options, &<(bool, EnabledContextTools)>::default(), 3), "off");
    assert_eq!(current(&options, &configured, 4), "some");
    assert_eq!(current(&options, &<(bool, EnabledContextTools)>::default(), 4), "off");

    assert!(options.set("tools", "off", &[]).unwrap());
    assert!(options.set("context_tools", "true", &[]).unwrap());
    assert_eq!(current(&options, &configured, 3), "off");
    assert_eq!(current(&options, &configured, 4), "on");
    assert!(options.set("context_tools", "some", &[]).unwrap());
    assert_eq!(current(&options, &configured, 4), "some");
    assert!(options.set("tools", "some", &[]).is_err());
    // What an earlier version kept has none of them.
    let old: SessionOptions =
        serde_json::from_str(r#"{ "model": "m", "mode": "ask", "effort": null }"#).unwrap();
    assert_eq!((old.tools, old.context_tools), (None, None));
}

#[test]
fn modes_are_read_by_the_names_that_they_are_told_by() {
    for mode in ApprovalMode::ALL {
        assert_eq!(ApprovalMode::read(mode.id()), Some(mode));
        assert_eq!(serde_json::to_value(mode).unwrap(), mode.id());
    }
    assert_eq!(ApprovalMode::read("yolo"), None);
}
