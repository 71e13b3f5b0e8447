//! Finding agents, as people and scripts see it, and agents that users add themselves.
//!
//! In: small programs on a `PATH` of the test's own. Out: rows, reasons, JSON, exit codes,
//! and what the probes leave behind.

use crate::cli::Ran;
use crate::faults::configured;
use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use testkit::test_home::{PATIENCE, TestHome, wait_until};

/// A home with an empty directory for programs, which is all that its `PATH` has besides the
/// system's own.
struct Machine {
    home: TestHome,
}

impl Machine {
    fn new(config: &str) -> Self {
        let home = configured(config);
        std::fs::create_dir(home.path().join("bin")).unwrap();
        std::fs::create_dir(home.path().join("tmp")).unwrap();
        Self { home }
    }

    fn program(&self, name: &str, script: &str) -> PathBuf {
        let path = self.home.path().join("bin").join(name);
        testkit::test_executables::write(&path, &format!("#!/bin/sh\n{script}\n"));
        path
    }

    fn run(&self, args: &[&str]) -> Ran {
        self.run_with(args, &[])
    }

    fn run_with(&self, args: &[&str], variables: &[(&str, &Path)]) -> Ran {
        let mut command = self.home.command(args);
        command
            .env("PATH", format!("{}:/usr/bin:/bin", self.home.path().join("bin").display()))
            .env("TMPDIR", self.home.path().join("tmp"))
            .stdin(Stdio::null());
        for name in ["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "OPENAI_API_KEY"] {
            command.env_remove(name);
        }
        command.envs(variables.iter().copied());
        command.output().unwrap().into()
    }

    fn json(&self, args: &[&str]) -> Value {
        let ran = self.run(&[args, &["--json"]].concat());
        serde_json::from_str(&ran.out).unwrap_or_else(|error| panic!("{error}: {}", ran.err))
    }

    fn found(&self, id: &str) -> Value {
        let all = self.json(&["agents"]);
        all.as_array().unwrap().iter().find(|one| one["id"] == id).unwrap().clone()
    }
}

/// A Claude that answers every probe.
const CLAUDE: &str = "case \"$*\" in\n\
    --version) echo '2.1.325 (Claude Code)' ;;\n\
    *--help*) echo '--include-partial-messages --session-id --add-dir --effort' ;;\n\
    'auth status') echo '{\"loggedIn\": true}' ;;\nesac";

fn reasons(found: &Value) -> Vec<&str> {
    let diagnoses = found["diagnoses"].as_array().unwrap();
    diagnoses.iter().map(|diagnosis| diagnosis["reason"].as_str().unwrap()).collect()
}

