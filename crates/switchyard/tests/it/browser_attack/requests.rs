//! Requests that a page sends to somebody else: with `fetch`, by form, by beacon, by redirect.

use serde_json::{Value, json};

use super::Scene;
use super::site::SECRET;

/// Tries every request with and without cookies, asking for an answer and not. `args.modes`
/// says which of the two; what could be read of each answer is returned.
const FETCH: &str = r"
const told = [];
for (const one of args.tries) for (const mode of args.modes)
for (const credentials of ['include', 'omit']) {
  const name = [one.method, one.path, one.type ?? '-', mode, credentials].join(' ');
  const body = one.type === 'multipart' ? new FormData()
    : one.body && (one.type ? one.body : new Blob([one.body]));
  if (one.type === 'multipart') body.append('x', one.body);
  const headers = { ...one.headers };
  if (one.type && one.type !== 'multipart') headers['Content-Type'] = one.type;
  const method = one.method;
  try {
    const answer = await fetch(args.base + one.path, { method, mode, credentials, headers, body });
    let text = '';
    if (answer.body) {
      const reader = answer.body.getReader();
      text = new TextDecoder().decode((await reader.read()).value);
      await reader.cancel();
    }
    told.push({ name, type: answer.type, status: answer.status, text });
  } catch (error) {
    told.push({ name, error: String(error) });
  }
}
return told;
";

/// The same from a page that has no origin: `Origin: null`.
fn from_nowhere(script: &str) -> String {
    let inner = format!("(async (args) => {{ {script} }})");
    format!(
        r"
const frame = document.createElement('iframe');
frame.sandbox = 'allow-scripts';
const answer = new Promise((done) => addEventListener('message', (event) => done(event.data)));
const run = {} + '(' + JSON.stringify(args) + ')';
frame.srcdoc = '<script>' + run + '.then((told) => parent.postMessage(told, `*`))</' + 'script>';
document.body.append(frame);
return await answer;
",
        serde_json::to_string(&inner).unwrap()
    )
}

const CORS_AND_NOT: [&str; 2] = ["cors", "no-cors"];

/// What an attacker would like to do, in every form that a browser sends.
fn tries(scene: &Scene) -> Vec<Value> {
    let session = &scene.session;
    let of = |rest: &str| format!("/v1/sessions/{session}{rest}");
    let prompt = json!({ "prompt": "say pwned" }).to_string();
    let new = json!({ "agent": "demo", "cwd": scene.home.work() }).to_string();
    let run = json!({ "agentId": "demo", "message": "say pwned" }).to_string();
    let token = json!({ "name": "pwned", "role": "admin" }).to_string();
    let rpc = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}"#;
    let changes = [
        (of("/prompt"), prompt.as_str()),
        ("/v1/sessions".to_owned(), new.as_str()),
        ("/api/runs".to_owned(), run.as_str()),
        ("/api/chat".to_owned(), run.as_str()),
        ("/acp?agent=demo".to_owned(), rpc),
        ("/v1/tokens".to_owned(), token.as_str()),
        (of("/attachments?name=pwned.txt"), "pwned"),
    ];
    // All but the last are sent without a question beforehand.
    let simple = ["text/plain", "application/x-www-form-urlencoded", "multipart"];
    let mut tries = Vec::new();
    for (path, body) in &changes {
        for kind in simple.iter().map(Some).chain([None, Some(&"application/json")]) {
            tries.push(json!({ "method": "POST", "path": path, "type": kind, "body": body }));
        }
    }
    for path in [of("/cancel"), of("/close"), of("/fork"), "/v1/logout".to_owned()] {
        tries.push(json!({ "method": "POST", "path": path }));
    }
    let title = json!({ "title": "pwned" }).to_string();
    let kind = "application/json";
    tries.push(json!({ "method": "PATCH", "path": of(""), "type": kind, "body": title }));
    tries.push(json!({ "method": "DELETE", "path": of("") }));
    let bearer = json!({ "authorization": "Bearer sy_guess" });
    tries.push(json!({ "method": "GET", "path": "/v1/sessions", "headers": bearer }));
    for path in [of(""), of("/transcript"), of("/export"), of("/events"), of("/cancel")] {
        tries.push(json!({ "method": "GET", "path": path }));
    }
    for path in ["/v1/sessions", "/v1/tokens", "/v1/events", "/metrics", "/healthz", "/", "/login"]
    {
        tries.push(json!({ "method": "GET", "path": path }));
    }
    tries
}

