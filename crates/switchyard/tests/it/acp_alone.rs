//! `switchyard acp` on stdin and stdout, beside a daemon and without one, line by line: what
//! clients send that the official SDK does not.

use std::process::{Child, Stdio};

use serde_json::{Value, json};
use testkit::daemon::Daemon;
use testkit::line_client::LineClient;
use testkit::tap;
use testkit::test_home::{TestHome, switchyard};

/// An agent that lists, loads and deletes sessions, behind a tap that all of its processes share.
pub(crate) fn tapped(home: &TestHome) -> Vec<String> {
    let (tap, record) = (home.tool("acp-tap"), home.path().join("tap.ndjson"));
    let state = home.path().join("agent-state");
    let mut words = vec!["--".to_owned()];
    words.extend([tap, record].map(|path| path.to_str().unwrap().to_owned()));
    words.extend(["--", home.exe().to_str().unwrap(), "demo-agent"].map(str::to_owned));
    words.extend(["--all-sessions", "--state", state.to_str().unwrap()].map(str::to_owned));
    words
}

/// Params of what the agent was asked, in order.
pub(crate) fn asked(home: &TestHome, method: &str) -> Vec<Value> {
    let transcript = tap::read(home.path().join("tap.ndjson")).unwrap();
    let sent = transcript.entries.iter().filter_map(testkit::TranscriptEntry::json);
    let fits = sent.filter(|message| message["method"] == method);
    fits.map(|message| message["params"].clone()).collect()
}

pub(crate) struct Editor {
    child: Child,
    pub(crate) client: LineClient,
}

impl Editor {
    /// `switchyard acp` with these arguments; not introduced yet.
    pub(crate) fn start<'a>(home: &TestHome, args: impl IntoIterator<Item = &'a str>) -> Self {
        let args = ["acp"].into_iter().chain(args);
        let mut command = home.command(args);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (stdin, stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        Self { child, client: LineClient::pipes(stdin, stdout) }
    }

    pub(crate) fn initialize(&mut self) -> Value {
        self.introduce(&json!({}))
    }

    fn introduce(&mut self, capabilities: &Value) -> Value {
        let params = json!({ "protocolVersion": 1, "clientCapabilities": capabilities });
        self.client.result("initialize", &params)
    }

    /// What is answered to an editor that cannot be served.
    fn refused(&mut self) -> Value {
        let params = json!({ "protocolVersion": 1, "clientCapabilities": {} });
        let mut answer = self.client.ask("initialize", &params);
        assert!(answer["error"]["code"].is_i64(), "{answer}");
        answer["error"].take()
    }

    fn new_session(&mut self, home: &TestHome) -> String {
        let params = json!({ "cwd": home.work(), "mcpServers": [] });
        self.client.result("session/new", &params)["sessionId"].as_str().unwrap().to_owned()
    }

    pub(crate) fn leave(self) {
        assert_eq!(self.leave_with_code(), Some(0));
    }

    fn leave_with_code(mut self) -> Option<i32> {
        self.client.finish_sending();
        self.client.rest();
        self.child.wait().unwrap().code()
    }
}

fn home() -> TestHome {
    switchyard(env!("CARGO_BIN_EXE_switchyard"))
}

/// With a daemon beside it, and without.
fn both_ways(check: impl Fn(&TestHome)) {
    check(&home());
    let home = home();
    let _daemon = Daemon::start_with(&home, &[]);
    check(&home);
}

#[test]
fn whoever_names_no_agent_gets_the_built_in_one() {
    both_ways(|home| {
        let mut editor = Editor::start(home, []);
        let answer = editor.initialize();
        assert_eq!(answer["agentInfo"]["name"], "switchyard", "{answer}");
        editor.leave();
    });
}

