//! The built-in agent works: a whole edit-and-test task, with permissions, with and without the
//! client's files and terminals.

use crate::native::{
    BOTH, FROM_AGENT, Stage, Way, asked_of_client, judge, stop_reason, updates_of,
};
use serde_json::{Value, json};
use testkit::model_server::{calls, text};
use testkit::sdk_client::acp::{ClientCapabilities, FileSystemCapabilities};
use testkit::sdk_client::{ClientBehavior, PermissionReply, SdkClient, Turn};
use testkit::test_home::PATIENCE;
use testkit::{Validator, tap};

const BROKEN: &str = "echo $((2 - 2))\n";
const TEST: &str = "[ \"$(sh calc.sh)\" = 4 ] && echo PASSED || { echo FAILED; exit 1; }\n";

/// Reads and tries, edits, tries again, says so.
fn script(stage: &Stage) {
    stage.put("calc.sh", BROKEN);
    stage.put("test.sh", TEST);
    let read = ("read", json!({ "path": "calc.sh" }));
    let test = || ("bash", json!({ "command": "sh test.sh" }));
    let edit = json!({ "path": "calc.sh", "old_string": "2 - 2", "new_string": "2 + 2" });
    stage.model.answer(calls([read, test()]));
    stage.model.answer(calls([("edit", edit)]));
    stage.model.answer(calls([test()]));
    stage.model.answer(text("The test passes now."));
}

async fn work(stage: &Stage, client: &SdkClient) -> Turn {
    let session = client.new_session(stage.work()).await.unwrap().session_id;
    client.prompt(&session, "mend calc.sh until test.sh passes").await.unwrap()
}

fn assert_done(stage: &Stage, turn: &Turn) {
    assert_eq!(stop_reason(turn), "end_turn");
    assert_eq!(turn.text(), "The test passes now.");
    assert_eq!(stage.read("calc.sh"), "echo $((2 + 2))\n");
    let results = stage.model.last_chat().tool_results();
    assert_eq!(results.len(), 4, "{results:#?}");
    assert!(results[0].contains("echo $((2 - 2))"), "{results:#?}");
    assert!(results[1].contains("FAILED") && results[1].contains("exit code 1"), "{results:#?}");
    assert!(results[3].contains("PASSED"), "{results:#?}");
}

/// The states of each call that clients were shown, in the order of their first showing.
fn states(turn: &Turn) -> Vec<(String, Vec<String>)> {
    let mut all: Vec<(String, Vec<String>)> = Vec::new();
    for update in updates_of(turn) {
        let (Some(id), Some(status)) = (update["toolCallId"].as_str(), update["status"].as_str())
        else {
            continue;
        };
        match all.iter_mut().find(|(known, _)| known == id) {
            Some((_, states)) => {
                if states.last().is_none_or(|last| last != status) {
                    states.push(status.to_owned());
                }
            }
            None => all.push((id.to_owned(), vec![status.to_owned()])),
        }
    }
    all
}

#[tokio::test]
async fn a_task_is_done_with_the_clients_files_and_terminals_and_with_our_own() {
    for way in BOTH {
        for is_offered in [true, false] {
            let stage = Stage::new().await;
            script(&stage);
            let behavior =
                ClientBehavior::default().permission(PermissionReply::Allow).files(stage.work());
            let client = match is_offered {
                true => stage.client(way, behavior).await,
                false => {
                    let client = SdkClient::start(stage.agent(way), behavior).await;
                    client.initialize(ClientCapabilities::new()).await.unwrap();
                    client
                }
            };

            let turn = work(&stage, &client).await;

            assert_done(&stage, &turn);
            assert_eq!(client.permissions_asked().len(), 3, "two commands and an edit");
            let states = states(&turn);
            assert_eq!(states.len(), 4, "{states:#?}");
            for (_, states) in &states {
                assert_eq!(states.first().map(String::as_str), Some("pending"), "{states:?}");
                assert_eq!(states.last().map(String::as_str), Some("completed"), "{states:?}");
            }
            let seen = judge(client).await;
            let asked = asked_of_client(&seen);
            let has = |method: &str| asked.iter().any(|asked| asked == method);
            for method in ["fs/read_text_file", "fs/write_text_file"] {
                assert_eq!(has(method), is_offered, "{way:?}: {method}: {asked:?}");
            }
            // Behind a front the terminals are Switchyard's.
            let runs_them = is_offered && way == Way::Alone;
            assert_eq!(has("terminal/create"), runs_them, "{way:?}: {asked:?}");
            let n = |method: &str| asked.iter().filter(|asked| *asked == method).count();
            assert_eq!(n("terminal/create"), n("terminal/release"), "every terminal is let go");
            stage.home.assert_empty_within(PATIENCE);
        }
    }
}

