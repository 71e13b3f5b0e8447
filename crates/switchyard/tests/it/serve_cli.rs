//! The command line with a daemon: the same words, with sessions that stay.

use std::io::Write as _;
use std::process::{Output, Stdio};

use serde_json::Value;
use testkit::daemon::Daemon;
use testkit::test_home::{PATIENCE, TestHome, switchyard, wait_until};

fn home() -> TestHome {
    switchyard(env!("CARGO_BIN_EXE_switchyard"))
}

fn run(home: &TestHome, words: &[&str]) -> Output {
    home.command(words).stdin(Stdio::null()).output().unwrap()
}

fn text(output: &Output) -> String {
    format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    )
}

fn sessions(home: &TestHome) -> Vec<Value> {
    let listed = run(home, &["sessions", "list", "--json"]);
    serde_json::from_slice(&listed.stdout).unwrap()
}

#[test]
fn run_uses_the_daemon_and_goes_on_with_the_same_agent() {
    let home = home();
    let daemon = Daemon::start(&home);
    let first = run(&home, &["run", "demo", "pid", "--format", "quiet"]);
    assert!(first.status.success(), "{}", text(&first));
    let second = run(&home, &["run", "-s", "last", "pid", "--format", "quiet"]);
    assert!(second.status.success(), "{}", text(&second));
    assert_eq!(first.stdout, second.stdout, "the agent was started anew");
    assert_eq!(sessions(&home).len(), 1);

    let alone = run(&home, &["run", "demo", "pid", "--format", "quiet", "--no-daemon"]);
    assert_ne!(alone.stdout, first.stdout);
    daemon.stop();
    let after = run(&home, &["run", "-s", "last", "say without", "--format", "quiet"]);
    assert_eq!(String::from_utf8_lossy(&after.stdout), "without\n", "{}", text(&after));
}

#[test]
fn an_agent_gets_the_environment_of_who_runs_it() {
    let home = home();
    let _daemon = Daemon::start(&home);
    let said = home
        .command(["run", "demo", "env MY_KEY", "--format", "quiet"])
        .env("MY_KEY", "of this shell")
        .output()
        .unwrap();
    assert!(text(&said).contains("of this shell"), "{}", text(&said));
}

#[test]
fn a_run_that_nobody_attends_is_denied_and_says_so() {
    let home = home();
    let _daemon = Daemon::start(&home);
    let denied = run(&home, &["run", "demo", "permission"]);
    assert_eq!(denied.status.code(), Some(5), "{}", text(&denied));
    let granted = run(&home, &["run", "demo", "permission", "--approve-all"]);
    assert_eq!(granted.status.code(), Some(0), "{}", text(&granted));
    let missing = run(&home, &["run", "nobody", "hello"]);
    assert!(text(&missing).contains("there is no agent `nobody`"), "{}", text(&missing));
    let model = run(&home, &["run", "demo", "hello", "--model", "gpt-0"]);
    assert_eq!(model.status.code(), Some(2), "{}", text(&model));
}

