//! A server that is a process of ours: started by a keeper, spoken to in lines.
//!
//! Always true: its whole tree ends with the connection; it gets a short list of variables
//! instead of our environment; what it says on stderr goes to the log, what it says on stdout
//! that is no message is skipped. A server that stops reading, or floods us with what is no
//! message, is disconnected.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::io;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bus::{Environment, StderrLines, Worker, WorkerHandle, WorkerStdin, WorkerStdout};
use rmcp::RoleClient;
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::Transport;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::sync::mpsc;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;
use wire::{LineError, LineSplitter};

use super::McpSettings;
use super::message_filter::{FilterVerdict, MAX_MESSAGE_BYTES, MessageFilter};
use super::spec::SecretValues;

/// Most output without a single message among it, after which the server is given up.
const MAX_NOISE_BYTES: usize = 4 * MAX_MESSAGE_BYTES;
/// Bytes that the kernel hands over at once from a default pipe.
const READ_BYTES: usize = 64 * 1024;
/// Lines on their way to the server; who sends waits for room.
const OUTBOX_LINES: usize = 32;
/// A server that does not read for so long hangs.
const WRITE_WITHIN: Duration = Duration::from_secs(30);
/// Lines of stderr that are logged per process; the rest is read and dropped.
const MAX_LOGGED_LINES: usize = 1000;

/// Variables that a server inherits: those that programs need to find their way, and none that lets
/// them in anywhere. A server that needs a key is given it by whoever names the server.
const INHERITED: &str = "HOME LOGNAME PATH SHELL TERM USER \
    LANG LANGUAGE LC_ALL LC_CTYPE LC_MESSAGES TZ TMPDIR \
    XDG_CACHE_HOME XDG_CONFIG_HOME XDG_DATA_HOME XDG_RUNTIME_DIR XDG_STATE_HOME \
    HTTP_PROXY HTTPS_PROXY NO_PROXY http_proxy https_proxy no_proxy \
    SSL_CERT_FILE SSL_CERT_DIR NODE_EXTRA_CA_CERTS NVM_DIR DOCKER_HOST DISPLAY";

/// Why a connection ended, if it was us who found something wrong.
pub(super) type EndReason = Arc<OnceLock<String>>;

/// Starts the process.
pub(super) async fn start(
    server: &str,
    (program, args, env): (&str, &[String], &SecretValues),
    settings: &McpSettings,
    reason: EndReason,
) -> Result<(StdioTransport, WorkerHandle), String> {
    let mut launch = settings.keeper.launch(program, &settings.cwd);
    launch.args = args.iter().map(OsString::from).collect();
    launch.env = environment(env);
    let Worker { stdin, stdout, stderr, handle } =
        launch.spawn().await.map_err(|error| error.to_string())?;
    if let Some(stderr) = stderr {
        task::spawn(log(server.to_owned(), stderr));
    }
    let stdin = stdin.ok_or("it has no stdin")?;
    Ok((StdioTransport::new(stdin, stdout, reason), handle))
}

fn environment(env: &SecretValues) -> Environment {
    let mut environment = Environment::empty();
    let names = INHERITED.split(' ');
    let inherited = names.filter_map(|name| Some((name, std::env::var_os(name)?)));
    environment.set.extend(inherited.map(|(name, value)| (OsString::from(name), value)));
    let own =
        env.iter().map(|(name, value)| (OsString::from(name), OsString::from(value.reveal())));
    environment.set.extend(own);
    environment
}

async fn log(server: String, mut stderr: StderrLines) {
    let mut n_logged = 0;
    while let Some(line) = stderr.recv().await {
        n_logged += 1;
        match n_logged {
            ..=MAX_LOGGED_LINES => tracing::debug!(server, line = line.text, "an MCP server says"),
            _ if n_logged == MAX_LOGGED_LINES + 1 => {
                tracing::debug!(server, "an MCP server says too much; no more of it is logged");
            }
            _ => {}
        }
    }
}

