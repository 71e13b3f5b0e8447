//! Models without tools behind the real binary: imitations of Ollama and vLLM with their exact
//! refusals, and every way to switch tools off.

use crate::native::{Stage, Way, judge, stop_reason, updates_of};
use serde_json::{Value, json};
use testkit::model_server::{MODEL, ReceivedRequest, ScriptedAnswer, calls, status, text};
use testkit::sdk_client::{ClientBehavior, SdkClient};

/// Refuses every request with tools, and answers all others.
fn refusing(
    code: u16,
    body: Value,
) -> impl FnMut(&ReceivedRequest) -> ScriptedAnswer + Send + 'static {
    move |asked| match asked.body.get("tools") {
        Some(_) => status(code).json(&body),
        None => text(format!("You said: {}", asked.last_user())),
    }
}

fn ollama() -> Value {
    json!({ "error": {
        "message": "registry.ollama.ai/library/gemma3:4b does not support tools",
        "type": "api_error", "param": null, "code": null,
    } })
}

fn vllm() -> Value {
    let message =
        "\"auto\" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set";
    json!({
        "object": "error", "message": message, "type": "BadRequestError", "param": null, "code": 400,
    })
}

fn openrouter() -> Value {
    json!({ "error": {
        "message": "No endpoints found that support tool use. To learn more about provider \
            routing, visit: https://openrouter.ai/docs/provider-routing",
        "code": 404,
    } })
}

#[tokio::test]
async fn a_model_without_tools_answers_and_the_user_hears_of_it_once() {
    for (code, body) in [(400, ollama()), (400, vllm()), (404, openrouter())] {
        for way in crate::native::BOTH {
            let stage = Stage::new().await;
            stage.model.answer_with(refusing(code, body.clone()));
            let (client, session) = stage.bare(way).await;

            let first = client.prompt(&session, "hello").await.unwrap();
            let second = client.prompt(&session, "again").await.unwrap();

            assert!(first.text().ends_with("You said: hello"), "{way:?}: {}", first.text());
            assert!(first.text().contains("takes no tools"), "{way:?}: {}", first.text());
            assert_eq!(second.text(), "You said: again", "{way:?}");
            assert_eq!(stop_reason(&second), "end_turn");
            let chats = stage.model.chats();
            assert_eq!(chats.len(), 3);
            assert!(chats[1].system().contains("You have no tools"), "{}", chats[1].system());
            judge(client).await;
        }
    }
}

#[tokio::test]
async fn a_run_says_it_beside_the_answer() {
    let stage = Stage::new().await;
    stage.model.answer_with(refusing(400, ollama()));
    let ran = stage.run(&["hello", "--format", "quiet"]).await;
    assert_eq!((ran.code, ran.out.trim()), (0, "You said: hello"), "{}", ran.err);
    let ran = stage.run(&["hello"]).await;
    assert!(format!("{}{}", ran.out, ran.err).contains("takes no tools"), "{}{}", ran.out, ran.err);
}

#[tokio::test]
async fn tools_are_left_out_where_somebody_says_so() {
    for native in ["tools = false", &format!("[native.models.{MODEL}]\ntools = false")] {
        let stage = Stage::with_config(native, "").await;
        stage.model.answer_with(|_| text("done"));
        assert_eq!(stage.run(&["hello"]).await.code, 0);
        assert_eq!(stage.model.last_chat().body.get("tools"), None, "{native}");
        // A run can want them all the same.
        assert_eq!(stage.run(&["hello", "--option", "tools=on"]).await.code, 0);
        assert!(!stage.model.last_chat().tool_names().is_empty(), "{native}");
    }
    let stage = Stage::with_config("", "tools = false").await;
    stage.model.answer_with(|_| text("done"));
    stage.run(&["hello"]).await;
    assert_eq!(stage.model.last_chat().body.get("tools"), None);

    let stage = Stage::new().await;
    stage.model.answer_with(|_| text("done"));
    stage.run(&["hello", "--option", "tools=off"]).await;
    assert_eq!(stage.model.last_chat().body.get("tools"), None);
    let mut command = stage.command(&["run", "native", "hello"]);
    command.env("OPENAI_TOOLS", "off");
    tokio::process::Command::from(command).output().await.unwrap();
    assert_eq!(stage.model.last_chat().body.get("tools"), None);
    assert_eq!(stage.model.chats().len(), 2);
    let ran = stage.run(&["hello", "--option", "tools=perhaps"]).await;
    assert_ne!(ran.code, 0);
    assert!(ran.err.contains("on, off"), "{}", ran.err);
    let ran = stage.run(&["hello", "--option", "wings=on"]).await;
    assert!(ran.err.contains("wings"), "{}", ran.err);
}

