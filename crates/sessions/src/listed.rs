//! What of a request may go on to an agent when it comes from somebody who may not name commands.
//!
//! Agents take what they like from members that ACP does not have and from `_meta`: one of them
//! starts the MCP servers that it finds there. So nothing goes on that is not listed.

use std::collections::BTreeMap;

use wire::Json;

/// Of `_meta`: what is about us, and about traces.
const OF_META: [&str; 4] = ["switchyard", "traceparent", "tracestate", "baggage"];

/// Of `session/prompt`.
pub(crate) const OF_PROMPT: &[&str] = &["sessionId", "prompt", "messageId"];

/// Of what is passed on to the agent of a session, as ACP has it.
const OF_METHODS: [(&str, &[&str]); 5] = [
    ("session/set_mode", &["sessionId", "modeId"]),
    ("session/set_model", &["sessionId", "modelId"]),
    ("session/set_config_option", &["sessionId", "configId", "type", "value"]),
    ("session/set_title", &["sessionId", "title"]),
    ("session/fork", &["sessionId"]),
];

/// The members of a method that may go on; none if the method itself may not.
pub(crate) fn of_method(method: &str) -> Option<&'static [&'static str]> {
    OF_METHODS.iter().find(|(name, _)| *name == method).map(|(_, members)| *members)
}

/// The members of these names as they are, and what is listed of `_meta`.
pub(crate) fn members(params: &Json, names: &[&str]) -> Json {
    let mut kept = only(params, names);
    let meta = only(params, &["_meta"]).remove("_meta");
    let meta = meta.map(|meta| only(&meta, &OF_META)).filter(|meta| !meta.is_empty());
    kept.extend(meta.map(|meta| ("_meta".to_owned(), Json::of(&meta))));
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

    use super::members;

    #[test]
    fn only_what_is_listed_goes_on() {
        let said =
            r#"{"prompt":[ 1.0 ],"x":1,"_meta":{"claudeCode":{},"traceparent":"t"},"cwd":2}"#;
        let kept = members(&Json::trusted(said), &["prompt"]);
        assert_eq!(kept.as_str(), r#"{"_meta":{"traceparent":"t"},"prompt":[ 1.0 ]}"#);
        for said in [r#"{"_meta":{"claudeCode":{}}}"#, r#"{"_meta":7}"#, "[]"] {
            assert_eq!(members(&Json::trusted(said), &[]).as_str(), "{}");
        }
    }
}
