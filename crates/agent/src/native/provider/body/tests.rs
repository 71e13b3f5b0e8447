use proptest::prelude::*;
use reqwest::Url;
use serde_json::json;

use super::*;
use crate::native::endpoint::EndpointKind;

fn endpoint() -> Endpoint {
    Endpoint::new("test", EndpointKind::Other, Url::parse("http://models.test/v1").unwrap())
}

fn sent(messages: Vec<ChatMessage>, takes_images: bool) -> Value {
    let request = ChatRequest { model: "m".to_owned(), messages, ..ChatRequest::default() };
    body(&request, &endpoint(), takes_images, EndpointQuirks::default())["messages"].take()
}

fn user(text: &str) -> ChatMessage {
    ChatMessage::User { parts: vec![MessagePart::text(text)] }
}

fn image() -> MessagePart {
    MessagePart::Image { mime: "image/png".to_owned(), data: "AAAA".to_owned() }
}

fn assistant(calls: Vec<ModelToolCall>) -> ChatMessage {
    ChatMessage::Assistant { text: String::new(), thought: "hm".to_owned(), calls }
}

fn a_call(arguments: &str) -> ModelToolCall {
    ModelToolCall { id: "c".to_owned(), name: "x".to_owned(), arguments: arguments.to_owned() }
}

#[test]
fn a_request_says_what_was_chosen_and_nothing_else() {
    let mut request = ChatRequest { model: "m".to_owned(), ..ChatRequest::default() };
    let plain = body(&request, &endpoint(), true, EndpointQuirks::default());
    assert_eq!(
        plain,
        json!({
            "model": "m", "messages": [], "stream": true, "stream_options": { "include_usage": true },
        })
    );
    let mut endpoint = endpoint();
    endpoint.table.max_tokens = Some(5);
    endpoint.table.temperature = Some(0.5);
    request.effort = Some("low".to_owned());
    request.tools = vec![ToolSpec {
        name: "x".to_owned(),
        description: "d".to_owned(),
        parameters: json!({ "type": "object" }),
    }];
    let full = body(&request, &endpoint, true, EndpointQuirks::default());
    assert_eq!((&full["max_tokens"], &full["temperature"]), (&json!(5), &json!(0.5)));
    assert_eq!(full["reasoning_effort"], "low");
    assert_eq!(full["tools"][0]["function"]["name"], "x");

    let all = EndpointQuirks {
        no_stream_options: true,
        renamed_max_tokens: true,
        no_temperature: true,
        no_effort: true,
        no_tools: false,
    };
    let spare = body(&request, &endpoint, true, all);
    for name in ["stream_options", "max_tokens", "temperature", "reasoning_effort"] {
        assert_eq!(spare.get(name), None, "{name}");
    }
    assert_eq!(spare["max_completion_tokens"], 5);
}

#[test]
fn users_that_follow_each_other_are_one() {
    let messages =
        vec![ChatMessage::System { text: "s".to_owned() }, user("a"), assistant(vec![]), user("b")];
    assert_eq!(
        sent(messages, true),
        json!([
            { "role": "system", "content": "s" }, { "role": "user", "content": "a\n\nb" },
        ])
    );
}

#[test]
fn images_are_shown_to_those_who_look() {
    let parts = vec![MessagePart::text("look"), image()];
    let shown = sent(vec![ChatMessage::User { parts: parts.clone() }], true);
    assert_eq!(shown[0]["content"][1]["image_url"]["url"], "data:image/png;base64,AAAA");
    let named = sent(vec![ChatMessage::User { parts }], false);
    assert_eq!(named[0]["content"], "look\n[Image: image/png]");
}

