//! `switchyard acp` on stdin and stdout, beside a daemon and without one, line by line: what
//! clients send that the official SDK does not.

use std::process::{Child, Stdio};

use serde_json::{Value, json};
use testkit::daemon::Daemon;
use testkit::line_client::LineClient;
use testkit::process::{Yard, switchyard};
use testkit::tap;

struct Editor {
    child: Child,
    client: LineClient,
}

impl Editor {
    /// `switchyard acp` with these arguments; not introduced yet.
    fn start<'a>(yard: &Yard, args: impl IntoIterator<Item = &'a str>) -> Self {
        let args = ["acp"].into_iter().chain(args);
        let mut command = yard.command(args);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (stdin, stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        Self { child, client: LineClient::pipes(stdin, stdout) }
    }

    fn initialize(&mut self) -> Value {
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

    fn new_session(&mut self, yard: &Yard) -> String {
        let params = json!({ "cwd": yard.work(), "mcpServers": [] });
        self.client.result("session/new", &params)["sessionId"].as_str().unwrap().to_owned()
    }

    fn leave(self) {
        assert_eq!(self.leave_with_code(), Some(0));
    }

    fn leave_with_code(mut self) -> Option<i32> {
        self.client.finish_sending();
        self.client.rest();
        self.child.wait().unwrap().code()
    }
}

fn yard() -> Yard {
    switchyard(env!("CARGO_BIN_EXE_switchyard"))
}

/// With a daemon beside it, and without.
fn both_ways(check: impl Fn(&Yard)) {
    check(&yard());
    let yard = yard();
    let _daemon = Daemon::start_with(&yard, &[]);
    check(&yard);
}

#[test]
fn whoever_names_no_agent_gets_the_built_in_one() {
    both_ways(|yard| {
        let mut editor = Editor::start(yard, []);
        let answer = editor.initialize();
        assert_eq!(answer["agentInfo"]["name"], "switchyard", "{answer}");
        editor.leave();
    });
}

#[test]
fn a_cancel_that_is_sent_as_a_request_is_answered_and_cancels() {
    both_ways(|yard| {
        let mut editor = Editor::start(yard, ["demo"]);
        editor.initialize();
        let session = editor.new_session(yard);
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
    both_ways(|yard| {
        let kept = tempfile::tempdir().unwrap();
        let place = kept.path().canonicalize().unwrap();
        let (further, more) = (place.join("further"), place.join("more"));
        std::fs::create_dir(&further).unwrap();
        std::fs::create_dir(&more).unwrap();
        let record = yard.home().join("tap.ndjson");
        let tap = yard.tool("acp-tap");
        let paths = [further.to_str(), tap.to_str(), record.to_str()];
        let [further_arg, tap_arg, record_arg] = paths.map(|path| path.unwrap().to_owned());
        let exe = yard.exe().to_str().unwrap().to_owned();
        let args = ["--add-dir", &further_arg, "--", &tap_arg, &record_arg, "--", &exe];
        let mut editor = Editor::start(yard, args.into_iter().chain(["demo-agent"]));
        editor.initialize();
        let params =
            json!({ "cwd": yard.work(), "mcpServers": [], "additionalDirectories": [more] });
        editor.client.result("session/new", &params);

        let transcript = tap::read(&record).unwrap();
        let mut sent = transcript.entries.iter().filter_map(testkit::Entry::json);
        let new = sent.find(|message| message["method"] == "session/new").unwrap();
        let mut dirs: Vec<String> =
            serde_json::from_value(new["params"]["additionalDirectories"].clone()).unwrap();
        dirs.sort();
        assert_eq!(dirs, [further_arg, more.to_str().unwrap().to_owned()]);
        editor.leave();
    });
}

#[test]
fn an_editor_is_told_why_there_is_no_agent_for_it() {
    let with_missing = || {
        let yard = yard();
        let agent = "[agents.missing]\ncommand = \"/nowhere/agent\"\n";
        std::fs::write(yard.home().join("switchyard.toml"), agent).unwrap();
        yard
    };
    let alone = with_missing();
    let beside = with_missing();
    let _daemon = Daemon::start_with(&beside, &[]);
    let missing = [&alone, &beside].map(|yard| {
        let mut editor = Editor::start(yard, ["cluade"]);
        let error = editor.refused();
        assert!(error["message"].as_str().unwrap().contains("no agent `cluade`"), "{error}");
        let remedy = error["data"]["remedy"].as_str().unwrap();
        assert!(remedy.contains("did you mean `claude`?"), "{error}");
        assert_eq!(editor.leave_with_code(), Some(4));

        let mut editor = Editor::start(yard, ["missing"]);
        editor.refused()
    });
    assert!(missing[0]["message"].as_str().unwrap().contains("cannot be started"), "{missing:?}");
    assert!(missing[0]["data"]["remedy"].is_string(), "{missing:?}");
    // A daemon tells it in the same words.
    assert_eq!(missing[0], missing[1]);
}

#[test]
fn an_editor_is_told_what_is_wrong_with_the_configuration() {
    let yard = yard();
    std::fs::write(yard.home().join("switchyard.toml"), "[serve\n").unwrap();
    let mut editor = Editor::start(&yard, ["demo"]);
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
    both_ways(|yard| {
        let asks = json!({ "session": { "notices": {}, "compaction": {} } });
        let mut editor = Editor::start(yard, ["demo"]);
        editor.introduce(&asks);
        let session = editor.new_session(yard);
        let prompt = [json!({ "type": "text", "text": "notice careful ; compaction ; say so" })];
        let params = json!({ "sessionId": session, "prompt": prompt });
        let turn = editor.client.start("session/prompt", &params);
        editor.client.answer_to(&turn);
        editor.client.finish_sending();
        assert_eq!(editor.client.rest().iter().filter(|told| is_newer(told)).count(), 5);
        editor.leave();

        let mut editor = Editor::start(yard, ["demo"]);
        editor.initialize();
        let place = json!({ "sessionId": session, "cwd": yard.work(), "mcpServers": [] });
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
