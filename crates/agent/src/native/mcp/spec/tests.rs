use serde_json::json;

use super::*;

fn command(spec: &ServerSpec) -> (&str, Vec<&str>, Vec<(&str, &str)>) {
    let ServerTransport::Command { program, args, env } = &spec.transport else {
        panic!("{spec:?}")
    };
    let env = env.iter().map(|(name, value)| (name.as_str(), value.reveal())).collect();
    (program, args.iter().map(String::as_str).collect(), env)
}

#[test]
fn commands_of_clients_are_read_in_every_form_that_clients_use() {
    let env = json!([{ "name": "TOKEN", "value": "x" }]);
    for entry in [
        json!({ "name": "a", "command": "/bin/x", "args": ["-v"], "env": env }),
        json!({ "name": "a", "type": "stdio", "command": "/bin/x", "args": ["-v"], "env": env }),
        json!({ "name": " a ", "command": "/bin/x", "args": ["-v"], "env": { "TOKEN": "x" } }),
    ] {
        let spec = ServerSpec::from_acp(&entry).unwrap();
        assert_eq!((spec.name.as_str(), spec.trusted), ("a", false));
        assert_eq!(command(&spec), ("/bin/x", vec!["-v"], vec![("TOKEN", "x")]));
    }
    let bare = ServerSpec::from_acp(&json!({ "name": "a", "command": "x" })).unwrap();
    assert_eq!(command(&bare), ("x", vec![], vec![]));
}

#[test]
fn addresses_of_clients_are_read() {
    let headers = json!([{ "name": "Authorization", "value": "Bearer x" }]);
    let http = json!({ "type": "http", "name": "a", "url": "http://h/mcp", "headers": headers });
    let sse = json!({ "type": "sse", "name": "a", "url": "https://h/sse" });
    let expected = SecretValues::from([("Authorization".into(), Secret::new("Bearer x"))]);
    let spec = ServerSpec::from_acp(&http).unwrap();
    assert_eq!(
        spec.transport,
        ServerTransport::Http { url: "http://h/mcp".into(), headers: expected }
    );
    let spec = ServerSpec::from_acp(&sse).unwrap();
    assert_eq!(
        spec.transport,
        ServerTransport::Sse { url: "https://h/sse".into(), headers: SecretValues::default() }
    );
}

#[test]
fn what_cannot_be_used_is_told_with_the_name_of_the_server() {
    let cases = [
        (json!({ "command": "x" }), "must be an object with a `name`"),
        (json!("x"), "must be an object with a `name`"),
        (json!({ "name": "a" }), "`a` has neither a `command` nor a `url`"),
        (json!({ "name": "a", "command": "" }), "`command` of the MCP server `a`"),
        (json!({ "name": "a", "command": "x", "args": "y" }), "`args` of the MCP server `a`"),
        (json!({ "name": "a", "command": "x", "args": [1] }), "`args` of the MCP server `a`"),
        (
            json!({ "name": "a", "command": "x", "env": { "A=B": "" } }),
            "`env` of the MCP server `a`",
        ),
        (json!({ "name": "a", "command": "x", "env": [{ "name": "A" }] }), "`env`"),
        (json!({ "name": "a", "type": "http" }), "`url` of the MCP server `a`"),
        (json!({ "name": "a", "url": "file:///etc/passwd" }), "`file` is not http or https"),
        (json!({ "name": "a", "url": "no url" }), "the URL of the MCP server `a`"),
        (json!({ "name": "a", "url": "http://h", "headers": { "a b": "" } }), "`a b`"),
        (
            json!({ "name": "a", "url": "http://h", "headers": { "Accept": "x" } }),
            "set by the protocol",
        ),
        (
            json!({ "name": "a", "url": "http://h", "headers": { "X": "a\nb" } }),
            "no header can have",
        ),
        (json!({ "name": "a", "type": "acp", "serverId": "1" }), "of type `acp`"),
    ];
    for (entry, expected) in cases {
        let error = ServerSpec::from_acp(&entry).unwrap_err();
        assert!(error.contains(expected), "{entry} gave: {error}");
    }
}

#[test]
fn a_bad_entry_does_not_cost_the_others() {
    let (specs, troubles) = from_acp(&json!([{ "name": "a", "command": "x" }, { "name": "b" }, 7]));
    assert_eq!(specs.len(), 1);
    let servers: Vec<_> = troubles.iter().map(|trouble| trouble.server.as_str()).collect();
    assert_eq!(servers, ["b", "?"]);
    assert_eq!(from_acp(&json!(null)), (vec![], vec![]));
    let many: Vec<_> = (0..100).map(|n| json!({ "name": n.to_string(), "command": "x" })).collect();
    let (specs, troubles) = from_acp(&json!(many));
    assert_eq!((specs.len(), troubles.len()), (64, 1));
}

fn config(value: Value) -> Result<Option<ServerSpec>, String> {
    let config: McpConfig = serde_json::from_value(value).map_err(|error| error.to_string())?;
    config.to_spec("a")
}

#[test]
fn configured_servers_are_read() {
    let spec = config(json!({
        "command": "npx", "args": ["-y", "x"], "env": { "TOKEN": "x" },
        "trusted": true, "timeout": "2m", "start_timeout": "90s",
    }));
    let spec = spec.unwrap().unwrap();
    assert_eq!(command(&spec), ("npx", vec!["-y", "x"], vec![("TOKEN", "x")]));
    assert!(spec.trusted);
    assert_eq!(spec.call_within, Duration::from_secs(120));
    assert_eq!(spec.start_within, Duration::from_secs(90));

    let http = config(json!({ "url": "http://h/mcp" })).unwrap().unwrap();
    assert!(matches!(http.transport, ServerTransport::Http { .. }));
    let sse = config(json!({ "url": "http://h/mcp", "transport": "sse" })).unwrap().unwrap();
    assert!(matches!(sse.transport, ServerTransport::Sse { .. }));
    assert_eq!(config(json!({ "command": "x", "enabled": false })), Ok(None));
}

#[test]
fn mistakes_in_the_configuration_are_told() {
    for (table, expected) in [
        (json!({}), "neither a `command` nor a `url`"),
        (json!({ "command": "x", "url": "http://h" }), "a `command` and a `url`"),
        (json!({ "command": "x", "transport": "sse" }), "`transport` of the MCP server `a`"),
        (json!({ "command": "x", "headers": { "a": "b" } }), "`headers` of the MCP server `a`"),
        (json!({ "url": "http://h", "args": ["x"] }), "`args` of the MCP server `a`"),
        (json!({ "url": "http://h", "env": { "A": "b" } }), "`env` of the MCP server `a`"),
        (json!({ "command": "x", "timeout": "soon" }), "write it like `30s`"),
        (json!({ "command": "x", "timeout": "0s" }), "some time, such as `30s`"),
        (json!({ "url": "http://h", "transport": "ws" }), "unknown variant"),
        (json!({ "comand": "x" }), "unknown field `comand`"),
    ] {
        let error = config(table.clone()).unwrap_err();
        assert!(error.contains(expected), "{table} gave: {error}");
    }
}

#[test]
fn secrets_are_not_shown() {
    let entry = json!({ "name": "a", "url": "http://h", "headers": { "X-Key": "hunter2" } });
    let shown = format!("{:?}", ServerSpec::from_acp(&entry).unwrap());
    assert!(shown.contains("X-Key") && !shown.contains("hunter2"), "{shown}");
    let url = ServerSpec::from_acp(&json!({ "name": "a", "url": "ftp://u:hunter2@h" }));
    assert!(!url.unwrap_err().contains("hunter2"));
}