#[test]
fn what_was_asked_before_the_input_ended_is_answered() {
    both_ways(|home| {
        let mut editor = Editor::start(home, ["demo"]);
        let params = json!({ "protocolVersion": 1, "clientCapabilities": {} });
        let introduction = editor.client.start("initialize", &params);
        let params = json!({ "cwd": home.work(), "mcpServers": [] });
        let session = editor.client.start("session/new", &params);
        editor.client.finish_sending();
        let answers = editor.client.rest();
        for id in [introduction, session] {
            let answer = answers.iter().find(|answer| answer["id"] == id);
            assert!(answer.is_some_and(|answer| answer["result"].is_object()), "{answers:?}");
        }
        assert_eq!(editor.child.wait().unwrap().code(), Some(0));
    });
}

#[test]
fn a_cancel_that_is_sent_as_a_request_is_answered_and_cancels() {
    both_ways(|home| {
        let mut editor = Editor::start(home, ["demo"]);
        editor.initialize();
        let session = editor.new_session(home);
        let prompt = [json!({ "type": "text", "text": "say well ; hang" })];
        let params = json!({ "sessionId": session, "prompt": prompt });
        let turn = editor.client.start("session/prompt", &params);
        editor.client.wait_for(|message| message["method"] == "session/update");

        let answer = editor.client.ask("session/cancel", &json!({ "sessionId": session }));
        assert_eq!(answer["result"], json!({}), "{answer}");
        let end = editor.client.answer_to(&turn);
        assert_eq!(end["result"]["stopReason"], "cancelled", "{end}");

        let unknown = editor.client.ask("session/cancel", &json!({ "sessionId": "none" }));
        assert!(unknown["error"]["code"].is_i64(), "{unknown}");
        editor.leave();
    });
}

#[test]
fn further_directories_reach_every_new_session() {
    both_ways(|home| {
        let kept = tempfile::tempdir().unwrap();
        let place = kept.path().canonicalize().unwrap();
        let (further, more) = (place.join("further"), place.join("more"));
        std::fs::create_dir(&further).unwrap();
        std::fs::create_dir(&more).unwrap();
        let record = home.path().join("tap.ndjson");
        let tap = home.tool("acp-tap");
        let paths = [further.to_str(), tap.to_str(), record.to_str()];
        let [further_arg, tap_arg, record_arg] = paths.map(|path| path.unwrap().to_owned());
        let exe = home.exe().to_str().unwrap().to_owned();
        let args = ["--add-dir", &further_arg, "--", &tap_arg, &record_arg, "--", &exe];
        let mut editor = Editor::start(home, args.into_iter().chain(["demo-agent"]));
        editor.initialize();
        let params =
            json!({ "cwd": home.work(), "mcpServers": [], "additionalDirectories": [more] });
        editor.client.result("session/new", &params);

        let transcript = tap::read(&record).unwrap();
        let mut sent = transcript.entries.iter().filter_map(testkit::TranscriptEntry::json);
        let new = sent.find(|message| message["method"] == "session/new").unwrap();
        let mut dirs: Vec<String> =
            serde_json::from_value(new["params"]["additionalDirectories"].clone()).unwrap();
        dirs.sort();
        assert_eq!(dirs, [further_arg, more.to_str().unwrap().to_owned()]);
        editor.leave();
    });
}

#[test]
fn an_editor_brings_its_servers_and_its_place_to_an_earlier_session() {
    both_ways(|home| {
        let words = tapped(home);
        let words = || words.iter().map(String::as_str);
        let server =
            |name: &str| json!({ "name": name, "command": "/bin/false", "args": [], "env": [] });
        let mut editor = Editor::start(home, words());
        editor.initialize();
        let made = json!({ "cwd": home.work(), "mcpServers": [server("before")] });
        let session = editor.client.result("session/new", &made)["sessionId"].clone();
        editor.client.result("session/close", &json!({ "sessionId": session }));
        editor.leave();

        let elsewhere = home.user().join("elsewhere");
        std::fs::create_dir(&elsewhere).unwrap();
        let mut editor = Editor::start(home, words());
        editor.initialize();
        let again =
            json!({ "sessionId": session, "cwd": elsewhere, "mcpServers": [server("now")] });
        editor.client.result("session/load", &again);
        editor.client.result("session/close", &json!({ "sessionId": session }));
        // Who names no servers leaves those that there are.
        let resume = json!({ "sessionId": session, "cwd": elsewhere });
        editor.client.result("session/resume", &resume);
        editor.leave();

        let opened = asked(home, "session/resume");
        let of = |member: &str| opened.iter().map(|it| it[member].clone()).collect::<Vec<_>>();
        assert_eq!(of("cwd"), [json!(elsewhere), json!(elsewhere)]);
        assert_eq!(of("mcpServers"), [json!([server("now")]), json!([server("now")])]);
        let exported = home.command(["sessions", "export", "last"]).output().unwrap();
        let exported = String::from_utf8(exported.stdout).unwrap();
        assert_eq!(exported.matches("cwd_changed").count(), 1, "{exported}");
    });
}

