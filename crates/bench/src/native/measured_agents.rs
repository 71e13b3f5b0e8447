//! The agents between the model server and the client, and how each is started.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, ensure};
use serde_json::json;

use super::model_server::MODEL;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MeasuredAgent {
    /// Nothing: the socket is read.
    Bare,
    NativeAgent,
    /// The session in front of it, with its log.
    Acp,
    OpenCode,
    Qwen,
}

/// Directories and programs of the measurement.
#[derive(Debug)]
pub(super) struct NativeBenchSetup {
    pub(super) switchyard: PathBuf,
    pub(super) peers: Option<PathBuf>,
    pub(super) base_url: String,
    dir: tempfile::TempDir,
}

impl NativeBenchSetup {
    pub(super) fn new(
        switchyard: PathBuf,
        peers: Option<PathBuf>,
        base_url: String,
    ) -> anyhow::Result<Self> {
        let dir = tempfile::Builder::new().prefix("bench-native-").tempdir()?;
        for name in ["home", "switchyard", "work"] {
            fs::create_dir(dir.path().join(name))?;
        }
        let stage = Self { switchyard, peers, base_url, dir };
        stage.write_settings()?;
        Ok(stage)
    }

    pub(super) fn cwd(&self) -> PathBuf {
        self.dir.path().join("work")
    }

    fn home(&self) -> PathBuf {
        self.dir.path().join("home")
    }

    /// Writes the settings with which the peers use our model, without the user's own.
    fn write_settings(&self) -> anyhow::Result<()> {
        let options = json!({ "baseURL": self.base_url, "apiKey": "bench" });
        let provider = json!({ "npm": "@ai-sdk/openai-compatible", "name": "bench",
            "models": { MODEL: { "name": MODEL } }, "options": options });
        let model = format!("bench/{MODEL}");
        let opencode = json!({ "model": model, "small_model": model, "autoupdate": false,
            "share": "disabled", "provider": { "bench": provider } });
        let model = json!({ "id": MODEL, "name": MODEL, "baseUrl": self.base_url,
            "envKey": "OPENAI_API_KEY" });
        let qwen = json!({ "memory": { "enableManagedAutoMemory": false },
            "modelProviders": { "openai": [model] } });
        for (path, settings) in
            [(".config/opencode/opencode.json", opencode), (".qwen/settings.json", qwen)]
        {
            let path = self.home().join(path);
            path.parent().map_or(Ok(()), fs::create_dir_all)?;
            fs::write(path, settings.to_string())?;
        }
        Ok(())
    }

    fn peer(&self, name: &str) -> anyhow::Result<PathBuf> {
        let peers = self.peers.as_deref().context("not installed")?;
        let program = peers.join("bin").join(name);
        ensure!(program.exists(), "not installed");
        Ok(program)
    }
}

impl MeasuredAgent {
    pub(super) const ALL: [Self; 5] =
        [Self::Bare, Self::NativeAgent, Self::Acp, Self::OpenCode, Self::Qwen];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Bare => "plain reader",
            Self::NativeAgent => "native-agent",
            Self::Acp => "acp (native)",
            Self::OpenCode => "opencode acp",
            Self::Qwen => "qwen --acp",
        }
    }

    pub(super) fn is_ours(self) -> bool {
        matches!(self, Self::NativeAgent | Self::Acp)
    }

    pub(super) fn command(self, stage: &NativeBenchSetup) -> anyhow::Result<Command> {
        let mut command = match self {
            Self::Bare => anyhow::bail!("it is no program"),
            Self::NativeAgent => with(&stage.switchyard, &["native-agent"]),
            Self::Acp => with(&stage.switchyard, &["acp"]),
            Self::OpenCode => with(&stage.peer("opencode")?, &["acp"]),
            Self::Qwen => {
                let mut command = with(&stage.peer("node")?, &[]);
                command.arg(stage.peer("qwen")?).arg("--acp");
                command
            }
        };
        // Neither the user's keys nor settings.
        command.env_clear().current_dir(stage.cwd());
        command
            .env("HOME", stage.home())
            .env("SWITCHYARD_HOME", stage.dir.path().join("switchyard"));
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("OPENAI_BASE_URL", &stage.base_url).env("OPENAI_API_KEY", "bench");
        command.env("OPENAI_MODEL", MODEL).env("NO_PROXY", "127.0.0.1,localhost");
        command.env("OPENCODE_DISABLE_MODELS_FETCH", "1").env("OPENCODE_DISABLE_AUTOUPDATE", "1");
        Ok(command)
    }
}

fn with(program: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.args(arguments);
    command
}