/// No answer that a script could make anything of.
#[track_caller]
fn assert_nothing_told(told: &Value, origin: &str) {
    let told = told.as_array().unwrap();
    assert!(told.len() > 100, "{} tries", told.len());
    for one in told {
        let is_opaque = one["type"] == "opaque" && one["status"] == 0 && one["text"] == "";
        assert!(is_opaque || one["error"].is_string(), "{origin} was told {one}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_of_a_foreign_page_tell_and_do_nothing() {
    let scene = Scene::start().await;
    let tries = tries(&scene);
    let at = |base: &str| json!({ "base": base, "tries": tries, "modes": CORS_AND_NOT });
    // That such requests work without a guard needs no proof for every path in every run.
    let is_tried = |one: &&Value| one["method"] != "POST" || one["path"] == tries[0]["path"];
    let some: Vec<_> = tries.iter().filter(|one| soak::size(is_tried(one), true)).collect();
    let unguarded = json!({ "base": scene.unguarded.at(scene.own_name()), "tries": some, "modes": CORS_AND_NOT });
    let daemon = scene.daemon.page();
    let before = scene.picture().await;

    for origin in scene.origins() {
        scene.unguarded.forget();
        let told = scene.attack(&origin, FETCH, unguarded.clone()).await;
        let heard = scene.unguarded.heard();
        assert!(told.to_string().contains(SECRET), "{origin} could not read: {told}");
        let has = |kind: &str| heard.iter().any(|one| one.header("content-type").starts_with(kind));
        assert!(has("text/plain") && has("multipart/form-data") && has("application/json"));
        assert!(heard.iter().any(|one| one.method == "DELETE"));
        // Browsers tell neither ports nor schemes apart here: a cookie alone proves nothing.
        let is_same_host = origin == scene.site.at(scene.own_name());
        let has_cookie = heard.iter().any(|one| one.header("cookie").contains("switchyard"));
        assert_eq!(has_cookie, is_same_host, "{origin}");

        let n_refused = scene.n_refused().await;
        let told = scene.attack(&origin, FETCH, at(daemon)).await;
        assert_nothing_told(&told, &origin);
        let n_arrived = scene.n_refused().await - n_refused;
        // What has to be asked for beforehand cannot even be tried without asking.
        let n_unsent = 4;
        let n_tries = told.as_array().unwrap().len() as u64;
        assert!(n_arrived + n_unsent >= n_tries, "{origin}: {n_arrived} of {n_tries}");
        assert_eq!(scene.picture().await, before, "{origin} has changed something");
    }
    let nowhere = from_nowhere(FETCH);
    let origin = scene.site.at(scene.own_name());
    let told = scene.attack(&origin, &nowhere, unguarded).await;
    assert!(told.to_string().contains(SECRET), "nowhere could not read: {told}");
    let told = scene.attack(&origin, &nowhere, at(daemon)).await;
    assert_nothing_told(&told, "nowhere");
    assert_eq!(scene.picture().await, before, "nowhere has changed something");

    let at_home = json!({ "base": "", "tries": tries, "modes": ["cors"] });
    let told = scene.at_home(FETCH, at_home).await;
    let status = |name: &str| {
        let of_name = |one: &&Value| one["name"] == name;
        let one = told.as_array().unwrap().iter().find(of_name);
        one.unwrap_or_else(|| panic!("no {name} in {told:#}"))["status"].as_u64().unwrap()
    };
    let prompt = format!("POST /v1/sessions/{}/prompt", scene.session);
    assert_eq!(status(&format!("{prompt} application/json cors include")), 202);
    assert_eq!(status(&format!("{prompt} application/json cors omit")), 401);
    for kind in ["text/plain", "application/x-www-form-urlencoded", "multipart", "-"] {
        assert_eq!(status(&format!("{prompt} {kind} cors include")), 415, "{kind}");
    }
    assert_eq!(status("POST /v1/tokens application/json cors include"), 201);
    assert_ne!(scene.picture().await["tokens"], before["tokens"]);
}

/// Submits a form of each kind into a frame, and one beacon each; returns what the page can see
/// in the frames. The text of the first kind is JSON.
const FORMS: &str = r#"
const told = [];
for (const path of args.paths) {
  for (const kind of ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data']) {
    const frame = document.createElement('iframe');
    frame.name = 'frame' + told.length;
    document.body.append(frame);
    const form = document.createElement('form');
    Object.assign(form, { action: args.base + path, method: 'POST', enctype: kind });
    form.target = frame.name;
    const input = document.createElement('input');
    input.name = args.body.slice(0, -1) + ',"x":"';
    input.value = '"}';
    form.append(input);
    document.body.append(form);
    const loaded = new Promise((done) => { frame.onload = done; });
    form.submit();
    await loaded;
    let seen = null;
    try { seen = frame.contentDocument?.documentElement.innerText ?? null; } catch {}
    told.push(seen);
    // Each frame is a process of the browser's.
    frame.remove();
    navigator.sendBeacon(args.base + path, new Blob([args.body], { type: 'text/plain' }));
  }
}
return told;
"#;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn forms_beacons_and_redirects_of_a_foreign_page_are_not_taken() {
    let scene = Scene::start().await;
    let paths = [
        format!("/v1/sessions/{}/prompt", scene.session),
        format!("/v1/sessions/{}/close", scene.session),
        "/v1/sessions".to_owned(),
        "/v1/logout".to_owned(),
        "/login".to_owned(),
    ];
    let body = json!({ "prompt": "say pwned", "agent": "demo", "cwd": scene.home.work() });
    let at = |base: &str, paths: &[String]| json!({ "base": base, "paths": paths, "body": body.to_string() });
    // Redirects and the stand-in treat all of them alike.
    let some = &paths[..soak::size(2, paths.len())];
    let before = scene.picture().await;

    for origin in scene.origins() {
        scene.unguarded.forget();
        scene.attack(&origin, FORMS, at(&scene.unguarded.at("127.0.0.1"), some)).await;
        let is_json = |one: &super::site::Heard| {
            let body: Option<Value> = serde_json::from_str(&one.body).ok();
            body.is_some_and(|body| body["prompt"] == "say pwned")
        };
        let heard = scene.unguarded.heard();
        assert!(heard.iter().filter(|one| is_json(one)).count() >= some.len(), "{heard:?}");

        // Straight, and through a redirect that keeps method and body.
        let detour = format!("{origin}/redirect?status=307&to={}", scene.daemon.page());
        for (base, paths) in [(scene.daemon.page(), &paths[..]), (&detour, some)] {
            let n_refused = scene.n_refused().await;
            let told = scene.attack(&origin, FORMS, at(base, paths)).await;
            assert!(told.as_array().unwrap().iter().all(Value::is_null), "{origin}: {told}");
            let n_forms = told.as_array().unwrap().len() as u64;
            assert!(scene.n_refused().await >= n_refused + n_forms, "{origin}");
            assert_eq!(scene.picture().await, before, "{origin} through {base}");
        }
        let tries = json!([{
            "method": "POST", "path": paths[0], "type": "application/json", "body": body.to_string()
        }]);
        let around = json!({ "base": detour, "tries": tries, "modes": CORS_AND_NOT });
        let told = scene.attack(&origin, FETCH, around).await;
        for one in told.as_array().unwrap() {
            assert!(one["error"].is_string() || one["type"] == "opaque", "{origin}: {one}");
        }
        assert_eq!(scene.picture().await, before, "{origin} around");
    }

    let script = "const answer = await fetch(args.path, { method: 'POST', body: args.body, \
         headers: { 'Content-Type': 'application/json' } }); return answer.status";
    let made = json!({ "path": "/v1/sessions", "body":
        json!({ "agent": "demo", "cwd": scene.home.work() }).to_string() });
    assert_eq!(scene.at_home(script, made).await, 201);
    assert_ne!(scene.picture().await["sessions"], before["sessions"]);
}
