use serde_json::json;

use super::*;
use crate::host::AgentQuirks;

fn agent(system_prompt: SystemPromptSupport) -> AgentCommand {
    AgentCommand {
        name: "a".to_owned(),
        program: "a".into(),
        args: Vec::new(),
        cwd: "/".into(),
        env: bus::Environment::default(),
        is_named: true,
        quirks: AgentQuirks { system_prompt, ..AgentQuirks::default() },
    }
}

fn told(instructions: &str) -> SessionOrder {
    SessionOrder { system_prompt: Some(instructions.to_owned()), ..SessionOrder::default() }
}

fn params(meta: &serde_json::Value) -> Json {
    Json::of(&json!({ "cwd": "/", "_meta": meta }))
}

#[tokio::test]
async fn instructions_come_with_where_the_agent_is_and_what_is_there() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("main.rs"), "").unwrap();
    std::fs::write(dir.path().join(".secret"), "").unwrap();
    std::fs::create_dir(dir.path().join("src")).unwrap();
    let agent = agent(SystemPromptSupport::Unknown);
    let text = of(&told(" Be brief.\n"), &agent, &params(&json!({})), dir.path()).await.unwrap();
    assert!(text.starts_with("# Instructions\n\nBe brief.\n\n# Working directory\n"), "{text}");
    assert!(text.contains(&format!("You work in {}.", dir.path().display())), "{text}");
    assert!(text.contains("It holds:\n- main.rs\n- src/\n"), "{text}");
    assert!(!text.contains("secret"), "{text}");
    assert!(text.ends_with("\n\n# Request\n"), "{text}");
}

#[test]
fn the_list_of_files_is_bounded() {
    let dir = tempfile::tempdir().unwrap();
    for n in 0..(MAX_LISTED + 7) {
        std::fs::write(dir.path().join(format!("f{n:04}")), "").unwrap();
    }
    let text = compose(None, Some(dir.path())).unwrap();
    assert!(text.contains("- and 7 more\n"));
    assert_eq!(text.matches("\n- f").count(), MAX_LISTED);
}

#[tokio::test]
async fn an_agent_that_takes_instructions_is_told_the_directory_alone_and_only_if_wanted() {
    let dir = tempfile::tempdir().unwrap();
    let agent = agent(SystemPromptSupport::Taken);
    let none = params(&json!({}));
    assert_eq!(of(&told("Be brief."), &agent, &none, dir.path()).await, None);
    let order = SessionOrder { tells_directory: true, ..told("Be brief.") };
    let text = of(&order, &agent, &none, dir.path()).await.unwrap();
    assert!(text.starts_with("# Working directory\n"), "{text}");
    assert!(text.contains("It is empty.\n"), "{text}");
}

#[tokio::test]
async fn instructions_of_an_editor_are_told_to_those_alone_that_cannot_take_them() {
    let dir = tempfile::tempdir().unwrap();
    for meta in [
        json!({ "systemPrompt": "Be brief." }),
        json!({ "systemPrompt": { "append": "Be brief." } }),
    ] {
        let (meta, cwd) = (params(&meta), dir.path());
        let preface = async |how| of(&SessionOrder::default(), &agent(how), &meta, cwd).await;
        assert!(preface(SystemPromptSupport::NotTaken).await.unwrap().contains("Be brief."));
        // It may read them itself.
        assert_eq!(preface(SystemPromptSupport::Unknown).await, None);
        assert_eq!(preface(SystemPromptSupport::Taken).await, None);
    }
}
