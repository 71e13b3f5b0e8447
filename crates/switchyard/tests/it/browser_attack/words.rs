//! Words of an agent, and files, that would like to be a page of ours.

use reqwest::header::CONTENT_TYPE;
use serde_json::{Value, json};

use super::{Scene, assets};

/// Tells the attacker that it was run.
fn payload(there: &str) -> String {
    format!(
        "<html><svg onload=\"fetch('{there}/svg')\"></svg><img src=data:, onerror=\"fetch('{there}/img')\">\
         <script>fetch('{there}/script')</script></html>"
    )
}

async fn upload(scene: &Scene, name: &str, body: String) -> String {
    let path = format!("/v1/sessions/{}/attachments?name={name}", scene.session);
    let request = scene.daemon.client().post(scene.daemon.url(&path));
    let request = request.header(CONTENT_TYPE, "application/octet-stream").body(body);
    let made: Value = request.send().await.unwrap().json().await.unwrap();
    let id = made["id"].as_str().unwrap_or_else(|| panic!("no file: {made}"));
    format!("/v1/sessions/{}/attachments/{id}", scene.session)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_an_agent_says_and_what_files_hold_is_never_run() {
    let scene = Scene::start().await;
    let there = scene.site.at("127.0.0.1");
    let payload = payload(&there);
    let session = format!("/v1/sessions/{}", scene.session);
    super::prompt(&scene.daemon, &scene.session, &format!("echo {payload}")).await;
    scene.until_idle().await;
    let title = json!({ "title": payload });
    let renamed = scene.daemon.client().patch(scene.daemon.url(&session)).json(&title);
    assert_eq!(renamed.send().await.unwrap().status(), 200);
    let mut pages = vec![session.clone(), "/v1/sessions".to_owned()];
    for format in ["json", "acp", "ui", "envelopes", "text"] {
        pages.push(format!("{session}/transcript?format={format}"));
    }
    pages.push(format!("{session}/events?until=idle"));
    pages.push(format!("{session}/export"));
    pages.push(format!("/v1/sessions/{payload}"));
    for name in ["page.html", "picture.svg", "page.xhtml", "page"] {
        pages.push(upload(&scene, name, payload.clone()).await);
    }

    // The page reads these with its secret. Somebody who puts a proxy with a login in front of
    // the daemon has them in the address bar.
    let token = format!("Bearer {}", scene.daemon.token().unwrap());
    scene.browser.send_always("Authorization", Some(&token)).await;
    for page in &pages {
        scene.browser.open(&scene.daemon.url(page)).await;
        // Where the words were run, their requests would be first in line.
        scene.browser.run("return document.readyState", Value::Null).await;
    }
    let shown = scene.browser.text().await;
    assert!(!shown.contains("unauthorized"), "{shown}");
    // Files of ours are no scripts of ours, though they are served by us.
    let script = upload(&scene, "code.js", format!("fetch('{there}/file')")).await;
    let text = format!("{session}/transcript?format=text");
    let load = "const trusted = trustedTypes.createPolicy('test', { createScriptURL: (url) => url }); \
        const script = document.createElement('script'); script.src = trusted.createScriptURL(args); \
        const ended = new Promise((done) => { script.onload = () => done('run'); \
        script.onerror = () => done('refused'); }); document.body.append(script); return await ended";
    for path in [&script, &text, &format!("{session}/export")] {
        assert_eq!(scene.at_home(load, json!(path)).await, "refused", "{path}");
    }
    let own = assets(&scene.daemon).await;
    if let Some(own) = own.iter().find(|path| path.contains(".js")) {
        assert_eq!(scene.at_home(load, json!(own)).await, "run");
    }
    scene.browser.send_always("Authorization", None).await;
    let heard = scene.site.heard();
    assert!(heard.is_empty(), "{heard:#?}");

    // Elsewhere all of them are.
    scene.browser.open(&format!("{}/page", scene.unguarded.at("127.0.0.1"))).await;
    scene.browser.run("document.write(args); document.close()", json!(payload)).await;
    let is_told = || {
        ["/svg", "/img", "/script"]
            .iter()
            .all(|path| scene.site.heard().iter().any(|one| one.target == *path))
    };
    assert!(testkit::test_home::until(testkit::test_home::PATIENCE, is_told).await);
}
