use serde_json::{Value, json};
use wire::Kind;

use crate::tests::log::Log;
use crate::{LogReader, TextOptions, TextProjection};

const STYLE: TextOptions =
    TextOptions { color: false, width: 80, verbose: false, show_thinking: true };

fn shown(mut renderer: LogReader<TextProjection>, call: Value) -> (String, bool) {
    let mut out = String::new();
    for event in &Log::started().ask("r", "c", call).events {
        renderer.project(event, &mut out);
    }
    (out, renderer.projection().is_question_long())
}

fn question(call: Value) -> String {
    shown(LogReader::new(TextProjection::new(STYLE)), call).0
}

/// The rows of a command put together again.
fn command_of(out: &str) -> String {
    let mut command = String::new();
    for row in out.lines() {
        match row.split_at_checked(4) {
            Some(("  $ ", rest)) => command.push_str(rest),
            Some(("  > ", rest)) => command.extend(["\n", rest]),
            _ => command.push_str(row.strip_prefix("  ↪ ").unwrap_or_default()),
        }
    }
    command
}

#[test]
fn a_command_is_shown_whole() {
    let command = format!("echo {}; rm -rf ~; echo {}", "x".repeat(3_000), "y".repeat(3_000));
    let out = question(json!({ "title": "Echo", "rawInput": { "command": command } }));

    assert_eq!(command_of(&out), command);
    assert!(out.lines().all(|row| row.chars().count() <= 80), "{out}");
}

#[test]
fn the_lines_of_a_command_are_lines_and_nothing_in_them_hides() {
    let command = format!("cat <<X\n  a\u{1b}[2Kb\rc\nX{}curl evil", "\n".repeat(60));
    let out = question(json!({ "title": "Cat", "rawInput": { "command": command } }));

    let expected = "  $ cat <<X\n  >   a\\x1b[2Kb\\x0dc\n  > X\n";
    assert!(out.contains(expected), "{out}");
    assert!(out.contains("  > …(54 more empty lines)…\n  > curl evil\n"), "{out}");
    let padded = format!("ls{}; curl evil", " ".repeat(5_000));
    let out = question(json!({ "title": "ls", "rawInput": { "command": padded } }));
    assert!(out.contains("  $ ls …(5000 blanks)… ; curl evil\n"), "{out}");
}

#[test]
fn where_a_command_runs_is_shown_with_it() {
    let input = json!({ "command": "make", "workdir": "/srv/x", "timeout": 5 });
    let out = question(json!({ "title": "make", "rawInput": input }));

    assert!(out.contains("  $ make\n  workdir: /srv/x\n  timeout: 5\n"), "{out}");
}

#[test]
fn a_title_that_shortens_its_command_is_not_put_before_it() {
    let command = format!("echo {}; rm -rf /", "x".repeat(1_000));
    let title = format!("echo {} … {}; rm -rf / (1015 characters)", "x".repeat(95), "x".repeat(80));
    let out = question(json!({ "title": title, "rawInput": { "command": command } }));

    let headline = out.lines().next().unwrap_or_default();
    let counted = headline.split("…(").nth(1).and_then(|rest| rest.split_once(' ')).unwrap();
    let n_shown = headline.chars().filter(|c| *c == 'x').count();
    assert_eq!(counted.0.parse::<usize>().unwrap() + n_shown, 1_000, "{headline}");
    assert!(headline.ends_with("; rm -rf /"), "{headline}");
}

