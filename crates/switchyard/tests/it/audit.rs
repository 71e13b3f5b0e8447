//! Who decided what: the audit over all sessions, and rules that change while sessions run.

use crate::cli::run;
use crate::faults::configured;
use serde_json::Value;
use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt;
use testkit::proc;
use testkit::sdk_client::{ClientBehavior, PermissionReply, SdkClient};
use testkit::test_home::{PATIENCE, TestHome, until};

const RULES: &str = "[permissions]\nrules = 'rules.toml'\n";

fn rules(home: &TestHome, text: &str) {
    std::fs::write(home.path().join("rules.toml"), text).unwrap();
}

fn ruled(text: &str) -> TestHome {
    let home = configured(RULES);
    rules(&home, text);
    home
}

fn rule(action: &str, command: &str) -> String {
    format!(
        "[[rules]]\nname = \"{action} it\"\naction = \"{action}\"\ncommands = [\"{command}\"]\n"
    )
}

fn rows(home: &TestHome, args: &[&str]) -> Vec<Value> {
    let args = [&["sessions", "audit", "--format", "json"], args].concat();
    let ran = run(home, &args);
    assert_eq!(ran.code, 0, "{ran:?}");
    ran.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

async fn editor(home: &TestHome, permission: PermissionReply) -> SdkClient {
    let behavior = ClientBehavior::default().permission(permission);
    SdkClient::ready(home.command(["acp", "demo"]), behavior).await.unwrap()
}

#[tokio::test]
async fn the_audit_names_rule_mode_client_and_nobody_over_all_sessions() {
    let home = ruled(&rule("allow", "cargo test*"));
    run(&home, &["run", "demo", "permission execute cargo test"]);
    run(&home, &["run", "demo", "permission execute ls", "--approve-all"]);
    run(&home, &["run", "demo", "permission edit a.txt"]);
    let client = editor(&home, PermissionReply::Allow).await;
    let session = client.new_session(home.work()).await.unwrap().session_id;
    client.prompt(&session, "permission execute =cmd|calc").await.unwrap();
    client.stop().await;

    let all = rows(&home, &[]);

    let told: Vec<_> = all
        .iter()
        .map(|row| [&row["by"], &row["detail"]].map(|text| text.as_str().unwrap_or("-")))
        .collect();
    let file = home.path().join("rules.toml");
    assert_eq!(
        told,
        [["rule", "allow it"], ["mode", "auto"], ["unattended", "-"], ["client", "local stdio"]]
    );
    assert_eq!(all[0]["ruleFile"], file.to_str().unwrap());
    assert_eq!((&all[0]["ruleIndex"], &all[0]["command"]), (&1.into(), &"cargo test".into()));
    assert_eq!((&all[0]["allowed"], &all[0]["optionKind"]), (&true.into(), &"allow_once".into()));
    assert_eq!((&all[2]["allowed"], &all[2]["kind"]), (&false.into(), &"edit".into()));
    assert!(all[2]["paths"][0].as_str().unwrap().ends_with("/work/a.txt"), "{}", all[2]);
    assert!(all[3]["waitedMs"].is_u64() && all[0]["waitedMs"].is_null(), "{all:#?}");
    assert!(all.iter().all(|row| row["agent"] == "demo" && row["turn"].is_string()));
    let times: Vec<_> = all.iter().map(|row| row["time"].as_str().unwrap()).collect();
    assert!(times.is_sorted(), "{times:?}");

    assert_eq!(rows(&home, &["--until", times[2]]), all[..2]);
    assert_eq!(rows(&home, &["--since", times[2]]), all[2..]);
    assert_eq!(rows(&home, &["--session", "last"]), all[3..]);
    assert!(rows(&home, &["--since", "2999-01-01"]).is_empty());
}

#[tokio::test]
async fn the_audit_is_written_for_people_and_for_spreadsheets() {
    let home = ruled(&rule("deny", "*"));
    run(&home, &["run", "demo", "permission execute =cmd|' /C calc'!A0"]);
    let out = home.path().join("audit.csv");
    let path = out.to_str().unwrap();

    let text = run(&home, &["sessions", "audit"]);
    let written = run(&home, &["sessions", "audit", "--format", "csv", "-o", path]);
    let none = run(&home, &["sessions", "audit", "--until", "2000-01-01"]);
    let bad = run(&home, &["sessions", "audit", "--since", "soon"]);

    assert!(text.out.contains("denied") && text.out.contains("by rule deny it ("), "{text:?}");
    assert_eq!((written.code, &*written.out), (0, ""), "{written:?}");
    let csv = std::fs::read_to_string(&out).unwrap();
    assert_eq!(csv.lines().count(), 2, "{csv}");
    assert!(csv.contains(r#","'=cmd|' /C calc'!A0","#), "{csv}");
    assert_eq!(std::fs::metadata(&out).unwrap().permissions().mode() & 0o777, 0o600);
    assert!(none.out.is_empty() && none.err.contains("nothing was decided"), "{none:?}");
    assert_eq!(bad.code, 2, "{bad:?}");
}

#[tokio::test]
async fn rules_that_change_judge_the_next_question_of_a_running_session() {
    let home = ruled(&rule("allow", "ls*"));
    let stderr = home.path().join("stderr");
    let script = "exec \"$0\" acp demo 2> \"$1\"";
    let args = [OsStr::new("-c"), OsStr::new(script), home.exe().as_os_str(), stderr.as_os_str()];
    let behavior = ClientBehavior::default().permission(PermissionReply::Reject);
    let client = SdkClient::ready(home.other("sh", args), behavior).await.unwrap();
    let session = client.new_session(home.work()).await.unwrap().session_id;
    let decided = async || {
        client.prompt(&session, "permission execute ls").await.unwrap();
        let row = rows(&home, &[]).pop().unwrap();
        row["detail"].as_str().unwrap().to_owned()
    };
    let becomes = async |wanted: &str| {
        let give_up_at = std::time::Instant::now() + PATIENCE;
        while decided().await != wanted {
            assert!(std::time::Instant::now() < give_up_at, "never decided by {wanted}");
        }
    };
    assert_eq!(decided().await, "allow it");

    rules(&home, &rule("deny", "ls*"));
    becomes("deny it").await;

    // Nothing that is not a whole and valid file takes the rules away.
    rules(&home, "[[rules]]\naction = \"perhaps\"\n");
    let says = |what: &str| std::fs::read_to_string(&stderr).unwrap().contains(what);
    assert!(until(PATIENCE, || says("unknown variant `perhaps`")).await);
    assert_eq!(decided().await, "deny it");
    std::fs::remove_file(home.path().join("rules.toml")).unwrap();
    assert!(until(PATIENCE, || says("No such file")).await);
    assert_eq!(decided().await, "deny it");

    rules(&home, &rule("ask", "ls*"));
    becomes("local stdio").await;
    assert!(!client.permissions_asked().is_empty());
    client.stop().await;
}

#[tokio::test]
async fn a_question_that_a_killed_process_left_open_is_withdrawn_and_audited() {
    let home = configured("");
    let client = editor(&home, PermissionReply::Never).await;
    let session = client.new_session(home.work()).await.unwrap().session_id;
    let turn = client.start_prompt(&session, "permission execute ls");
    client.wait_for_permissions(1).await;
    proc::kill9(client.pid());
    client.closed_by_agent().await;
    drop(turn);
    client.stop().await;
    assert!(rows(&home, &[]).is_empty());

    let next = run(&home, &["run", "demo", "say hello"]);

    assert_eq!(next.code, 0, "{next:?}");
    let all = rows(&home, &[]);
    assert_eq!(all.len(), 1, "{all:#?}");
    assert_eq!((&all[0]["by"], &all[0]["allowed"]), (&"interrupted".into(), &false.into()));
    assert_eq!((&all[0]["command"], &all[0]["outcome"]), (&"ls".into(), &"cancelled".into()));
    home.assert_empty_within(PATIENCE);
}

#[tokio::test]
async fn an_unreadable_rules_file_stops_the_start() {
    let home = configured(RULES);
    for text in [None, Some("rules = 5")] {
        if let Some(text) = text {
            rules(&home, text);
        }
        for args in [&["run", "demo", "say hello"][..], &["config", "check"]] {
            let ran = run(&home, args);
            assert!(ran.code != 0 && ran.err.contains("rules.toml"), "{args:?}: {ran:?}");
        }
    }
    assert!(until(PATIENCE, || home.left_over().is_empty()).await);
}
