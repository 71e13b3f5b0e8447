//! `switchyard run` as an ACP client, judged by the schema.
//!
//! In: turns with agents behind a tap; files, terminals and permissions are Switchyard's own.
//! Out: the verdict on every line, which includes that each request was answered exactly once,
//! and what becomes of the flags that speak to the agent.

use crate::cli::{Ran, last, run};
use crate::front::home;
use serde_json::{Value, json};
use testkit::test_home::{PATIENCE, TestHome};
use testkit::{Direction, Transcript, Validator, tap};

const TO_AGENT: Direction = Direction::ClientToAgent;

/// `switchyard run ARGS -- acp-tap tap.ndjson -- AGENT`.
fn tapped(home: &TestHome, args: &[&str], agent: &[&str]) -> Ran {
    let (tool, record) = (home.tool("acp-tap"), home.path().join("tap.ndjson"));
    let state = home.path().join("agent-state");
    let tap = [tool.to_str().unwrap(), record.to_str().unwrap(), "--"];
    let agent = [agent, &["--state", state.to_str().unwrap()]].concat();
    run(home, &[&["run", "--format", "quiet"], args, &["--"], &tap, &agent].concat())
}

fn sdk(home: &TestHome, args: &[&str]) -> Ran {
    tapped(home, args, &[home.tool("sdk-agent").to_str().unwrap()])
}

fn demo(home: &TestHome, args: &[&str]) -> Ran {
    tapped(home, args, &[home.exe().to_str().unwrap(), "demo-agent", "--all-sessions"])
}

/// The record, after the schema and the rules that it cannot express.
fn judged(home: &TestHome) -> Transcript {
    let record = tap::read(home.path().join("tap.ndjson")).unwrap();
    Validator::v1().assert_valid(&record);
    for call in record.messages(TO_AGENT) {
        let params = &call["params"];
        match call["method"].as_str() {
            Some("initialize") => {
                assert_eq!(params["protocolVersion"], json!(1), "an integer, and 1");
                let capabilities = &params["clientCapabilities"];
                assert_eq!(capabilities["elicitation"], Value::Null, "nobody is there to ask");
                assert_eq!(
                    capabilities["fs"],
                    json!({ "readTextFile": true, "writeTextFile": true })
                );
                assert_eq!(capabilities["terminal"], true);
            }
            Some("session/new" | "session/load" | "session/resume") => {
                assert_eq!(params["mcpServers"], json!([]), "{call}");
                assert_eq!(params["cwd"], json!(home.work().canonicalize().unwrap()), "{call}");
            }
            Some("session/cancel") => assert_eq!(call.get("id"), None, "a notification"),
            _ => {}
        }
    }
    record
}

#[test]
fn an_agent_made_with_the_sdk_is_served_files_terminals_and_permissions() {
    let home = home();
    for (prompt, expected) in [
        ("good day", "You said: good day"),
        ("write note.txt some words", "Wrote note.txt."),
        ("read note.txt", "some words"),
        ("read missing.txt", "Sorry: "),
        ("read /etc/passwd", "Sorry: "),
        ("terminal echo from-the-terminal", "Exit Some(0): from-the-terminal"),
        ("terminal sh -c exit", "Exit Some(0): "),
        ("terminal /no/such/program", "Sorry: "),
        ("elicit", "The client shows no forms."),
    ] {
        let Ran { code, out, err } = sdk(&home, &[prompt]);
        assert_eq!(code, 0, "{prompt}: {err}");
        assert!(out.starts_with(expected), "{prompt}: {out}");
    }
    assert_eq!(std::fs::read_to_string(home.work().join("note.txt")).unwrap(), "some words");
    let record = judged(&home);
    assert_eq!(record.calls(TO_AGENT, "session/new").count(), 9);
    home.assert_empty_within(PATIENCE);
}

#[test]
fn the_demo_agent_gets_everything_that_switchyard_offers_and_an_error_for_the_rest() {
    let home = home();
    let script = "say hello dear world\nthink twice\nplan\ntool read\ntool edit\ntool execute\ndiff\n\
        usage\ntitle A title\nmarkdown\nimage\ncommands\nmode code\nnotice careful\ncompaction\n\
        write sub.txt one two\nread sub.txt\nread sub.txt 1 1\nread ../secret\nrun echo terminal-words\n\
        terminal-kill sleep 1000\nrun /no/such/program\nask Ada\ncall _nobody/asks {}\ntool-fail";
    std::fs::write(home.path().join("secret"), "a secret").unwrap();

    let Ran { code, out, err } = demo(&home, &[script]);

    assert_eq!(code, 0, "{err}");
    for expected in [
        "hello dear world",
        "Wrote 7 bytes",
        "one two",
        "terminal-words",
        "The client has no forms",
        "-32601",
    ] {
        assert!(out.contains(expected), "no {expected}: {out}");
    }
    assert!(!out.contains("a secret"), "{out}");
    // Notices and compaction are newer than the stable schema.
    let record = tap::read(home.path().join("tap.ndjson")).unwrap();
    Validator::v1_unstable().assert_valid(&record);
    home.assert_empty_within(PATIENCE);
}

