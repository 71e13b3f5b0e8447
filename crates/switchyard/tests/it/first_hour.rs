//! What a new user meets: typical mistakes, and what is said about them.

use std::io::Write as _;
use std::net::TcpListener;
use std::process::Stdio;

use testkit::daemon::Daemon;
use testkit::test_home::{TestHome, switchyard};

use crate::cli::{Ran, run};

fn home() -> TestHome {
    switchyard(env!("CARGO_BIN_EXE_switchyard"))
}

fn with_stdin(home: &TestHome, args: &[&str], text: &str) -> Ran {
    let mut command = home.command(args);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // It may have ended before it reads.
    let _ = child.stdin.take().unwrap().write_all(text.as_bytes());
    child.wait_with_output().unwrap().into()
}

#[test]
fn an_agent_that_there_is_not_is_code_four_whoever_asks_for_it() {
    let home = home();
    for ran in [
        run(&home, &["run", "cluade", "hi"]),
        run(&home, &["agents", "show", "cluade"]),
        run(&home, &["acp", "cluade"]),
        run(&home, &["chat", "cluade"]),
        with_stdin(&home, &["chat", "cluade"], "hi\n"),
    ] {
        assert_eq!(ran.code, 4, "{ran:?}");
        assert!(ran.err.contains("there is no agent `cluade`"), "{ran:?}");
        assert!(ran.err.contains("did you mean `claude`?"), "{ran:?}");
    }
    let far = run(&home, &["run", "nobody-at-all", "hi"]);
    assert!(!far.err.contains("did you mean"), "{far:?}");
    let own = run(&home, &["run", "nativ", "hi"]);
    assert!(own.err.contains("did you mean `native`?"), "{own:?}");
}

#[test]
fn what_is_typed_wrong_is_code_two() {
    let home = home();
    let file = home.path().join("a-file");
    std::fs::write(&file, "").unwrap();
    let file = file.to_str().unwrap();
    for (args, words) in [
        (&["run", "demo", ""][..], "the prompt is empty"),
        (&["run", "demo", " \n"], "the prompt is empty"),
        (&["run", "demo", "hi", "--cwd", file], "cannot work in"),
        (&["run", "demo", "hi", "--cwd", "/nowhere"], "cannot work in"),
        (&["acp", "demo", "--add-dir", file], "cannot work in"),
        (&["--config", "/nowhere", "agents"], "there is no file /nowhere"),
    ] {
        let ran = run(&home, args);
        assert_eq!(ran.code, 2, "{args:?}: {ran:?}");
        assert!(ran.err.contains(words), "{args:?}: {ran:?}");
    }
}

#[test]
fn one_word_is_taken_for_what_it_is() {
    let home = home();
    let prompt = run(&home, &["run", "hello"]);
    assert!(prompt.err.contains("switchyard run native \"hello\""), "{prompt:?}");
    let agent = run(&home, &["run", "claude"]);
    assert!(agent.err.contains("what is `claude` to do?"), "{agent:?}");
    assert!(agent.err.contains("switchyard run claude \"say hello\""), "{agent:?}");
    let almost = run(&home, &["run", "clade"]);
    assert!(almost.err.contains("did you mean `claude`?"), "{almost:?}");
    assert!(almost.err.contains("switchyard run claude \"say hello\""), "{almost:?}");
    assert!(!prompt.err.contains("did you mean"), "{prompt:?}");
}

#[test]
fn a_port_that_is_taken_and_a_home_that_is_not_ours_are_named() {
    let home = home();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let ran = run(&home, &["serve", "--host", &address]);
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.err.contains(&format!("another program listens on {address}")), "{ran:?}");
    assert!(ran.err.contains("--host"), "{ran:?}");

    let blocked = home.path().join("file");
    std::fs::write(&blocked, "").unwrap();
    let inside = blocked.join("home");
    for args in [&["chat", "demo"][..], &["daemon", "start"], &["run", "demo", "hi"]] {
        let mut command = home.command(args);
        let ran: Ran =
            command.env("SWITCHYARD_HOME", &inside).stdin(Stdio::null()).output().unwrap().into();
        assert_eq!(ran.code, 1, "{args:?}: {ran:?}");
        assert!(ran.err.contains(inside.to_str().unwrap()), "{args:?}: {ran:?}");
    }
}

