//! Switchyard's own directories, from sessions that have them in theirs.

use serde_json::json;
use testkit::model_server::calls;

use super::{does, session};
use crate::native::Stage;
use crate::serve_rest::{Api, of_kind};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_agent_is_served_them_and_no_question_about_them_is_asked() {
    let api = Api::start().await;
    let (home, above) = (api.home.path().to_owned(), api.home.path().parent().unwrap());
    let token = std::fs::read_to_string(home.join("token")).unwrap();
    let tokens = std::fs::read(home.join("tokens.json")).ok();
    std::os::unix::fs::symlink(&home, api.home.work().join("link")).unwrap();
    let all = session(&api, json!({ "cwd": above, "permissions": "auto" })).await;
    let shown = home.display();
    for path in [
        format!("{shown}/token"),
        format!("{shown}/run/../token"),
        format!("{}/link/token", api.home.work().display()),
        format!("{}/link/run/../token", api.home.work().display()),
    ] {
        let said = does(&api, &all, &format!("read {path}")).await;
        assert!(!said.contains(token.trim()) && said.contains("own"), "{path}: {said}");
        let said = does(&api, &all, &format!("write {path} mine")).await;
        assert!(said.contains("own"), "{path}: {said}");
    }
    does(&api, &all, &format!("write {shown}/rules.toml mine")).await;
    does(&api, &all, &format!("permission edit {shown}/switchyard.toml")).await;
    let events = api.events(&all).await;
    let decided = of_kind(&events, "permission_resolved");
    assert_eq!(decided[0]["payload"]["by"]["who"], "switchyard", "{decided:#?}");
    assert_eq!(decided[0]["payload"]["allowed"], false, "{decided:#?}");

    assert_eq!(std::fs::read_to_string(home.join("token")).unwrap(), token);
    assert_eq!(std::fs::read(home.join("tokens.json")).ok(), tokens);
    assert!(!home.join("rules.toml").exists() && !home.join("switchyard.toml").exists());
    let found = api.get(&format!("/v1/sessions/{all}/files?query=token")).await.is(200).body;
    assert!(!found.to_string().contains("token"), "{found}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_session_works_in_them() {
    let api = Api::start().await;
    let home = api.home.path();
    std::os::unix::fs::symlink(home, api.home.work().join("link")).unwrap();
    for dir in [home.to_owned(), home.join("run"), api.home.work().join("link")] {
        let new = json!({ "agent": "demo", "cwd": dir });
        let refused = api.post("/v1/sessions", &new).await;
        assert_eq!(refused.status, 403, "{}", refused.body);
        let new = json!({
            "agent": "demo", "cwd": api.home.work(), "additionalDirectories": [dir],
        });
        assert_eq!(api.post("/v1/sessions", &new).await.status, 403);
    }
    assert_eq!(api.get("/v1/sessions").await.is(200).body["sessions"], json!([]));
    let ran = api.home.command(["run", "demo", "hello", "--no-daemon"]).current_dir(home).output();
    let ran = ran.unwrap();
    assert!(!ran.status.success(), "{}", String::from_utf8_lossy(&ran.stdout));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_agent_is_started_in_them_though_its_directory_becomes_one_later() {
    let api = Api::start().await;
    let dir = api.home.work().join("real");
    std::fs::create_dir(&dir).unwrap();
    let id = session(&api, json!({ "cwd": dir, "startsLater": true })).await;
    std::fs::rename(&dir, api.home.work().join("old")).unwrap();
    std::os::unix::fs::symlink(api.home.path(), &dir).unwrap();
    api.prompt(&id, "cwd").await;
    let ended = api.until(&id, |now| now["lastTurn"] != serde_json::Value::Null).await;
    assert!(ended["lastTurn"].to_string().contains("Switchyard's own"), "{ended:#}");
}

/// Of a daemon that variables of XDG have moved into somebody's directory.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn those_of_other_daemons_are_closed_too() {
    let home = testkit::test_home::switchyard(crate::serve_rest::EXE);
    let (state, config) = (home.work().join("xs"), home.work().join("xc"));
    std::fs::create_dir_all(config.join("switchyard")).unwrap();
    std::fs::write(config.join("switchyard/switchyard.toml"), "# secret\n").unwrap();
    let mut other = home.command(["run", "demo", "say hello", "--no-daemon"]);
    other.env_remove("SWITCHYARD_HOME");
    other.env("XDG_STATE_HOME", &state).env("XDG_CONFIG_HOME", &config);
    assert!(other.output().unwrap().status.success());
    assert!(state.join("switchyard").exists());
    // Nothing but a token was ever asked for there.
    let mut third = home.command(["token", "show"]);
    third.env("SWITCHYARD_HOME", home.work().join("ts"));
    let secret = String::from_utf8(third.output().unwrap().stdout).unwrap();
    assert!(secret.starts_with("sy_"), "{secret}");
    let api = Api::start_in(home).await;
    let id = session(&api, json!({ "permissions": "auto" })).await;
    std::fs::rename(&state, api.home.work().join("moved")).unwrap();
    for path in ["xc/switchyard/switchyard.toml", "moved/switchyard/switchyard.db", "ts/token"] {
        let deed = format!("read {}/{path}", api.home.work().display());
        let said = does(&api, &id, &deed).await;
        let is_told = said.contains("secret") || said.contains(secret.trim());
        assert!(said.contains("own") && !is_told, "{path}: {said}");
    }
}

/// The built-in agent's own tools, in a directory with the whole home in it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_built_in_agents_tools_do_not_go_there() {
    let stage = Stage::new().await;
    let (home, above) = (stage.home.path(), stage.home.path().parent().unwrap());
    std::fs::write(home.join("token"), "sy_needle\n").unwrap();
    let name = |rest: &str| format!("{}/{rest}", home.file_name().unwrap().display());
    let patch = format!(
        "*** Begin Patch\n*** Add File: {}\n+mine\n*** End Patch",
        name("agents/evil.toml")
    );
    let tries = [
        ("read", json!({ "path": name("token") })),
        ("read", json!({ "path": home.join("token") })),
        ("list", json!({ "path": name("") })),
        ("grep", json!({ "pattern": "sy_needle" })),
        ("grep", json!({ "pattern": "sy_needle", "path": name("") })),
        ("glob", json!({ "pattern": "**/token" })),
        ("write", json!({ "path": name("rules.toml"), "content": "mine" })),
        ("apply_patch", json!({ "patch": patch })),
    ];
    for one in tries.clone() {
        stage.model.answer(calls([one]));
    }
    stage.model.answer("done");
    let mut command = stage.command(&["run", "native", "go", "--approve-all"]);
    let ran = command.current_dir(above).output().unwrap();
    assert!(ran.status.success(), "{ran:?}");

    let results = stage.model.last_chat().tool_results();
    assert_eq!(results.len(), tries.len());
    for (one, result) in tries.iter().zip(&results) {
        assert!(!result.contains("sy_needle") || one.0 == "grep", "{one:?}: {result}");
        assert!(!result.contains("sy_needle\n"), "{one:?}: {result}");
        let is_refused = result.contains("Switchyard's own");
        assert!(is_refused || !result.contains(&name("token")), "{one:?}: {result}");
    }
    assert!(!home.join("rules.toml").exists() && !home.join("agents").exists());
}

