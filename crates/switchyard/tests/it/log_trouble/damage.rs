//! Sessions whose logs are damaged in their middle, or that are gone: every way in says so, and what
//! to do.

use std::fs;

use super::*;

/// Flips a bit inside of an event that has these words in quotes, which nobody may have open.
fn damage(home: &testkit::test_home::TestHome, words: &str) {
    let file = home.path().join("switchyard.db");
    let (mut bytes, words) = (fs::read(&file).unwrap(), format!("\"{words}\""));
    let at = bytes.windows(words.len()).rposition(|one| one == words.as_bytes()).unwrap();
    bytes[at + 1] ^= 1;
    fs::write(&file, bytes).unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_with_a_damaged_event_takes_no_prompts_until_it_is_repaired() {
    let api = Api::start_in(home()).await;
    let (session, other) = (api.session().await, api.session().await);
    for text in ["echo before", "echo the-marked-words", "echo behind"] {
        api.prompt(&session, text).await;
        api.until_idle(&session).await;
    }
    let n_events = api.events(&session).await.len();
    let home = api.home;
    assert!(api.daemon.stop().success());
    // Into the database, out of the write-ahead log.
    assert!(home.command(["store", "compact"]).output().unwrap().status.success());
    damage(&home, "the-marked-words");
    let api = Api::start_in(home).await;
    let path = format!("/v1/sessions/{session}");
    let prompt = json!({ "prompt": "echo not accepted" });

    // Whoever prompts it is the first who has it looked at.
    let refused = api.post(&format!("{path}/prompt"), &prompt).await.refused(409, "damaged");

    let remedy = refused.body["remedy"].as_str().unwrap();
    assert!(remedy.contains("switchyard store repair"), "{remedy}");
    assert_eq!(api.get(&path).await.is(200).body["status"], "damaged");
    let listed = api.get("/v1/sessions?status=damaged").await.is(200).body;
    assert_eq!(listed["sessions"].as_array().unwrap().len(), 1, "{listed}");
    let readable = api.get(&format!("{path}/transcript")).await.is(200).body;
    assert!(readable.to_string().contains("before"), "{readable}");
    let next = &readable["next"];
    api.get(&format!("{path}/transcript?after={next}")).await.refused(409, "damaged");
    let (code, said) = output(&api, &["run", "-s", &session, "echo not accepted"]);
    assert!(code == Some(6) && said.contains("switchyard store repair"), "{code:?}: {said}");
    for reading in [["sessions", "show"], ["sessions", "watch"], ["sessions", "export"]] {
        let (code, said) = output(&api, &[reading[0], reading[1], &session]);
        assert!(
            code == Some(6) && said.contains("does not match its checksum"),
            "{code:?}: {said}"
        );
        assert!(said.contains("before"), "what can be read: {said}");
    }
    let (code, said) = end_of(command(&api, &["attach", &session]));
    assert!(code == Some(6) && said.contains("switchyard store repair"), "{code:?}: {said}");
    let editor = api.home.tokio_command(["acp", "demo"]);
    let editor = SdkClient::ready(editor, ClientBehavior::default()).await.unwrap();
    let params = json!({ "sessionId": session, "cwd": api.home.work(), "mcpServers": [] });
    let refused = format!("{:?}", editor.call("session/load", params).await.unwrap_err());
    assert!(refused.contains("does not match its checksum"), "{refused}");
    assert!(refused.contains("switchyard store repair"), "{refused}");
    editor.stop().await;
    api.prompt(&other, "echo the others go on").await;
    api.until_said(&other, "the others go on").await;

    let home = api.home;
    assert!(api.daemon.stop().success());
    let repaired = home.command(["store", "repair"]).output().unwrap();
    assert_eq!(repaired.status.code(), Some(6), "{repaired:?}");
    let api = Api::start_in(home).await;
    api.prompt(&session, "echo it goes on").await;
    api.until_said(&session, "it goes on").await;
    let events = api.events(&session).await;
    let words = text(&events);
    assert!(words.contains("before") && !words.contains("behind"), "{words}");
    assert!(!words.contains("not accepted") && events.len() < n_events + 8, "{words}");
    assert_eq!(of_kind(&events, "log_recovered").len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_that_is_lost_is_called_so_by_every_command() {
    let api = Api::start_in(home()).await;
    let lost = api.session().await;
    let home = api.home;
    assert!(api.daemon.stop().success());
    // Into the database, out of the write-ahead log.
    assert!(home.command(["store", "compact"]).output().unwrap().status.success());
    fs::write(home.path().join("switchyard.db"), "nothing of what was here").unwrap();
    let named = |words: &[u8]| {
        let words = String::from_utf8_lossy(words);
        assert!(words.contains(&*lost), "{words}");
    };
    for _ in 0..2 {
        let repaired = home.command(["store", "repair"]).output().unwrap();
        assert_eq!(repaired.status.code(), Some(6), "{repaired:?}");
        named(&repaired.stdout);
    }
    let checked = home.command(["store", "check", "--json"]).output().unwrap();
    assert_eq!(checked.status.code(), Some(6), "{checked:?}");
    named(&checked.stdout);
    let api = Api::start_in(home).await;

    let all: [&[&str]; 8] = [
        &["run", "-s", &lost, "echo hello"],
        &["attach", &lost],
        &["sessions", "show", &lost],
        &["sessions", "export", &lost],
        &["sessions", "watch", &lost],
        &["sessions", "audit", "--session", &lost],
        &["cancel", &lost],
        &["cancel", &lost[..12]],
    ];
    for words in all {
        let (code, said) = output(&api, words);
        assert_eq!(code, Some(6), "{words:?}: {said}");
        assert!(said.contains("is missing from the log"), "{words:?}: {said}");
        assert!(said.contains("switchyard store restore"), "{words:?}: {said}");
    }
    let (_, said) = output(&api, &["daemon", "status"]);
    assert!(said.contains(&format!("session {lost} is missing")), "{said}");
    let (code, said) = output(&api, &["sessions", "delete", "--yes", &lost]);
    assert_eq!(code, Some(0), "{said}");
    let (code, said) = output(&api, &["sessions", "show", &lost]);
    assert!(code == Some(4) && said.contains("there is no session"), "{code:?}: {said}");
    let (code, said) = output(&api, &["store", "check"]);
    assert!(code == Some(0) && said.contains("all is well"), "{code:?}: {said}");
}
