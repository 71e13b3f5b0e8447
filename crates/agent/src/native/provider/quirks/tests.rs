//! Refusals in the words of the servers that give them.

use serde_json::json;

use super::*;

fn learnt(status: u16, answer: &Value) -> Option<EndpointQuirks> {
    let sent = json!({ "model": "m", "messages": [], "tools": [{}], "max_tokens": 3 });
    EndpointQuirks::default().learn(&sent, status, &answer.to_string())
}

fn said(message: &str) -> Value {
    json!({ "error": { "message": message } })
}

#[test]
fn that_a_model_takes_no_tools_is_understood_in_everybodys_words() {
    let of_vllm =
        "\"auto\" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set";
    for (status, answer) in [
        // Ollama, under both of its paths.
        (
            400,
            json!({ "error": {
                "message": "registry.ollama.ai/library/gemma3:4b does not support tools",
                "type": "api_error", "param": null, "code": null,
            } }),
        ),
        (400, json!({ "error": "registry.ollama.ai/library/gemma3:4b does not support tools" })),
        // vLLM, before and after it put its errors into a member of that name.
        (
            400,
            json!({
                "object": "error", "message": of_vllm, "type": "BadRequestError",
                "param": null, "code": 400,
            }),
        ),
        (
            400,
            json!({ "error": {
                "message": of_vllm, "type": "BadRequestError", "param": null, "code": 400,
            } }),
        ),
        // OpenRouter.
        (
            404,
            json!({ "error": {
                "message": "No endpoints found that support tool use. To learn more about \
                    provider routing, visit: https://openrouter.ai/docs/provider-routing",
                "code": 404,
            } }),
        ),
        // llama.cpp without its templates.
        (
            500,
            json!({ "error": {
                "code": 500, "message": "tools param requires --jinja flag", "type": "server_error",
            } }),
        ),
        // OpenAI, Groq, Bedrock, and servers that know only what they know.
        (
            400,
            json!({ "error": {
                "message": "Unsupported parameter: 'tools' is not supported with this model.",
                "type": "invalid_request_error", "param": "tools", "code": "unsupported_parameter",
            } }),
        ),
        (400, said("`tool calling` is not supported with this model")),
        (400, json!({ "message": "This model doesn't support tool use in streaming mode." })),
        (400, said("deepseek-reasoner does not support Function Calling")),
        (
            422,
            json!({ "detail": [{
                "type": "extra_forbidden", "loc": ["body", "tools"],
                "msg": "Extra inputs are not permitted", "input": [],
            }] }),
        ),
        (422, said("Failed to parse: unknown field `tools`, expected one of `model`, `messages`")),
    ] {
        let expected = Some(EndpointQuirks { no_tools: true, ..EndpointQuirks::default() });
        assert_eq!(learnt(status, &answer), expected, "{answer}");
    }
}

#[test]
fn what_is_about_something_else_takes_no_tools_away() {
    for (status, message) in [
        (400, "Invalid schema for function 'read': 'format' is not supported"),
        (400, "tools[0].function.parameters is not supported"),
        (400, "Tool call arguments are not valid JSON"),
        (404, "The model `tools-7b` does not exist"),
        (400, "this model does not support image input"),
        (401, "your key does not support tools"),
        (429, "tool use is not supported at this rate"),
        (503, "does not support tools"),
    ] {
        let quirks = learnt(status, &said(message));
        assert!(quirks.is_none_or(|quirks| !quirks.no_tools), "{status} {message}");
    }
}

#[test]
fn only_what_was_sent_is_blamed_and_only_once() {
    let answer = said("m does not support tools").to_string();
    let without = json!({ "model": "m", "messages": [] });
    assert_eq!(EndpointQuirks::default().learn(&without, 400, &answer), None);
    let known = EndpointQuirks { no_tools: true, ..EndpointQuirks::default() };
    assert_eq!(known.learn(&json!({ "tools": [{}] }), 400, &answer), None);
}
