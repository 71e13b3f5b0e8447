//! Trees that do not want to end, agents that are none, clients that do not answer, and neighbours.
//!
//! In: descendants that leave their parent and their session and ignore signals, as root and as an
//! ordinary user. Out: nothing that lives, and nothing that waits to be reaped.
//! Each tree has ten processes at most, and they end by themselves after five minutes.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    reason = "helpers of tests"
)]

use crate::faults::{EXE, Live, SHORT_WAITS, configured, home, run};
use crate::faults_kill::{assert_whole, export};
use rustix::process::Signal;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use testkit::proc;
use testkit::sdk_client::{ClientBehavior, PermissionReply, SdkClient};
use testkit::test_home::{PATIENCE, TestHome, wait_until};

/// `nobody`, who may do nothing that the test itself may not.
const ORDINARY: u32 = 65534;

/// Whose children orphans become.
const INIT: u32 = 1;

/// A home and the user who lives there.
struct Place {
    home: TestHome,
    /// The binary where an ordinary user can read it; nothing for the user who runs the test.
    ordinary_exe: Option<PathBuf>,
}

/// With and without cgroups, and as an ordinary user if we are root.
fn places() -> Vec<Place> {
    let own = |config: &str| {
        let home = home();
        fs::write(home.path().join("switchyard.toml"), format!("{SHORT_WAITS}{config}")).unwrap();
        Place { home, ordinary_exe: None }
    };
    let mut places = vec![own(""), own("[workers]\ncgroups = false\n")];
    if !rustix::process::getuid().is_root() {
        println!("skipped as another user: only root can become one");
        return places;
    }
    let home = home();
    let exe = home.path().join("switchyard");
    testkit::test_executables::copy(Path::new(EXE), &exe);
    give_away(home.path());
    places.push(Place { home, ordinary_exe: Some(exe) });
    places
}

fn give_away(path: &Path) {
    std::os::unix::fs::chown(path, Some(ORDINARY), Some(ORDINARY)).unwrap();
    if path.is_dir() {
        for entry in fs::read_dir(path).unwrap() {
            give_away(&entry.unwrap().path());
        }
    }
}

impl Place {
    fn command(&self, args: &[&str]) -> Command {
        let Some(exe) = &self.ordinary_exe else { return self.home.command(args) };
        let id = ORDINARY.to_string();
        let user = ["--reuid", &id, "--regid", &id, "--clear-groups", "--"];
        let mut command = self.home.other("setpriv", user);
        command.arg(exe).args(args);
        command
    }

    /// A run that has started its hostile descendants, and who they are.
    fn start(&self, then: &str) -> (Live, Vec<proc::ProcessIdentity>) {
        let script = format!("children 5 2 ; {then}");
        let mut live = Live::start(self.command(&["run", "demo", &script, "--format", "json"]));
        let said = live.wait_for_kind("agent_message_chunk");
        let text = said["payload"]["update"]["content"]["text"].as_str().unwrap();
        let pids = text.split(' ').filter_map(|word| word.trim().parse().ok());
        let tree: Vec<_> = pids.filter_map(proc::ProcessIdentity::of).collect();
        assert_eq!(tree.len(), 10, "{text}");
        (live, tree)
    }

    #[track_caller]
    fn assert_empty(&self, tree: &[proc::ProcessIdentity]) {
        self.home.assert_empty_within(PATIENCE);
        // What hangs on init is init's to look at, whenever it gets to it.
        let zombies = || {
            let parents = tree.iter().filter_map(proc::ProcessIdentity::zombie_of);
            parents.filter(|parent| *parent != INIT).collect::<Vec<_>>()
        };
        let is_reaped = wait_until(PATIENCE, || zombies().is_empty());
        assert!(is_reaped, "zombies are left, of {:?}", zombies());
    }
}

#[test]
fn no_descendant_outlives_an_agent_that_ends_well() {
    for place in places() {
        let (live, tree) = place.start("echo done");
        let ran = live.finish();
        assert_eq!((ran.code, &ran.end()["stopReason"]), (Some(0), &"end_turn".into()));
        place.assert_empty(&tree);
    }
}