#[test]
fn the_daemons_status_and_end_are_told_in_words() {
    let home = home();
    let _daemon = Daemon::start_with(&home, &[]);
    let status = run(&home, &["daemon", "status"]);
    for line in ["status    ok\n", "sessions  0 of 0 in memory\n", "KB on disk\n"] {
        assert!(status.out.contains(line), "{status:?}");
    }
    assert!(!status.out.contains(['{', '"']), "{status:?}");
    let stopped = run(&home, &["daemon", "stop"]);
    assert_eq!((stopped.code, stopped.out.as_str()), (0, "switchyard daemon: has ended\n"));
}

#[test]
fn a_limit_of_workers_that_is_not_in_force_is_told_with_the_reason() {
    let home = home();
    let config = home.path().join("switchyard.toml");
    std::fs::write(&config, "[workers]\ncgroups = false\nmemory_bytes = 1073741824\n").unwrap();
    let daemon = Daemon::start_with(&home, &[]);

    let status = run(&home, &["daemon", "status"]);

    for limit in ["pids", "memory_bytes"] {
        let line =
            format!("limits    {limit} of workers is not in force: `cgroups` is switched off\n");
        assert!(status.out.contains(&line), "{status:?}");
    }
    assert!(!status.out.contains("cpu_weight"), "nobody asked for it: {status:?}");
    assert_eq!(run(&home, &["run", "demo", "say hi"]).code, 0);
    drop(daemon);

    std::fs::write(&config, "[workers]\nsession = { cpu_weight = 10001 }\n").unwrap();
    let refused = run(&home, &["config", "check"]);
    assert_ne!(refused.code, 0);
    assert!(refused.err.contains("at most 10000"), "{refused:?}");
}

#[test]
fn the_configuration_in_effect_is_whole() {
    let home = home();
    std::fs::write(
        home.path().join("switchyard.toml"),
        "[permissions]\nmode = \"accept-edits\"\n[serve]\ndrain = \"5s\"\n",
    )
    .unwrap();
    let shown = run(&home, &["config", "show"]);
    assert_eq!(shown.code, 0, "{shown:?}");
    let table: toml::Table = shown.out.parse().unwrap();
    assert_eq!(table["serve"]["host"].as_str(), Some("127.0.0.1:7433"));
    assert_eq!(table["serve"]["drain"].as_str(), Some("5s"));
    assert_eq!(table["warm"]["enabled"].as_bool(), Some(true));
    assert_eq!(table["native"]["context_tools"].as_bool(), Some(false));
    assert_eq!(table["open_design"]["permissions"].as_str(), Some("accept-edits"));
    // And can be used as it is.
    std::fs::write(home.path().join("switchyard.toml"), &shown.out).unwrap();
    assert_eq!(run(&home, &["config", "check"]).code, 0);
}

#[test]
fn instructions_are_not_the_sessions_title() {
    let home = home();
    let ran = run(&home, &["run", "demo", "say this", "--system-prompt", "Be brief."]);
    assert_eq!((ran.code, ran.out.trim()), (0, "this"), "{ran:?}");
    let listed = run(&home, &["sessions", "list", "--json"]);
    assert!(listed.out.contains("say this") && !listed.out.contains("Instructions"), "{listed:?}");
}

#[test]
fn help_is_there_for_help_too_and_shows_a_commands_own_options_first() {
    let home = home();
    assert_eq!(run(&home, &["help", "--help"]).code, 0);
    let help = run(&home, &["acp", "--help"]).out;
    let (own, of_all) = help.split_once("Global options:").unwrap();
    assert!(own.contains("--add-dir") && of_all.contains("--config"), "{help}");
    assert!(help.contains("[AGENT]") && !own.contains("--log-file"), "{help}");
    let revoke = run(&home, &["token", "revoke", "--help"]).out;
    assert!(revoke.contains("switchyard token list"), "{revoke}");
}

