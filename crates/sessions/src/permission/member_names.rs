//! Names of members that differ from known ones by case alone: some readers do not mind upper and
//! lower case. What is judged under one spelling may be done under the other.

use crate::name_list::names;
use serde_json::Value;

const OF_QUESTION: [&str; 4] = ["sessionId", "toolCall", "options", "_meta"];
const OF_OPTION: [&str; 4] = ["optionId", "name", "kind", "_meta"];
const OF_CALL: &[&str] =
    names!("sessionUpdate toolCallId title kind status content locations rawInput rawOutput _meta");
const OF_CONTENT: [&str; 7] =
    ["type", "content", "path", "oldText", "newText", "terminalId", "_meta"];
const OF_LOCATION: [&str; 3] = ["path", "line", "_meta"];

/// The first of some names that is almost, and not quite, one of those that are `known`.
pub(crate) fn miscased_name<'a>(
    mut names: impl Iterator<Item = &'a String>,
    known: &[&str],
) -> Option<&'a String> {
    // Also of letters that are the same as others without their case, as the long s.
    let plain = |name: &str| name.to_uppercase().to_lowercase();
    names.find(|name| known.iter().any(|known| plain(known) == plain(name) && known != name))
}

/// The same in the params of a permission request.
pub(crate) fn miscased_in_question(params: &Value) -> Option<&String> {
    miscased_in_object(params, &OF_QUESTION)
        .or_else(|| miscased_among(&params["options"], &OF_OPTION))
        .or_else(|| miscased_in_call(&params["toolCall"]))
}

/// The same in a tool call, or in an update of one. The input is the agent's own.
pub(crate) fn miscased_in_call(call: &Value) -> Option<&String> {
    miscased_in_object(call, OF_CALL)
        .or_else(|| miscased_among(&call["content"], &OF_CONTENT))
        .or_else(|| miscased_among(&call["locations"], &OF_LOCATION))
}

fn miscased_among<'a>(values: &'a Value, known: &[&str]) -> Option<&'a String> {
    values.as_array().into_iter().flatten().find_map(|value| miscased_in_object(value, known))
}

fn miscased_in_object<'a>(value: &'a Value, known: &[&str]) -> Option<&'a String> {
    miscased_name(value.as_object()?.keys(), known)
}

#[cfg(test)]
mod tests {
    //! Only what differs by case alone is odd.

    use serde_json::json;

    use super::*;

    #[test]
    fn what_differs_by_case_alone_is_found() {
        let call = |name: &str| json!({ "toolCall": { "toolCallId": "a", name: 1 } });
        for odd in [
            json!({ "ToolCall": {} }),
            json!({ "toolcall": {}, "toolCall": {} }),
            call("rawinput"),
            call("RawInput"),
            call("Kind"),
            call("\u{17f}tatus"),
            json!({ "options": [{}, { "optionID": "a" }] }),
            json!({ "toolCall": { "content": [{ "type": "diff", "Path": "/a" }] } }),
            json!({ "toolCall": { "locations": [{ "PATH": "/a" }] } }),
        ] {
            assert!(miscased_in_question(&odd).is_some(), "{odd}");
        }
        for plain in [
            json!({ "sessionId": "s", "toolCall": {}, "options": [], "_meta": { "Kind": 1 } }),
            call("rawInput"),
            call("raw_input"),
            call("x"),
            json!({ "toolCall": { "rawInput": { "Kind": 1, "PATH": "/a" } } }),
            json!(["ToolCall"]),
            json!(null),
        ] {
            assert_eq!(miscased_in_question(&plain), None, "{plain}");
        }
    }
}
