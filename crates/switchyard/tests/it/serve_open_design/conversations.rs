//! Conversations: one memory, several agents, new instructions.

use serde_json::{Value, json};
use testkit::test_home::switchyard;

use super::{EXE, Studio, status_of, text, with};

fn talk(message: &str, more: Value) -> Value {
    with(json!({ "message": message, "conversationId": "talk" }), more)
}

#[tokio::test]
async fn a_conversation_is_remembered_with_and_without_its_agents_name() {
    let studio = Studio::start();
    let first = json!({ "agentId": "demo", "message": "remember tea" });
    let (_, created) = studio.post("/api/runs", &first).await;
    let given = created["conversationId"].as_str().unwrap().to_owned();
    studio.events(created["runId"].as_str().unwrap()).await.rest().await;

    let by_id = json!({ "message": "recall", "conversationId": given });
    let frames = studio.finished(&by_id).await;
    assert!(text(&frames).contains("tea"), "{}", text(&frames));

    studio.finished(&talk("remember milk", json!({}))).await;
    let frames = studio.finished(&talk("recall", json!({ "agentId": "demo" }))).await;
    assert!(text(&frames).contains("milk"), "{}", text(&frames));
    assert!(!text(&frames).contains("tea"), "{}", text(&frames));
}

#[tokio::test]
async fn an_agent_that_remembers_is_not_told_everything_again() {
    let studio = Studio::start();
    let more = |prompt: &str| json!({ "agentId": "demo", "currentPrompt": prompt });

    let first = studio.finished(&talk("echo all of it", more("echo the new"))).await;
    let second = studio.finished(&talk("echo all of it", more("echo the new"))).await;

    assert!(text(&first).contains("all of it"));
    assert!(text(&second).contains("the new"));
}

#[tokio::test]
async fn instructions_reach_the_agent_and_changed_ones_too() {
    let (studio, record) = Studio::tapped(switchyard(EXE), "");
    for (message, instructions) in
        [("echo one", "be kind"), ("echo two", "be kind"), ("echo three", "be brief")]
    {
        let more = json!({ "agentId": "heard", "systemPrompt": instructions });
        studio.finished(&talk(message, more)).await;
    }

    let heard = std::fs::read_to_string(record).unwrap();
    let prompts: Vec<&str> = heard.lines().filter(|line| line.contains("session/prompt")).collect();
    assert_eq!(prompts.len(), 3, "{heard}");
    assert!(prompts[0].contains("be kind") && prompts[0].contains("echo one"), "{prompts:#?}");
    assert!(!prompts[1].contains("be kind"), "{prompts:#?}");
    assert!(prompts[2].contains("be brief") && prompts[2].contains("echo three"), "{prompts:#?}");
}

#[tokio::test]
async fn another_agent_joins_a_conversation_with_a_session_of_its_own() {
    let home = switchyard(EXE);
    let exe = home.exe().to_str().unwrap().to_owned();
    let config = format!("[agents.second]\ncommand = {exe:?}\nargs = [\"demo-agent\"]\n");
    std::fs::write(home.path().join("switchyard.toml"), config).unwrap();
    let studio = Studio::start_in(home);
    studio.finished(&talk("remember milk", json!({ "agentId": "demo" }))).await;

    let other = studio.run(&talk("say hi ; hang", json!({ "agentId": "second" }))).await;
    let mut stream = studio.events(&other).await;
    let seen = stream.until(|frame| frame.data["type"] == "text_delta").await;
    let refused = studio.refused(&talk("recall", json!({ "agentId": "demo" }))).await;
    studio.cancel(&other).await;
    let frames = studio.finished(&talk("recall", json!({ "agentId": "demo" }))).await;

    assert_eq!(seen[0].data["agentId"], "second");
    assert_eq!((refused.0, &*refused.1), (409, "RUN_IN_PROGRESS"));
    assert!(text(&frames).contains("milk"), "{}", text(&frames));
    let listed = studio.get("/api/runs?conversationId=talk").await;
    assert_eq!(listed["runs"].as_array().unwrap().len(), 3, "{listed}");
}

#[tokio::test]
async fn a_conversation_stays_in_its_project() {
    let studio = Studio::start();
    let at = |project: &str| json!({ "agentId": "demo", "projectId": project });
    studio.finished(&talk("cwd", at("p"))).await;

    let elsewhere = studio.refused(&talk("cwd", at("q"))).await;
    let frames = studio.finished(&talk("cwd", json!({}))).await;

    assert_eq!((elsewhere.0, &*elsewhere.1), (409, "CONFLICT"));
    assert!(text(&frames).contains("projects/p"), "{}", text(&frames));
    assert_eq!(frames[0].data["projectId"], "p");
    assert_eq!(status_of(&frames), "succeeded");
}
