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
        let params = json!({ "protocolVersion": 1, "clientCapabilities": {} });
        self.client.result("initialize", &params)
    }

    fn new_session(&mut self, yard: &Yard) -> String {
        let params = json!({ "cwd": yard.work(), "mcpServers": [] });
        self.client.result("session/new", &params)["sessionId"].as_str().unwrap().to_owned()
    }

    fn leave(mut self) {
        self.client.finish_sending();
        self.client.rest();
        assert!(self.child.wait().unwrap().success());
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
