//! The built-in agent with the real binary: a stage for its tests, and its ways in.
//!
//! A stage is a home, a directory to work in, and a model server that follows the test's script.
//! The agent is reached alone (`switchyard native-agent`), behind a session that is never lost
//! (`switchyard acp`), or by `switchyard run native`.

use crate::cli::Ran;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use testkit::line_client::LineClient;
use testkit::model_server::{MODEL, ModelServer, status, text};
use testkit::sdk_client::acp::{ClientCapabilities, SessionId};
use testkit::sdk_client::{ClientBehavior, SdkClient, Turn};
use testkit::test_home::{TestHome, switchyard};
use testkit::{Direction, Transcript, Validator};

pub(crate) const KEY: &str = "sk-test-1234567890";
pub(crate) const FROM_AGENT: Direction = Direction::AgentToClient;

/// How a client gets to the agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// `switchyard native-agent`
    Alone,
    /// `switchyard acp`
    Acp,
}

pub(crate) const BOTH: [Way; 2] = [Way::Alone, Way::Acp];

#[derive(Debug)]
pub(crate) struct Stage {
    pub(crate) home: TestHome,
    pub(crate) model: ModelServer,
}

impl Stage {
    pub(crate) async fn new() -> Self {
        let home = switchyard(env!("CARGO_BIN_EXE_switchyard"));
        Self { home, model: ModelServer::start().await }
    }

    /// With a provider that does not wait before it tries again, and whatever else is wanted.
    pub(crate) async fn with_config(native: &str, provider: &str) -> Self {
        let stage = Self::new().await;
        let config = format!(
            "[native]\n{native}\n[native.providers.test]\nbase_url = \"{}\"\n\
             api_key_env = \"OPENAI_API_KEY\"\nmodel = \"{MODEL}\"\nretries = 2\n\
             retry_wait = \"1ms\"\n{provider}\n",
            stage.model.base_url()
        );
        std::fs::write(stage.home.path().join("switchyard.toml"), config).unwrap();
        stage
    }

    pub(crate) fn work(&self) -> PathBuf {
        self.home.work()
    }

    pub(crate) fn put(&self, name: &str, text: &str) -> PathBuf {
        let path = self.work().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        path
    }

    pub(crate) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.work().join(name)).unwrap()
    }

    /// The binary, with the model server where the user would have put their endpoint.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = self.home.command(args);
        for name in ["http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "ALL_PROXY"] {
            command.env_remove(name);
        }
        for name in ["OPENAI_SYSTEM_PROMPT", "OPENAI_MAX_TOKENS", "OPENAI_TEMPERATURE"] {
            command.env_remove(name);
        }
        command.env_remove("OPENAI_TOOLS").env_remove("OPENAI_CONTEXT_TOOLS");
        command.env("OPENAI_BASE_URL", self.model.base_url());
        command.env("OPENAI_API_KEY", KEY).env("OPENAI_MODEL", MODEL);
        // It logs the failures that tests are about.
        command.stderr(Stdio::null());
        command
    }

    pub(crate) fn agent(&self, way: Way) -> Command {
        match way {
            Way::Alone => self.command(&["native-agent"]),
            Way::Acp => self.command(&["acp"]),
        }
    }

    /// A client that offers everything that it can.
    pub(crate) async fn client(&self, way: Way, behavior: ClientBehavior) -> SdkClient {
        SdkClient::ready(self.agent(way), behavior.files(self.work())).await.unwrap()
    }

    /// A client that offers nothing, and a session of it.
    pub(crate) async fn bare(&self, way: Way) -> (SdkClient, SessionId) {
        self.bare_with(way, ClientBehavior::default()).await
    }

    pub(crate) async fn bare_with(
        &self,
        way: Way,
        behavior: ClientBehavior,
    ) -> (SdkClient, SessionId) {
        let client = SdkClient::start(self.agent(way), behavior).await;
        client.initialize(ClientCapabilities::new()).await.unwrap();
        let session = client.new_session(self.work()).await.unwrap().session_id;
        (client, session)
    }

    /// The agent on bare pipes, and its process.
    pub(crate) fn lines(&self, way: Way) -> (LineClient, Child) {
        let mut command = self.agent(way);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let client = LineClient::pipes(child.stdin.take().unwrap(), child.stdout.take().unwrap());
        (client, child)
    }

    /// The same after `initialize` and `session/new`, and the session's id.
    pub(crate) fn opened(&self, way: Way) -> (LineClient, Child, String) {
        let (mut lines, child) = self.lines(way);
        lines.result("initialize", &json!({ "protocolVersion": 1 }));
        let session = lines.result("session/new", &self.new_params())["sessionId"].clone();
        (lines, child, session.as_str().unwrap().to_owned())
    }

    pub(crate) fn new_params(&self) -> Value {
        json!({ "cwd": self.work(), "mcpServers": [] })
    }

    /// `switchyard run native ARGS`, to its end.
    pub(crate) async fn run(&self, args: &[&str]) -> Ran {
        let mut command = self.command(&[&["run", "native"], args].concat());
        command.stdin(Stdio::null()).stderr(Stdio::piped());
        let output = tokio::process::Command::from(command).output().await.unwrap();
        output.into()
    }
}