#[test]
fn a_session_goes_on_in_the_next_process_and_the_agent_still_knows_it() {
    let home = home();
    let agents: [fn(&TestHome, &[&str]) -> Ran; 2] = [sdk, demo];
    for start in agents {
        assert_eq!(start(&home, &["remember the blue door"]).code, 0);

        let again = run(&home, &["run", "--format", "quiet", "-s", "last", "recall"]);

        assert_eq!(again.code, 0, "{}", again.err);
        let expected = ["You said: recall", "note 1: the blue door"];
        assert!(expected.iter().any(|text| again.out.contains(text)), "{}", again.out);
    }
    let record = judged(&home);
    assert_eq!(record.calls(TO_AGENT, "session/resume").count(), 2);
    assert_eq!(record.calls(TO_AGENT, "session/new").count(), 2);
}

#[test]
fn a_session_goes_on_by_its_id_by_the_start_of_it_and_as_the_last() {
    let home = home();
    assert_eq!(run(&home, &["run", "demo", "remember the blue door"]).code, 0);
    let id = last(&home)["id"].as_str().unwrap().to_owned();

    for named in [&id, &id[..6], "last"] {
        let ran = run(&home, &["run", "-s", named, "recall"]);
        assert!(ran.code == 0 && ran.out.contains("note 1: the blue door"), "{ran:?}");
    }
    let named = run(&home, &["run", "demo", "recall", "--session", &id, "--format", "quiet"]);

    assert!(named.out.contains("I remember 4 earlier prompts"), "{named:?}");
    assert_eq!(last(&home)["id"], json!(id));
}

#[test]
fn an_agent_that_can_only_load_gets_its_session_by_load() {
    let home = home();
    let exe = home.exe().to_str().unwrap().to_owned();
    let first = tapped(&home, &["remember the blue door"], &[&exe, "demo-agent", "--load"]);
    assert_eq!(first.code, 0, "{}", first.err);

    let again = run(&home, &["run", "--format", "quiet", "-s", "last", "recall"]);

    assert!(again.out.contains("note 1: the blue door"), "{}{}", again.out, again.err);
    assert!(!again.out.contains("I will remember"), "the replay is not shown: {}", again.out);
    assert_eq!(judged(&home).calls(TO_AGENT, "session/load").count(), 1);
}

#[test]
fn a_turn_that_takes_too_long_is_cancelled_by_a_notification_and_ends_as_cancelled() {
    let home = home();
    for ran in [
        sdk(&home, &["cancel", "--timeout", "1"]),
        demo(&home, &["say begun\npermission-hang", "--approve-all", "--timeout", "1"]),
        demo(&home, &["hang", "--timeout", "1"]),
    ] {
        assert_eq!(ran.code, 3, "{}{}", ran.out, ran.err);
    }

    let record = judged(&home);

    assert_eq!(record.calls(TO_AGENT, "session/cancel").count(), 3);
    let is_cancelled = |message: &Value| message["result"]["stopReason"] == "cancelled";
    assert_eq!(record.messages(Direction::AgentToClient).filter(is_cancelled).count(), 3);
}

#[test]
fn settings_are_asked_for_in_the_agents_own_words_before_the_prompt() {
    let home = home();

    let set =
        demo(&home, &["say x", "--model", "demo-large", "--effort", "high", "--mode", "code"]);
    let of_sdk = sdk(&home, &["hi", "--mode", "code"]);

    assert_eq!((set.code, of_sdk.code), (0, 0), "{}{}", set.err, of_sdk.err);
    let record = judged(&home);
    let asked: Vec<String> =
        record.messages(TO_AGENT).filter_map(|m| Some(m["method"].as_str()?.to_owned())).collect();
    let (option, mode) = ("session/set_config_option", "session/set_mode");
    let expected = ["initialize", "session/new", option, option, mode, "session/prompt"];
    assert_eq!(asked[..6], expected);
    assert_eq!(asked[6..], ["initialize", "session/new", mode, "session/prompt"]);
}