#[test]
fn an_agent_that_runs_hears_which_sessions_are_deleted() {
    both_ways(|home| {
        let words = tapped(home);
        let mut editor = Editor::start(home, words.iter().map(String::as_str));
        editor.initialize();
        let (open, closed) = (editor.new_session(home), editor.new_session(home));
        editor.client.result("session/close", &json!({ "sessionId": closed }));
        for session in [&closed, &open] {
            editor.client.result("session/delete", &json!({ "sessionId": session }));
        }
        let list = editor.client.result("session/list", &json!({}));
        assert_eq!(list["sessions"], json!([]));
        editor.leave();
        assert_eq!(asked(home, "session/delete").len(), 2);
    });
}

#[test]
fn an_editor_lists_the_sessions_of_its_agent_also_if_that_is_a_command() {
    both_ways(|home| {
        let mut other = Editor::start(home, ["demo"]);
        other.initialize();
        other.new_session(home);
        other.leave();
        let words = tapped(home);
        let mut editor = Editor::start(home, words.iter().map(String::as_str));
        editor.initialize();
        let session = editor.new_session(home);
        let list = editor.client.result("session/list", &json!({}));
        assert_eq!(list["sessions"].as_array().unwrap().len(), 1, "{list}");
        assert_eq!(list["sessions"][0]["sessionId"], json!(session));
        editor.leave();
    });
}

#[test]
fn what_an_agent_asks_beside_acp_reaches_its_editor() {
    both_ways(|home| {
        let asks = r#"*'"session/prompt"'*) prompt=$id
            printf '{"jsonrpc":"2.0","id":77,"method":"_x/ask","params":{"sessionId":"s","n":1}}\n'
            printf '{"jsonrpc":"2.0","method":"_x/told","params":{"n":2}}\n';;
            *'"id":77'*) id=$prompt; answer '{"stopReason":"end_turn"}';;
            *'"session/new"'*) answer '{"sessionId":"s"}';;"#;
        let agent = crate::attacks::agent(home, asks);
        let mut editor = Editor::start(home, ["--", "sh", &agent]);
        editor.initialize();
        // The first has the process that answered already; the second has its own.
        for _ in 0..2 {
            let session = editor.new_session(home);
            let prompt = [json!({ "type": "text", "text": "go" })];
            let params = json!({ "sessionId": session, "prompt": prompt });
            let turn = editor.client.start("session/prompt", &params);
            let asked = editor.client.wait_for(|message| message["method"] == "_x/ask");
            assert_eq!(asked["params"], json!({ "sessionId": session, "n": 1 }));
            editor.client.wait_for(|message| message["method"] == "_x/told");
            let answer = json!({ "jsonrpc": "2.0", "id": asked["id"], "result": {} });
            editor.client.send(&answer.to_string());
            assert_eq!(editor.client.answer_to(&turn)["result"]["stopReason"], "end_turn");
        }
        editor.leave();
    });
}