#[test]
fn what_is_installed_is_told_with_version_dialect_and_login() {
    let nowhere = "[native.providers.x]\nbase_url = 'http://127.0.0.1:1/v1'\n";
    let machine = Machine::new(nowhere);
    machine.program("claude", CLAUDE);
    let ran = machine.run(&["agents"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let row = ran.out.lines().find(|line| line.starts_with("claude ")).unwrap();
    for word in ["2.1.325", "claude-stream-json", "ok"] {
        assert!(row.contains(word), "{row}");
    }
    assert!(ran.out.contains("not installed: "), "{}", ran.out);
    assert!(!ran.out.contains('\u{1b}'), "no colour without a terminal");

    let show = machine.run(&["agents", "show", "claude"]);
    assert_eq!(show.code, 0);
    for word in ["--permission-prompt-tool stdio", "--resume {session}", "asks, and waits"] {
        assert!(show.out.contains(word), "{}", show.out);
    }
    let doctor = machine.run(&["agents", "doctor"]);
    // Nothing but the built-in agent, which cannot reach its endpoint.
    assert_eq!(doctor.code, 1, "{}", doctor.out);
    assert!(doctor.out.starts_with("native "), "{}", doctor.out);
    assert!(doctor.out.contains("http://127.0.0.1:1/v1"), "{}", doctor.out);
}

#[test]
fn each_trouble_has_its_reason_and_its_remedy() {
    let machine = Machine::new("");
    machine.program("claude", "case \"$*\" in --version) echo 1.0.3;; esac; exit 0");
    machine.program("codex", "exit 127");
    machine.program("gemini", "echo no version for you; exit 0");
    let opencode = machine.program("opencode", "");
    std::fs::set_permissions(&opencode, std::fs::Permissions::from_mode(0o644)).unwrap();
    let qwen = machine.home.path().join("bin/qwen");
    testkit::test_executables::write(&qwen, "#!/no/such/interpreter\n");
    machine.program("kimi", "echo kimi, version 1.52.0");

    for (agent, expected, usable) in [
        ("claude", vec!["untested-version", "auth-unknown"], true),
        ("codex", vec!["shim-broken"], false),
        ("gemini", vec!["version-probe-failed", "auth-unknown"], true),
        ("opencode", vec!["not-executable"], false),
        ("qwen", vec!["shim-broken"], false),
        ("kimi", vec!["shim-broken"], false),
        ("goose", vec!["not-on-path"], false),
    ] {
        let found = machine.found(agent);
        assert_eq!(reasons(&found), expected, "{agent}: {found:#}");
        assert_eq!(found["isUsable"], usable, "{agent}");
        for diagnosis in found["diagnoses"].as_array().unwrap() {
            assert_ne!(diagnosis["remedy"], "", "{agent}");
        }
    }
    let listed = machine.run(&["agents"]).out;
    assert!(listed.lines().any(|line| line.starts_with("opencode ")), "{listed}");
    let doctor = machine.run(&["agents", "doctor"]);
    assert_eq!(doctor.code, 1);
    assert!(!doctor.out.contains("goose"), "what is not there is no trouble: {}", doctor.out);
    assert!(doctor.out.contains("fix: "), "{}", doctor.out);

    let refused = machine.run(&["run", "codex", "hello"]);
    assert_eq!(refused.code, 4);
    assert!(refused.err.contains("hint: install it again"), "{}", refused.err);
}

#[test]
fn an_override_must_be_right() {
    let machine = Machine::new("");
    machine.program("claude", CLAUDE);
    for wrong in ["claude", "/no/such/file", "/tmp"] {
        let ran = machine
            .run_with(&["agents", "show", "claude", "--json"], &[("CLAUDE_BIN", Path::new(wrong))]);
        let found: Value = serde_json::from_str(&ran.out).unwrap();
        assert_eq!(reasons(&found), ["override-invalid"], "{wrong}");
        assert_eq!(ran.code, 1);
    }
    let other = machine.program("other", "echo 2.1.300");
    let ran = machine.run_with(&["agents", "show", "claude", "--json"], &[("CLAUDE_BIN", &other)]);
    let found: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!((&found["version"], &found["foundBy"]), (&json!("2.1.300"), &json!("override")));
}

#[test]
fn probes_that_hang_take_nothing_from_the_others_and_leave_nothing() {
    let machine = Machine::new("");
    machine.program("claude", CLAUDE);
    for name in ["codex", "gemini", "opencode", "qwen", "copilot", "goose", "droid"] {
        // With a grandchild that would keep the pipe open.
        machine.program(name, "trap '' TERM; setsid sleep 600 & sleep 600");
    }
    let found = machine.found("claude");
    assert_eq!((&found["version"], &found["isUsable"]), (&json!("2.1.325"), &json!(true)));
    machine.home.assert_empty_within(PATIENCE);
    let left: Vec<_> = std::fs::read_dir(machine.home.path().join("tmp")).unwrap().collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn what_was_found_is_believed_until_the_program_changes() {
    let machine = Machine::new("");
    let count = machine.home.path().join("count");
    let script = |version: &str| {
        format!(
            "echo x >> {}\ncase \"$*\" in --version) echo {version};; *--help*) echo help;; esac",
            count.display()
        )
    };
    let n_asked = || std::fs::read_to_string(&count).unwrap().lines().count();
    machine.program("claude", &format!("{}\n# {}", script("2.1.1"), "a"));
    assert_eq!(machine.found("claude")["version"], "2.1.1");
    let first = n_asked();
    assert_eq!(machine.found("claude")["version"], "2.1.1");
    assert!(n_asked() <= first + 1, "only the login may be asked again");
    machine.program("claude", &format!("{}\n# {}", script("2.1.22"), "changed"));
    assert_eq!(machine.found("claude")["version"], "2.1.22");
}

#[test]
fn an_acp_agent_takes_one_file_and_no_code() {
    let machine = Machine::new("");
    let agent = machine.home.tool("sdk-agent");
    machine.program("newcomer", &format!("shift; exec {} \"$@\"", agent.display()));
    let definition = "id = 'newcomer'\nname = 'Newcomer'\nbins = ['newcomer']\n\
        install = 'npm install -g newcomer'\nversion = { args = [] }\n\n[[forms]]\n\
        dialect = 'acp'\nargs = ['acp']\nprompt = 'acp'\nresume = { style = 'protocol' }\n\
        permissions = { asks = true }\n";
    std::fs::create_dir(machine.home.path().join("agents")).unwrap();
    std::fs::write(machine.home.path().join("agents/newcomer.toml"), definition).unwrap();

    let ran = machine.run(&["run", "newcomer", "good day", "--format", "quiet"]);
    assert_eq!((ran.code, ran.out.trim()), (0, "You said: good day"), "{}", ran.err);
    assert_eq!(machine.found("newcomer")["isUsable"], true);
    let again = machine.run(&["run", "-s", "last", "once more", "--format", "quiet"]);
    assert!(again.out.trim().ends_with("once more"), "{}", again.out);
}

#[test]
fn agents_of_ones_own_in_each_shape() {
    let machine = Machine::new("");
    let agent = machine.home.tool("sdk-agent");
    let config = format!(
        "[agents.bare]\ncommand = '{0}'\n\n[agent_servers.\"My Agent\"]\ncommand = '{0}'\nargs = []\n\
         env = {{ A = 'b' }}\n\n[agents.echo]\ncommand = '/bin/cat'\ndialect = 'plain'\n",
        agent.display()
    );
    std::fs::write(machine.home.path().join("switchyard.toml"), config).unwrap();
    for name in ["bare", "my-agent"] {
        let ran = machine.run(&["run", name, "hi", "--format", "quiet"]);
        assert_eq!(ran.out.trim(), "You said: hi", "{name}: {}", ran.err);
    }
    let ran = machine.run(&["run", "echo", "like -flag", "--format", "quiet", "--approve-all"]);
    assert_eq!(ran.out.trim(), "like -flag", "{}", ran.err);
    assert_eq!(machine.run(&["config", "check"]).code, 0);
    // What does not reach a CLI is not taken silently.
    let ran = machine.run(&["run", "echo", "hi", "--approve-all", "--model", "m"]);
    assert_eq!(ran.code, 2, "{}", ran.out);
    assert!(ran.err.contains("no choice of model"), "{}", ran.err);
    let ran = machine.run(&["run", "echo", "hi", "--approve-all", "--add-dir", "/"]);
    assert!(ran.out.contains("takes no further directories"), "{}", ran.out);
}

#[test]
fn a_prompt_by_file_is_private_and_a_prompt_by_argument_is_no_flag() {
    let machine = Machine::new("");
    machine.program("shows", "stat -c '%a %n' \"$2\" \"${2%/*}\"; cat \"$2\"");
    machine.program("says", "printf '[%s]' \"$@\"");
    let bin = machine.home.path().join("bin");
    let config = format!(
        "[agents.byfile]\ncommand = '{0}/shows'\nargs = ['--in', '{{prompt_file}}']\n\
         dialect = 'plain'\nprompt = 'file'\n\n[agents.byarg]\ncommand = '{0}/says'\n\
         args = ['--ask']\ndialect = 'plain'\nprompt = 'argv'\n",
        bin.display()
    );
    std::fs::write(machine.home.path().join("switchyard.toml"), config).unwrap();
    let ran = machine.run(&["run", "byfile", "the words", "--format", "quiet", "--approve-all"]);
    assert!(ran.out.contains("600 ") && ran.out.contains("700 "), "{} {}", ran.out, ran.err);
    assert!(ran.out.trim_end().ends_with("the words"), "{}", ran.out);
    let prompt = ["run", "byarg", "-", "--format", "quiet", "--approve-all"];
    let mut command = machine.home.command(prompt);
    let input = machine.home.work().join("prompt");
    std::fs::write(&input, "--trust-all-tools").unwrap();
    let ran: Ran = command.stdin(std::fs::File::open(input).unwrap()).output().unwrap().into();
    assert_eq!(ran.out.trim_end(), "[--ask][ --trust-all-tools]", "{}", ran.err);
    let left = std::fs::read_dir(machine.home.path().join("run/scratch")).unwrap().count();
    assert_eq!(left, 0, "nothing is left of it");
}

#[test]
fn an_agent_of_ones_own_that_is_not_there_is_trouble() {
    let machine = Machine::new("[agent_servers.'Mine, kept']\ncommand = '/no/such/agent'\n");
    let ran = machine.run(&["agents"]);
    assert!(ran.out.lines().any(|line| line.starts_with("mine-kept ")), "{}", ran.out);
    let doctor = machine.run(&["agents", "doctor"]);
    assert_eq!(doctor.code, 1);
    assert!(doctor.out.starts_with("mine-kept"), "{}", doctor.out);
    assert_eq!(machine.run(&["agents", "show", "goose"]).code, 4);
}

#[test]
fn listing_runs_no_command_of_ones_own() {
    let machine = Machine::new("");
    let marker = machine.home.path().join("ran");
    let mine = machine.program("mine", &format!("touch {}", marker.display()));
    let config = format!("[agents.mine]\ncommand = '{}'\n", mine.display());
    std::fs::write(machine.home.path().join("switchyard.toml"), config).unwrap();
    assert_eq!(machine.found("mine")["isUsable"], true);
    assert!(!marker.exists(), "nobody asked for it to be run");
}

#[test]
fn mistakes_in_the_configuration_are_told_with_their_place() {
    for (config, says) in [
        ("[agents.x]\nbase = 'nobody'\n", "nobody"),
        ("[agents.x]\n", "needs a `command`"),
        ("[agents.demo]\ncommand = 'a'\n", "built in"),
        ("[agents.x]\ncommand = 'a'\n[agent_servers.x]\ncommand = 'b'\n", "twice"),
        ("[agents.'My Agent']\ncommand = 'a'\n[agents.my-agent]\ncommand = 'b'\n", "twice"),
        ("[agents.x]\nbase = 'claude'\nprompt = 'argv'\n", "`prompt` is for"),
        ("[agents.x]\ncommand = 'a'\ndialect = 'klingon'\n", "klingon"),
        ("[agents.'a/b']\ncommand = 'a'\n", "a/b"),
        ("[agents.x]\ncommand = 'a'\nenv = { 'A=B' = 'c' }\n", "A=B"),
    ] {
        let machine = Machine::new(config);
        let ran = machine.run(&["agents"]);
        assert_eq!(ran.code, 1, "{config}");
        assert!(ran.err.contains(says) && ran.err.contains("switchyard.toml"), "{}", ran.err);
    }
}

#[test]
fn an_agent_that_does_not_exist_is_told_with_those_that_do() {
    let machine = Machine::new("");
    let ran = machine.run(&["agents", "show", "clade"]);
    assert_eq!(ran.code, 4);
    assert!(ran.err.contains("claude"), "{}", ran.err);
    assert_eq!(machine.run(&["run", "clade", "hi"]).code, 4);
}

#[test]
fn an_error_that_an_agent_gives_as_its_answer_is_an_error() {
    let machine = Machine::new("");
    let demo = format!("exec {} demo-agent --all-sessions", machine.home.exe().display());
    machine.program("dissembler", &demo);
    let definition = "id = 'dissembler'\nname = 'D'\nbins = ['dissembler']\ninstall = 'x'\n\
        version = { args = [] }\n\n[[forms]]\ndialect = 'acp'\nargs = []\nprompt = 'acp'\n\
        quirks = { failure_words = ['HTTP 401'], silence_is_failure = true }\n\
        permissions = { asks = true }\n";
    std::fs::create_dir(machine.home.path().join("agents")).unwrap();
    std::fs::write(machine.home.path().join("agents/dissembler.toml"), definition).unwrap();
    for (prompt, category) in [
        ("echo HTTP 401: no such key", Some("auth")),
        ("empty", Some("internal")),
        ("echo all is well, HTTP 401 is history", None),
        ("think deeply", None),
    ] {
        let ran = machine.run(&["run", "dissembler", prompt, "--format", "json"]);
        let last = ran.out.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let end = last.into_iter().find(|event| event["kind"] == "turn_ended").unwrap();
        let found = end["payload"]["error"]["category"].as_str();
        assert_eq!(found, category, "{prompt}: {end}");
        assert_eq!(ran.code, i32::from(category.is_some()), "{prompt}");
    }
}

#[test]
fn an_interrupted_search_leaves_no_process_and_no_directory() {
    let machine = Machine::new("");
    let marker = machine.home.path().join("begun");
    machine.program("claude", &format!("touch {}; sleep 600", marker.display()));
    let mut command = machine.home.command(["agents"]);
    command.env("PATH", format!("{}:/usr/bin:/bin", machine.home.path().join("bin").display()));
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::null()).spawn().unwrap();
    assert!(wait_until(PATIENCE, || marker.exists()), "the probe never began");
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    machine.home.assert_empty_within(PATIENCE);
    let left = std::fs::read_dir(machine.home.path().join("run/scratch")).unwrap().count();
    assert_eq!(left, 0);
}

#[test]
fn where_nothing_can_be_written_agents_are_found_all_the_same() {
    let machine = Machine::new("");
    machine.program("claude", CLAUDE);
    let mut command = machine.home.command(["agents"]);
    command
        .env("PATH", format!("{}:/usr/bin:/bin", machine.home.path().join("bin").display()))
        .env("SWITCHYARD_HOME", "/proc/nowhere")
        .stdin(Stdio::null());
    let ran: Ran = command.output().unwrap().into();
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.out.contains("2.1.325"), "{}", ran.out);
}
