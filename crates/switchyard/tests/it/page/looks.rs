//! How the page looks, and whether people who use it otherwise than by looking can: axe.

use std::path::Path;

use serde_json::{Value, json};

use super::Visit;
use crate::serve_events::{new_session, prompt};

/// The sizes and colours in which every view is looked at.
const DEVICES: [(&str, u32, u32, &str); 3] =
    [("light", 1280, 900, "light"), ("dark", 1280, 900, "dark"), ("phone", 390, 844, "light")];

/// Findings that keep somebody out or lead astray; the rest is a matter of taste or of other tools.
/// In the dark only the colours are others.
const AXE: &str = "const only = args === 'dark' ? { runOnly: ['color-contrast'] } : {}; \
    const found = await axe.run(document, { resultTypes: ['violations'], ...only }); \
    return found.violations.filter((one) => ['moderate', 'serious', 'critical'].includes(one.impact)) \
        .map((one) => [one.id, one.help, one.nodes.map((node) => node.html + ' · ' + node.failureSummary)])";

fn axe() -> String {
    let web = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../web");
    let path = web.join("node_modules/axe-core/axe.min.js");
    std::fs::read_to_string(path).expect("axe is installed with the page's tools: `make web`")
}

async fn check(visit: &Visit, axe: &str, view: &str, device: &str) {
    // By the driver, which the page's policy does not bind.
    visit.browser.run(axe, Value::Null).await;
    let found = visit.browser.run(AXE, device).await;
    assert_eq!(found, json!([]), "{view} {device}: {found:#}");
    let overflow = "return document.documentElement.scrollWidth - innerWidth";
    let overflow = visit.browser.run(overflow, Value::Null).await.as_i64().unwrap();
    assert!(overflow <= 0, "{view} {device} is {overflow} pixels too wide");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn everybody_can_use_it_in_light_and_dark_and_on_a_phone() {
    let visit = Visit::start_logged_out().await;
    let axe = axe();
    for (name, width, height, scheme) in DEVICES {
        visit.browser.emulate_device(width, height, scheme).await;
        visit.browser.open(&visit.daemon.url("/login")).await;
        visit.until_there("[data-testid=login]").await;
        check(&visit, &axe, "login", name).await;
        visit.picture(&format!("login-{name}")).await;
    }
    visit.browser.open(crate::browser_attack::link(visit.daemon.line())).await;
    visit.browser.until("location.pathname === '/'").await;

    let whole = new_session(&visit.daemon, &visit.home).await;
    let all = "title Mow the lawn ; think first the corners ; plan ; tool execute ; tool-fail ; \
        diff src/main.rs ; markdown ; unicode ; usage";
    prompt(&visit.daemon, &whole, all).await;
    visit.until_idle(&whole).await;
    let asking = new_session(&visit.daemon, &visit.home).await;
    prompt(&visit.daemon, &asking, "permission execute rm -rf build").await;
    let running = new_session(&visit.daemon, &visit.home).await;
    prompt(&visit.daemon, &running, "hang").await;

    let views = [
        ("sessions", "/".to_owned(), "main"),
        ("agents", "/agents".to_owned(), "main"),
        ("approvals", "/approvals".to_owned(), "main button"),
        ("session", format!("/sessions/{whole}"), ".row-end"),
        ("question", format!("/sessions/{asking}"), ".question-card"),
    ];
    for (name, width, height, scheme) in DEVICES {
        visit.browser.emulate_device(width, height, scheme).await;
        for (view, path, sign) in &views {
            visit.browser.open(&visit.daemon.url(path)).await;
            visit.until_there(sign).await;
            // Fonts and a first stream are there, nothing fades any more.
            visit.browser.until("document.getAnimations().every((one) => one.playState !== 'running' || one.effect.getTiming().iterations === Infinity)").await;
            check(&visit, &axe, view, name).await;
            visit.picture(&format!("{view}-{name}")).await;
        }
    }
}

/// How many lines each cell's words take, and what is too wide.
const CELLS: &str = "const lines = (cell) => { const range = document.createRange(); \
        range.selectNodeContents(cell); \
        return new Set([...range.getClientRects()].map((box) => Math.round(box.top))).size; }; \
    return [...document.querySelectorAll('.row-answer td')].map((cell) => \
        [cell.innerText, lines(cell), cell.scrollWidth > cell.clientWidth + 1])";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn words_in_tables_stay_whole_beside_long_cells() {
    let visit = Visit::start().await;
    let session = new_session(&visit.daemon, &visit.home).await;
    let long = "many words that tell a long story ".repeat(20);
    let giant = "x".repeat(400);
    let table = format!(
        "| ok | number | story |\n|---|---|---|\n| yes | 12345 | {long} |\n| no | 6 | {giant} |\n"
    );
    let content = json!({ "type": "text", "text": table });
    let update = json!({ "sessionUpdate": "agent_message_chunk", "content": content });
    prompt(&visit.daemon, &session, &format!("update {update}")).await;
    visit.until_idle(&session).await;
    for (name, width, height, scheme) in DEVICES {
        visit.browser.emulate_device(width, height, scheme).await;
        visit.open_session(&session).await;
        visit.until_text(".row-answer td", "12345").await;
        let cells = visit.browser.run(CELLS, Value::Null).await;
        let cells = cells.as_array().unwrap();
        assert_eq!(cells.len(), 6, "{cells:?}");
        for cell in cells {
            let (text, n_lines) = (cell[0].as_str().unwrap(), cell[1].as_u64().unwrap());
            assert_eq!(n_lines > 1, text.len() > 100, "{name}: {cell}");
            assert_eq!(cell[2], false, "{name}: {cell}");
        }
        let overflow = "return document.documentElement.scrollWidth - innerWidth";
        assert!(visit.browser.run(overflow, Value::Null).await.as_i64().unwrap() <= 0, "{name}");
        visit.picture(&format!("table-{name}")).await;
    }
}