#[test]
fn an_agent_that_misbehaves_is_still_answered_properly() {
    let home = home();
    let out = demo(&home, &["garbage\nbad-utf8\nunknown-response\nsay after all that"]);

    assert_eq!(out.code, 0, "{}", out.err);
    assert!(out.out.trim_end().ends_with("after all that"), "{}", out.out);
    let record = tap::read(home.path().join("tap.ndjson")).unwrap();
    let wrong: Vec<_> = Validator::v1()
        .check(&record)
        .into_iter()
        .filter(|violation| violation.direction == TO_AGENT)
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn permissions_are_decided_by_flags_and_by_a_file_of_rules() {
    let home = home();
    let rules = home.work().join("rules.toml");
    let text = "[[rules]]\nname = \"cargo\"\naction = \"allow\"\nkinds = [\"execute\"]\ncommands = [\"cargo *\"]\n\
        [[rules]]\nname = \"no secrets\"\naction = \"deny\"\npaths = [\"secret/**\"]\n";
    std::fs::write(&rules, text).unwrap();
    let policy = ["--policy", "rules.toml"];
    let ask = |script: &str, flags: &[&str]| demo(&home, &[&[script], flags].concat());
    for (script, flags, code, option) in [
        ("permission execute ls", &["--approve-all"][..], 0, "opt-1"),
        ("permission execute ls", &["--deny-all"], 0, "opt-3"),
        ("permission read README.md", &["--approve-reads"], 0, "opt-1"),
        ("permission execute ls", &["--approve-reads"], 5, "opt-3"),
        ("permission execute cargo build", &policy, 0, "opt-1"),
        ("permission execute cargo build; rm -rf x", &policy, 5, "opt-3"),
        ("permission edit secret/key", &["--policy", "rules.toml", "--approve-all"], 0, "opt-3"),
        ("permission edit open/key", &["--policy", "rules.toml", "--approve-all"], 0, "opt-1"),
        ("permission edit a.txt", &["--permissions", "accept-edits"], 0, "opt-1"),
        ("permission execute ls", &["--permissions", "read-only"], 0, "opt-3"),
        ("permission-odd", &["--approve-all"], 5, "opt-9"),
    ] {
        let ran = ask(script, flags);
        assert!(ran.out.contains(&format!("{option} (")), "{script} {flags:?}: {ran:?}");
        assert_eq!(ran.code, code, "{script} {flags:?}: {ran:?}");
    }
    for (flags, code, said) in [
        (&["--approve-all"][..], 0, "granted"),
        (&["--deny-all"], 0, "refused"),
        (&[], 5, "refused"),
    ] {
        let ran = sdk(&home, &[&["permission"], flags].concat());
        assert!(ran.code == code && ran.out.contains(said), "{flags:?}: {ran:?}");
    }
    judged(&home);
    std::fs::write(&rules, "[[rules]]\naction = \"allow\"\nkind = [\"read\"]\n").unwrap();
    let wrong = ask("permission", &policy);
    assert!(
        wrong.code != 0 && wrong.err.contains("rules.toml") && wrong.err.contains("kind"),
        "{wrong:?}"
    );
}

#[test]
fn settings_that_the_agent_does_not_offer_are_refused_with_what_it_offers() {
    let home = home();
    for (flag, good, bad, offered) in [
        ("--model", "demo-large", "huge", "demo-small, demo-large"),
        ("--effort", "high", "heroic", "low, medium, high"),
        ("--mode", "code", "dance", "ask, code"),
    ] {
        let set = run(&home, &["run", "demo", "say x", flag, good, "--format", "json"]);
        assert!(set.code == 0 && set.out.contains("option_set"), "{flag}: {set:?}");
        let refused = run(&home, &["run", "demo", "say x", flag, bad]);
        assert!(refused.code == 2 && refused.err.contains(offered), "{flag}: {refused:?}");
    }
    let none =
        run(&home, &["run", "x", "--model", "any", "--", home.tool("sdk-agent").to_str().unwrap()]);
    assert!(none.code == 2 && none.err.contains("no choice of model"), "{none:?}");
}

#[test]
fn images_are_attached_as_such_and_other_files_as_links() {
    let home = home();
    std::fs::write(home.work().join("dot.png"), b"\x89PNG\r\n\x1a\n").unwrap();
    std::fs::write(home.work().join("a note.txt"), "words").unwrap();

    let attach = ["--attach", "dot.png", "--attach", "a note.txt"];
    let ran =
        run(&home, &[&["run", "demo", "echo-prompt", "--format", "quiet"][..], &attach].concat());
    let missing = run(&home, &["run", "demo", "x", "--attach", "missing.txt"]);

    let blocks: Value = serde_json::from_str(&ran.out[ran.out.find("[{").unwrap()..]).unwrap();
    assert_eq!(
        (&blocks[1]["type"], &blocks[1]["name"]),
        (&json!("resource_link"), &json!("a note.txt"))
    );
    assert!(blocks[1]["uri"].as_str().unwrap().ends_with("/work/a%20note.txt"), "{blocks}");
    let image = ["type", "mimeType", "data"].map(|member| blocks[2][member].as_str().unwrap());
    assert_eq!(image, ["image", "image/png", "iVBORw0KGgo="]);
    assert!(missing.code != 0 && missing.err.contains("missing.txt"), "{missing:?}");
    home.assert_empty_within(PATIENCE);
}
