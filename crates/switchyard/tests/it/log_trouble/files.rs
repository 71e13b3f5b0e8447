//! Files beside the log that cannot be written, or are gone: it is said so, and no good token is
//! called wrong.

use super::*;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_disk_refuses_tokens_and_files_as_it_refuses_prompts() {
    let (api, disk) = on_faulty_disk().await;
    let session = api.session().await;
    let new = json!({ "name": "ci", "role": "operator" });
    let attachments = format!("/v1/sessions/{session}/attachments?name=a.words");
    for (error, status, slug) in [(ENOSPC, 507, "disk-full"), (EIO, 503, "files-unavailable")] {
        let files = ["tokens.new", "a.words"];
        disk.fail(&DiskFault { calls: FaultyCalls::WRITES, error, every: 1, files });

        api.post("/v1/tokens", &new).await.refused(status, slug).says("tokens.json");
        let upload = api.request(Method::POST, &attachments).body("words");
        let upload = upload.header("Content-Type", "application/octet-stream");
        api.send(upload).await.refused(status, slug);

        disk.heal();
    }
    api.post("/v1/tokens", &new).await.is(201);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_home_that_was_moved_away_is_told_to_whoever_has_a_token() {
    let api = Api::start_in(home()).await;
    let session = api.session().await;
    let (here, away) = (api.home.path().to_owned(), api.home.path().with_extension("away"));

    std::fs::rename(&here, &away).unwrap();

    let health = until_health(&api, |health| health["status"] == "degraded").await;
    assert_eq!(health["store"]["troubles"][0]["kind"], "files_gone", "{health}");
    let prompt = json!({ "prompt": "echo not accepted" });
    let refused = api.post(&format!("/v1/sessions/{session}/prompt"), &prompt).await;
    refused.refused(503, "log-unavailable").says("was removed or replaced");
    let refused = api.post("/v1/tokens", &json!({ "name": "ci", "role": "operator" })).await;
    refused.refused(503, "files-unavailable").says("was removed or replaced");
    let mut status = api.home.command(["daemon", "status"]);
    let status = status.env("SWITCHYARD_HOME", &away).output().unwrap();
    let said = String::from_utf8_lossy(&status.stdout);
    assert!(said.contains("was removed or replaced"), "{status:?}");

    // Nothing but empty directories can have been made in its place meanwhile.
    let _ = std::fs::remove_dir_all(&here);
    std::fs::rename(&away, &here).unwrap();
    until_health(&api, |health| health["status"] == "ok").await;
    api.prompt(&session, "echo it goes on").await;
    api.until_said(&session, "it goes on").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_token_whose_file_was_removed_is_not_called_wrong() {
    let api = Api::start_in(home()).await;
    std::fs::remove_file(api.home.path().join("token")).unwrap();

    let refused = api.get("/v1/capabilities").await.refused(503, "files-unavailable");

    refused.says("was removed");
}
