//! Clients that say things in older or other ways, an Azure endpoint that is asked, and advice
//! from a daemon.

use crate::cli::Ran;
use crate::native::{Stage, Way, prompt_of};
use serde_json::{Value, json};
use std::process::Stdio;
use testkit::daemon::Daemon;
use testkit::model_server::{status, text};

#[tokio::test]
async fn a_version_that_is_no_number_is_answered_with_ours() {
    for way in crate::native::BOTH {
        let stage = Stage::new().await;
        let (mut lines, mut child) = stage.lines(way);
        for bad in [json!(null), json!(-1), json!([]), json!("")] {
            let answer = lines.ask("initialize", &json!({ "protocolVersion": bad }));
            assert_eq!(answer["error"]["code"], -32602, "{way:?}: {answer}");
        }
        for version in [json!("2025-03-26"), json!("1"), json!(2)] {
            let answer = lines.result("initialize", &json!({ "protocolVersion": version }));
            assert_eq!(answer["protocolVersion"], 1, "{way:?}");
        }
        lines.result("authenticate", &json!({ "methodId": "key" }));
        lines.finish_sending();
        child.wait().unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_may_be_made_with_its_model_and_its_mode() {
    let stage = Stage::new().await;
    stage.model.models(["test-model", "other-model"]);
    stage.model.answer_with(|_| text("done"));
    for way in crate::native::BOTH {
        let (mut lines, mut child) = stage.lines(way);
        lines.result("initialize", &json!({ "protocolVersion": 1 }));
        let mut params = stage.new_params();
        params["model"] = json!("other-model");
        params["mode"] = json!("plan");
        let made = lines.result("session/new", &params);
        let options = made["configOptions"].as_array().unwrap();
        let current: Vec<&Value> = options.iter().map(|option| &option["currentValue"]).collect();
        assert_eq!(current[..2], [&json!("other-model"), &json!("plan")], "{way:?}");
        let session = made["sessionId"].as_str().unwrap().to_owned();
        lines.result("session/prompt", &prompt_of(&session, "hello"));
        let chat = stage.model.last_chat();
        assert_eq!(chat.model(), "other-model");
        assert!(chat.system().contains("plan mode"));

        params["mode"] = json!("flying");
        let refused = lines.ask("session/new", &params);
        assert!(refused["error"]["message"].to_string().contains("flying"), "{refused}");
        lines.finish_sending();
        child.wait().unwrap();
    }
}

#[tokio::test]
async fn servers_may_be_a_map() {
    let stage = Stage::new().await;
    stage.model.answer_with(|_| text("done"));
    let (mut lines, mut child) = stage.lines(Way::Alone);
    lines.result("initialize", &json!({ "protocolVersion": 1 }));
    let mut params = stage.new_params();
    params["mcpServers"] = json!({ "docs": {
        "transport": "http", "url": "http://127.0.0.1:1/mcp", "headers": { "X-Team": "blue" },
    } });
    let session = lines.result("session/new", &params)["sessionId"].clone();
    let session = session.as_str().unwrap();

    lines.start("session/prompt", &prompt_of(session, "hello"));

    // It is taken as a server, and that it does not answer is told by its name.
    let told = lines.wait_for(|message| message.to_string().contains("The MCP server docs"));
    assert!(told["params"]["update"].is_object(), "{told}");
    lines.finish_sending();
    child.wait().unwrap();
}

#[tokio::test]
async fn azure_is_asked_whether_it_answers() {
    let stage = Stage::new().await;
    let config = format!(
        "[native.providers.azure]\nkind = \"azure\"\nbase_url = \"{}\"\ndeployment = \"mine\"\n\
         model = \"mine\"\n",
        stage.model.url()
    );
    std::fs::write(stage.home.path().join("switchyard.toml"), config).unwrap();
    for (answer, by, code) in [
        (status(401), "its endpoint wants another key", 1),
        (status(200).json(&json!({ "data": [{ "id": "gpt-4o" }] })), "its endpoint answers", 0),
        (status(404), "its endpoint answers", 0),
    ] {
        stage.model.on("/openai/models", answer);
        let mut command = stage.command(&["agents", "show", "native", "--json"]);
        command.env_remove("OPENAI_BASE_URL").env("AZURE_OPENAI_API_KEY", "azure-key");
        command.env_remove("OPENAI_MODEL").stdout(Stdio::piped());
        let shown: Ran = tokio::process::Command::from(command).output().await.unwrap().into();
        let about: Value = serde_json::from_str(&shown.out).unwrap();
        assert_eq!((about["auth"]["by"].as_str(), shown.code), (Some(by), code), "{about:#}");
        // What could be deployed is not what is.
        assert!(!about["models"].to_string().contains("gpt-4o"), "{about:#}");
    }
    let asked = stage.model.requests();
    assert!(asked.iter().all(|asked| asked.header("api-key") == Some("azure-key")));
    assert!(asked[0].query().contains("api-version="), "{}", asked[0].query());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_daemon_says_where_an_endpoint_is_configured() {
    let stage = Stage::new().await;
    let mut command = stage.command(&["serve", "--host", "127.0.0.1:0"]);
    for name in ["OPENAI_BASE_URL", "OPENAI_API_KEY", "OPENAI_MODEL"] {
        command.env_remove(name);
    }
    let daemon = Daemon::start_command(&stage.home, command);
    let client = daemon.client();
    let agents = client.get(daemon.url("/v1/agents")).send().await.unwrap();
    let agents = agents.text().await.unwrap();
    // Whoever runs a model on one of the usual ports is answered by it.
    if agents.contains("no model endpoint is configured") {
        assert!(agents.contains("[native.providers.NAME]"), "{agents}");
        assert!(agents.contains("switchyard.toml"), "{agents}");
    }
}
