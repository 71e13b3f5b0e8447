//! One process of a CLI, read through its dialect.
//!
//! Always true: its output is read to the end before it counts as over; a CLI that does
//! not read its stdin blocks nobody but itself; dropping it ends its whole tree.

use std::path::PathBuf;

use bus::{SpawnError, StdinKind, StopLadder, WorkerHandle, WorkerStdin, WorkerStdout};
use bytes::BytesMut;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::sync::mpsc;

use crate::dialect::{CliExit, Dialect, DialectName, DialectReader, Outputs};

/// Lines that may wait for a CLI that is slow to read.
const QUEUED_LINES: usize = 1024;
const READ_BYTES: usize = 64 << 10;

/// The way in which a process gets its prompt.
#[derive(Debug)]
pub(super) enum PromptInput {
    /// Lines that the dialect writes to stdin while the process runs.
    Lines,
    /// This text on stdin, then end of file.
    Stdin(String),
    /// An argument; there is no stdin.
    Argument(String),
    /// A file that an argument names; there is no stdin.
    File(PathBuf),
}

#[derive(Debug)]
pub(super) struct CliProcess {
    pub(super) dialect: Box<dyn Dialect>,
    reader: DialectReader,
    stdout: WorkerStdout,
    handle: WorkerHandle,
    lines: Option<mpsc::Sender<String>>,
    buffer: BytesMut,
    is_drained: bool,
    is_stopping: bool,
    /// The exit status, once it is over.
    pub(super) exit: CliExit,
    /// It has been given a prompt.
    pub(super) is_used: bool,
}

impl CliProcess {
    pub(super) async fn start(
        mut launch: bus::Launch,
        dialect: DialectName,
        max_line_bytes: usize,
        input: PromptInput,
    ) -> Result<Self, SpawnError> {
        launch.stdin = match input {
            PromptInput::Argument(_) | PromptInput::File(_) => StdinKind::Null,
            PromptInput::Stdin(_) | PromptInput::Lines => StdinKind::Pipe,
        };
        let worker = launch.spawn().await?;
        if let Some(mut stderr) = worker.stderr {
            task::spawn(async move {
                // Whoever runs the adapter logs its stderr.
                while let Some(line) = stderr.recv().await {
                    let text = format!("{}\n", line.text);
                    let _ = tokio::io::stderr().write_all(text.as_bytes()).await;
                }
            });
        }
        let lines = match (input, worker.stdin) {
            (PromptInput::Lines, Some(stdin)) => {
                let (sender, lines) = mpsc::channel(QUEUED_LINES);
                task::spawn(write_lines(stdin, lines));
                Some(sender)
            }
            (PromptInput::Stdin(text), Some(mut stdin)) => {
                // A write error means that the CLI closed its stdin; its output says why.
                task::spawn(async move { stdin.write_all(text.as_bytes()).await });
                None
            }
            _ => None,
        };
        Ok(Self {
            dialect: dialect.start(),
            reader: DialectReader::new(dialect, max_line_bytes),
            stdout: worker.stdout,
            handle: worker.handle,
            lines,
            buffer: BytesMut::new(),
            is_drained: false,
            is_stopping: false,
            exit: CliExit::default(),
            is_used: false,
        })
    }

    /// Reads its next output; `true` when the process is gone and nothing more will come.
    /// Cancel-safe.
    pub(super) async fn next(&mut self, out: &mut Outputs) -> bool {
        if !self.is_drained {
            self.buffer.reserve(READ_BYTES);
            if let Ok(1..) = self.stdout.read_buf(&mut self.buffer).await {
                let chunk = self.buffer.split();
                self.reader.feed(&chunk, &mut *self.dialect, out);
                return false;
            }
            self.is_drained = true;
            self.end_soon(StopLadder::default());
        }
        let report = self.handle.ended().await;
        self.exit = CliExit {
            code: report.code,
            signal: report.signal,
            stderr: self.handle.stderr_tail(),
            is_stopped_by_us: self.is_stopping,
        };
        self.reader.finish(&self.exit, &mut *self.dialect, out);
        true
    }

    /// Writes a line to its stdin; `false` if too many lines are still unread.
    pub(super) fn write(&self, line: String) -> bool {
        self.lines.as_ref().is_none_or(|lines| lines.try_send(line).is_ok())
    }

    /// Ends it because we want to. Its last output is still to be read.
    pub(super) fn stop(&mut self, ladder: StopLadder) {
        self.is_stopping = true;
        self.end_soon(ladder);
    }

    fn end_soon(&mut self, ladder: StopLadder) {
        self.lines = None;
        let handle = self.handle.clone();
        task::spawn(async move { handle.stop(&ladder).await });
    }
}

async fn write_lines(mut stdin: WorkerStdin, mut lines: mpsc::Receiver<String>) {
    while let Some(mut line) = lines.recv().await {
        line.push('\n');
        if stdin.write_all(line.as_bytes()).await.is_err() {
            return;
        }
    }
}
