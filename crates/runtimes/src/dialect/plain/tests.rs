//! Recordings, progress lines, escape sequences, any cuts.

use proptest::prelude::*;
use wire::Category;

use super::super::testing::{
    check, exit_of, recordings, render, stdout_of, survives_anything, text_of, translate, turn_ends,
};
use super::super::{CliExit, DialectName, DialectOutput, Outputs, StopReason, TurnOutcome};

const NAME: DialectName = DialectName::Plain;

fn said(bytes: &[u8], exit: &CliExit) -> Outputs {
    let said = translate(NAME, bytes, &[], exit);
    check(&said);
    assert_eq!(turn_ends(&said), 1);
    said
}

fn done() -> CliExit {
    CliExit { code: Some(0), ..CliExit::default() }
}

fn shown(text: &str) -> String {
    text_of(&said(text.as_bytes(), &done()))
}

fn failure(text: &str, stderr: &str) -> (Category, String) {
    let exit = CliExit { code: Some(1), stderr: stderr.to_owned(), ..CliExit::default() };
    match said(text.as_bytes(), &exit).pop() {
        Some(DialectOutput::TurnEnded(end)) => match end.ending {
            TurnOutcome::Failed(failure) => (failure.category, failure.message),
            ending @ TurnOutcome::Stopped(_) => panic!("{ending:?}"),
        },
        other => panic!("the end is {other:?}"),
    }
}

#[test]
fn recordings_are_translated() {
    for (scenario, path) in recordings("plain") {
        let bytes = stdout_of(&path);
        let said = said(&bytes, &exit_of(&path));
        assert_eq!(text_of(&said), String::from_utf8(bytes).unwrap(), "{scenario}");
        insta::assert_snapshot!(scenario, render(&said));
    }
}

#[test]
fn spoilt_recordings_do_no_harm() {
    survives_anything(NAME, recordings("plain").iter().map(|(_, p)| stdout_of(p)).collect());
}

#[test]
fn what_a_terminal_does_not_show_is_no_text() {
    for (printed, expected) in [
        ("\u{1b}[32mgreen\u{1b}[0m text\n", "green text\n"),
        ("10%\r50%\r100%\ndone\n", "100%\ndone\n"),
        ("⠋ thinking\r⠙ thinking\r\u{1b}[Kanswer\n", "answer\n"),
        ("⠋ thinking\r\u{1b}[K", ""),
        ("⠋ thinking\u{1b}[2K\u{1b}[1Ganswer", "answer"),
        ("line\r\nline\r\n", "line\nline\n"),
        ("kept\r", "kept"),
        ("kept\u{1b}[K\n", "kept\n"),
        ("ab\u{8}c\u{7}\td\n", "ac\td\n"),
        ("a\n\n\n b", "a\n\n\n b"),
        ("日本語 😀\n", "日本語 😀\n"),
    ] {
        assert_eq!(shown(printed), expected, "{printed:?}");
    }
}

#[test]
fn a_long_line_does_not_wait_for_its_end() {
    let mut dialect = NAME.start();
    let mut out = Outputs::default();
    dialect.line("short", &mut out);
    assert!(out.is_empty(), "it might still be overwritten");
    let long = "x".repeat(300);
    dialect.line(&long, &mut out);
    assert_eq!(text_of(&out), format!("short{long}"));
    dialect.line(" and more", &mut out);
    assert!(text_of(&out).ends_with(" and more"));
    // Too late to take it back.
    dialect.line("\rnew", &mut out);
    dialect.end(&done(), &mut out);
    assert!(text_of(&out).ends_with(" and more\nnew"));
}

#[test]
fn the_reason_of_a_failure_is_on_stderr_or_in_the_text() {
    assert_eq!(failure("half an answer", "error: 401 bad key").0, Category::Auth);
    let (category, message) = failure("Error: rate limit reached\n", "");
    assert_eq!(category, Category::RateLimit);
    assert!(message.contains("rate limit reached"), "{message}");
    let (category, message) = failure("", "");
    assert_eq!(category, Category::ProcessExit);
    assert!(message.contains("exit code 1"), "{message}");
}

#[test]
fn silence_is_an_answer_with_a_notice() {
    let said = said(b"\n", &done());
    assert!(render(&said).contains("without printing anything"));
    assert!(matches!(
        said.last(),
        Some(DialectOutput::TurnEnded(end)) if end.ending == TurnOutcome::Stopped(StopReason::EndTurn)
    ));
}

#[test]
fn a_process_that_we_ended_was_cancelled() {
    let said =
        said(b"half", &CliExit { signal: Some(15), is_stopped_by_us: true, ..CliExit::default() });
    assert_eq!(text_of(&said), "half");
    assert!(matches!(
        said.last(),
        Some(DialectOutput::TurnEnded(end)) if end.ending == TurnOutcome::Stopped(StopReason::Cancelled)
    ));
}

proptest! {
    #[test]
    fn any_cuts_give_the_same_text(
        parts in prop::collection::vec(
            prop_oneof![
                Just("\u{1b}[31m"), Just("\u{1b}[2K"), Just("\u{1b}[K"), Just("\r"), Just("\n"),
                Just("\r\n"), Just("\u{1b}]0;title\u{7}"), Just("\u{1b}]8;;x\u{1b}\\"),
                Just("\u{1b}"), Just("\u{8}"), Just("word"), Just("é😀"), Just("[0m"),
                Just("a line that is so long that it is passed on before it ends, because it \
                      goes on and on and on and on and on and on and on and on and on and on \
                      and on and on and on and on and on and on and on and on and on and on"),
            ],
            0..20,
        ),
        cuts in prop::collection::vec(any::<usize>(), 0..20),
    ) {
        let bytes = parts.concat().into_bytes();
        let whole = translate(NAME, &bytes, &[], &done());
        let cut = translate(NAME, &bytes, &cuts, &done());
        prop_assert_eq!(text_of(&whole), text_of(&cut));
        let has_escape = text_of(&whole).contains('\u{1b}');
        prop_assert!(!has_escape);
    }

    #[test]
    fn text_without_controls_is_untouched(text in "[^\\p{Cc}]{0,300}(\n[^\\p{Cc}]{0,300}){0,4}") {
        prop_assert_eq!(shown(&text), text);
    }
}
