//! What a page sees of somebody else whom it shows: in frames, as scripts and pictures, in tabs.

use std::path::Path;

use serde_json::{Value, json};

use super::site::SECRET;
use super::{Scene, assets};

/// Puts every address into every kind of element; returns what became of each, and all that a
/// script could then read.
const EMBED: &str = r"
const kinds = { img: 'src', script: 'src', link: 'href', object: 'data', video: 'src' };
const told = [];
for (const path of args.paths) for (const [kind, attribute] of Object.entries(kinds)) {
  const element = document.createElement(kind);
  if (kind === 'link') element.rel = 'stylesheet';
  const ended = new Promise((done) => {
    for (const name of ['load', 'loadeddata', 'error']) element.addEventListener(name, () => done(name));
  });
  element[attribute] = args.base + path;
  document.body.append(element);
  told.push([kind, path, await ended].join(' '));
  // A page that keeps dozens of frames and players is slow; the others are looked at below.
  if (kind === 'object' || kind === 'video') element.remove();
}
const style = getComputedStyle(document.body).getPropertyValue('--leak');
const [image] = document.images;
const size = image.naturalWidth;
return { told, leak: String(window.leak), style, size };
";

async fn paths(scene: &Scene) -> Vec<String> {
    let of = |rest: &str| format!("/v1/sessions/{}{rest}", scene.session);
    let page = format!("/sessions/{}", scene.session);
    let known = ["/v1/sessions", "/healthz", "/", "/login", "/agents", &page];
    let mut paths: Vec<_> = known.map(str::to_owned).into();
    paths.extend([of(""), of("/transcript?format=text"), of("/export")]);
    paths.extend(assets(&scene.daemon).await);
    paths
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_element_of_a_foreign_page_gets_anything_or_learns_who_is_logged_in() {
    let scene = Scene::start_logged_out().await;
    let paths = paths(&scene).await;
    let at = |base: &str| json!({ "base": base, "paths": paths });
    // Whoever has no guard answers every path alike.
    let some = &paths[..soak::size(1, paths.len())];
    let unguarded = json!({ "base": scene.unguarded.at("127.0.0.1"), "paths": some });
    let mut as_nobody = Vec::new();
    for origin in scene.origins() {
        as_nobody.push(scene.attack(&origin, EMBED, at(scene.daemon.page())).await);
    }
    scene.log_in().await;
    let before = scene.picture().await;

    for (origin, as_nobody) in scene.origins().iter().zip(as_nobody) {
        let got = scene.attack(origin, EMBED, unguarded.clone()).await;
        assert_eq!(got["leak"], SECRET, "{got}");
        assert_eq!(got["style"], SECRET, "{got}");
        assert_eq!(got["size"], 7, "{got}");

        let got = scene.attack(origin, EMBED, at(scene.daemon.page())).await;
        let told = got["told"].as_array().unwrap();
        let is_error = |one: &Value| one.as_str().is_some_and(|one| one.ends_with(" error"));
        assert!(told.iter().all(is_error), "{origin}: {told:#?}");
        assert_eq!([&got["leak"], &got["style"]], ["undefined", ""], "{origin}");
        assert_eq!(got["size"], 0, "{origin}");
        assert_eq!(got, as_nobody, "{origin} can tell who is logged in");
    }
    assert_eq!(scene.picture().await, before);

    // The same elements in the page that may: its own style.
    let own = "const style = document.createElement('link'); style.rel = 'stylesheet'; \
        const ended = new Promise((done) => { style.onload = () => done('load'); \
        style.onerror = () => done('error'); }); style.href = args.path; \
        document.head.append(style); return await ended";
    let is_style = |path: &&String| Path::new(path).extension().is_some_and(|end| end == "css");
    let style = paths.iter().find(is_style).expect("a style of the page");
    assert_eq!(scene.at_home(own, json!({ "path": style })).await, "load");
    assert_eq!(scene.at_home(own, json!({ "path": scene.site.at("evil.test") })).await, "error");
}

const FRAMES: &str = r"
const seen = [];
for (const path of args.paths) {
  const frame = document.createElement('iframe');
  const loaded = new Promise((done) => { frame.onload = done; });
  frame.src = args.base + path;
  document.body.append(frame);
  await loaded;
  let inside = null;
  try { inside = frame.contentWindow.document.documentElement.innerText; } catch {}
  seen.push(inside);
}
return seen;
";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_daemon_is_shown_in_no_frame() {
    let scene = Scene::start().await;
    let paths = paths(&scene).await;
    let at = |base: &str| json!({ "base": base, "paths": &paths[..4] });
    let before = scene.picture().await;

    for origin in scene.origins() {
        scene.attack(&origin, FRAMES, at(&scene.unguarded.at("127.0.0.1"))).await;
        let (_, text) = scene.browser.frame(0).await;
        assert_eq!(text.trim(), SECRET, "others can be framed");

        let seen = scene.attack(&origin, FRAMES, at(scene.daemon.page())).await;
        assert!(seen.as_array().unwrap().iter().all(Value::is_null), "{origin}: {seen}");
        for index in 0..4 {
            // The browser's own words, not even the refusal.
            let (place, text) = scene.browser.frame(index).await;
            assert!(place.starts_with("chrome-error:"), "{origin}: {place}: {text}");
        }
    }
    assert_eq!(scene.picture().await, before);

    // And by the headers, not only because the request was foreign.
    let script = "return await Promise.all(args.map(async (path) => { \
        const { status, headers } = await fetch(path); \
        const names = ['x-frame-options', 'content-security-policy', \
            'cross-origin-opener-policy', 'x-content-type-options']; \
        return [status, ...names.map((name) => headers.get(name))]; }))";
    let told = scene.at_home(script, json!(paths)).await;
    for (path, told) in paths.iter().zip(told.as_array().unwrap()) {
        assert_eq!(told[0], 200, "{path}");
        assert_eq!(told[1], "DENY", "{path}");
        let policy = told[2].as_str().unwrap();
        for part in ["default-src 'none'", "connect-src 'self'", "frame-ancestors 'none'"] {
            assert!(policy.contains(part), "{path}: {policy}");
        }
        assert_eq!([&told[3], &told[4]], ["same-origin", "nosniff"], "{path}");
    }
}

