//! What a user can say to the built-in agent beside words, and what can be chosen while a session
//! goes on: slash commands, project instructions, images, models, modes, thinking.

use crate::native::{Stage, Way, judge, prompt_of, stop_reason};
use serde_json::{Value, json};
use testkit::model_server::{ReceivedRequest, calls, text};
use testkit::sdk_client::acp::{PromptRequest, SessionId, SessionUpdate};
use testkit::sdk_client::{ClientBehavior, PermissionReply, SdkClient};

async fn commands(client: &SdkClient, session: &SessionId) -> Vec<String> {
    let update = client
        .wait_for(session, |update| matches!(update, SessionUpdate::AvailableCommandsUpdate(_)))
        .await;
    let update = serde_json::to_value(update).unwrap();
    let all = update["availableCommands"].as_array().unwrap().iter();
    all.map(|command| command["name"].as_str().unwrap().to_owned()).collect()
}

async fn set(client: &SdkClient, session: &SessionId, option: &str, value: &str) {
    let params = json!({ "sessionId": session, "configId": option, "value": value });
    client.call("session/set_config_option", params).await.unwrap();
}

#[tokio::test]
async fn slash_commands_are_told_and_do_what_they_say() {
    let stage = Stage::new().await;
    stage.model.models(["test-model", "other-model"]);
    stage.model.answer_with(|asked| text(format!("heard {}", asked.last_user())));
    stage.put(".switchyard/commands/review.md", "# Review a file\n\nLook at $ARGUMENTS closely.\n");
    let (client, session) = stage.bare(Way::Alone).await;

    let known = commands(&client, &session).await;
    assert_eq!(known, ["compact", "clear", "model", "help", "review"]);
    let help = client.prompt(&session, "/help").await.unwrap();
    assert!(help.text().contains("/review") && help.text().contains("/compact"), "{}", help.text());
    let which = client.prompt(&session, "/model").await.unwrap();
    assert!(which.text().contains("`other-model`"), "{}", which.text());
    let other = client.prompt(&session, "/model other-model").await.unwrap();
    assert!(other.kinds().iter().any(|kind| kind == "config_option_update"), "{:?}", other.kinds());
    let none = client.prompt(&session, "/model nonsense").await.unwrap();
    assert!(none.text().contains("there is no model"), "{}", none.text());
    assert_eq!(stage.model.chats().len(), 0, "none of these is for the model");

    client.prompt(&session, "/review main.rs").await.unwrap();
    let chat = stage.model.last_chat();
    assert_eq!(chat.model(), "other-model");
    assert!(chat.last_user().contains("Look at main.rs closely."), "{}", chat.last_user());
    client.prompt(&session, "/clear").await.unwrap();
    client.prompt(&session, "/tmp/a/path is no command").await.unwrap();
    let chat = stage.model.last_chat();
    assert_eq!(chat.roles(), ["system", "user"]);
    assert_eq!(chat.last_user(), "/tmp/a/path is no command");
    judge(client).await;
}

#[tokio::test]
async fn compact_puts_a_summary_in_the_place_of_what_was_said() {
    let stage = Stage::new().await;
    stage.model.answer("a long story");
    stage.model.answer("SUMMARY of it");
    stage.model.answer("go on");
    let (client, session) = stage.bare(Way::Alone).await;
    client.prompt(&session, "tell a story").await.unwrap();

    let turn = client.prompt(&session, "/compact").await.unwrap();
    client.prompt(&session, "and then?").await.unwrap();

    assert_eq!(stop_reason(&turn), "end_turn");
    let chats = stage.model.chats();
    assert!(chats[1].last_user().contains("Summarise this whole session"), "{:?}", chats[1].body);
    let last = chats[2].last_user();
    assert!(last.contains("SUMMARY of it") && last.contains("and then?"), "{last}");
    assert!(!chats[2].body.to_string().contains("a long story"), "{}", chats[2].body);
    judge(client).await;
}

#[tokio::test]
async fn instructions_of_the_project_are_read_anew_for_every_request() {
    let stage = Stage::new().await;
    stage.model.answer_with(|_| text("yes"));
    stage.put(".git/HEAD", "ref: refs/heads/main\n");
    stage.put("AGENTS.md", "Always use tabs.\n");
    stage.put("sub/AGENTS.md", "Never use tabs here.\n");
    let client = stage.client(Way::Alone, ClientBehavior::default()).await;
    let session = client.new_session(stage.work().join("sub")).await.unwrap().session_id;

    client.prompt(&session, "hello").await.unwrap();
    let system = stage.model.last_chat().system();
    let (above, here) = (system.find("Always use tabs."), system.find("Never use tabs here."));
    assert!(above.is_some() && above < here, "the nearer one comes last: {system}");
    stage.put("AGENTS.md", "Always use spaces.\n");
    client.prompt(&session, "hello").await.unwrap();

    assert!(stage.model.last_chat().system().contains("Always use spaces."));
    judge(client).await;
}

