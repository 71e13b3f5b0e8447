//! A session with very many events.

use super::Visit;
use super::talking::assert_clean;

/// What is not on the screen, and a little above and below it, is not in the page.
const MAX_ROWS: usize = 200;

/// Keys. A script that scrolls is taken for the list itself while that still grows.
const HOME: &str = "\u{e011}";
const END: &str = "\u{e010}";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_very_long_session_opens_at_its_end_and_only_draws_what_is_seen() {
    let n_chunks = soak::size(10_000_u64, 50_000);
    let visit = Visit::start().await;
    let session = crate::serve_events::new_session(&visit.daemon, &visit.home).await;
    let prompt = format!("flood {n_chunks} 40");
    crate::serve_events::prompt(&visit.daemon, &session, &prompt).await;
    visit.until_idle(&session).await;
    let head = visit.get(&format!("/v1/sessions/{session}")).await["head"].as_u64().unwrap();
    assert!(head > n_chunks, "{head}");

    visit.open_session(&session).await;
    visit.until_text(".row-end", "Done").await;
    visit.until_text(".row-answer", &format!("chunk {n_chunks}")).await;
    let n_rows = visit.count(".row").await;
    assert!(n_rows < MAX_ROWS, "{n_rows}");
    visit.picture("large").await;

    // From one end to the other.
    visit.browser.type_into(".stream-list", HOME).await;
    visit.until_text(".row-prompt", &prompt).await;
    visit.browser.type_into(".stream-list", END).await;
    visit.until_text(".row-end", "Done").await;
    assert!(visit.count(".row").await < MAX_ROWS);

    visit.say("echo and one more").await;
    visit.until_text(".row-answer", "and one more").await;
    assert_clean(&visit).await;
}
