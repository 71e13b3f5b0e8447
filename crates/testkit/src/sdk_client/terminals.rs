//! The client's terminals: commands that run to their end and whose output is kept.
//!
//! In: `terminal/*` requests. Out: output of both streams together, and the exit.
//! A command without a pseudo-terminal is enough: agents only read.

use agent_client_protocol::v1::schema::{
    CreateTerminalRequest, CreateTerminalResponse, TerminalExitStatus, TerminalId,
    TerminalOutputResponse, WaitForTerminalExitResponse,
};
use agent_client_protocol::{Error, ErrorCode, Result};
use std::collections::HashMap;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::process::Command;
use tokio::sync::{oneshot, watch};

#[derive(Debug, Default)]
pub(super) struct Terminals {
    open: Mutex<HashMap<TerminalId, Terminal>>,
    n_created: Mutex<usize>,
}

#[derive(Debug)]
struct Terminal {
    output: Arc<Mutex<Vec<u8>>>,
    exit: watch::Receiver<Option<TerminalExitStatus>>,
    kill: Option<oneshot::Sender<()>>,
}

impl Terminals {
    pub(super) fn create(&self, request: &CreateTerminalRequest) -> Result<CreateTerminalResponse> {
        let mut command = Command::new(&request.command);
        command.args(&request.args).stdin(Stdio::null()).kill_on_drop(true);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command.envs(request.env.iter().map(|variable| (&variable.name, &variable.value)));
        if let Some(cwd) = &request.cwd {
            command.current_dir(cwd);
        }
        let mut child = command.spawn().map_err(Error::into_internal_error)?;

        let output = Arc::new(Mutex::new(Vec::new()));
        let stdout = tokio::spawn(collect(child.stdout.take().unwrap(), Arc::clone(&output)));
        let stderr = tokio::spawn(collect(child.stderr.take().unwrap(), Arc::clone(&output)));
        let (exited, exit) = watch::channel(None);
        let (kill, killed) = oneshot::channel();
        tokio::spawn(async move {
            let status = tokio::select! {
                status = child.wait() => status,
                Ok(()) = killed => {
                    let _ = child.start_kill();
                    child.wait().await
                }
            };
            // The exit is told after the last of the output, so that nobody misses its end.
            let _ = tokio::join!(stdout, stderr);
            exited.send_replace(Some(exit_status(status.unwrap())));
        });

        let mut n_created = self.n_created.lock().unwrap();
        *n_created += 1;
        let id = TerminalId::new(format!("terminal-{n_created}"));
        let terminal = Terminal { output, exit, kill: Some(kill) };
        self.open.lock().unwrap().insert(id.clone(), terminal);
        Ok(CreateTerminalResponse::new(id))
    }

    pub(super) fn output(&self, id: &TerminalId) -> Result<TerminalOutputResponse> {
        self.with(id, |terminal| {
            let output = String::from_utf8_lossy(&terminal.output.lock().unwrap()).into_owned();
            TerminalOutputResponse::new(output, false).exit_status(terminal.exit.borrow().clone())
        })
    }

    /// Gives a future, because waiting must not hold up the connection.
    pub(super) fn exit(
        &self,
        id: &TerminalId,
    ) -> Result<impl Future<Output = Result<WaitForTerminalExitResponse>> + use<>> {
        let mut exit = self.with(id, |terminal| terminal.exit.clone())?;
        Ok(async move {
            let exit = exit.wait_for(Option::is_some).await.map_err(Error::into_internal_error)?;
            Ok(WaitForTerminalExitResponse::new(exit.clone().unwrap()))
        })
    }

    pub(super) fn kill(&self, id: &TerminalId) -> Result<()> {
        self.with(id, |terminal| {
            if let Some(kill) = terminal.kill.take() {
                // A command that has ended already is as good as killed.
                let _ = kill.send(());
            }
        })
    }

    pub(super) fn release(&self, id: &TerminalId) -> Result<()> {
        self.kill(id)?;
        self.open.lock().unwrap().remove(id);
        Ok(())
    }

    fn with<T>(&self, id: &TerminalId, act: impl FnOnce(&mut Terminal) -> T) -> Result<T> {
        self.open
            .lock()
            .unwrap()
            .get_mut(id)
            .map(act)
            .ok_or_else(|| Error::new(ErrorCode::RESOURCE_NOT_FOUND, format!("no terminal `{id}`")))
    }
}

async fn collect(mut stream: impl AsyncRead + Unpin, output: Arc<Mutex<Vec<u8>>>) {
    let mut chunk = [0; 4096];
    while let Ok(n_read @ 1..) = stream.read(&mut chunk).await {
        output.lock().unwrap().extend_from_slice(&chunk[..n_read]);
    }
}

fn exit_status(status: ExitStatus) -> TerminalExitStatus {
    let signal = status.signal().map(|signal| signal.to_string());
    TerminalExitStatus::new()
        .exit_code(status.code().and_then(|code| u32::try_from(code).ok()))
        .signal(signal)
}
