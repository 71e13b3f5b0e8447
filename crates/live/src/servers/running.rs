//! One such server while it runs.

use super::{GGUF, Kind, MOCKED, ModelServer};
use crate::install::{Cache, InstallError, InstalledPackage};
use crate::model::MODELS;
use std::fmt::Write as _;
use std::fs;
use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

/// The longest wait for a server to be ready; large Python programs take a while to load.
const READY_WITHIN: Duration = Duration::from_mins(3);
const POLL_EVERY: Duration = Duration::from_millis(200);
const ASK_WITHIN: Duration = Duration::from_secs(5);
const SAID_CHARS: usize = 400;
const TINY_MODEL: &str = include_str!("tiny_model.py");

#[derive(Debug, thiserror::Error)]
pub enum ServerStartError {
    #[error(transparent)]
    Install(#[from] InstallError),
    #[error("{0}")]
    Io(#[from] io::Error),
    #[error("the tiny model was not made: {0}")]
    NoModel(String),
    #[error("it does not answer: {0}")]
    Silent(String),
}

/// Ended with it.
#[derive(Debug)]
pub struct RunningServer {
    child: tokio::process::Child,
    port: u16,
    /// Whether it has its usual port.
    pub is_usual_port: bool,
    /// What it was set up with.
    _dir: tempfile::TempDir,
}

impl RunningServer {
    /// `our_model` is behind it, if it takes another.
    pub async fn start(
        server: &'static ModelServer,
        cache: &Cache,
        our_model: &str,
    ) -> Result<Self, ServerStartError> {
        let at = cache.clone();
        let installed = tokio::task::spawn_blocking(move || {
            let gguf = match server.kind {
                Kind::LlamaCpp => Some(at.install(&GGUF)?),
                Kind::LiteLlm => None,
            };
            at.install(&server.package).map(|server| (server, gguf))
        });
        let (installed, gguf) = installed.await.map_err(io::Error::other)??;
        let dir = tempfile::Builder::new().prefix("live-server-").tempdir()?;
        let port = free_port(server.port)?;
        let mut command = match (server.kind, gguf) {
            (Kind::LlamaCpp, Some(gguf)) => llama_cpp(&installed, &gguf, dir.path(), port)?,
            _ => litellm(&installed, dir.path(), port, our_model)?,
        };
        let out = dir.path().join("out.log");
        command.current_dir(dir.path()).stdin(Stdio::null());
        command
            .stdout(fs::File::create(&out)?)
            .stderr(fs::File::create(dir.path().join("err.log"))?);
        let mut child = tokio::process::Command::from(command).kill_on_drop(true).spawn()?;
        let started = Instant::now();
        while !answers(port).await {
            let has_ended = child.try_wait()?.is_some();
            if has_ended || started.elapsed() > READY_WITHIN {
                return Err(ServerStartError::Silent(said(dir.path())));
            }
            tokio::time::sleep(POLL_EVERY).await;
        }
        Ok(Self { child, port, is_usual_port: port == server.port, _dir: dir })
    }

    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    pub async fn end(mut self) {
        let _ = self.child.kill().await;
    }
}

/// The usual one, else any.
fn free_port(usual: u16) -> io::Result<u16> {
    let bound = TcpListener::bind((Ipv4Addr::LOCALHOST, usual))
        .or_else(|_| TcpListener::bind((Ipv4Addr::LOCALHOST, 0)))?;
    Ok(bound.local_addr()?.port())
}

fn litellm(
    installed: &InstalledPackage,
    dir: &Path,
    port: u16,
    our_model: &str,
) -> io::Result<Command> {
    let mut config = format!(
        "model_list:\n- model_name: mocked\n  litellm_params:\n    model: openai/mocked\n    \
         api_key: none\n    mock_response: \"{MOCKED}\"\n"
    );
    for model in MODELS {
        let _ = write!(
            config,
            "- model_name: {model}\n  litellm_params:\n    model: openai/{model}\n    \
             api_key: live\n    api_base: {our_model}/v1\n"
        );
    }
    // The agent tries again by itself, and what it is told is what is checked.
    config += "litellm_settings:\n  num_retries: 0\nrouter_settings:\n  num_retries: 0\n  \
               disable_cooldowns: true\n";
    // It is found without a key only if it wants none.
    config += "general_settings:\n  dangerously_permit_weak_or_unset_master_key: true\n";
    let path = dir.join("config.yaml");
    fs::write(&path, config)?;
    let mut command = bare(&installed.program, dir);
    command.arg("--config").arg(path).args(["--host", "127.0.0.1", "--port", &port.to_string()]);
    // Its list of prices is in its package too.
    command.env("LITELLM_LOCAL_MODEL_COST_MAP", "True").env("LITELLM_TELEMETRY", "False");
    Ok(command)
}

fn llama_cpp(
    installed: &InstalledPackage,
    gguf: &InstalledPackage,
    dir: &Path,
    port: u16,
) -> Result<Command, ServerStartError> {
    let script = dir.join("tiny_model.py");
    fs::write(&script, TINY_MODEL)?;
    let model = dir.join("tiny.gguf");
    let made = bare(&gguf.program, dir).arg(script).arg(&model).output()?;
    if !made.status.success() {
        let said = String::from_utf8_lossy(&made.stderr);
        return Err(ServerStartError::NoModel(last_of(&said)));
    }
    let mut command = bare(&installed.program, dir);
    command.args(["-m", "llama_cpp.server", "--host", "127.0.0.1", "--port", &port.to_string()]);
    command.arg("--model").arg(model).args(["--model_alias", "tiny", "--chat_format", "chatml"]);
    command.args(["--n_ctx", "16384", "--n_threads", "1", "--n_threads_batch", "2"]);
    Ok(command)
}

/// Nothing of the user's reaches it.
fn bare(program: &Path, home: &Path) -> Command {
    let mut command = Command::new(program);
    let path = PathBuf::from("/usr/local/bin:/usr/bin:/bin");
    command.env_clear().env("HOME", home).env("PATH", path).env("LANG", "C.UTF-8");
    command
}

async fn answers(port: u16) -> bool {
    let asking = async {
        let mut stream = tokio::net::TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await?;
        let request = "GET /v1/models HTTP/1.0\r\nHost: 127.0.0.1\r\n\r\n";
        stream.write_all(request.as_bytes()).await?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).await.map(|_| answer)
    };
    let answer = tokio::time::timeout(ASK_WITHIN, asking).await;
    let Ok(Ok(answer)) = answer else { return false };
    let answer = String::from_utf8_lossy(&answer);
    answer.lines().next().is_some_and(|line| line.contains(" 200"))
}

fn said(dir: &Path) -> String {
    let read = |name: &str| fs::read_to_string(dir.join(name)).unwrap_or_default();
    last_of(&(read("out.log") + &read("err.log")))
}

fn last_of(text: &str) -> String {
    let skipped = text.chars().count().saturating_sub(SAID_CHARS);
    text.chars().skip(skipped).collect::<String>().trim().replace('\n', " ⏎ ")
}
