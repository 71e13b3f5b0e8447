//! What an agent is told, once and again.

use serde_json::json;
use sessions::details::CreationParams;
use sessions::details::SessionDetails;
use wire::Json;

use super::blocks;
use crate::open_design::run_request::NewRun;

fn earlier(last_prompt: Option<&str>) -> (SessionDetails, CreationParams) {
    let params = json!({ "cwd": "/", "_meta": { "systemPrompt": { "append": "be kind" } } });
    let made_of = CreationParams { new_params: Json::of(&params), preface: None };
    let mut details = SessionDetails::new(Vec::new(), &made_of);
    details.last_prompt = last_prompt.map(str::to_owned);
    (details, made_of)
}

fn said(new: &NewRun, earlier: Option<&(SessionDetails, CreationParams)>) -> String {
    let blocks = blocks(new, new.system_prompt.as_deref(), earlier, Vec::new());
    blocks.iter().filter_map(|block| block["text"].as_str()).collect()
}

#[test]
fn an_agent_that_remembers_hears_only_what_is_new() {
    let new = NewRun {
        message: Some("all that was said".into()),
        current_prompt: Some("what is new".into()),
        ..NewRun::default()
    };
    let without = NewRun { current_prompt: None, ..new.clone() };

    assert_eq!(said(&new, None), "all that was said");
    assert_eq!(said(&new, Some(&earlier(None))), "all that was said");
    assert_eq!(said(&new, Some(&earlier(Some("before")))), "what is new");
    assert_eq!(said(&without, Some(&earlier(Some("before")))), "all that was said");
}

#[test]
fn instructions_go_along_when_they_are_others_than_in_the_beginning() {
    let new = |text: &str| NewRun {
        message: Some("do it".into()),
        system_prompt: Some(text.into()),
        ..NewRun::default()
    };
    let earlier = earlier(Some("before"));

    assert_eq!(said(&new("be kind"), None), "do it");
    assert_eq!(said(&new("be kind"), Some(&earlier)), "do it");
    assert_eq!(
        said(&new("be brief"), Some(&earlier)),
        "# Instructions\n\nbe brief\n\n# Request\n\ndo it"
    );
}
