//! Agents, tools and titles that would like to be more than text.
//!
//! Everything is sent in the agent's own updates, with a server listening that must never hear
//! of it. The same words are then made into a page of somebody else's, where they work.

use serde_json::{Value, json};

use super::Visit;
use super::talking::assert_clean;
use crate::browser_attack::site::Site;
use crate::serve_events::new_session;

fn markup(there: &str) -> String {
    format!(
        "<svg onload=\"fetch('{there}/svg')\"></svg><img src=\"{there}/image.png\">\
         <img src=data:, onerror=\"fetch('{there}/img');window.pwned=1\">\
         <script>fetch('{there}/script');window.pwned=1</script>\
         <iframe src=\"{there}/frame\"></iframe><link rel=stylesheet href=\"{there}/style\">\
         <style>body{{background:url({there}/css)}}</style><base href=\"{there}/\">\
         <meta http-equiv=refresh content=\"0;url={there}/meta\"><form action=\"{there}/form\"></form>"
    )
}

/// As an agent's words may be set in Markdown.
fn markdown(there: &str) -> String {
    let html = markup(there);
    format!(
        "{html}\n\n![picture]({there}/markdown.png) ![x][ref] <{there}/auto.png>\n\n\
         [click](javascript:window.pwned=1) [data](data:text/html,<script>window.pwned=1</script>) \
         [vb](vbscript:x) [file](file:///etc/passwd) [good]({there}/only-when-clicked)\n\n\
         [ref]: {there}/reference.png\n\n```html\n{html}\n```\n\n|a|b|\n|-|-|\n|{}|x|\n\n\
         `{html}`\n\n&lt;script&gt;alert(1)&lt;/script&gt; \u{202e}evil\u{202c} \u{0}\u{7}\u{1b}[31m \
         \u{200b}zero\n",
        html.replace('|', "")
    )
}

fn update(update: &Value) -> String {
    // The demo agent's commands are lines and `;`; JSON can do without either.
    format!("update {}", update.to_string().replace(" ; ", " \\u003b "))
}

fn words(there: &str) -> Vec<String> {
    let html = markup(there);
    let text = markdown(there);
    let content = |text: &str| json!({ "type": "text", "text": text });
    let giant = "x".repeat(soak::size(60_000, 300_000));
    let ansi = format!(
        "\u{1b}]8;;{there}/osc\u{7}link\u{1b}]8;;\u{7} \u{1b}]0;title\u{7}\u{1b}[2J\u{1b}[31mred\u{1b}[0m\u{9b}31m {html}"
    );
    let updates = [
        json!({ "sessionUpdate": "agent_message_chunk", "content": content(&text) }),
        json!({ "sessionUpdate": "agent_message_chunk", "content": content(&format!("\n\n{giant}\n\n")) }),
        json!({ "sessionUpdate": "agent_message_chunk", "content": { "type": "image", "mimeType": "image/svg+xml\"><script>", "data": "PHN2Zy8+", "uri": format!("{there}/uri.png") } }),
        json!({ "sessionUpdate": "agent_message_chunk", "content": { "type": "resource_link", "uri": "javascript:window.pwned=1", "name": html } }),
        json!({ "sessionUpdate": "agent_thought_chunk", "content": content(&text) }),
        json!({ "sessionUpdate": "tool_call", "toolCallId": "t1", "title": html, "kind": "execute", "status": "completed",
            "rawInput": { "command": html }, "content": [{ "type": "content", "content": content(&ansi) }],
            "locations": [{ "path": html }] }),
        json!({ "sessionUpdate": "tool_call", "toolCallId": "t2", "title": "edit", "kind": "edit", "status": "completed",
            "content": [{ "type": "diff", "path": html, "oldText": text, "newText": format!("{text}\n{html}") }] }),
        json!({ "sessionUpdate": "plan", "entries": [{ "content": html, "priority": "high", "status": "pending" }] }),
        json!({ "sessionUpdate": "session_info_update", "title": html }),
        json!({ "sessionUpdate": html, "x": html }),
    ];
    updates.iter().map(update).collect()
}

/// Elements and attributes that no words may have made.
const FOUND: &str = r"
const bad = [];
for (const one of document.querySelectorAll('*')) {
  for (const { name, value } of one.attributes) {
    if (name.startsWith('on')) bad.push([one.tagName, name]);
    const isLink = ['src', 'href', 'action', 'data', 'srcset', 'poster', 'background'].includes(name);
    if (!isLink) continue;
    if (/^\s*(javascript|vbscript|file):/i.test(value)) bad.push([one.tagName, name, value]);
    if (one.tagName === 'A') {
      const isFar = new URL(value, location.href).origin !== location.origin;
      if (isFar && !one.rel.includes('noopener')) bad.push(['A without rel', value]);
    } else if (new URL(value, location.href).origin !== location.origin && !/^(blob|data):/.test(value)) {
      bad.push([one.tagName, name, value]);
    }
  }
}
for (const kind of ['iframe', 'object', 'embed', 'base', 'form[action]', 'style', 'script:not([src])']) {
  for (const one of document.querySelectorAll('#page ' + kind)) bad.push([kind, one.outerHTML.slice(0, 200)]);
}
if (window.pwned !== undefined) bad.push('script ran');
return bad;
";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whatever_an_agent_says_is_text() {
    let visit = Visit::start().await;
    let site = Site::start().await;
    let there = site.at("evil.test");
    let session = new_session(&visit.daemon, &visit.home).await;
    visit.open_session(&session).await;
    for (n, words) in words(&there).iter().enumerate() {
        // Each before the eyes of the page, drawn while it is the last.
        let prompt = format!("echo number {n}\n{words}\npermission execute {}", markup(&there));
        crate::serve_events::prompt(&visit.daemon, &session, &prompt).await;
        visit.until_there(".question-card .answers button:not([aria-disabled])").await;
        let bad = visit.browser.run(FOUND, Value::Null).await;
        assert_eq!(bad, json!([]), "after {words:.200}");
        visit.browser.click(".question-card .answers .button.primary").await;
        visit.until_gone(".question-card").await;
        visit.until_idle(&session).await;
    }
    visit.picture("hostile").await;
    // Folded things too, and all the places where its title is shown.
    visit.browser.run("for (const one of document.querySelectorAll('summary, [aria-expanded=false]')) one.click()", Value::Null).await;
    for path in [format!("/sessions/{session}"), "/".to_owned(), "/approvals".to_owned()] {
        let bad = visit.browser.run(FOUND, Value::Null).await;
        assert_eq!(bad, json!([]), "before {path}");
        visit.browser.open(&visit.daemon.url(&path)).await;
        visit.until_there("main").await;
    }
    visit.open_session(&session).await;
    visit.until_there(".row-end").await;
    assert_clean(&visit).await;
    let heard = site.heard();
    assert!(heard.is_empty(), "{heard:#?}");

    // Elsewhere they do what they say.
    visit.browser.open(&format!("{}/page", site.at("127.0.0.1"))).await;
    visit.browser.run("document.write(args); document.close()", json!(markup(&there))).await;
    let is_told = || {
        let heard = site.heard();
        let has = |path: &str| heard.iter().any(|one| one.target == path);
        ["/svg", "/img", "/script", "/image.png", "/frame"].into_iter().all(has)
    };
    assert!(testkit::test_home::until(testkit::test_home::PATIENCE, is_told).await);
}