#[test]
fn a_change_is_shown_as_far_as_anybody_reads_and_then_on_request() {
    let new = (0..1_000).map(|n| format!("line {n}")).collect::<Vec<_>>().join("\n");
    let diff = json!([{ "type": "diff", "path": "a.txt", "newText": new }]);
    let call = json!({ "title": "Write", "content": diff });

    let (out, is_long) = shown(LogReader::new(TextProjection::new(STYLE)), call.clone());
    assert!(out.contains("\n  +line 397\n  … 602 more lines are not shown\n"), "{out}");
    assert!(is_long);

    let (out, is_long) =
        shown(LogReader::new(TextProjection::new(STYLE).with_whole_questions()), call);
    assert!(out.contains("\n  +line 999\n  1. "), "{out}");
    assert!(is_long);
    let short = json!([{ "type": "diff", "path": "a.txt", "newText": "a\nb" }]);
    assert!(
        !shown(
            LogReader::new(TextProjection::new(STYLE)),
            json!({ "title": "W", "content": short })
        )
        .1
    );
}

#[test]
fn a_long_line_of_a_change_goes_on_in_the_next_row() {
    let new = format!("{}; evil()", "a".repeat(1_000));
    let diff = json!([{ "type": "diff", "path": "a.js", "newText": new }]);
    let out = question(json!({ "title": "Write", "content": diff }));

    assert!(out.contains("; evil()\n"), "{out}");
    assert!(out.lines().all(|row| row.chars().count() <= 80), "{out}");
}

#[test]
fn the_arguments_of_any_other_tool_are_shown_once() {
    let input = json!({ "to": "all@example.org", "body": { "text": "hi" } });
    let call = json!({ "title": "mail: send", "kind": "other", "rawInput": input });
    let out = question(call.clone());
    let expected =
        "  {\n    \"to\": \"all@example.org\",\n    \"body\": {\n      \"text\": \"hi\"\n";
    assert!(out.contains(expected), "{out}");

    let mut said = call.clone();
    let text = format!("```json\n{}\n```", serde_json::to_string_pretty(&input).unwrap());
    said["content"] = json!([{ "type": "content", "content": { "type": "text", "text": text } }]);
    assert_eq!(question(said).matches("all@example.org").count(), 1);

    let mut other = call;
    let text = "sends a mail";
    other["content"] = json!([{ "type": "content", "content": { "type": "text", "text": text } }]);
    let out = question(other);
    assert!(out.contains("  sends a mail\n  {\n"), "{out}");
}

fn edit(path: &str, old: &str, new: &str) -> Value {
    json!({ "type": "diff", "path": path, "oldText": old, "newText": new })
}

#[test]
fn a_change_does_not_stand_for_arguments_that_say_something_else() {
    let input = json!({ "path": "/root/.bashrc", "content": "EVIL\nTEXT", "replace_all": true });
    let call = json!({ "title": "Edit", "content": [edit("/w/safe", "a\n", "b\n")] });
    let asked = |input: Value| {
        let mut call = call.clone();
        call["rawInput"] = input;
        question(call)
    };
    let out = asked(input);
    let expected = "  path: /root/.bashrc\n  content: EVIL\n    TEXT\n  replace_all: true\n";
    assert!(out.contains(expected), "{out}");
    assert!(out.contains("  +b\n"), "{out}");

    let patch = "*** Begin Patch\n*** Delete File: HIDDEN\n*** End Patch";
    let out = asked(json!({ "file_path": "/w/other", "patch": patch }));
    assert!(out.contains("  file_path: /w/other\n"), "{out}");
    assert!(out.contains("*** Delete File: HIDDEN\n"), "{out}");

    for input in [json!("rm -rf ~"), json!(["rm -rf ~"]), json!({ "a": { "b": "rm -rf ~" } })] {
        assert!(asked(input).contains("rm -rf ~"));
    }
}

#[test]
fn arguments_that_a_change_shows_are_not_shown_again() {
    for input in [
        json!({ "path": "/w/a.rs", "content": "b\n" }),
        json!({ "file_path": "/w/a.rs", "old_string": "a", "new_string": "b" }),
        json!({ "path": "/w/a.rs", "edits": [{ "oldText": "a\n", "newText": "b\n" }] }),
    ] {
        let diff = edit("/w/a.rs", "a\n", "b\n");
        let out = question(json!({ "title": "Edit", "content": [diff], "rawInput": input }));
        let rows: Vec<&str> = out.lines().skip(1).take(3).collect();
        assert_eq!(rows, ["  /w/a.rs (+1 -1)", "  @@ -1,1 +1,1 @@", "  -a"], "{input}: {out}");
    }
}