/// The transport: one message a line.
#[derive(Debug)]
pub(super) struct StdioTransport {
    stdout: WorkerStdout,
    splitter: LineSplitter,
    filter: MessageFilter,
    /// Errors of our own making that are to be received next.
    own_errors: VecDeque<ServerJsonRpcMessage>,
    n_noise: usize,
    outbox: Option<mpsc::Sender<Vec<u8>>>,
    /// Cancelled when the server has stopped reading.
    has_stopped_reading: CancellationToken,
    reason: EndReason,
    _writer: AbortOnDropHandle<()>,
}

impl StdioTransport {
    fn new(stdin: WorkerStdin, stdout: WorkerStdout, reason: EndReason) -> Self {
        let (outbox, lines) = mpsc::channel(OUTBOX_LINES);
        let has_stopped_reading = CancellationToken::new();
        let writing = write(stdin, lines, has_stopped_reading.clone(), Arc::clone(&reason));
        Self {
            stdout,
            splitter: LineSplitter::new(MAX_MESSAGE_BYTES),
            filter: MessageFilter::default(),
            own_errors: VecDeque::new(),
            n_noise: 0,
            outbox: Some(outbox),
            has_stopped_reading,
            reason,
            _writer: AbortOnDropHandle::new(task::spawn(writing)),
        }
    }

    fn leave(&self, why: String) -> Option<ServerJsonRpcMessage> {
        let _ = self.reason.set(why);
        None
    }
}

async fn write(
    mut stdin: WorkerStdin,
    mut lines: mpsc::Receiver<Vec<u8>>,
    has_stopped_reading: CancellationToken,
    reason: EndReason,
) {
    while let Some(line) = lines.recv().await {
        match timeout(WRITE_WITHIN, stdin.write_all(&line)).await {
            Ok(Ok(())) => {}
            // The server is gone, which is noticed at its stdout.
            Ok(Err(_broken_pipe)) => return,
            Err(_elapsed) => {
                let _ = reason.set("does not read what it is sent".to_owned());
                has_stopped_reading.cancel();
                return;
            }
        }
    }
}

impl Transport<RoleClient> for StdioTransport {
    type Error = io::Error;

    fn send(
        &mut self,
        message: ClientJsonRpcMessage,
    ) -> impl Future<Output = Result<(), io::Error>> + Send + 'static {
        self.filter.note_sent(&message);
        let outbox = self.outbox.clone();
        async move {
            let gone = || io::Error::from(io::ErrorKind::BrokenPipe);
            let mut line = serde_json::to_vec(&message)?;
            line.push(b'\n');
            outbox.ok_or_else(gone)?.send(line).await.map_err(|_closed| gone())
        }
    }

    /// Dropping the future loses nothing.
    async fn receive(&mut self) -> Option<ServerJsonRpcMessage> {
        loop {
            if let Some(message) = self.own_errors.pop_front() {
                return Some(message);
            }
            while let Some(line) = self.splitter.next_line() {
                let verdict = match line {
                    Ok(line) => self.filter.admit(&line),
                    Err(LineError::NotUtf8 { line }) => {
                        self.filter.admit(String::from_utf8_lossy(&line).as_bytes())
                    }
                    Err(error @ (LineError::TooLong { .. } | LineError::NoMemory { .. })) => {
                        self.own_errors.extend(self.filter.fail_all(&error.to_string()));
                        break;
                    }
                };
                match verdict {
                    FilterVerdict::Pass(message) => {
                        self.n_noise = 0;
                        return Some(*message);
                    }
                    FilterVerdict::Skip => {}
                    FilterVerdict::Disconnect(why) => return self.leave(why.to_owned()),
                }
            }
            if !self.own_errors.is_empty() {
                continue;
            }
            if self.n_noise > MAX_NOISE_BYTES {
                let why = format!("printed {} MiB that hold no message", MAX_NOISE_BYTES >> 20);
                return self.leave(why);
            }
            self.splitter.buffer().reserve(READ_BYTES);
            let read = tokio::select! {
                biased;
                read = self.stdout.read_buf(self.splitter.buffer()) => read,
                () = self.has_stopped_reading.cancelled() => return None,
            };
            match read {
                Ok(n) if n > 0 => self.n_noise += n,
                Ok(_) | Err(_) => return None,
            }
        }
    }

    async fn close(&mut self) -> Result<(), io::Error> {
        // Ends the server's input, once what is queued has been written.
        self.outbox = None;
        Ok(())
    }
}