/// A configuration that is named by a relative path is the one of the directory where it was
/// named, also for the agent, which works in another.
#[tokio::test]
async fn a_file_of_the_repository_is_not_taken_for_the_configuration_that_was_named() {
    let stage = Stage::new().await;
    let here = stage.home.path().join("here");
    std::fs::create_dir(&here).unwrap();
    let sandboxed = "[native.sandbox]\nworkspace = true\n";
    std::fs::write(here.join("my.toml"), sandboxed).unwrap();
    let outside = stage.work().parent().unwrap().join("outside");
    let run = "[native.mcp.x]\ncommand = \"/bin/sh\"\nargs = [\"-c\", \"touch ran\"]\n";
    for hostile in [None, Some(run)] {
        if let Some(text) = hostile {
            stage.put("my.toml", text);
        }
        let line = format!("touch {}", outside.display());
        stage.model.answer(calls([("bash", json!({ "command": line }))]));
        stage.model.answer("done");
        let args = ["--config", "my.toml", "run", "native", "go", "--approve-all", "--cwd"];
        let mut command = stage.command(&args);
        command.arg(stage.work()).current_dir(&here);
        let output = tokio::process::Command::from(command).output().await.unwrap();
        assert!(output.status.success(), "{output:?}");
        assert!(!outside.exists(), "the sandbox was off: {output:?}");
        assert!(!stage.work().join("ran").exists(), "{output:?}");
    }
}