#[test]
fn no_descendant_outlives_an_agent_that_crashes() {
    for place in places() {
        let (live, tree) = place.start("crash");
        assert_eq!(live.finish().end()["error"]["category"], "process_exit");
        place.assert_empty(&tree);
    }
}

#[test]
fn no_descendant_outlives_a_cancel_or_a_signal() {
    for signal in [Signal::INT, Signal::TERM] {
        for place in places() {
            let (live, tree) = place.start("hang-hard");
            live.signal(signal);
            assert_eq!(live.finish().end()["stopReason"], "cancelled");
            place.assert_empty(&tree);
        }
    }
}

#[test]
fn no_descendant_outlives_a_killed_switchyard() {
    for place in places() {
        let (live, tree) = place.start("hang-hard");
        live.signal(Signal::KILL);
        assert_eq!(live.finish().code, None);
        place.assert_empty(&tree);
    }
}

#[test]
fn what_outlives_a_killed_switchyard_and_its_keeper_is_ended_by_the_next_run() {
    for place in places() {
        let (live, tree) = place.start("hang-hard");
        let mut family = proc::descendants(live.pid());
        family.retain(|pid| proc::command_line(*pid).contains("__keeper"));
        assert_eq!(family.len(), 1, "one keeper for one agent");
        // Stopped first, so that it cannot do its work between the two deaths.
        signal(family[0], Signal::STOP);
        live.signal(Signal::KILL);
        assert_eq!(live.finish().code, None);
        proc::kill9(family[0]);
        // A keeper that still dies counts as one that does its work.
        assert!(wait_until(PATIENCE, || !proc::is_alive(family[0])));
        let next = Live::start(place.command(&["run", "demo", "echo hi", "--format", "json"]));
        assert_eq!(next.finish().code, Some(0));
        place.assert_empty(&tree);
    }
}

fn signal(pid: u32, signal: Signal) {
    let pid = rustix::process::Pid::from_raw(pid.cast_signed()).unwrap();
    rustix::process::kill_process(pid, signal).unwrap();
}

/// Starts `command` as an agent: it fails with this code, and says these words.
#[track_caller]
fn check(command: &[&str], code: i32, words: &[&str]) {
    check_in(&home(), command, code, words);
}

#[track_caller]
fn check_in(home: &TestHome, command: &[&str], code: i32, words: &[&str]) {
    let ran = Live::start(home.command(["run", "hello", "--"].iter().chain(command))).finish();
    assert_eq!(ran.code, Some(code), "{command:?}: {}", ran.stderr);
    for word in words {
        assert!(ran.stderr.contains(word), "{command:?}: `{word}` is not in: {}", ran.stderr);
    }
    assert!(ran.stderr.starts_with("switchyard: "), "{}", ran.stderr);
    home.assert_empty_within(PATIENCE);
}

#[test]
fn an_agent_that_is_not_there_is_named_with_a_way_out() {
    check(&["no-such-agent"], 4, &["`no-such-agent`", "not found", "hint:"]);
}

#[test]
fn an_agent_that_cannot_be_executed_is_named_with_a_way_out() {
    check(&["/etc/passwd"], 4, &["`/etc/passwd`", "cannot be executed", "hint:"]);
}

#[test]
fn an_agent_that_ends_at_once_is_told_with_its_status_and_a_way_out() {
    check(&["/bin/false"], 1, &["exit code 1", "hint:"]);
}

#[test]
fn the_last_words_on_stderr_of_an_agent_that_ends_at_once_are_told() {
    check(&["sh", "-c", "echo no key >&2; exit 7"], 1, &["exit code 7", "no key", "hint:"]);
}

#[test]
fn an_agent_that_prints_usage_instead_of_acp_is_quoted() {
    check(&["echo", "usage: tool [acp]"], 1, &["usage: tool [acp]", "hint:"]);
}

#[test]
fn an_agent_that_introduces_itself_at_great_length_is_given_up() {
    let script = r#"read -r line
        long=$(head -c 2000000 /dev/zero | tr '\0' x)
        printf '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1,"_meta":"%s"}}\n' "$long"
        read -r line"#;
    check(&["sh", "-c", script], 1, &["`initialize` has 2000"]);
}

