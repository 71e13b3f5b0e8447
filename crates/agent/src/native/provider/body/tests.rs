use reqwest::Url;
use serde_json::json;

use super::*;
use crate::native::endpoint::Kind;

fn endpoint() -> Endpoint {
    Endpoint::new("test", Kind::Other, Url::parse("http://models.test/v1").unwrap())
}

fn sent(messages: Vec<Message>, takes_images: bool) -> Value {
    let request = Request { model: "m".to_owned(), messages, ..Request::default() };
    body(&request, &endpoint(), takes_images, Quirks::default())["messages"].take()
}

fn user(text: &str) -> Message {
    Message::User { parts: vec![Part::text(text)] }
}

fn image() -> Part {
    Part::Image { mime: "image/png".to_owned(), data: "AAAA".to_owned() }
}

fn assistant(calls: Vec<ToolCall>) -> Message {
    Message::Assistant { text: String::new(), thought: "hm".to_owned(), calls }
}

fn a_call(arguments: &str) -> ToolCall {
    ToolCall { id: "c".to_owned(), name: "x".to_owned(), arguments: arguments.to_owned() }
}

#[test]
fn a_request_says_what_was_chosen_and_nothing_else() {
    let mut request = Request { model: "m".to_owned(), ..Request::default() };
    let plain = body(&request, &endpoint(), true, Quirks::default());
    assert_eq!(
        plain,
        json!({
            "model": "m", "messages": [], "stream": true, "stream_options": { "include_usage": true },
        })
    );
    request.max_tokens = Some(5);
    request.temperature = Some(0.5);
    request.effort = Some("low".to_owned());
    request.tools = vec![ToolSpec {
        name: "x".to_owned(),
        description: "d".to_owned(),
        parameters: json!({ "type": "object" }),
    }];
    let full = body(&request, &endpoint(), true, Quirks::default());
    assert_eq!((&full["max_tokens"], &full["temperature"]), (&json!(5), &json!(0.5)));
    assert_eq!(full["reasoning_effort"], "low");
    assert_eq!(full["tools"][0]["function"]["name"], "x");

    let all = Quirks {
        no_stream_options: true,
        renamed_max_tokens: true,
        no_temperature: true,
        no_effort: true,
    };
    let spare = body(&request, &endpoint(), true, all);
    for name in ["stream_options", "max_tokens", "temperature", "reasoning_effort"] {
        assert_eq!(spare.get(name), None, "{name}");
    }
    assert_eq!(spare["max_completion_tokens"], 5);
}

#[test]
fn users_that_follow_each_other_are_one() {
    let messages =
        vec![Message::System { text: "s".to_owned() }, user("a"), assistant(vec![]), user("b")];
    assert_eq!(
        sent(messages, true),
        json!([
            { "role": "system", "content": "s" }, { "role": "user", "content": "a\n\nb" },
        ])
    );
}

#[test]
fn images_are_shown_to_those_who_look() {
    let parts = vec![Part::text("look"), image()];
    let shown = sent(vec![Message::User { parts: parts.clone() }], true);
    assert_eq!(shown[0]["content"][1]["image_url"]["url"], "data:image/png;base64,AAAA");
    let named = sent(vec![Message::User { parts }], false);
    assert_eq!(named[0]["content"], "look\n[Image: image/png]");
}

#[test]
fn images_of_tools_follow_after_all_results() {
    let result = |call: &str, parts| Message::Tool { call: call.to_owned(), parts };
    let messages = vec![
        assistant(vec![a_call("{}"), a_call("{}")]),
        result("c", vec![image()]),
        result("d", vec![Part::text("t")]),
        user("and?"),
    ];
    let out = sent(messages, true);
    let roles: Vec<_> = out.as_array().unwrap().iter().map(|m| m["role"].clone()).collect();
    assert_eq!(roles, ["assistant", "tool", "tool", "user"]);
    assert_eq!(out[0]["content"], Value::Null);
    assert_eq!(out[3]["content"][1]["type"], "image_url");
    assert_eq!(out[3]["content"][2]["text"], "and?");
}

#[test]
fn arguments_always_go_back_as_json() {
    let back = |arguments: &str| {
        let out = sent(vec![assistant(vec![a_call(arguments)])], true);
        out[0]["tool_calls"][0]["function"]["arguments"].as_str().unwrap().to_owned()
    };
    assert_eq!(back("{ \"a\": 1 }"), "{ \"a\": 1 }");
    assert_eq!(back(""), "{}");
    assert_eq!(back("{\"a\":1,}"), "{\"a\":1}");
    assert_eq!(back("{\"a\":\"cut"), json!({ "invalid_arguments": "{\"a\":\"cut" }).to_string());
}

#[test]
fn thoughts_go_back_only_where_they_are_wanted() {
    let messages = vec![assistant(vec![a_call("{}")])];
    assert_eq!(sent(messages.clone(), true)[0].get("reasoning_content"), None);
    let mut endpoint = endpoint();
    endpoint.send_thoughts = true;
    let request = Request { messages, ..Request::default() };
    let out = body(&request, &endpoint, true, Quirks::default());
    assert_eq!(out["messages"][0]["reasoning_content"], "hm");
}

#[test]
fn what_is_refused_is_left_out_once() {
    let request = Request { max_tokens: Some(1), temperature: Some(1.0), ..Request::default() };
    let sent = body(&request, &endpoint(), true, Quirks::default());
    let none = Quirks::default();
    let learnt = none.learn(&sent, 400, "Unsupported parameter: 'max_tokens'").unwrap();
    assert!(learnt.renamed_max_tokens);
    let sent = body(&request, &endpoint(), true, learnt);
    assert_eq!(learnt.learn(&sent, 400, "'max_completion_tokens' is too large"), None);
    assert_eq!(none.learn(&sent, 500, "temperature"), None);
    assert_eq!(none.learn(&sent, 400, "reasoning_effort"), None);
    assert!(none.learn(&sent, 422, "body.stream_options: extra").unwrap().no_stream_options);
}