#[tokio::test]
async fn a_session_that_goes_on_with_another_model_tells_it_what_was_called() {
    let stage = Stage::new().await;
    stage.model.models(["test-model", "small-talk"]);
    stage.put("a.txt", "the words in it");
    stage.model.answer(calls([("read", json!({ "path": "a.txt" }))]));
    stage.model.answer("It says something.");
    stage.model.answer_with(refusing(400, ollama()));
    let (client, session) = stage.bare(Way::Alone).await;
    client.prompt(&session, "read it").await.unwrap();

    let params = json!({ "sessionId": session, "configId": "model", "value": "small-talk" });
    client.call("session/set_config_option", params).await.unwrap();
    let turn = client.prompt(&session, "what did it say?").await.unwrap();

    assert_eq!(stop_reason(&turn), "end_turn");
    let last = stage.model.last_chat();
    assert_eq!(last.model(), "small-talk");
    let all = last.body.to_string();
    assert!(all.contains("the words in it") && !all.contains("tool_call"), "{all}");
    judge(client).await;
}

#[tokio::test]
async fn context_tools_come_by_an_option_a_flag_or_a_variable() {
    let stage = Stage::new().await;
    stage.model.answer_with(|_| text("done"));
    let has = |name: &str| stage.model.last_chat().tool_names().contains(&name);
    stage.run(&["hello"]).await;
    assert!(!has("context_edit"));
    stage.run(&["hello", "--option", "context_tools=on"]).await;
    assert!(has("context_edit") && has("refine"));
    let mut command = stage.command(&["run", "native", "hello"]);
    command.env("OPENAI_CONTEXT_TOOLS", "verify");
    tokio::process::Command::from(command).output().await.unwrap();
    assert!(has("verify") && !has("context_edit"));

    let (client, session) = stage.bare(Way::Acp).await;
    let params = json!({ "sessionId": session, "configId": "context_tools", "value": "on" });
    let set = client.call("session/set_config_option", params).await.unwrap();
    let option = |id: &str| {
        let all = set["configOptions"].as_array().unwrap().iter();
        all.clone().find(|option| option["id"] == id).unwrap()["currentValue"].clone()
    };
    assert_eq!((option("context_tools"), option("tools")), (json!("on"), json!("on")));
    client.prompt(&session, "hello").await.unwrap();
    assert!(has("context_edit"));
    judge(client).await;
}

#[tokio::test]
async fn the_model_that_is_taken_by_itself_can_chat_and_is_named() {
    let stage = Stage::new().await;
    stage.model.models(["text-embedding-3-small", "whisper-1", "clever-7b"]);
    stage.model.answer_with(|_| text("done"));
    let mut command = stage.agent(Way::Alone);
    command.env_remove("OPENAI_MODEL");
    let client = SdkClient::ready(command, ClientBehavior::default()).await.unwrap();
    let session = client.new_session(stage.work()).await.unwrap().session_id;

    let turn = client.prompt(&session, "hello").await.unwrap();
    let next = client.prompt(&session, "again").await.unwrap();

    assert_eq!(stage.model.last_chat().model(), "clever-7b");
    assert!(turn.thoughts().contains("using the model `clever-7b`"), "{}", turn.thoughts());
    assert!(!updates_of(&next).iter().any(|update| update.to_string().contains("using the model")));
    judge(client).await;
}