#[tokio::test]
async fn images_go_to_models_that_take_them_and_are_named_to_others() {
    for takes_images in [true, false] {
        let stage = Stage::with_config("", &format!("images = {takes_images}")).await;
        stage.model.answer_with(|_| text("seen"));
        let (client, session) = stage.bare(Way::Alone).await;
        let blocks = json!([
            { "type": "text", "text": "look" },
            { "type": "image", "mimeType": "image/png", "data": "iVBORw==" },
            { "type": "resource_link", "uri": "file:///a/b.txt", "name": "b.txt" },
            { "type": "resource", "resource": { "uri": "file:///c.txt", "text": "inside of it" } },
        ]);
        let blocks = serde_json::from_value(blocks).unwrap();

        client.ask(PromptRequest::new(session.clone(), blocks)).await.unwrap();

        let chat = stage.model.last_chat();
        let words = chat.last_user();
        assert!(words.contains("[Resource: b.txt] file:///a/b.txt"), "{words}");
        assert!(words.contains("[Resource: file:///c.txt]\ninside of it"), "{words}");
        let sent = chat.body["messages"].to_string();
        assert_eq!(sent.contains("data:image/png;base64,iVBORw=="), takes_images, "{sent}");
        assert_eq!(words.contains("[Image: image/png]"), !takes_images, "{words}");
        judge(client).await;
    }
}

#[tokio::test]
async fn model_and_thinking_change_from_one_request_to_the_next_and_are_kept() {
    let stage = Stage::new().await;
    stage.model.models(["test-model", "other-model", "third-model"]);
    stage.model.answer_with(|_| text("yes"));
    let (client, session) = stage.bare(Way::Alone).await;
    client.prompt(&session, "one").await.unwrap();
    set(&client, &session, "model", "other-model").await;
    set(&client, &session, "thought_level", "high").await;
    client.prompt(&session, "two").await.unwrap();
    let legacy = json!({ "sessionId": session, "modelId": "third-model" });
    client.call("session/set_model", legacy).await.unwrap();
    client.prompt(&session, "three").await.unwrap();
    client.stop().await;

    let client =
        SdkClient::ready(stage.agent(Way::Alone), ClientBehavior::default()).await.unwrap();
    let opened = client.resume_session(&session, stage.work()).await.unwrap();
    client.prompt(&session, "four").await.unwrap();

    let chats = stage.model.chats();
    let models: Vec<&str> = chats.iter().map(ReceivedRequest::model).collect();
    assert_eq!(models, ["test-model", "other-model", "third-model", "third-model"]);
    let efforts: Vec<&Value> = chats.iter().map(|chat| &chat.body["reasoning_effort"]).collect();
    assert_eq!(efforts, [&Value::Null, &json!("high"), &json!("high"), &json!("high")]);
    let opened = serde_json::to_value(opened).unwrap();
    assert_eq!(opened["configOptions"][0]["currentValue"], "third-model");
    judge(client).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_mode_that_is_set_in_mid_turn_counts_from_the_next_call() {
    let stage = Stage::new().await;
    let write = |n: u32| ("write", json!({ "path": format!("{n}.txt"), "content": "x\n" }));
    stage.model.answer(calls([write(1)]));
    stage.model.answer(calls([write(2)]));
    stage.model.answer("done");
    let (mut lines, child, session) = stage.opened(Way::Alone);
    let id = lines.start("session/prompt", &prompt_of(&session, "write"));
    let question = lines.wait_for(|message| message["method"] == "session/request_permission");
    lines.result("session/set_mode", &json!({ "sessionId": session, "modeId": "code" }));
    let outcome = json!({ "outcome": { "outcome": "selected", "optionId": "once" } });
    lines.send(&json!({ "jsonrpc": "2.0", "id": question["id"], "result": outcome }).to_string());
    let answer = lines.answer_to(&id);

    assert_eq!(answer["result"]["stopReason"], "end_turn");
    assert_eq!(stage.read("2.txt"), "x\n", "and nobody was asked about it");
    crate::native_conformance::finish(lines, child);
}

#[tokio::test]
async fn each_mode_asks_for_as_much_as_it_says() {
    for (mode, n_asked, is_written, has_run) in [
        ("ask", 2, true, true),
        ("code", 1, true, true),
        ("plan", 0, false, false),
        ("auto", 0, true, true),
    ] {
        let stage = Stage::new().await;
        stage.model.answer(calls([
            ("write", json!({ "path": "a.txt", "content": "x\n" })),
            ("bash", json!({ "command": "echo x > b.txt" })),
        ]));
        stage.model.answer("done");
        let behavior = ClientBehavior::default().permission(PermissionReply::Allow);
        let (client, session) = stage.bare_with(Way::Alone, behavior).await;
        client.set_mode(&session, mode).await.unwrap();

        client.prompt(&session, "work").await.unwrap();

        assert_eq!(client.permissions_asked().len(), n_asked, "{mode}");
        assert_eq!(stage.work().join("a.txt").exists(), is_written, "{mode}");
        assert_eq!(stage.work().join("b.txt").exists(), has_run, "{mode}");
        let results = stage.model.last_chat().tool_results();
        assert_eq!(results[0].contains("plan mode"), mode == "plan", "{results:?}");
        assert_eq!(stage.model.last_chat().system().contains("plan mode"), mode == "plan");
        judge(client).await;
    }
}