#[test]
fn a_second_command_is_shown_beside_the_first() {
    let input = json!({ "command": "ls", "cmd": "rm -rf ~" });
    let out = question(json!({ "title": "ls", "rawInput": input }));
    assert!(out.contains("  $ ls\n  cmd: rm -rf ~\n"), "{out}");

    let input = json!({ "command": ["ls", { "then": "rm" }] });
    let out = question(json!({ "title": "ls", "rawInput": input }));
    assert!(out.contains(r#"  command: ["ls",{"then":"rm"}]"#), "{out}");

    for input in [json!("rm -rf ~"), json!(["rm -rf ~"])] {
        assert!(question(json!({ "title": "a", "rawInput": input })).contains("rm -rf ~"));
    }
}

#[test]
fn every_place_is_shown() {
    let places =
        |paths: &[String]| -> Value { paths.iter().map(|path| json!({ "path": path })).collect() };
    let paths = ["/w/a".to_owned(), "/w/ab".to_owned(), "/w/ab".to_owned()];
    let out = question(json!({ "title": "Move", "kind": "move", "locations": places(&paths) }));
    assert!(out.contains("? Move /w/a\n  /w/ab\n  1. "), "{out}");

    let many: Vec<String> = (0..500).map(|n| format!("/w/f{n}")).collect();
    let call = json!({ "title": "Delete", "kind": "delete", "locations": places(&many) });
    let (out, is_long) = shown(LogReader::new(TextProjection::new(STYLE)), call.clone());
    assert!(is_long);
    assert!(out.contains("  /w/f400\n  … 99 more lines are not shown\n"), "{out}");
    let (out, _) = shown(LogReader::new(TextProjection::new(STYLE).with_whole_questions()), call);
    assert!(many.iter().all(|path| out.contains(path)), "{out}");

    let diff = edit("/w/a", "a", "b");
    let input = json!({ "path": "/w/a", "to": "/w/ab" });
    let call = json!({ "title": "Edit", "locations": places(&paths), "content": [diff], "rawInput": input });
    assert_eq!(question(call).matches("/w/ab").count(), 1);
}

#[test]
fn only_what_is_in_the_session_is_named_from_there() {
    let diff = edit("/etc/w/passwd", "a", "b");
    let places = json!([{ "path": "/w/a" }, { "path": "/etc/w/shadow" }]);
    let call = json!({ "title": "Edit", "content": [diff], "locations": places,
        "rawInput": { "path": "../etc/w/passwd" } });
    let log = Log::new().own(Kind::SessionCreated, json!({ "cwd": "/w" })).in_turn(1).start();
    let (mut renderer, mut out) = (LogReader::new(TextProjection::new(STYLE)), String::new());
    for event in &log.ask("r", "c", call).events {
        renderer.project(event, &mut out);
    }
    assert!(out.contains("  path: ../etc/w/passwd\n"), "{out}");
    assert!(out.contains("  /etc/w/passwd (+1 -1)") && out.contains("  /etc/w/shadow\n"), "{out}");
}

#[test]
fn changed_ends_of_lines_are_changes() {
    let asked = |old: &str, new: &str| {
        question(json!({ "title": "Edit", "content": [edit("/w/a", old, new)] }))
    };
    let out = asked("a\nb\n", "a\r\nb\r\n");
    assert!(out.contains("  -a\n  -b\n  +a\\x0d\n  +b\\x0d\n"), "{out}");
    let out = asked("a\nb", "a\nb\n");
    assert!(out.contains("   a\n  -b\n  \\ No newline at end of file\n  +b\n  1. "), "{out}");
}
