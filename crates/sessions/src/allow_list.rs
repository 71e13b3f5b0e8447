//! Allow-lists for requests of clients that may not name commands: what goes on to an agent.
//!
//! Agents take what they like from members that ACP does not have and from `_meta`: one of them
//! starts the MCP servers that it finds there. So nothing goes on that is not listed.

use std::collections::BTreeMap;

use wire::{Json, RpcError};

/// Members of `_meta` that go on, if they are strings: those about traces.
const META_MEMBERS: [&str; 3] = ["traceparent", "tracestate", "baggage"];

/// Members of `session/prompt` that go on.
pub(crate) const PROMPT_MEMBERS: &[&str] = &["sessionId", "prompt", "messageId"];

/// Methods that go on to the agent of a session, with their members in ACP.
const METHODS: [(&str, &[&str]); 5] = [
    ("session/set_mode", &["sessionId", "modeId"]),
    ("session/set_model", &["sessionId", "modelId"]),
    ("session/set_config_option", &["sessionId", "configId", "type", "value"]),
    ("session/set_title", &["sessionId", "title"]),
    ("session/fork", &["sessionId"]),
];

/// The params of a request that go on to a session's agent; none if the method itself may not.
pub(crate) fn allowed_params(method: &str, params: &Json) -> Option<Result<Json, RpcError>> {
    let (_, names) = METHODS.iter().find(|(name, _)| *name == method)?;
    let is_nested = |value: &Json| value.as_str().starts_with(['{', '[']);
    let nested = only(params, names).into_iter().find(|(_, value)| is_nested(value));
    Some(match nested {
        Some((name, _)) => {
            Err(RpcError::invalid_params(format!("`{name}` must not be an object or a list")))
        }
        None => Ok(allowed_members(params, names)),
    })
}

/// The members of these names as they are, and what is listed of `_meta`.
pub(crate) fn allowed_members(params: &Json, names: &[&str]) -> Json {
    let mut kept = only(params, names);
    let mut meta = match only(params, &["_meta"]).remove("_meta") {
        Some(meta) => only(&meta, &META_MEMBERS),
        None => BTreeMap::new(),
    };
    meta.retain(|_, value| value.as_str().starts_with('"'));
    if !meta.is_empty() {
        kept.insert("_meta".to_owned(), Json::of(&meta));
    }
    Json::of(&kept)
}

fn only(object: &Json, names: &[&str]) -> BTreeMap<String, Json> {
    let mut members: BTreeMap<String, Json> = object.read().unwrap_or_default();
    members.retain(|name, _| names.contains(&name.as_str()));
    members
}

#[cfg(test)]
mod tests {
    //! What is not listed stays behind; what is listed stays as it is.

    use wire::Json;

    use super::{allowed_members, allowed_params};

    #[test]
    fn only_what_is_listed_goes_on() {
        let said =
            r#"{"prompt":[ 1.0 ],"x":1,"_meta":{"claudeCode":{},"traceparent":"t"},"cwd":2}"#;
        let kept = allowed_members(&Json::trusted(said), &["prompt"]);
        assert_eq!(kept.as_str(), r#"{"_meta":{"traceparent":"t"},"prompt":[ 1.0 ]}"#);
        let meta =
            [r#"{"claudeCode":{}}"#, r#"{"traceparent":{}}"#, r#"{"switchyard":{"a":1}}"#, "7"];
        let said = meta.map(|meta| format!(r#"{{"_meta":{meta}}}"#));
        for said in said.iter().map(String::as_str).chain(["[]"]) {
            assert_eq!(allowed_members(&Json::trusted(said), &[]).as_str(), "{}", "{said}");
        }
    }

    #[test]
    fn what_a_setting_is_set_to_has_no_members() {
        let of = |method, params: &str| allowed_params(method, &Json::trusted(params));
        assert!(of("session/foo", "{}").is_none());
        let asked = r#"{"configId":"a","more":{},"sessionId":"s","value":true}"#;
        let passed = of("session/set_config_option", asked).unwrap().unwrap();
        assert_eq!(passed.as_str(), r#"{"configId":"a","sessionId":"s","value":true}"#);
        for value in ["{}", "[1]"] {
            let asked = format!(r#"{{"sessionId":"s","modeId":{value}}}"#);
            let refused = of("session/set_mode", &asked).unwrap().unwrap_err();
            assert!(refused.message.contains("`modeId`"), "{}", refused.message);
        }
    }
}
