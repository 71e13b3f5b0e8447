//! Chats that share a session, and what is typed at the wrong moment.

use std::process::Stdio;

use testkit::daemon::Daemon;
use testkit::test_home::{TestHome, switchyard};

use crate::chat_stage::Pane;

fn home() -> TestHome {
    switchyard(env!("CARGO_BIN_EXE_switchyard"))
}

fn exported(home: &TestHome) -> String {
    let words = ["sessions", "export", "last"];
    let output = home.command(words).stdin(Stdio::null()).output().unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn n_answers(home: &TestHome) -> usize {
    exported(home).matches("\"kind\":\"permission_resolved\"").count()
}

#[test]
fn two_chats_show_each_others_prompts_and_answers() {
    let home = home();
    let _daemon = Daemon::start(&home);
    let one = Pane::chat(&home, "demo");
    one.line("say from-one");
    one.wait_for("from-one");
    let two = Pane::open(&home, 100, 30);
    two.line("\"$EXE\" chat -s last");
    two.wait_for("› say from-one");
    two.line("permission execute make");
    one.wait_for("you elsewhere › permission execute make");
    // What this one asked is told from it.
    one.wait_for("you › say from-one");
    two.wait_for("a number or letter answers");
    one.wait_for("a number or letter answers");
    one.press(&["y"]);
    one.wait_for("allowed by you:");
    two.wait_for("allowed by you elsewhere:");
    assert_eq!(n_answers(&home), 1);
}

#[test]
fn a_paste_that_the_terminal_does_not_mark_answers_nothing() {
    let home = home();
    let pane = Pane::chat(&home, "demo");
    pane.line("permission execute rm -rf build");
    pane.wait_for("a number or letter answers");
    pane.paste_as_keys("yes, and then\n1\nall the rest\n");
    pane.wait_for("all the rest");
    assert_eq!(n_answers(&home), 0);
    assert_eq!(exported(&home).matches("\"kind\":\"prompt_received\"").count(), 1);
    // Once it is gone again, and some time has passed, a key answers.
    pane.press(&["C-c"]);
    pane.wait_for("cancelled");
    pane.press(&["C-u"]);
    pane.line("");
    pane.wait("an empty input", |screen| !screen.contains("all the rest"));
    pane.line("permission execute make");
    pane.wait_for("a number or letter answers");
    pane.press(&["n"]);
    pane.wait_for("rejected by you");
}

#[test]
fn what_is_typed_ahead_answers_nothing() {
    let home = home();
    let pane = Pane::chat(&home, "demo");
    pane.line("slow 20 50 ; permission execute make");
    pane.wait_for("working");
    // Somebody who types on, whatever comes.
    for _ in 0..40 {
        pane.type_in("y");
    }
    pane.wait_for("Tab to answer");
    pane.type_in("1");
    assert_eq!(n_answers(&home), 0);
    pane.press(&["Tab"]);
    pane.wait_for("a number or letter answers");
    pane.press(&["y"]);
    pane.wait_for("allowed by you");
}

#[test]
fn sizes_may_change_all_the_time_while_an_answer_comes_in() {
    let home = home();
    let pane = Pane::chat(&home, "demo");
    pane.line("slow 150 20 ; say all-of-it-came");
    pane.wait_for("working");
    for n in 0..40_u16 {
        pane.resize(20 + n * 37 % 140, 3 + n * 13 % 45);
    }
    pane.resize(100, 30);
    pane.wait("the end", |screen| screen.lines().any(|line| line.trim() == "all-of-it-came"));
    pane.wait_for("type a prompt");
    pane.press(&["C-d"]);
    pane.assert_given_back();
}

#[test]
fn cancelling_is_over_when_the_turn_is() {
    let home = home();
    let pane = Pane::chat(&home, "demo");
    pane.line("slow 100000 20");
    pane.wait_for("working");
    pane.press(&["Escape"]);
    let screen = pane.wait_for("· cancelled");
    // Nothing else happens from here on that could take the word away.
    assert!(!screen.contains("cancelling"), "{screen}");
}
