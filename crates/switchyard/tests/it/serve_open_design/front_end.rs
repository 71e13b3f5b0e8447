//! Requests as Open Design's own front end sends them, member for member, with a daemon as it is
//! out of the box: nothing of them names a permission mode, and nobody is there to answer.

use serde_json::{Value, json};
use testkit::test_home::switchyard;

use super::{EXE, Frame, Studio, status_of, text, with};

/// What the front end sends for the first message of a conversation in a project.
fn request(agent: &str, message: &str) -> Value {
    json!({
        "agentId": agent,
        "systemPrompt": "Wrap what you make in <artifact>.",
        "message": format!("## user\n{message}"),
        "projectId": "site",
        "conversationId": "talk",
        "assistantMessageId": "m-2",
        "clientRequestId": "r-1",
        "attachments": [],
        "model": null,
        "reasoning": null,
    })
}

fn told<'a>(frames: &'a [Frame], label: &str) -> Option<&'a str> {
    let told = frames.iter().find(|frame| frame.is(label))?;
    told.data["detail"].as_str()
}

#[tokio::test]
async fn a_run_without_a_mode_may_do_everything_and_says_so() {
    let studio = Studio::start();
    let message = "permission execute ls ; say done";
    let frames = studio.finished(&request("demo", message)).await;

    assert_eq!(status_of(&frames), "succeeded");
    assert!(text(&frames).contains("done"));
    assert_eq!(frames[0].data["permissions"], "auto", "{:?}", frames[0]);
    assert!(told(&frames, "permissions").unwrap().starts_with("auto: "), "{frames:#?}");
    let allowed = frames.iter().find(|frame| frame.data["type"] == "permission_resolved").unwrap();
    assert_eq!(allowed.data["by"], "mode", "{allowed:?}");
    let run = frames[0].data["runId"].as_str().unwrap();
    assert_eq!(studio.get(&format!("/api/runs/{run}")).await["permissions"], "auto");
}

#[tokio::test]
async fn a_mode_that_was_chosen_for_everything_or_for_these_runs_holds() {
    let of_file = |config: &str| {
        let home = switchyard(EXE);
        std::fs::write(home.path().join("switchyard.toml"), config).unwrap();
        home
    };
    for (config, args, mode) in [
        ("[permissions]\nmode = \"read-only\"\n", &[][..], "read-only"),
        (
            "[permissions]\nmode = \"ask\"\n[open_design]\npermissions = \"deny-all\"\n",
            &[],
            "deny-all",
        ),
        (
            "[open_design]\npermissions = \"ask\"\n",
            &["--open-design-permissions", "deny-all"],
            "deny-all",
        ),
    ] {
        let studio = Studio::start_with(of_file(config), args);
        let frames = studio.finished(&request("demo", "permission execute ls ; say done")).await;
        assert_eq!(frames[0].data["permissions"], mode, "{config}");
        let resolved = frames.iter().find(|frame| frame.data["type"] == "permission_resolved");
        assert_ne!(resolved.unwrap().data["kind"], "allow_once", "{config}");
    }
}

#[tokio::test]
async fn an_agent_hears_where_it_works_and_what_is_there() {
    let (studio, record) = Studio::tapped(switchyard(EXE), "");
    let project = studio.projects().join("site");
    std::fs::create_dir_all(&project).unwrap();
    std::fs::write(project.join("index.html"), "<p>").unwrap();
    let first = with(request("heard", "say one"), json!({ "attachments": ["index.html"] }));
    studio.finished(&first).await;
    let bare = json!({
        "agentId": "heard", "message": "say two", "projectId": "site",
        "systemPrompt": null, "conversationId": null,
    });
    studio.finished(&bare).await;

    let heard = testkit::tap::read(record).unwrap();
    let heard = heard.entries.iter().filter_map(testkit::TranscriptEntry::json);
    let prompts: Vec<Value> =
        heard.filter(|message| message["method"] == "session/prompt").collect();
    let words = |prompt: &Value| prompt["params"]["prompt"].to_string();
    let (first, second) = (words(&prompts[0]), words(&prompts[1]));
    assert!(first.contains("# Instructions\\n\\nWrap what you make"), "{first}");
    for prompt in [&first, &second] {
        assert!(prompt.contains(&format!("You work in {}.", project.display())), "{prompt}");
        assert!(prompt.contains("- index.html"), "{prompt}");
    }
    assert!(first.contains("resource_link") && first.contains("site/index.html"), "{first}");
    assert!(!second.contains("# Instructions"), "{second}");
    // The log has what its user wrote, and no more.
    let run = &studio.get("/api/runs?conversationId=talk").await["runs"][0];
    let path = format!("/v1/sessions/{}", run["sessionId"].as_str().unwrap());
    let session = studio.get(&path).await;
    assert!(!session["title"].as_str().unwrap().contains("Instructions"), "{session}");
}

