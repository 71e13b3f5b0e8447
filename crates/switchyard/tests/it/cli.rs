//! The command line, as people and scripts use it.
//!
//! In: the real binary with arguments, pipes, signals and configuration files. Out: what it
//! prints, where, and with which exit code.

use crate::front::home;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use std::collections::HashSet;
use std::io::{BufRead as _, BufReader};
use std::process::{Child, ChildStdout, Output, Stdio};
use testkit::test_home::{PATIENCE, TestHome};

#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl From<Output> for Ran {
    fn from(output: Output) -> Self {
        let Output { status, stdout, stderr } = output;
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Self { code: status.code().unwrap(), out: text(stdout), err: text(stderr) }
    }
}

/// Runs the binary to its end, with nobody at the terminal.
pub(crate) fn run(home: &TestHome, args: &[&str]) -> Ran {
    home.command(args).stdin(Stdio::null()).output().unwrap().into()
}

fn shell(home: &TestHome, script: &str) -> Ran {
    let mut command = home.other("sh", ["-c", script, home.exe().to_str().unwrap()]);
    command.stdin(Stdio::null()).output().unwrap().into()
}

fn config(home: &TestHome, text: &str) {
    std::fs::write(home.path().join("switchyard.toml"), text).unwrap();
}

/// A turn that runs until something ends it, and has said what is waited for.
fn begun(home: &TestHome, script: &str, said: &str) -> (Child, BufReader<ChildStdout>) {
    let mut command = home.command(["run", "demo", script, "--format", "json"]);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    while !(line.contains("agent_message_chunk") && line.contains(said)) {
        line.clear();
        assert_ne!(stdout.read_line(&mut line).unwrap(), 0, "it ended before it began");
    }
    (child, stdout)
}

fn signal(child: &Child, signal: Signal) {
    kill_process(Pid::from_child(child), signal).unwrap();
}

fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn json(ran: &Ran) -> Value {
    serde_json::from_str(&ran.out).unwrap_or_else(|problem| panic!("{problem}: {ran:?}"))
}

pub(crate) fn last(home: &TestHome) -> Value {
    json(&run(home, &["sessions", "show", "last", "--json"]))
}

fn is_cuid2(id: &Value) -> bool {
    let id = id.as_str().unwrap_or_default();
    let is_base36 = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    id.len() == 24 && id.starts_with(|c: char| c.is_ascii_lowercase()) && id.chars().all(is_base36)
}

#[test]
fn every_format_shows_the_answer_in_its_own_words() {
    let home = home();
    let say = |format| run(&home, &["run", "demo", "say good day\ntool read", "--format", format]);

    let [text, quiet] = ["text", "quiet"].map(say);
    let [events, envelopes, ui] = ["json", "envelopes", "ui"].map(|format| lines(&say(format).out));

    assert!(text.out.contains("good day\n") && text.out.contains("Read "), "{text:?}");
    assert_eq!((quiet.code, &*quiet.out, &*quiet.err), (0, "good day\n", ""));
    assert!(events.iter().enumerate().all(|(n, event)| event["seq"] == n + 1), "{events:?}");
    let n_ended = events.iter().filter(|event| event["kind"] == "turn_ended").count();
    assert_eq!(n_ended, 1, "{events:?}");
    let has_ids = |one: &Value| is_cuid2(&one["id"]) && is_cuid2(&one["turn"]);
    assert!(envelopes.iter().all(has_ids), "{envelopes:?}");
    let ids: HashSet<_> = envelopes.iter().map(|one| one["id"].as_str()).collect();
    assert_eq!(ids.len(), envelopes.len(), "{envelopes:?}");
    let calls: Vec<_> = envelopes.iter().filter(|one| is_cuid2(&one["ev"]["call"])).collect();
    assert_eq!(calls.len(), 2, "a start and an end: {envelopes:?}");
    assert_eq!(calls[0]["ev"]["call"], calls[1]["ev"]["call"], "{envelopes:?}");
    assert_eq!(envelopes.last().unwrap()["ev"]["t"], "turn-end", "{envelopes:?}");
    let ends = (&ui[0]["event"], &ui.last().unwrap()["event"]);
    assert_eq!(ends, (&json!("start"), &json!("end")), "{ui:?}");
}