#[test]
fn a_home_that_cannot_be_written_to_is_named_with_what_to_do() {
    let home = home();
    // Nobody can make a directory there, not even root.
    let unwritable = "/sys/switchyard";
    for args in [
        &["chat", "demo"][..],
        &["daemon", "start"],
        &["run", "demo", "hi"],
        &["serve"],
        &["sessions", "list"],
        &["token", "list"],
    ] {
        let mut command = home.command(args);
        let ran: Ran = command
            .env("SWITCHYARD_HOME", unwritable)
            .stdin(Stdio::null())
            .output()
            .unwrap()
            .into();
        assert_eq!(ran.code, 1, "{args:?}: {ran:?}");
        assert!(ran.err.contains(unwritable), "{args:?}: {ran:?}");
        assert!(ran.err.contains("SWITCHYARD_HOME=DIR"), "{args:?}: {ran:?}");
    }
}

#[test]
fn a_daemon_is_looked_after_although_its_configuration_is_broken() {
    let home = home();
    let _daemon = Daemon::start_with(&home, &[]);
    std::fs::write(home.path().join("switchyard.toml"), "[serve\n").unwrap();
    std::fs::write(home.path().join("daemon.log"), "a line\n").unwrap();
    let status = run(&home, &["daemon", "status"]);
    assert!(status.out.contains("status    ok\n"), "{status:?}");
    assert!(status.err.contains("without the configuration: cannot use"), "{status:?}");
    assert_eq!(run(&home, &["daemon", "log"]).out, "a line\n");
    // One that is started goes by the file.
    assert_eq!(run(&home, &["daemon", "start"]).code, 1);
    let stopped = run(&home, &["daemon", "stop"]);
    assert_eq!((stopped.code, stopped.out.as_str()), (0, "switchyard daemon: has ended\n"));
}

#[test]
fn an_option_that_there_is_not_lists_those_there_are() {
    let home = home();
    for is_daemon_there in [false, true] {
        let _daemon = is_daemon_there.then(|| Daemon::start_with(&home, &[]));
        let ran = run(&home, &["run", "demo", "hi", "--option", "nosuch=1"]);
        assert_eq!(ran.code, 2, "{ran:?}");
        assert!(ran.err.contains("has no option `nosuch`; it has: "), "{ran:?}");
    }
}

#[test]
fn an_answer_that_is_only_printed_is_translated_whole() {
    let home = home();
    let ran = with_stdin(&home, &["translate", "--dialect", "plain", "--to", "acp"], "all of it\n");
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.out.contains("all of it") && ran.out.contains("end_turn"), "{ran:?}");
    let words = ["translate", "--dialect", "claude-stream-json", "--to", "acp"];
    let cut = with_stdin(&home, &words, "{}\n");
    assert_eq!(cut.code, 1, "{cut:?}");
}

#[test]
fn lines_that_reach_a_limit_end_as_a_run_does() {
    let home = home();
    let limit = ["--max-inactivity", "700ms"];
    let words = [&["chat", "demo"][..], &limit].concat();
    let ran = with_stdin(&home, &words, "echo before ; hang\n");
    assert_eq!(ran.code, 5, "{ran:?}");
    assert!(ran.err.contains("go on with a higher --max-inactivity"), "{ran:?}");
}

#[test]
fn at_a_terminal_the_end_of_a_call_stands_where_its_beginning_stood() {
    let home = home();
    let pane = crate::chat_stage::Pane::open(&home, 100, 30);
    let script = "tool read ; run sh -c 'exit 3' ; echo all of it";
    pane.line(&format!("unset NO_COLOR; clear; \"$EXE\" run demo --approve-all \"{script}\""));
    pane.wait("an answer", |screen| screen.lines().any(|line| line == "all of it"));
    let screen = pane.screen();
    assert!(screen.contains("✓ Read README.md") && !screen.contains('●'), "{screen}");
    assert!(screen.contains("exit 3` failed with exit code 3"), "{screen}");
    assert_eq!(screen.matches("✗ Run `sh -c").count(), 1, "{screen}");
    // What is not a terminal keeps every line.
    let piped = run(&home, &["run", "demo", "--approve-all", script]);
    assert!(piped.out.contains("● Read README.md\n") && !piped.out.contains('\u{1b}'), "{piped:?}");
}