#[test]
fn images_of_tools_follow_after_all_results() {
    let result = |call: &str, parts| ChatMessage::Tool { call: call.to_owned(), parts };
    let messages = vec![
        assistant(vec![a_call("{}"), a_call("{}")]),
        result("c", vec![image()]),
        result("d", vec![MessagePart::text("t")]),
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
fn to_a_model_without_tools_calls_and_results_are_words() {
    let result = |parts| ChatMessage::Tool { call: "c".to_owned(), parts };
    let said = ChatMessage::Assistant {
        text: "I look.".to_owned(),
        thought: "hm".to_owned(),
        calls: vec![a_call("{\"path\":\"a\"}"), a_call("{\"path\":\"b\"}")],
    };
    let messages = vec![
        ChatMessage::System { text: "s".to_owned() },
        user("look"),
        said,
        result(vec![MessagePart::text("one")]),
        result(vec![MessagePart::text("two"), image()]),
        assistant(vec![a_call("cut")]),
        result(vec![MessagePart::text("three")]),
        user("go on"),
    ];
    let tools = vec![ToolSpec { name: "x".into(), description: "d".into(), parameters: json!({}) }];
    let learnt = EndpointQuirks { no_tools: true, ..EndpointQuirks::default() };
    let chosen = ChatRequest { calls_as_text: true, ..ChatRequest::default() };
    for (request, quirks) in [(chosen, EndpointQuirks::default()), (ChatRequest::default(), learnt)]
    {
        let request = ChatRequest { messages: messages.clone(), tools: tools.clone(), ..request };
        let body = body(&request, &endpoint(), false, quirks);
        assert_eq!(body.get("tools"), None);
        assert!(!body.to_string().contains("tool_call") && !body.to_string().contains("\"tool\""));
        let roles: Vec<_> =
            body["messages"].as_array().unwrap().iter().map(|m| &m["role"]).collect();
        assert_eq!(roles, ["system", "user", "assistant", "user", "assistant", "user"]);
        let of = |at: usize| body["messages"][at]["content"].as_str().unwrap().to_owned();
        assert_eq!(
            of(2),
            "I look.\n[I called the tool x with {\"path\":\"a\"}]\n\
             [I called the tool x with {\"path\":\"b\"}]"
        );
        assert_eq!(
            of(3),
            "[What the call gave:]\none\n[What the call gave:]\ntwo\n[Image: image/png]"
        );
        assert!(of(4).contains("called the tool x"), "{}", of(4));
        assert!(of(5).contains("three") && of(5).ends_with("go on"), "{}", of(5));
    }
}

#[test]
fn thoughts_go_back_only_where_they_are_wanted() {
    let messages = vec![assistant(vec![a_call("{}")])];
    assert_eq!(sent(messages.clone(), true)[0].get("reasoning_content"), None);
    let mut endpoint = endpoint();
    endpoint.send_thoughts = true;
    let request = ChatRequest { messages, ..ChatRequest::default() };
    let out = body(&request, &endpoint, true, EndpointQuirks::default());
    assert_eq!(out["messages"][0]["reasoning_content"], "hm");
}

#[test]
fn what_is_refused_is_left_out_once() {
    let mut endpoint = endpoint();
    (endpoint.table.max_tokens, endpoint.table.temperature) = (Some(1), Some(1.0));
    let request = ChatRequest::default();
    let sent = body(&request, &endpoint, true, EndpointQuirks::default());
    let none = EndpointQuirks::default();
    let learnt = none.learn(&sent, 400, "Unsupported parameter: 'max_tokens'").unwrap();
    assert!(learnt.renamed_max_tokens);
    let sent = body(&request, &endpoint, true, learnt);
    assert_eq!(learnt.learn(&sent, 400, "'max_completion_tokens' is too large"), None);
    assert_eq!(none.learn(&sent, 500, "temperature"), None);
    assert_eq!(none.learn(&sent, 400, "reasoning_effort"), None);
    assert!(none.learn(&sent, 422, "body.stream_options: extra").unwrap().no_stream_options);
}

fn any_messages() -> impl Strategy<Value = Vec<ChatMessage>> {
    let words = "[a-z]{1,8}";
    let parts = || prop::collection::vec(words.prop_map(MessagePart::text), 1..3);
    let call = (words, words, ".{0,12}").prop_map(|(id, name, arguments)| ModelToolCall {
        id,
        name,
        arguments,
    });
    let any = prop_oneof![
        parts().prop_map(|parts| ChatMessage::User { parts }),
        ("[a-z]{0,8}", prop::collection::vec(call, 0..3)).prop_map(|(text, calls)| {
            ChatMessage::Assistant { text, thought: "hm".to_owned(), calls }
        }),
        (words, parts()).prop_map(|(call, parts)| ChatMessage::Tool { call, parts }),
    ];
    prop::collection::vec(any, 0..12)
}

proptest! {
    /// Whatever is asked, the body has what was chosen and what was said, in its order.
    #[test]
    fn a_body_says_what_the_request_holds(
        messages in any_messages(),
        model in "[a-z/:-]{1,12}",
        max_tokens in prop::option::of(1_u32..),
        temperature in prop::option::of(0.0..2.0_f64),
        n_tools in 0..3_usize,
        calls_as_text: bool,
    ) {
        let spec = |n| ToolSpec {
            name: format!("tool{n}"), description: String::new(), parameters: json!({}),
        };
        let tools = (0..n_tools).map(spec).collect();
        let said: Vec<String> = messages.iter().flat_map(|message| match message {
            ChatMessage::User { parts } | ChatMessage::Tool { parts, .. } => {
                parts.iter().map(|part| parts_as_text(std::slice::from_ref(part))).collect()
            }
            ChatMessage::Assistant { text, .. } => vec![text.clone()],
            ChatMessage::System { text } => vec![text.clone()],
        }).collect();
        let request = ChatRequest {
            model: model.clone(), messages, tools, calls_as_text,
            ..ChatRequest::default()
        };
        let mut endpoint = endpoint();
        (endpoint.table.max_tokens, endpoint.table.temperature) = (max_tokens, temperature);
        let body = body(&request, &endpoint, false, EndpointQuirks::default());
        prop_assert_eq!(&body["model"], &json!(model));
        prop_assert_eq!(&body["stream"], &json!(true));
        prop_assert_eq!(body.get("max_tokens").cloned(), max_tokens.map(|n| json!(n)));
        prop_assert_eq!(body.get("temperature").cloned(), temperature.map(|t| json!(t)));
        let n_offered = body["tools"].as_array().map_or(0, Vec::len);
        prop_assert_eq!(n_offered, if calls_as_text { 0 } else { n_tools });
        let sent = body["messages"].as_array().unwrap();
        prop_assert!(sent.windows(2).all(|two| two[0]["role"] != "user" || two[1]["role"] != "user"));
        for message in sent {
            let role = message["role"].as_str().unwrap();
            prop_assert!(["user", "assistant", "tool"].contains(&role));
            prop_assert!(!calls_as_text || role != "tool" && message.get("tool_calls").is_none());
            for call in message["tool_calls"].as_array().into_iter().flatten() {
                let arguments = call["function"]["arguments"].as_str().unwrap();
                prop_assert!(serde_json::from_str::<Map<String, Value>>(arguments).is_ok());
            }
        }
        let all: Vec<&str> = sent.iter().filter_map(|message| message["content"].as_str()).collect();
        let all = all.join("\n");
        let mut rest = all.as_str();
        for words in said {
            let at = rest.find(&words);
            prop_assert!(at.is_some(), "{words} is missing or out of order in {all}");
            rest = &rest[at.unwrap() + words.len()..];
        }
    }
}