#[test]
fn the_examples_of_the_help_work() {
    let home = home();
    let sdk = home.tool("sdk-agent").display().to_string();
    for (script, expected) in [
        (r#""$0" run demo "say hello""#.to_owned(), "demo agent"),
        (format!(r#""$0" run "fix the test" -- {sdk}"#), "You said: fix the test"),
        (r#"echo "say from stdin" | "$0" run demo -"#.to_owned(), "from stdin"),
        (format!(r#"echo "explain this" | "$0" run - -- {sdk}"#), "You said: explain this"),
        (r#""$0" run demo help --format json | grep turn_ended"#.to_owned(), "\"turn_ended\""),
        (r#""$0" run -s last "say and now the tests""#.to_owned(), "and now the tests"),
        (r#""$0" sessions list"#.to_owned(), "idle"),
        (
            r#""$0" config path && "$0" config show && "$0" config check"#.to_owned(),
            "defaults apply",
        ),
        (r#""$0" --help && "$0" run --help && "$0" --version"#.to_owned(), "Examples:"),
    ] {
        let ran = shell(&home, &script);
        assert_eq!(ran.code, 0, "{script}: {ran:?}");
        assert!(ran.out.contains(expected), "{script}: {ran:?}");
    }
}

#[test]
fn the_exit_code_and_one_line_tell_what_went_wrong() {
    let home = home();
    let demo = |script| vec!["run", "demo", script];
    let cases: Vec<(i32, Vec<&str>, &str)> = vec![
        (0, demo("stop max_tokens"), ""),
        (1, demo("crash"), "exit code 101"),
        (1, demo("fail -32603 boom"), "boom"),
        (1, vec!["run", "hi", "--", "false"], "exit"),
        (2, vec!["run"], "required"),
        (2, vec!["run", "demo", "x", "--nonsense"], "--nonsense"),
        (2, vec!["run", "two", "words", "--", "cmd"], "one word before"),
        (2, vec!["run", "demo", "x", "--cwd", "/no/such"], "/no/such"),
        (2, vec!["run", "demo", "x", "--approve-all", "--deny-all"], "cannot be used"),
        (2, vec!["run", "demo", "x", "--timeout", "soon"], "soon"),
        (2, vec!["run", "demo", "-"], "empty"),
        (3, vec!["run", "demo", "hang", "--timeout", "1s"], "timeout"),
        (4, vec!["run", "nobody", "x"], "no agent `nobody`"),
        (4, vec!["run", "x", "--", "/no/such/agent"], "/no/such/agent"),
        (4, vec!["run", "-s", "zzzzzz", "x"], "no session `zzzzzz`"),
        (4, vec!["sessions", "show", "zzzzzz"], "no session"),
        (4, vec!["cancel", "zzzzzz"], "no session"),
        (5, demo("permission"), "reject"),
    ];
    for (code, args, expected) in cases {
        let ran = run(&home, &args);
        assert_eq!(ran.code, code, "{args:?}: {ran:?}");
        assert!(format!("{}{}", ran.out, ran.err).contains(expected), "{args:?}: {ran:?}");
    }
}

#[test]
fn a_mode_that_is_given_with_an_earlier_session_holds_for_that_run_alone() {
    let home = home();
    let ask = |args: &[&str]| run(&home, &[&["run", "permission"][..], args].concat());
    assert_eq!(ask(&["--agent", "demo"]).code, 5);
    let granted = ask(&["-s", "last", "--approve-all"]);
    assert_eq!(granted.code, 0, "{granted:?}");
    assert_eq!(ask(&["-s", "last"]).code, 5);
}

#[test]
fn a_signal_ends_the_turn_as_cancelled_and_leaves_nothing_behind() {
    for (sent, code) in [(Signal::INT, 130), (Signal::TERM, 143), (Signal::HUP, 143)] {
        let home = home();
        let (child, _stdout) = begun(&home, "children 1 2\nhang", "pids");
        signal(&child, sent);

        assert_eq!(child.wait_with_output().unwrap().status.code(), Some(code));
        let events = lines(&run(&home, &["sessions", "export", "last"]).out);
        let end = events.iter().find(|event| event["kind"] == "turn_ended").unwrap();
        assert_eq!(end["payload"]["stopReason"], "cancelled");
        assert_eq!(last(&home)["status"], "idle");
        home.assert_empty_within(PATIENCE);
    }
}

#[test]
fn there_is_colour_on_a_terminal_that_wants_it_and_nowhere_else() {
    let home = home();
    for (env, has_colour) in
        [("TERM=xterm", true), ("TERM=xterm NO_COLOR=1", false), ("TERM=dumb", false)]
    {
        let script = format!(r#"{env} script -qec "'$0' run demo 'tool read'" /dev/null"#);
        let ran = shell(&home, &script);
        assert!(ran.code == 0 && ran.out.contains("Read README.md"), "{env}: {}", ran.out);
        assert_eq!(ran.out.contains("\u{1b}["), has_colour, "{env}: {}", ran.out);
    }
    assert!(!run(&home, &["run", "demo", "tool read"]).out.contains('\u{1b}'));
}

#[test]
fn no_control_character_of_an_agent_reaches_a_reader() {
    let home = home();
    let title = "title bad\u{1b}]0;title\u{7}\u{202e}";
    let shown = [
        run(&home, &["run", "demo", &format!("unicode\n{title}\nthink \u{1b}[2Jx")]),
        run(&home, &["sessions", "show", "last", "--all"]),
        run(&home, &["sessions", "list"]),
        run(&home, &["sessions", "export", "last", "--format", "text"]),
        run(&home, &["run", "demo", "fail -32603 \u{1b}[31mred\u{9b}1m\u{202e}"]),
    ];
    for Ran { out, err, .. } in shown {
        let is_bad = |c: &char| {
            (c.is_control() && !matches!(c, '\n' | '\t'))
                || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
        };
        let bad: Vec<char> = out.chars().chain(err.chars()).filter(is_bad).collect();
        assert!(bad.is_empty(), "{bad:?} in {out:?} {err:?}");
    }
}

#[test]
fn a_reader_that_has_seen_enough_ends_it_quietly() {
    let home = home();
    for verb in ["run demo 'text 20000 100'", "sessions export last", "sessions show last"] {
        let ran = shell(&home, &format!(r#"("$0" {verb}; echo "code $?" >&2) | head -1"#));
        assert_eq!((ran.out.lines().count(), &*ran.err), (1, "code 0\n"), "{verb}");
    }
    home.assert_empty_within(PATIENCE);
}

#[test]
fn what_only_its_reader_could_use_is_a_failure_without_one() {
    let home = home();
    let all = [&["token", "add", "unheard"][..], &["serve", "--host", "127.0.0.1:0"]];
    for args in all {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = home.command(args).stdin(Stdio::null()).stdout(writer).output().unwrap();
        let ran: Ran = output.into();
        assert_eq!(ran.code, 1, "{args:?}: {}", ran.err);
        assert!(ran.err.contains("cannot write to stdout"), "{args:?}: {}", ran.err);
    }
    home.assert_empty_within(PATIENCE);
}

#[test]
fn sessions_are_listed_shown_watched_exported_deleted_and_pruned() {
    let home = home();
    for title in ["title First", "title Second", "title Third"] {
        run(&home, &["run", "demo", title]);
    }
    let sessions = |args: &[&str]| run(&home, &[&["sessions"], args].concat());
    let list = |args: &[&str]| json(&sessions(&[&["list", "--json"], args].concat()));
    let all = list(&["--agent", "demo", "--cwd", "."]);
    let ids: Vec<&str> = (0..3).map(|n| all[n]["id"].as_str().unwrap()).collect();
    assert_eq!(all[0]["title"], "Third");
    assert_eq!(list(&["--limit", "2"]), json!([all[0], all[1]]));
    assert_eq!((list(&["--cwd", "/"]), list(&["--agent", "other"])), (json!([]), json!([])));
    assert!(sessions(&["show", ids[0]]).out.contains("Third"));

    let file = home.work().join("log.ndjson");
    let exported = sessions(&["export", ids[0], "-o", file.to_str().unwrap()]);
    assert_eq!((exported.code, &*exported.out), (0, ""));
    let written = std::fs::read_to_string(&file).unwrap();
    assert_eq!(written, sessions(&["export", ids[0]]).out);
    let mut watch = home.command(["sessions", "watch", ids[0], "--format", "json"]);
    let mut watch = watch.stdout(Stdio::piped()).spawn().unwrap();
    run(&home, &["run", "-s", ids[0], "echo begun"]);
    let mut seen = BufReader::new(watch.stdout.take().unwrap()).lines().map(Result::unwrap);
    assert!(seen.any(|line| line.contains("begun") && line.contains("agent_message_chunk")));
    signal(&watch, Signal::INT);
    assert!(watch.wait().unwrap().success());

    assert_eq!(sessions(&["delete", ids[1]]).code, 2, "nobody to confirm");
    assert_eq!(sessions(&["delete", ids[1], "--yes"]).code, 0);
    assert_eq!(sessions(&["show", ids[1]]).code, 4);
    assert_eq!(sessions(&["prune", "--older-than", "1", "--yes"]).code, 0);
    assert_eq!(list(&[]).as_array().unwrap().len(), 2, "none is older than a day");
    assert_eq!(sessions(&["prune", "--older-than", "0", "--keep", "1", "--yes"]).code, 0);
    assert_eq!((&list(&[])[0]["id"], &list(&[])[1]), (&json!(ids[0]), &Value::Null));
}

#[test]
fn a_turn_is_cancelled_from_another_process_and_its_session_cannot_be_used_meanwhile() {
    let home = home();
    let (child, _stdout) = begun(&home, "echo begun\nhang", "begun");

    let second = run(&home, &["run", "-s", "last", "say me too"]);
    let deleted = run(&home, &["sessions", "delete", "last", "--yes"]);
    let status = last(&home)["status"].clone();
    let cancelled = run(&home, &["cancel", "last"]);
    let ended = Ran::from(child.wait_with_output().unwrap());
    let again = run(&home, &["cancel", "last"]);

    for refused in [second, deleted] {
        assert!(refused.code == 1 && refused.err.contains("in use"), "{refused:?}");
    }
    assert_eq!((status, &last(&home)["status"]), (json!("running"), &json!("idle")));
    assert!(cancelled.code == 0 && cancelled.err.contains("idle now"), "{cancelled:?}");
    assert_eq!(ended.code, 130, "{ended:?}");
    assert!(again.code == 0 && again.err.contains("not running"), "{again:?}");
}

#[test]
fn the_configuration_names_agents_and_is_refused_where_it_is_not_understood() {
    let home = home();
    let exe = home.exe().display();
    let agent =
        format!("command = \"{exe}\"\nargs = [\"demo-agent\"]\nenv = {{ COLOUR = \"blue\" }}");
    let others = "[store]\ndurability = \"power\"\n[permissions]\nmode = \"auto\"";
    config(&home, &format!("{others}\n[agents.mine]\n{agent}"));

    let env = run(&home, &["run", "mine", "env COLOUR\npermission", "--format", "quiet"]);
    let shown = run(&home, &["config", "show"]);
    assert_eq!(env.code, 0, "{env:?}");
    assert!(env.out.starts_with("COLOUR=blue") && env.out.contains("opt-1"), "{env:?}");
    assert!(shown.out.contains("durability = \"power\""), "{shown:?}");
    assert!(shown.out.contains("mode = \"auto\""), "{shown:?}");
    assert!(!shown.out.contains("blue"), "values of variables may be secrets: {shown:?}");
    for (text, expected) in [
        ("[store]\ndurabilty = \"power\"", "durabilty"),
        ("colour = true", "colour"),
        ("[agents.x]\ncommand = \"x\"\nargz = []", "argz"),
        ("[store]\ndurability = \"maybe\"", "maybe"),
        ("[waits]\nopen = \"soon\"", "soon"),
    ] {
        config(&home, text);
        for args in [&["run", "demo", "say x"][..], &["config", "check"]] {
            let ran = run(&home, args);
            assert!(ran.code != 0 && ran.err.contains(expected), "{text}: {ran:?}");
            assert!(ran.err.contains("switchyard.toml"), "{text}: {ran:?}");
        }
    }
}

#[test]
fn an_acp_agent_is_set_to_its_default_model_where_none_is_named() {
    let home = home();
    let agent = format!("command = \"{}\"\nargs = [\"demo-agent\"]", home.exe().display());
    let with = |model: &str| {
        config(&home, &format!("[agents.mine]\n{agent}\ndefault_model = \"{model}\""));
    };
    let model_of = |args: &[&str]| {
        let ran = run(&home, &[&["run", "mine", "say x", "--format", "json"], args].concat());
        assert_eq!(ran.code, 0, "{ran:?}");
        let events = ran.out.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let set: Vec<Value> = events.filter(|event| event["kind"] == "option_set").collect();
        assert_eq!(set.len(), 1, "{set:?}");
        set[0]["payload"]["params"]["value"].clone()
    };

    with("demo-large");
    assert_eq!(model_of(&[]), "demo-large");
    assert_eq!(model_of(&["--model", "demo-small"]), "demo-small");

    with("demo-none");
    let refused = run(&home, &["run", "mine", "say x"]);
    assert!(refused.code != 0 && refused.err.contains("demo-none"), "{refused:?}");
    assert!(refused.err.contains("demo-small"), "{refused:?}");

    let choiceless = agent.replace("\"demo-agent\"", "\"demo-agent\", \"--no-config\"");
    config(&home, &format!("[agents.mine]\n{choiceless}\ndefault_model = \"any\""));
    let ran = run(&home, &["run", "mine", "say x"]);
    assert_eq!((ran.code, ran.out.as_str()), (0, "x\n"), "{ran:?}");
}

#[test]
fn a_bus_file_is_checked_and_its_exit_code_tells() {
    let home = home();
    let write = |name: &str, text: &str| {
        let path = home.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let good = write("good.toml", "[[pool]]\nname = 'p'\ncommand = 'sh'\n");
    let ran = run(&home, &["bus", "check", "-c", &good]);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{ran:?}");
    assert!(ran.out.ends_with("good.toml is fine\n") && !ran.out.contains('\u{1b}'), "{ran:?}");

    let pools = r#"{"pools": [{"id": "p", "command": "sh", "instances": 2, "env": {"A": "b"}}]}"#;
    let old = write("old.json", pools);
    for args in [
        ["bus", "check", "--json", "-c", &old],
        ["bus", "check", "--json", "--config", &old],
        ["bus", "--config", &old, "check", "--json"],
        ["--config", &old, "bus", "check", "--json"],
    ] {
        let ran = run(&home, &args);
        let report = json(&ran);
        assert_eq!((ran.code, &report["form"]), (0, &json!("stdio-bus")), "{report:#}");
        assert_eq!(report["warnings"].as_array().unwrap().len(), 1, "{report:#}");
        assert!(report["pools"][0]["program"].as_str().unwrap().ends_with("/sh"));
    }

    let bad = write("bad.toml", "[[pool]]\nname = 'p'\ncommand = 'no-such-program'\n");
    let ran = run(&home, &["bus", "check", "--json", "-c", &bad]);
    assert_eq!((ran.code, &json(&ran)["isOk"]), (1, &json!(false)));
    let worse = write("worse.toml", "[[pool]]\nnames = 'p'\n");
    let ran = run(&home, &["bus", "check", "-c", &worse]);
    assert_eq!(ran.code, 1);
    assert!(ran.out.starts_with("problem: line 2, column 1: unknown field `names`"), "{ran:?}");

    let gone = home.path().join("gone.toml");
    for args in [
        vec!["bus", "check", "-c", gone.to_str().unwrap()],
        vec!["bus", "check"],
        vec!["bus"],
        vec!["bus", "check", "-c", &good, "--config", &good],
        vec!["bus", "--no-token", "check", "-c", &good],
        vec!["bus", "-c", &good, "--tcp", "example.com:80"],
    ] {
        let ran = run(&home, &args);
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{args:?}: {ran:?}");
    }
}