#[test]
fn an_agent_that_says_nothing_is_given_up() {
    let home = configured("[waits]\ninitialize = '2s'\n");
    check_in(&home, &["sleep", "300"], 3, &["did not answer `initialize`", "2s", "hint:"]);
}

#[test]
fn an_agent_that_is_slow_to_start_is_waited_for() {
    let home = home();
    let agent = ["--", EXE, "demo-agent", "--slow-start", "1000"];
    let args = ["run", "echo here", "--format", "json"].into_iter().chain(agent);
    assert_eq!(Live::start(home.command(args)).finish().text(), "here");
    assert_eq!(run(&home, ["sessions", "export", "last"]).code, Some(0));
    home.assert_empty_within(PATIENCE);
}

/// The last session's decision about the one permission that was asked for.
fn decision(home: &TestHome) -> Value {
    export(home).of_kind("permission_resolved").pop().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_permission_that_no_client_answers_is_rejected_in_time_and_the_turn_goes_on() {
    let home = configured("[waits]\npermission = '1s'\n");
    let behavior = ClientBehavior::default().permission(PermissionReply::Never);
    let client = SdkClient::ready(home.tokio_command(["acp", "demo"]), behavior).await.unwrap();
    let session = client.new_session(home.work()).await.unwrap().session_id;
    let turn = client.prompt(&session, "permission execute rm -r / ; echo after").await.unwrap();
    assert!(turn.text().ends_with("after"), "{}", turn.text());
    assert_eq!(client.permissions_asked().len(), 1);
    let decided = decision(&home);
    assert_eq!((&decided["by"]["who"], &decided["allowed"]), (&"timeout".into(), &false.into()));
    assert_eq!(decided["outcome"]["kind"], "reject_once");
    client.stop().await;
    home.assert_empty_within(PATIENCE);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancel_answers_an_open_permission_as_cancelled() {
    let home = configured(SHORT_WAITS);
    let behavior = ClientBehavior::default().permission(PermissionReply::Never);
    let client = SdkClient::ready(home.tokio_command(["acp", "demo"]), behavior).await.unwrap();
    let session = client.new_session(home.work()).await.unwrap().session_id;
    let running = client.start_prompt(&session, "permission-hang");
    client.wait_for_permissions(1).await;
    client.cancel(&session).unwrap();
    let turn = running.finish().await.unwrap();
    assert_eq!(format!("{:?}", turn.stop_reason), "Cancelled");
    let decided = decision(&home);
    assert_eq!((&decided["by"]["who"], &decided["allowed"]), (&"cancel".into(), &false.into()));
    assert_eq!(decided["outcome"]["outcome"], "cancelled");
    client.stop().await;
    home.assert_empty_within(PATIENCE);
}

#[test]
fn two_runs_share_a_home_and_each_keeps_its_own_log() {
    let home = home();
    let both = [0, 1].map(|_| Live::demo(&home, "slow 100 5 ; text 100 1000"));
    for live in both {
        let ran = live.finish();
        assert_eq!((ran.code, &ran.end()["stopReason"]), (Some(0), &"end_turn".into()));
        assert_eq!(ran.of_kind("agent_message_chunk").len(), 200);
        assert_whole(&ran, &ran.lines);
    }
    home.assert_empty_within(PATIENCE);
}

#[test]
fn a_session_that_runs_elsewhere_is_refused_by_name_and_not_disturbed() {
    let home = home();
    let mut live = Live::demo(&home, "echo mine ; slow 1000 20");
    live.wait_for_kind("agent_message_chunk");
    let second = run(&home, ["run", "-s", "last", "echo yours", "--format", "json"]);
    assert_eq!(second.code, Some(1), "{}", second.stderr);
    assert!(second.stderr.contains(&format!("process {}", live.pid())), "{}", second.stderr);
    live.wait_for_kind("agent_message_chunk");
    live.signal(Signal::INT);
    assert_eq!(live.finish().end()["stopReason"], "cancelled");
    home.assert_empty_within(PATIENCE);
}