#[test]
fn attach_prompts_answers_and_leaves_the_session() {
    let home = home();
    let _daemon = Daemon::start(&home);
    assert!(run(&home, &["run", "demo", "say first"]).status.success());
    let mut child = home
        .command(["attach", "last"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    writeln!(stdin, "permission").unwrap();
    let id = sessions(&home)[0]["id"].as_str().unwrap().to_owned();
    let asked = wait_until(PATIENCE, || {
        text(&run(&home, &["sessions", "export", &id])).contains("permission_requested")
    });
    assert!(asked);
    writeln!(stdin, "1").unwrap();
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    let shown = text(&output);
    assert!(output.status.success(), "{shown}");
    assert!(shown.contains("first") && shown.contains("allow_once"), "{shown}");
}

/// The links of a command's output for other devices.
fn links_elsewhere(said: &str) -> Vec<&str> {
    said.lines().filter_map(|line| line.strip_prefix("from other devices: ")).collect()
}

#[test]
fn a_daemon_at_all_addresses_prints_links_that_can_be_opened() {
    let home = home();
    let args = ["--host", "0.0.0.0:0", "--insecure", "--allow-host", "yard.example"];
    let started = run(&home, &[&["daemon", "start"][..], &args[..]].concat());
    let (started, again) = (text(&started), text(&run(&home, &["token", "login"])));
    for said in [&started, &again] {
        assert!(!said.contains("0.0.0.0"), "{said}");
        assert!(said.contains("http://127.0.0.1:"), "{said}");
        let links = links_elsewhere(said);
        assert!(links[0].starts_with("http://yard.example:"), "{said}");
        let codes: std::collections::BTreeSet<_> =
            said.split("#code=").skip(1).map(|rest| rest.lines().next()).collect();
        assert_eq!(codes.len(), links.len() + 1, "each works once: {said}");
    }
    assert!(run(&home, &["daemon", "stop"]).status.success());
}

#[test]
fn the_daemon_is_started_once_looked_at_and_stopped() {
    let home = home();
    assert_eq!(run(&home, &["daemon", "status"]).status.code(), Some(4));
    let started = run(&home, &["daemon", "start", "--host", "127.0.0.1:0"]);
    let said = text(&started);
    assert!(said.contains("log in: http://") && said.contains(".localhost:"), "{said}");
    let again = run(&home, &["daemon", "start", "--host", "127.0.0.1:0"]);
    assert!(text(&again).contains("runs already"), "{}", text(&again));
    assert_eq!(again.status.code(), Some(1), "its options were not heeded");
    assert!(run(&home, &["daemon", "start"]).status.success());
    let other = run(&home, &["serve", "--host", "127.0.0.1:0"]);
    assert_eq!(other.status.code(), Some(1), "{}", text(&other));
    let status = run(&home, &["daemon", "status", "--json"]);
    let status: Value = serde_json::from_slice(&status.stdout).unwrap();
    assert_eq!(status["running"], true);
    let link = run(&home, &["token", "login"]);
    assert!(text(&link).contains("/login#code="), "{}", text(&link));
    assert!(run(&home, &["run", "demo", "say hi"]).status.success());
    assert!(run(&home, &["daemon", "log"]).status.success());
    assert!(run(&home, &["daemon", "stop"]).status.success());
    assert_eq!(run(&home, &["daemon", "status"]).status.code(), Some(4));
    home.assert_empty_within(testkit::test_home::PATIENCE);
}

#[test]
fn a_run_sees_its_turn_end_while_the_daemon_drains() {
    let home = home();
    let started = run(&home, &["daemon", "start", "--host", "127.0.0.1:0"]);
    assert!(started.status.success(), "{}", text(&started));
    let following = home
        .command(["run", "demo", "slow 30 50 ; echo end"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let is_running = wait_until(PATIENCE, || {
        let live = sessions(&home);
        live.iter().any(|session| {
            let id = session["id"].as_str().unwrap();
            text(&run(&home, &["sessions", "export", id])).contains("agent_message_chunk")
        })
    });
    assert!(is_running);

    assert!(run(&home, &["daemon", "stop"]).status.success());

    let followed = following.wait_with_output().unwrap();
    assert!(followed.status.success(), "{}", text(&followed));
    assert!(text(&followed).contains("end"), "{}", text(&followed));
}

#[test]
fn tokens_are_made_listed_and_revoked_with_and_without_a_daemon() {
    let home = home();
    let shown = run(&home, &["token", "show"]);
    let admin = String::from_utf8(shown.stdout).unwrap();
    assert!(admin.trim().len() >= 40, "{admin}");
    assert!(run(&home, &["token", "add", "phone", "--expires", "12h"]).status.success());
    assert_eq!(run(&home, &["token", "add", "phone"]).status.code(), Some(2));
    let daemon = Daemon::start(&home);
    assert_eq!(daemon.token(), Some(admin.trim()));
    let listed = text(&run(&home, &["token", "list"]));
    assert!(listed.contains("phone") && listed.contains("operator"), "{listed}");
    assert!(run(&home, &["token", "revoke", "phone"]).status.success());
    assert!(!text(&run(&home, &["token", "list"])).contains("phone"));
}

#[test]
fn a_daemon_that_stands_still_keeps_nobody_waiting() {
    let home = home();
    let daemon = Daemon::start(&home);
    let pid = rustix::process::Pid::from_raw(i32::try_from(daemon.pid()).unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::STOP).unwrap();
    let output = run(&home, &["run", "demo", "echo hi"]);
    rustix::process::kill_process(pid, rustix::process::Signal::CONT).unwrap();
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("does not answer") && said.contains("--no-daemon"), "{said}");
    assert!(text(&run(&home, &["run", "demo", "echo again"])).contains("again"));
}

/// `serve --open` with this in the place of what opens files on the machine.
fn open_with(home: &TestHome, opener: &str) -> Daemon {
    let bin = home.path().join("bin");
    std::fs::create_dir_all(&bin).unwrap();
    let path = bin.join("xdg-open");
    testkit::test_executables::write(&path, &format!("#!/bin/sh\n{opener}\n"));
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    let mut command = home.command(["serve", "--host", "127.0.0.1:0", "--open"]);
    command.env("PATH", path);
    Daemon::start_command(home, command)
}

#[test]
fn the_browser_is_given_the_link_in_a_private_file_and_not_on_its_command_line() {
    let home = home();
    let opened = home.path().join("opened");
    let note = format!("echo \"$@\" > {0}.new; mv {0}.new {0}", opened.display());
    let daemon = open_with(&home, &note);
    assert!(wait_until(PATIENCE, || opened.exists()), "{}", daemon.stderr());

    let words = std::fs::read_to_string(&opened).unwrap();
    assert!(!words.contains("code="), "everybody can read {words}");
    let file = std::path::Path::new(words.trim()).to_owned();
    let mode = std::os::unix::fs::PermissionsExt::mode(&file.metadata().unwrap().permissions());
    assert_eq!(mode & 0o777, 0o600);
    let link = daemon.line().rsplit(' ').next().unwrap();
    assert!(link.contains("/login#code="), "{link}");
    assert!(std::fs::read_to_string(&file).unwrap().contains(&format!("url={link}\"")));

    daemon.stop();
    assert!(!file.exists(), "the link is left behind");
}

#[test]
fn a_daemon_that_cannot_open_a_browser_says_so_and_runs() {
    let home = home();
    let daemon = open_with(&home, "exit 3");
    let is_said = || daemon.stderr().contains("open the link above");
    assert!(wait_until(PATIENCE, is_said), "{}", daemon.stderr());
    assert!(daemon.stderr().contains("`xdg-open` ended with"), "{}", daemon.stderr());
    assert!(run(&home, &["daemon", "status"]).status.success());
}

/// A daemon goes by its own configuration: what is run with another one is not run there.
#[test]
fn a_configuration_that_is_named_holds_also_while_a_daemon_runs() {
    let home = home();
    let (strict, own) = (home.path().join("strict.toml"), home.path().join("switchyard.toml"));
    std::fs::write(&strict, "[permissions]\nmode = \"read-only\"\n").unwrap();
    std::fs::write(&own, "").unwrap();
    let _daemon = Daemon::start(&home);
    let file = home.work().join("a.txt");
    let write = |config: &std::path::Path| {
        let config = config.to_str().unwrap();
        run(&home, &["--config", config, "run", "demo", "write a.txt here"])
    };

    let ran = write(&strict);

    assert!(!file.exists(), "{}", text(&ran));
    let ran = write(&own);
    assert!(file.exists(), "{}", text(&ran));
}