#[test]
fn an_editor_that_leaves_in_mid_turn_is_told_how_it_ended() {
    let home = home();
    let mut editor = Editor::start(&home, ["demo"]);
    editor.initialize();
    let session = editor.new_session(&home);
    let prompt = [json!({ "type": "text", "text": "say well ; hang" })];
    let params = json!({ "sessionId": session, "prompt": prompt });
    let turn = editor.client.start("session/prompt", &params);
    editor.client.wait_for(|message| message["method"] == "session/update");
    editor.client.finish_sending();
    let end = editor.client.answer_to(&turn);
    assert_eq!(end["result"]["stopReason"], "cancelled", "{end}");
    editor.leave();
    home.assert_empty_within(testkit::test_home::PATIENCE);
}

#[test]
fn an_editor_is_told_why_there_is_no_agent_for_it() {
    let with_missing = || {
        let home = home();
        let agent = "[agents.missing]\ncommand = \"/nowhere/agent\"\n";
        std::fs::write(home.path().join("switchyard.toml"), agent).unwrap();
        home
    };
    let alone = with_missing();
    let beside = with_missing();
    let _daemon = Daemon::start_with(&beside, &[]);
    let missing = [&alone, &beside].map(|home| {
        let mut editor = Editor::start(home, ["cluade"]);
        let error = editor.refused();
        assert!(error["message"].as_str().unwrap().contains("no agent `cluade`"), "{error}");
        let remedy = error["data"]["remedy"].as_str().unwrap();
        assert!(remedy.contains("did you mean `claude`?"), "{error}");
        assert_eq!(editor.leave_with_code(), Some(4));

        let mut editor = Editor::start(home, ["missing"]);
        editor.refused()
    });
    assert!(missing[0]["message"].as_str().unwrap().contains("cannot be started"), "{missing:?}");
    assert!(missing[0]["data"]["remedy"].is_string(), "{missing:?}");
    // A daemon tells it in the same words.
    assert_eq!(missing[0], missing[1]);
}

#[test]
fn an_editor_is_told_what_is_wrong_with_the_configuration() {
    let home = home();
    std::fs::write(home.path().join("switchyard.toml"), "[serve\n").unwrap();
    let mut editor = Editor::start(&home, ["demo"]);
    let error = editor.refused();
    assert!(error["message"].as_str().unwrap().contains("switchyard.toml"), "{error}");
    assert_eq!(editor.leave_with_code(), Some(1));
}

#[test]
fn updates_that_not_every_client_knows_reach_those_who_asked_for_them() {
    let is_newer = |message: &Value| {
        let name = message["params"]["update"]["sessionUpdate"].as_str().unwrap_or_default();
        name == "notice" || name.starts_with("compaction_")
    };
    both_ways(|home| {
        let asks = json!({ "session": { "notices": {}, "compaction": {} } });
        let mut editor = Editor::start(home, ["demo"]);
        editor.introduce(&asks);
        let session = editor.new_session(home);
        let prompt = [json!({ "type": "text", "text": "notice careful ; compaction ; say so" })];
        let params = json!({ "sessionId": session, "prompt": prompt });
        let turn = editor.client.start("session/prompt", &params);
        editor.client.answer_to(&turn);
        editor.client.finish_sending();
        assert_eq!(editor.client.rest().iter().filter(|told| is_newer(told)).count(), 5);
        editor.leave();

        let mut editor = Editor::start(home, ["demo"]);
        editor.initialize();
        let place = json!({ "sessionId": session, "cwd": home.work(), "mcpServers": [] });
        editor.client.result("session/load", &place);
        let turn = editor.client.start("session/prompt", &params);
        editor.client.answer_to(&turn);
        editor.client.finish_sending();
        let told = editor.client.rest();
        assert!(told.iter().any(|told| told.to_string().contains("so")), "{told:?}");
        assert!(!told.iter().any(is_newer), "{told:?}");
        // That of the earlier turn is told as words of the agent; an agent that knows its client
        // says none in this one.
        let is_notice = |message: &&Value| {
            let update = &message["params"]["update"];
            let text = update["content"]["text"].as_str().unwrap_or_default();
            update["sessionUpdate"] == "agent_message_chunk" && text.contains("careful")
        };
        assert!(told.iter().filter(is_notice).count() >= 1, "{told:?}");
        editor.leave();
    });
}