impl Stage {
    /// The next turn of the last session, to its end.
    pub(crate) async fn run_again(&self, args: &[&str]) -> Ran {
        let mut command = self.command(&[&["run", "-s", "last"], args].concat());
        command.stdin(Stdio::null()).stderr(Stdio::piped());
        tokio::process::Command::from(command).output().await.unwrap().into()
    }
}

pub(crate) fn prompt_of(session: &str, text: &str) -> Value {
    json!({ "sessionId": session, "prompt": [{ "type": "text", "text": text }] })
}

pub(crate) fn stop_reason(turn: &Turn) -> String {
    serde_json::to_value(turn.stop_reason).unwrap().as_str().unwrap().to_owned()
}

/// The updates of a turn as they are on the wire.
pub(crate) fn updates_of(turn: &Turn) -> Vec<Value> {
    turn.updates.iter().map(|update| serde_json::to_value(update).unwrap()).collect()
}

/// Ends the conversation and lets the schema judge it.
pub(crate) async fn judge(client: SdkClient) -> Transcript {
    let (exit, seen) = client.stop().await;
    assert!(exit.success(), "{exit}");
    Validator::v1().assert_valid(&seen);
    seen
}

/// The methods that an agent asked of its client.
pub(crate) fn asked_of_client(transcript: &Transcript) -> Vec<String> {
    let asked = transcript.messages(FROM_AGENT).filter(|message| message.get("id").is_some());
    asked.filter_map(|message| Some(message["method"].as_str()?.to_owned())).collect()
}

#[tokio::test]
async fn every_way_in_leads_to_the_model_with_its_key_and_the_words() {
    let stage = Stage::new().await;
    stage.model.answer_with(|asked| text(format!("You said: {}", asked.last_user())));

    for way in BOTH {
        let (client, session) = stage.bare(way).await;
        let turn = client.prompt(&session, "good day").await.unwrap();
        assert_eq!(turn.text(), "You said: good day", "{way:?}");
        assert_eq!(stop_reason(&turn), "end_turn");
        judge(client).await;
    }
    let ran = stage.run(&["good evening", "--format", "quiet"]).await;

    assert_eq!((ran.code, ran.out.trim()), (0, "You said: good evening"), "{}", ran.err);
    for chat in stage.model.chats() {
        assert_eq!(chat.header("authorization"), Some(&*format!("Bearer {KEY}")));
        assert_eq!((chat.model(), chat.path()), (MODEL, "/v1/chat/completions"));
        assert_eq!(chat.body["stream"], true);
        assert_eq!(chat.roles(), ["system", "user"]);
    }
    assert_eq!(stage.model.chats().len(), 3);
}

#[tokio::test]
async fn what_is_set_in_the_environment_reaches_the_model() {
    let stage = Stage::new().await;
    stage.model.answer_with(|_| text("yes"));
    let mut command = stage.agent(Way::Alone);
    command.env("OPENAI_MODEL", "another-model").env("OPENAI_SYSTEM_PROMPT", "Be a pirate.");
    command.env("OPENAI_MAX_TOKENS", "321").env("OPENAI_TEMPERATURE", "0.5");
    let client = SdkClient::ready(command, ClientBehavior::default()).await.unwrap();
    let session = client.new_session(stage.work()).await.unwrap().session_id;

    client.prompt(&session, "hello").await.unwrap();

    let chat = stage.model.last_chat();
    assert_eq!(chat.model(), "another-model");
    assert!(chat.system().starts_with("Be a pirate."), "{}", chat.system());
    assert_eq!(chat.body["temperature"], 0.5);
    let limit = chat.body.get("max_tokens").or(chat.body.get("max_completion_tokens"));
    assert_eq!(limit, Some(&json!(321)));
    judge(client).await;
}

#[tokio::test]
async fn an_endpoint_that_does_not_list_its_models_is_used_all_the_same() {
    for listing in [status(404), status(200).body("no JSON"), text("").hang_before_headers()] {
        let stage = Stage::new().await;
        stage.model.on("/v1/models", listing);
        stage.model.answer_with(|_| text("here I am"));
        let (client, session) = stage.bare(Way::Alone).await;
        let turn = client.prompt(&session, "hello").await.unwrap();
        assert_eq!(turn.text(), "here I am");
        assert_eq!(stage.model.last_chat().model(), MODEL);
        judge(client).await;
    }
}

#[tokio::test]
async fn agents_show_tells_the_endpoint_and_its_models() {
    let stage = Stage::new().await;
    stage.model.models(["test-model", "other-model"]);
    let mut command = stage.command(&["agents", "show", "native"]);
    command.stdout(Stdio::piped());

    let shown: Ran = tokio::process::Command::from(command).output().await.unwrap().into();

    assert_eq!(shown.code, 0, "{}", shown.err);
    for words in [&*stage.model.base_url(), "test-model", "other-model", "modes"] {
        assert!(shown.out.contains(words), "no {words}: {}", shown.out);
    }
    assert!(!shown.out.contains(KEY), "{}", shown.out);
}
