//! The way in: a link that works once, and a cookie that stays where it belongs.

use serde_json::{Value, json};

use super::site::{SECRET, Site};
use super::{Scene, enter, link, new_link, with_pass};

/// Everything of the page in which a code or token might be found.
const TRACES: &str = r"
const entries = performance.getEntries().map((entry) => entry.name);
const visited = navigation.entries().map((entry) => entry.url);
return JSON.stringify([location.href, document.cookie, document.referrer, { ...localStorage },
  { ...sessionStorage }, visited, entries, document.documentElement.outerHTML, history.state]);
";

/// The page says that a code was no good.
const REFUSED: &str = "document.querySelector('[data-testid=login] [role=alert]')";

fn code(link: &str) -> &str {
    link.split_once("#code=").unwrap().1
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_link_works_once_and_leaves_no_trace_in_the_page() {
    let scene = Scene::start_logged_out().await;
    let used = link(scene.daemon.line());
    scene.browser.open(used).await;
    scene.browser.until("location.pathname === '/'").await;
    assert_eq!(scene.status().await, 200);
    let cookies = scene.browser.cookies().await;
    let [cookie] = cookies.as_slice() else { panic!("{cookies:?}") };
    assert!(cookie.http_only, "{cookie:?}");
    assert_eq!(cookie.same_site.as_deref(), Some("Strict"));
    assert_eq!([cookie.path.as_str(), &cookie.domain], ["/", scene.own_name()]);
    let traces = scene.browser.run(TRACES, Value::Null).await.as_str().unwrap().to_owned();
    assert!(traces.contains(scene.daemon.page()), "{traces}");
    for secret in [code(used), &cookie.value] {
        assert!(!traces.contains(secret), "{secret} is in {traces}");
        assert!(!scene.daemon.stderr().contains(secret), "{secret} is in the log");
    }

    // Whoever is visited next is told neither where from nor what.
    for origin in scene.origins() {
        let url = format!("{origin}/page?next");
        scene.browser.open(&scene.daemon.page_url("/")).await;
        scene.browser.try_run("location.href = args", json!(url)).await.ok();
        scene.browser.until("location.search === '?next'").await;
    }
    let visits = scene.site.heard();
    let visits: Vec<_> = visits.iter().filter(|one| one.target == "/page?next").collect();
    assert_eq!(visits.len(), scene.origins().len());
    for visit in visits {
        assert_eq!(visit.header("referer"), "");
        assert!(!format!("{visit:?}").contains(code(used)));
    }
    // Other names lead here, and are not served themselves.
    for elsewhere in ["127.0.0.1", "localhost", "abcdefghjkmn.localhost"] {
        let elsewhere = scene.daemon.url("/agents").replace("127.0.0.1", elsewhere);
        scene.browser.open(&elsewhere).await;
        assert_eq!(scene.browser.url().await, scene.daemon.page_url("/agents"), "{elsewhere}");
        assert_eq!(scene.status().await, 200);
    }

    scene.browser.open(&scene.daemon.page_url("/")).await;
    scene.browser.forget_cookies().await;
    scene.browser.run("localStorage.clear()", Value::Null).await;
    scene.browser.open("about:blank").await;
    scene.browser.open(used).await;
    scene.browser.until(REFUSED).await;
    assert_eq!(scene.status().await, 401, "a second time");
    assert_eq!(scene.browser.url().await, scene.daemon.page_url("/login"));

    let link = new_link(&scene.daemon).await;
    scene.browser.type_into("[data-testid=login] input[name=code]", code(&link)).await;
    scene.browser.click("[data-testid=login] button[type=submit]").await;
    scene.browser.until("location.pathname === '/'").await;
    assert_eq!(scene.status().await, 200, "a new one, pasted");
}

/// Every way in which a page might have a browser hand in a code.
const FORCE: &str = r#"
const body = JSON.stringify({ code: args.code });
for (const kind of ['text/plain', 'application/json', 'application/x-www-form-urlencoded']) {
  for (const mode of ['cors', 'no-cors']) {
    const headers = { 'Content-Type': kind };
    const order = { method: 'POST', mode, credentials: 'include', headers, body };
    await fetch(args.base + '/v1/login', order).catch(() => {});
  }
}
const frame = document.createElement('iframe');
frame.name = 'frame';
document.body.append(frame);
for (const act of [
  () => {
    const form = document.createElement('form');
    Object.assign(form, { action: args.base + '/v1/login', method: 'POST', target: 'frame' });
    form.enctype = 'text/plain';
    const input = document.createElement('input');
    input.name = body.slice(0, -1) + ',"x":"';
    input.value = '"}';
    form.append(input);
    document.body.append(form);
    form.submit();
  },
  () => { frame.src = args.base + '/login#code=' + args.code; },
]) {
  const loaded = new Promise((done) => { frame.onload = done; });
  act();
  await loaded;
}
// Ports share their cookies; those of narrower paths are sent first.
for (const path of ['/v1', '/v1/sessions']) for (let n = 0; n < 8; n += 1) {
  const [domain, name] = [n % 2 ? '; domain=' + location.hostname : '', args.cookie];
  document.cookie = name + '=sy_of_the_attacker' + '; path=' + path + domain;
  document.cookie = 'other' + n + '=' + 'x'.repeat(100) + '; path=' + path;
}
"#;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_foreign_page_logs_nobody_in_and_uses_up_no_code() {
    let scene = Scene::start_logged_out().await;
    let link = new_link(&scene.daemon).await;
    let name = format!("switchyard_session_{}", scene.daemon.address().split_once(':').unwrap().1);
    let at = |base: &str| json!({ "base": base, "code": code(&link), "cookie": name });
    let before = scene.picture().await;

    for origin in scene.origins() {
        scene.unguarded.forget();
        scene.attack(&origin, FORCE, at(&scene.unguarded.at("127.0.0.1"))).await;
        let heard = scene.unguarded.heard();
        let n_codes = heard.iter().filter(|one| one.body.contains(code(&link))).count();
        assert!(n_codes >= 6, "{origin}: {heard:#?}");

        scene.attack(&origin, FORCE, at(scene.daemon.page())).await;
        // In the address bar itself, where the page runs. It could only hand in what the
        // attacker knows: with a code, it would not need the browser.
        scene.browser.open(&format!("{origin}/page")).await;
        let guess = scene.daemon.page_url("/login#code=guess");
        scene.browser.try_run("location.href = args", json!(guess)).await.ok();
        scene.browser.until("location.pathname === '/login'").await;
        assert_eq!(scene.picture().await, before, "{origin} has logged somebody in");
        scene.browser.open(&scene.daemon.page_url("/")).await;
        assert_eq!(scene.status().await, 401, "{origin}");
    }

    // The code is as good as before, and what others have left in the jar does no harm.
    enter(&scene.browser, &link).await;
    assert_eq!(scene.status().await, 200);
    assert_ne!(scene.picture().await["tokens"], before["tokens"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_address_with_parameters_leads_the_page_nowhere() {
    let scene = Scene::start_logged_out().await;
    let there = scene.site.at("127.0.0.1");
    let socket = there.replace("http", "ws");
    let names = ["gatewayUrl", "url", "server", "next", "redirect", "origin", "api", "token"];
    let query = names.map(|name| format!("{name}={socket}&{name}={there}&")).concat();
    scene
        .browser
        .open(&format!("{}?{query}#{query}code=wrong", scene.daemon.page_url("/login")))
        .await;
    scene.browser.until(REFUSED).await;
    assert_eq!(scene.browser.url().await, scene.daemon.page_url("/login"), "all of it is gone");

    let link = link(scene.daemon.line()).replace("/login#", &format!("/login?{query}#{query}"));
    scene.browser.open(&link).await;
    scene.browser.until("location.pathname === '/'").await;
    assert_eq!(scene.status().await, 200);
    assert_eq!(scene.browser.url().await, scene.daemon.page_url("/"));
    scene.browser.open(&format!("{}?{query}#{query}", scene.daemon.page_url("/"))).await;

    // Nor could the page be talked into it: it may speak to its own daemon only.
    let speak = "const told = []; \
        await fetch(args.http, { mode: 'no-cors' }).then(() => told.push('fetch'), () => {}); \
        const socket = new WebSocket(args.ws); \
        await new Promise((done) => { socket.onopen = () => { told.push('socket'); done(); }; \
            socket.onerror = done; }); \
        const image = new Image(); image.src = args.http; \
        await image.decode().then(() => told.push('image'), () => {}); \
        return told";
    let args = json!({ "http": there, "ws": socket });
    assert_eq!(scene.browser.run(speak, args.clone()).await, json!([]));
    assert_eq!(scene.site.heard().len(), 0, "{:?}", scene.site.heard());

    scene.browser.open(&format!("{}/page", scene.unguarded.at("127.0.0.1"))).await;
    let told = scene.browser.run(speak, args).await;
    assert_eq!(told, json!(["fetch", "socket", "image"]), "another page may");
}

/// What a page can do with a token, and with the cookie alone.
const TOKEN_OR_COOKIE: &str = r"
const told = {};
for (const [name, order] of Object.entries({
  token: { headers: { authorization: 'Bearer ' + args.token } },
  cookie: { credentials: 'include' },
})) {
  const answer = await fetch(args.base + '/v1/sessions', order).catch(() => null);
  told[name] = answer && [answer.status, await answer.text()];
}
for (const [name, protocol] of Object.entries({
  tokenSocket: ['switchyard.v1', 'switchyard-token.' + args.token],
  cookieSocket: ['switchyard.v1'],
})) {
  const socket = new WebSocket(args.base.replace('http', 'ws') + '/v1/events', protocol);
  told[name] = await new Promise((done) => {
    socket.onopen = () => done(true);
    socket.onerror = () => done(false);
  });
}
return told;
";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_that_was_named_comes_in_by_token_and_not_by_the_cookie() {
    let site = Site::start().await;
    let named = site.at("evil.test");
    let scene = Scene::start_with(site, &["--allow-origin", &named]).await;
    scene.log_in().await;
    let args = json!({ "base": scene.daemon.page(), "token": scene.daemon.token() });

    let told = scene.attack(&named, TOKEN_OR_COOKIE, args.clone()).await;
    assert_eq!(told["token"][0], 200, "{told}");
    assert!(told["token"][1].as_str().unwrap().contains(&scene.session), "{told}");
    assert_eq!(told["tokenSocket"], true);
    assert_eq!(told["cookie"], Value::Null, "{told}");
    assert_eq!(told["cookieSocket"], false);
    // The same page under another name was not named.
    let told = scene.attack(&scene.site.at("localhost"), TOKEN_OR_COOKIE, args).await;
    let nothing = json!({ "token": null, "cookie": null,
        "tokenSocket": false, "cookieSocket": false });
    assert_eq!(told, nothing);
    assert!(!told.to_string().contains(SECRET));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn logins_at_two_daemons_of_one_host_do_not_end_each_other() {
    let scene = Scene::start().await;
    let home = crate::serve_events::home();
    let other = testkit::daemon::Daemon::start(&home);
    enter(&scene.browser, link(other.line())).await;

    for daemon in [&scene.daemon, &other] {
        scene.browser.open(&daemon.page_url("/")).await;
        assert_eq!(scene.status().await, 200, "{}", daemon.base());
    }
    let leave = with_pass("return (await fetch('/v1/logout', { method: 'POST' })).status");
    assert_eq!(scene.browser.run(&leave, Value::Null).await, 204);
    assert_eq!(scene.status().await, 401);
    scene.browser.open(&scene.daemon.page_url("/")).await;
    assert_eq!(scene.status().await, 200, "left somewhere else");
}
