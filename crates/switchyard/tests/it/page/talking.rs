//! A conversation: prompts, answers as they come, tools, questions, and the stop button.

use serde_json::{Value, json};

use super::{STOP, Visit};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_is_seen_as_it_comes_and_tools_and_changes_with_it() {
    let visit = Visit::start().await;
    let session = visit.session().await;
    visit.say("slow 1000000 20").await;
    visit.until_text(".row-prompt", "slow 1000000 20").await;

    // More and more of it, while the turn runs.
    visit.until_text(".row-answer", "chunk 1").await;
    visit.until_text(".row-answer", "chunk 5").await;
    assert_eq!(visit.get(&format!("/v1/sessions/{session}")).await["status"], "running");
    visit.browser.click(STOP).await;
    visit.until_text(".row-end", "Stopped").await;
    visit.until_idle(&session).await;

    visit.say("think let me see ; tool read ; diff src/main.rs ; plan ; usage ; markdown").await;
    visit.until_text(".row-end", "Done").await;
    visit.until_text(".row-thought", "Thought").await;
    visit.until_text(".row-tool .tool-status", "Done").await;
    assert!(visit.count("figure.diff tr").await > 1);
    visit.until_text("figure.diff", "main.rs").await;
    assert!(visit.count(".row-plan").await > 0);
    assert!(visit.count(".row-answer table").await > 0, "Markdown is drawn");
    assert!(visit.count(".row-answer pre code").await > 0);
    visit.picture("session").await;
    assert_clean(&visit).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_question_is_answered_by_click_and_by_key_also_one_from_before() {
    let visit = Visit::start().await;
    let session = visit.session().await;
    visit.say("permission execute ls ; echo went on").await;
    visit.until_there(".question-card .answers button:not([aria-disabled])").await;
    visit.browser.until("document.title.match(/\\(1\\)|waiting|question|\\?/i)").await;
    visit.picture("question").await;
    let buttons = visit.texts(".question-card .answers button").await;
    assert!(buttons.iter().any(|one| one.starts_with("Allow")), "{buttons:?}");
    visit.browser.click(".question-card .answers .button.primary").await;
    visit.until_text(".row-question", "llow").await;
    visit.until_text(".row-answer", "went on").await;
    visit.until_idle(&session).await;

    // Asked while nobody looks, and rejected.
    visit.browser.open("about:blank").await;
    crate::serve_events::prompt(&visit.daemon, &session, "permission execute rm -rf build").await;
    visit.browser.open(&visit.daemon.url("/approvals")).await;
    visit.until_text("main", "rm -rf build").await;
    visit.picture("approvals").await;
    visit.open_session(&session).await;
    visit.until_there(".question-card").await;
    // The third option rejects; its keys are shown once they count.
    visit.browser.run("document.activeElement?.blur()", Value::Null).await;
    visit.until_there(".question-card.current kbd").await;
    visit.browser.press("3").await;
    visit.until_gone(".question-card").await;
    visit.until_idle(&session).await;
    assert_eq!(decisions(&visit, &session).await, [true, false]);
    assert_clean(&visit).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_question_of_a_session_that_is_new_is_seen_at_once() {
    let visit = Visit::start().await;
    visit.browser.open(&visit.daemon.url("/approvals")).await;
    visit.until_text("main", "Nothing is waiting for you").await;
    for n in 1..=2 {
        // Both are told in one frame.
        let session = crate::serve_events::new_session(&visit.daemon, &visit.home).await;
        let asked = format!("rm -rf build{n}");
        crate::serve_events::prompt(
            &visit.daemon,
            &session,
            &format!("permission execute {asked}"),
        )
        .await;
        visit.until_text("main", &asked).await;
        visit.until_text(".place .count", &n.to_string()).await;
        visit.browser.until(&format!("document.title.includes('({n})')")).await;
    }
    assert_clean(&visit).await;
}

/// Whether each question was answered with yes.
async fn decisions(visit: &Visit, session: &str) -> Vec<bool> {
    let page = visit.get(&format!("/v1/sessions/{session}/transcript?limit=1000")).await;
    let events = page["items"].as_array().unwrap().iter().map(|item| &item["data"]);
    let resolved = events.filter(|event| event["kind"] == "permission_resolved");
    resolved.map(|event| event["payload"]["allowed"] == true).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_writes_at_once_and_sees_who_said_what() {
    let visit = Visit::start().await;
    let session = visit.session().await;
    visit.browser.until("document.activeElement?.matches('.composer textarea')").await;
    visit.browser.press("echo mine\u{e007}").await;
    visit.until_text(".row-answer", "mine").await;
    visit.until_idle(&session).await;
    crate::serve_events::prompt(&visit.daemon, &session, "permission execute ls").await;
    visit.until_there(".question-card .answers button:not([aria-disabled])").await;
    visit.browser.click(".question-card .answers .button.primary").await;
    visit.until_text(".row-question", ", you").await;
    let by = visit.texts(".row-prompt .by span:first-of-type").await;
    assert_eq!(by, ["you", "admin"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_goes_with_a_prompt() {
    let visit = Visit::start().await;
    let session = visit.session().await;
    let file = visit.home.work().join("notes.txt");
    std::fs::write(&file, "milk and honey").unwrap();
    visit.browser.type_into("input[type=file]", file.to_str().unwrap()).await;
    visit.until_text(".composer", "notes.txt").await;
    visit.say("echo-prompt").await;
    visit.until_idle(&session).await;
    visit.until_text(".row-answer", "milk and honey").await;
    visit.until_text(".row-prompt", "notes.txt").await;
    assert_clean(&visit).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn prompts_wait_in_a_queue_while_a_turn_runs() {
    let visit = Visit::start().await;
    let session = visit.session().await;
    visit.say("permission execute ls ; echo the first").await;
    visit.until_there(".question-card .answers button:not([aria-disabled])").await;
    visit.say("echo the second").await;
    let path = format!("/v1/sessions/{session}/queue");
    let deadline = std::time::Instant::now() + testkit::test_home::PATIENCE;
    while visit.get(&path).await.to_string().matches("the second").count() == 0 {
        assert!(std::time::Instant::now() < deadline, "never queued");
        testkit::test_home::pause_between_polls().await;
    }
    visit.until_text(".session-foot", "echo the second").await;
    visit.browser.click(".question-card .answers .button.primary").await;
    visit.until_text(".row-answer", "the second").await;
    visit.until_idle(&session).await;
    let answer = visit.answer().await;
    assert!(answer.find("thefirst") < answer.find("thesecond"), "{answer}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_failed_is_seen_as_failed_and_tried_again() {
    let visit = Visit::start().await;
    let session = visit.session().await;
    visit.say("run sh -c \"exit 3\"").await;
    visit.until_text(".row-tool .tool-status.bad", "exit code 3").await;
    visit.until_idle(&session).await;

    visit.say("fail -32000 `KEY` is missing").await;
    visit.until_text(".row-end code", "KEY").await;
    visit.until_idle(&session).await;
    assert_eq!(visit.count(".row-prompt").await, 2);
    let is_there = "[...document.querySelectorAll('.row-end button')] \
        .filter((one) => one.innerText.includes('Try again'))";
    visit.browser.until(&format!("{is_there}.length === 1")).await;
    visit.browser.run(&format!("{is_there}[0].setAttribute('data-here', '')"), Value::Null).await;
    visit.browser.click("[data-here]").await;
    visit.browser.until("document.querySelectorAll('.row-prompt').length === 3").await;
    visit.until_idle(&session).await;
    assert_clean(&visit).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_prompt_that_waits_is_edited_or_sent_now() {
    let visit = Visit::start().await;
    let session = visit.session().await;
    visit.say("permission execute ls ; echo the first").await;
    visit.until_there(".question-card .answers button:not([aria-disabled])").await;
    visit.say("echo the second").await;
    visit.until_text(".queue", "echo the second").await;
    visit.browser.click(".queue button[aria-label='Edit this prompt']").await;
    let is_back = "document.querySelector('.composer textarea').value === 'echo the second'";
    visit.browser.until(is_back).await;
    visit.until_gone(".queue").await;

    visit.browser.type_into(super::COMPOSER, " one\u{e007}").await;
    visit.until_text(".queue", "echo the second one").await;
    visit.browser.click(".queue button[aria-label^='Stop the turn']").await;
    visit.until_text(".row-answer", "the second one").await;
    visit.until_idle(&session).await;
    assert!(!visit.answer().await.contains("thefirst"));
    assert_clean(&visit).await;
}

/// The page has done nothing that its policy forbids, and has thrown nothing.
pub(super) async fn assert_clean(visit: &Visit) {
    let said = visit.browser.console().await;
    let is_bad = |line: &&String| {
        line.contains("Content Security Policy")
            || line.contains("Trusted")
            || line.contains("Uncaught")
            || line.contains("Warning:")
    };
    let bad: Vec<_> = said.iter().filter(is_bad).collect();
    assert!(bad.is_empty(), "{bad:#?}");
    let entries = "return performance.getEntriesByType('resource').map((one) => one.name)";
    let asked = visit.browser.run(entries, Value::Null).await;
    let home = visit.daemon.page();
    for url in asked.as_array().unwrap() {
        let url = url.as_str().unwrap();
        assert!(url.starts_with(home) || url.starts_with("blob:"), "{}", json!(asked));
    }
}
