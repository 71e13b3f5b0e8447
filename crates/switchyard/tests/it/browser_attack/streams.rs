//! Streams that a page may open to anybody without asking: `EventSource` and `WebSocket`.

use serde_json::{Value, json};

use super::Scene;
use super::site::SECRET;

/// Opens a source of events and reads until something is said or it gives up for good.
const SOURCE: &str = r"
const told = [];
for (const path of args.paths) for (const withCredentials of [true, false]) {
  const source = new EventSource(args.base + path, { withCredentials });
  told.push(await new Promise((done) => {
    const say = (event) => done(['said', event.data]);
    for (const name of ['message', 'stream', 'session']) source.addEventListener(name, say);
    source.onerror = () => source.readyState === 2 && done(['closed', null]);
  }));
  source.close();
}
return told;
";

/// Opens sockets with every protocol; says something on those that open, and waits for an
/// answer or the end.
const SOCKET: &str = r"
const told = [];
for (const path of args.paths) for (const protocol of args.protocols) {
  const socket = new WebSocket(args.base.replace('http', 'ws') + path, protocol);
  told.push(await new Promise((done) => {
    let isOpen = false;
    socket.onopen = () => { isOpen = true; socket.send(args.first); };
    socket.onmessage = (event) => done(['said', event.data]);
    socket.onclose = (event) => done([isOpen ? 'opened' : 'refused', event.code]);
  }));
  socket.close();
}
return told;
";

fn event_paths(scene: &Scene) -> [String; 2] {
    [format!("/v1/sessions/{}/events?after=0", scene.session), "/v1/events".to_owned()]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_foreign_page_reads_no_events() {
    let scene = Scene::start().await;
    let paths = event_paths(&scene);
    let at = |base: &str| json!({ "base": base, "paths": paths });
    let before = scene.picture().await;

    for origin in scene.origins() {
        let told = scene.attack(&origin, SOURCE, at(&scene.unguarded.at("127.0.0.1"))).await;
        assert_eq!(told[0], json!(["said", SECRET]), "{origin}");

        let n_refused = scene.n_refused().await;
        let told = scene.attack(&origin, SOURCE, at(scene.daemon.page())).await;
        let n_tries = told.as_array().unwrap().len() as u64;
        assert_eq!(scene.n_refused().await - n_refused, n_tries, "{origin} was only not shown it");
        let is_closed = |one: &Value| *one == json!(["closed", null]);
        assert!(told.as_array().unwrap().iter().all(is_closed), "{origin}: {told}");
    }
    assert_eq!(scene.picture().await, before);

    // Our own page reads them with its secret, which `EventSource` cannot show.
    let told = scene.at_home(SOURCE, json!({ "base": "", "paths": &paths[..1] })).await;
    assert_eq!(told[0][0], "closed", "{told}");
    let read = "const reader = (await fetch(args)).body.getReader(); \
        const { value } = await reader.read(); await reader.cancel(); \
        return new TextDecoder().decode(value)";
    let told = scene.at_home(read, json!(paths[0])).await;
    assert!(told.as_str().unwrap().contains(&scene.session), "{told}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_foreign_page_opens_no_web_socket() {
    let scene = Scene::start().await;
    let mut paths = event_paths(&scene).to_vec();
    paths.extend(["/acp".to_owned(), "/acp?agent=demo".to_owned()]);
    let protocols = json!([[], ["switchyard.v1"], ["switchyard.v1", "switchyard-token.guess"]]);
    let first = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize",
        "params": { "protocolVersion": 1 } });
    let at = |base: &str, paths: &[String]| json!({ "base": base, "paths": paths, "protocols": protocols, "first": first.to_string() });
    let before = scene.picture().await;

    for origin in scene.origins() {
        let stub = scene.unguarded.at("127.0.0.1");
        let told = scene.attack(&origin, SOCKET, at(&stub, &paths)).await;
        assert_eq!(told[1], json!(["said", SECRET]), "{origin}: {told}");

        let n_refused = scene.n_refused().await;
        let told = scene.attack(&origin, SOCKET, at(scene.daemon.page(), &paths)).await;
        let told = told.as_array().unwrap();
        let is_refused = |one: &Value| *one == json!(["refused", 1006]);
        assert!(told.iter().all(is_refused), "{origin}: {told:?}");
        assert_eq!(scene.n_refused().await - n_refused, told.len() as u64, "{origin}");
        assert_eq!(scene.picture().await, before);
    }
    // A stranger that knows a token is one that the user trusts; a page that was not named
    // is none, whatever it knows.
    let token = format!("switchyard-token.{}", scene.daemon.token().unwrap());
    let mut knowing = at(scene.daemon.page(), &paths);
    knowing["protocols"] = json!([["switchyard.v1", &token]]);
    let told = scene.attack(&scene.site.at("evil.test"), SOCKET, knowing).await;
    assert_eq!(told, json!(vec![["refused".into(), json!(1006)]; paths.len()]));

    // Nor is one that has got hold of the page's pass, though the browser sends the cookie.
    let pass = scene.at_home("return pass", Value::Null).await;
    let pass = format!("switchyard-page.{}", pass.as_str().unwrap());
    for origin in scene.origins() {
        let mut knowing = at(scene.daemon.page(), &paths);
        knowing["protocols"] = json!([["switchyard.v1", &pass]]);
        let told = scene.attack(&origin, SOCKET, knowing).await;
        assert_eq!(told, json!(vec![["refused".into(), json!(1006)]; paths.len()]), "{origin}");
    }

    // A cookie opens no socket, not even for our own page: any port of this host has it.
    scene.browser.open(&scene.daemon.page_url("/")).await;
    let home = scene.daemon.page();
    let told = scene.browser.run(SOCKET, at(home, &paths)).await;
    assert!(told.as_array().unwrap().iter().all(|one| one[0] == "refused"), "{told}");
    let mut knowing = at(home, &[paths[0].clone(), paths[3].clone()]);
    knowing["protocols"] = json!([["switchyard.v1", token]]);
    let told = scene.browser.run(SOCKET, knowing).await;
    assert!(told[0][1].as_str().unwrap().contains(&scene.session), "{told}");
    assert!(told[1][1].as_str().unwrap().contains("protocolVersion"), "{told}");

    // With the pass beside it, it does.
    let mut knowing = at(home, &paths[..2]);
    knowing["protocols"] = json!([["switchyard.v1", pass]]);
    let told = scene.browser.run(SOCKET, knowing).await;
    assert!(told.as_array().unwrap().iter().all(|one| one[0] == "said"), "{told}");
}
