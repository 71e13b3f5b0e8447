//! What detection tells, in Open Design's fields.

#![allow(clippy::unwrap_used)]

use serde_json::json;
use wire::Json;

use super::info;

#[test]
fn an_agent_has_the_fields_that_the_front_end_reads() {
    let found = json!({
        "id": "codex", "name": "Codex", "isUsable": true, "path": "/opt/bin/codex",
        "version": "1.2.3", "auth": { "state": "ok", "by": "OPENAI_API_KEY" },
        "models": [{ "id": "big", "name": "Big", "efforts": ["low"] }, { "id": "small" }],
        "modelsFrom": "listed", "defaultModel": "big", "efforts": ["low", "high"],
        "run": {
            "dialect": "codex-app-server", "argv": ["codex"], "resume": "protocol", "asks": true,
            "modes": ["ask", "auto"], "takesImages": true, "takesMcp": false,
        },
        "diagnoses": [], "install": "npm i", "docs": "https://example.org",
    });

    let info = info(&Json::of(&found)).unwrap();

    let expected = json!({
        "id": "codex", "name": "Codex", "bin": "codex", "available": true,
        "path": "/opt/bin/codex", "version": "1.2.3",
        "models": [
            { "id": "default", "label": "Default (big)" },
            { "id": "big", "label": "Big", "reasoningOptions": [
                { "id": "default", "label": "Default" }, { "id": "low", "label": "low" },
            ] },
            { "id": "small", "label": "small" },
        ],
        "modelsSource": "live", "streamFormat": "json-event-stream", "supportsCustomModel": true,
        "authStatus": "ok", "authMessage": "OPENAI_API_KEY", "diagnostics": [],
        "reasoningOptions": [
            { "id": "default", "label": "Default" }, { "id": "low", "label": "low" },
            { "id": "high", "label": "high" },
        ],
        "installHint": "npm i", "docsUrl": "https://example.org",
        "capabilities": {
            "streaming": true, "resume": true, "permissionMode": "strict",
            "permissionModes": ["ask", "auto"], "images": true, "mcp": false,
        },
    });
    assert_eq!(info, expected);
}

#[test]
fn one_that_is_not_there_says_why() {
    let diagnosis =
        json!({ "reason": "override-invalid", "message": "no such file", "remedy": "set it" });
    let found = json!({
        "id": "x", "name": "X", "isUsable": false, "models": [], "diagnoses": [diagnosis],
    });

    let info = info(&Json::of(&found)).unwrap();

    assert_eq!(info["available"], false);
    assert_eq!(info["bin"], "x");
    assert_eq!(info.get("capabilities"), None);
    assert_eq!(info["version"], json!(null));
    assert_eq!(info["diagnostics"][0]["reason"], "configured-bin-invalid");
    assert_eq!(info["diagnostics"][0]["severity"], "error");
}