#[tokio::test]
async fn what_is_asked_shows_the_command_or_the_difference_and_where() {
    let stage = Stage::new().await;
    script(&stage);
    let client = stage
        .client(Way::Alone, ClientBehavior::default().permission(PermissionReply::Allow))
        .await;

    let turn = work(&stage, &client).await;

    assert_done(&stage, &turn);
    let asked = serde_json::to_value(client.permissions_asked()).unwrap();
    let (command, edit) = (&asked[0]["toolCall"], &asked[1]["toolCall"]);
    assert_eq!((&command["kind"], &command["title"]), (&json!("execute"), &json!("sh test.sh")));
    assert_eq!(command["rawInput"], json!({ "command": "sh test.sh" }));
    assert_eq!(edit["kind"], "edit");
    let path = stage.work().join("calc.sh");
    let difference = json!({
        "type": "diff", "path": path, "oldText": BROKEN, "newText": "echo $((2 + 2))\n",
    });
    assert_eq!(edit["content"][0], difference);
    assert_eq!(edit["locations"][0]["path"], json!(path));
    let kinds: Vec<&Value> =
        asked[0]["options"].as_array().unwrap().iter().map(|option| &option["kind"]).collect();
    assert_eq!(kinds, ["allow_once", "allow_always", "reject_once"]);
    let calls = updates_of(&turn);
    let calls = calls.iter().filter(|update| update["sessionUpdate"] == "tool_call");
    let kinds: Vec<&str> = calls.filter_map(|call| call["kind"].as_str()).collect();
    assert_eq!(kinds, ["read", "execute", "edit", "execute"]);
    judge(client).await;
}

#[tokio::test]
async fn always_is_asked_once_for_each_command_and_holds_for_its_session_alone() {
    let stage = Stage::new().await;
    script(&stage);
    let behavior = ClientBehavior::default().permission(PermissionReply::Option("always".into()));
    let client = stage.client(Way::Alone, behavior).await;

    let turn = work(&stage, &client).await;
    assert_done(&stage, &turn);
    assert_eq!(client.permissions_asked().len(), 2, "the command once, the edit once");
    script(&stage);
    let turn = work(&stage, &client).await;

    assert_done(&stage, &turn);
    assert_eq!(client.permissions_asked().len(), 4, "another session asks again");
    judge(client).await;
}

#[tokio::test]
async fn a_rejection_is_told_to_the_model_and_nothing_is_done() {
    for way in BOTH {
        let stage = Stage::new().await;
        script(&stage);
        let client =
            stage.client(way, ClientBehavior::default().permission(PermissionReply::Reject)).await;

        let turn = work(&stage, &client).await;

        assert_eq!(stop_reason(&turn), "end_turn");
        assert_eq!(stage.read("calc.sh"), BROKEN, "{way:?}");
        let results = stage.model.last_chat().tool_results();
        assert!(results[0].contains("echo $((2 - 2))"), "reading needs no permission");
        for result in &results[1..] {
            assert!(result.contains("This call was rejected"), "{results:#?}");
        }
        let failed: Vec<bool> =
            states(&turn).iter().map(|(_, states)| states.last().unwrap() == "failed").collect();
        assert_eq!(failed, [false, true, true, true]);
        let seen = judge(client).await;
        assert_eq!(seen.calls(FROM_AGENT, "terminal/create").count(), 0);
    }
}