/// Opens a tab and waits until it is out of reach, or another page's; says which.
const OPEN_TAB: &str = r"
const tab = window.open(args.url, 'victim');
const isForeign = () => { try { return !tab.document; } catch { return true; } };
const give_up_at = performance.now() + args.patience;
while (!tab.closed && !(args.isFrank && isForeign()) && performance.now() < give_up_at) {
  await new Promise((done) => setTimeout(done, 10));
}
return tab.closed ? 'out of reach' : isForeign() ? 'foreign' : 'own';
";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tab_that_a_foreign_page_opens_is_out_of_its_reach() {
    let scene = Scene::start().await;
    let transcript = format!("/v1/sessions/{}/transcript?format=text", scene.session);
    let patience = u64::try_from(testkit::test_home::PATIENCE.as_millis()).unwrap();
    let before = scene.picture().await;

    for origin in scene.origins() {
        let url = format!("{}/anything", scene.unguarded.at("127.0.0.1"));
        let args = json!({ "url": url, "patience": patience, "isFrank": true });
        let got = scene.attack(&origin, OPEN_TAB, args).await;
        assert_eq!(got, "foreign", "others stay in reach");
        let home = scene.browser.tabs().await;
        for tab in &home[1..] {
            scene.browser.switch_tab(tab).await;
            assert!(scene.browser.text().await.contains(SECRET));
            assert_eq!(scene.browser.run("return !!opener", Value::Null).await, true);
            scene.browser.close_tab().await;
        }
        scene.browser.switch_tab(&home[0]).await;

        for (path, is_page) in [("/", true), (&transcript, false), ("/login#code=guess", true)] {
            let url = scene.daemon.page_url(path);
            let args = json!({ "url": url, "patience": patience, "isFrank": false });
            let got = scene.attack(&origin, OPEN_TAB, args).await;
            assert_eq!(got, "out of reach", "{origin} holds on to {path}");
            let tabs = scene.browser.tabs().await;
            assert_eq!(tabs.len(), 2);
            scene.browser.switch_tab(&tabs[1]).await;
            scene.browser.until("document.readyState === 'complete' && location.host").await;
            let text = scene.browser.text().await;
            let is_refused = text.contains("urn:switchyard:problem:forbidden");
            assert_eq!(is_refused, !is_page, "{path}: {text}");
            assert_eq!(scene.browser.run("return opener", Value::Null).await, Value::Null);
            scene.browser.close_tab().await;
            scene.browser.switch_tab(&tabs[0]).await;
        }
    }
    assert_eq!(scene.picture().await, before);

    let read = "return await (await fetch(args)).text()";
    let read = scene.at_home(read, json!(transcript)).await;
    assert!(read.as_str().unwrap().contains(SECRET), "the page itself may read: {read}");
}