#[tokio::test]
async fn skills_and_design_systems_are_told_and_may_be_read() {
    let (home, place) = (switchyard(EXE), tempfile::tempdir().unwrap());
    let (skills, systems) = (place.path().join("s"), place.path().join("d"));
    for (dir, file, words) in [
        (skills.join("deck"), "SKILL.md", "Make slides."),
        (systems.join("ink"), "DESIGN.md", "Be dark."),
    ] {
        std::fs::create_dir_all(&dir).unwrap();
        std::fs::write(dir.join(file), words).unwrap();
    }
    let config = format!("[open_design]\nskills = {skills:?}\ndesign_systems = {systems:?}\n");
    let (studio, record) = Studio::tapped(home, &config);
    let more = json!({ "skillId": "deck", "designSystemId": "ink" });
    studio.finished(&with(request("heard", "say hi"), more)).await;
    let heard = std::fs::read_to_string(record).unwrap();
    let new = heard.lines().find(|line| line.contains("session/new")).unwrap();
    let prompt = heard.lines().find(|line| line.contains("session/prompt")).unwrap();
    for dir in [&skills, &systems] {
        let dir = dir.canonicalize().unwrap();
        assert!(new.contains(dir.to_str().unwrap()), "{new}");
    }
    let told = ["Be dark.", "Make slides.", "Wrap what you make"].map(|words| prompt.find(words));
    assert!(told.iter().all(Option::is_some) && told.is_sorted(), "{prompt}");

    let unknown = json!({ "skillId": "none", "conversationId": "other", "clientRequestId": "r-2" });
    let (status, code, error) = studio.refused(&with(request("demo", "say hi"), unknown)).await;
    assert_eq!((status, &*code), (400, "BAD_REQUEST"), "{error}");
}

#[tokio::test]
async fn a_skill_that_nobody_can_have_is_named_in_the_run() {
    let studio = Studio::start();
    let body = with(request("demo", "say hi"), json!({ "skillId": "deck" }));
    let frames = studio.finished(&body).await;
    assert_eq!(status_of(&frames), "succeeded");
    assert!(told(&frames, "warning").unwrap().contains("`skillId` has no effect"), "{frames:#?}");
}

#[tokio::test]
async fn a_run_whose_agent_falls_silent_fails_in_the_end() {
    let home = switchyard(EXE);
    let config = "[waits]\npermission = \"1s\"\n[open_design]\ninactivity = \"1s\"\n";
    std::fs::write(home.path().join("switchyard.toml"), config).unwrap();
    let studio = Studio::start_in(home);
    let frames = studio.finished(&request("demo", "say well ; hang")).await;
    assert_eq!(status_of(&frames), "failed");
    let end = frames.last().unwrap();
    assert_eq!(end.data["failureCategory"], "timeout", "{end:?}");
    assert!(frames.iter().any(|frame| frame.is("paused")), "{frames:#?}");
    let run = frames[0].data["runId"].as_str().unwrap();
    assert_eq!(studio.status(run).await, "failed");
}

/// The one agent of the first eight that cannot be installed for a test: a CLI that prints what the
/// documented one prints, in a form in which it cannot ask.
#[tokio::test]
async fn an_agent_that_cannot_ask_is_let_do_its_work() {
    let record = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../runtimes/recordings/cursor-agent/documented/partial-whole-turn-again/stdout.jsonl"
    );
    let steps = [json!({ "hear_all": true }), json!({ "file": record }), json!({ "exit": 0 })];
    let studio = Studio::start_in(crate::adapters::imitated("cursor-agent", "", &steps));
    let frames = studio.finished(&request("cursor-agent", "hi")).await;

    assert_eq!(status_of(&frames), "succeeded", "{frames:#?}");
    assert_eq!(text(&frames), "One.Two.", "{frames:#?}");
    let started = crate::adapters::starts(&studio.home);
    assert!(started.last().unwrap().contains("--force"), "{started:?}");
    let heard = crate::adapters::heard(&studio.home).last().unwrap().to_string();
    for part in ["Wrap what you make", "# Working directory", "## user\\nhi"] {
        assert!(heard.contains(part), "{part}: {heard}");
    }
}

#[tokio::test]
async fn a_further_agent_of_a_conversation_may_do_no_more_than_the_first() {
    let (studio, _) = Studio::tapped(switchyard(EXE), "");
    let ask = "permission execute ls";
    let first = with(request("demo", ask), json!({ "permissions": "read-only" }));
    studio.finished(&first).await;
    let second = with(request("heard", ask), json!({ "clientRequestId": "r-2" }));
    let frames = studio.finished(&second).await;
    assert_eq!(frames[0].data["permissions"], "read-only", "{:?}", frames[0]);

    let wider = json!({ "clientRequestId": "r-3", "permissions": "auto" });
    let frames = studio.finished(&with(request("demo", ask), wider)).await;
    assert_eq!(frames[0].data["permissions"], "read-only", "{:?}", frames[0]);
    let warned = told(&frames, "warning").unwrap();
    assert!(warned.contains("began with `read-only`"), "{warned}");
}