#[tokio::test]
async fn what_is_unsaved_in_the_editor_is_what_is_read_and_changed() {
    for way in BOTH {
        let stage = Stage::new().await;
        let path = stage.put("note.txt", "on the disk\n");
        let edit = json!({ "path": "note.txt", "old_string": "unsaved", "new_string": "kept" });
        stage.model.answer(calls([("read", json!({ "path": "note.txt" }))]));
        stage.model.answer(calls([("edit", edit)]));
        stage.model.answer(text("done"));
        let behavior = ClientBehavior::default().permission(PermissionReply::Allow);
        let client = stage.client(way, behavior.buffer(path, "unsaved words\n")).await;
        let session = client.new_session(stage.work()).await.unwrap().session_id;

        client.prompt(&session, "mend the note").await.unwrap();

        let results = stage.model.last_chat().tool_results();
        assert!(results[0].contains("unsaved words"), "{results:#?}");
        assert!(!results[0].contains("on the disk"), "{results:#?}");
        assert_eq!(stage.read("note.txt"), "kept words\n", "{way:?}: {results:#?}");
        judge(client).await;
    }
}

#[tokio::test]
async fn a_client_that_only_reads_files_is_asked_for_nothing_else() {
    let stage = Stage::new().await;
    script(&stage);
    let behavior = ClientBehavior::default().permission(PermissionReply::Allow).files(stage.work());
    let client = SdkClient::start(stage.agent(Way::Alone), behavior).await;
    let reads = FileSystemCapabilities::new().read_text_file(true);
    client.initialize(ClientCapabilities::new().fs(reads)).await.unwrap();

    let turn = work(&stage, &client).await;

    assert_done(&stage, &turn);
    let asked = asked_of_client(&judge(client).await);
    let known = ["fs/read_text_file", "session/request_permission"];
    assert!(asked.iter().all(|method| known.contains(&method.as_str())), "{asked:?}");
    assert!(asked.iter().any(|method| method == "fs/read_text_file"), "{asked:?}");
}

#[tokio::test]
async fn run_does_the_task_and_leaves_nothing_running() {
    let stage = Stage::new().await;
    script(&stage);
    let ran = stage.run(&["mend it", "--approve-all", "--format", "quiet"]).await;
    assert_eq!((ran.code, ran.out.trim()), (0, "The test passes now."), "{}", ran.err);
    assert_eq!(stage.read("calc.sh"), "echo $((2 + 2))\n");

    script(&stage);
    let ran = stage.run(&["mend it", "--deny-all", "--format", "quiet"]).await;
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert_eq!(stage.read("calc.sh"), BROKEN);
    stage.home.assert_empty_within(PATIENCE);
}

#[tokio::test]
async fn a_plan_and_parallel_calls_reach_the_client() {
    let stage = Stage::new().await;
    stage.put("a.txt", "first\n");
    stage.put("b.txt", "second\n");
    let todos = json!([
        { "content": "look", "status": "completed", "priority": "high" },
        { "content": "tell", "status": "in_progress", "priority": "medium" },
    ]);
    stage.model.answer(calls([
        ("read", json!({ "path": "a.txt" })),
        ("read", json!({ "path": "b.txt" })),
        ("todo", json!({ "todos": todos })),
    ]));
    stage.model.answer(text("read"));
    let (client, session) = stage.bare(Way::Alone).await;

    let turn = client.prompt(&session, "look").await.unwrap();

    let chat = stage.model.last_chat();
    let results = chat.tool_results();
    assert!(results[0].contains("first") && results[1].contains("second"), "{results:#?}");
    assert_eq!(chat.roles(), ["system", "user", "assistant", "tool", "tool", "tool"]);
    let plan = updates_of(&turn).into_iter().find(|update| update["sessionUpdate"] == "plan");
    let entries = plan.expect("a plan")["entries"].clone();
    assert_eq!(entries[0]["content"], "look");
    assert_eq!(entries[1]["status"], "in_progress");
    judge(client).await;
}

#[tokio::test]
async fn what_a_session_and_its_agent_say_to_each_other_is_valid_too() {
    let stage = Stage::new().await;
    script(&stage);
    let record = stage.home.path().join("tap.ndjson");
    let mut command = stage.command(&["acp", "--"]);
    command.arg(stage.home.tool("acp-tap")).arg(&record).arg("--");
    command.arg(stage.home.exe()).arg("native-agent");
    let behavior = ClientBehavior::default().permission(PermissionReply::Allow).files(stage.work());
    let client = SdkClient::ready(command, behavior).await.unwrap();

    let turn = work(&stage, &client).await;

    assert_done(&stage, &turn);
    judge(client).await;
    let between = tap::read(&record).unwrap();
    Validator::v1().assert_valid(&between);
    assert!(asked_of_client(&between).iter().any(|method| method == "fs/write_text_file"));
}
