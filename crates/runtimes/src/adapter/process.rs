//! One process of a CLI, read through its dialect.
//!
//! Always true: its output is read to the end before it counts as over; a CLI that does
//! not read its stdin blocks nobody but itself; dropping it ends its whole tree.

use bus::{SpawnError, StdinKind, StopLadder, WorkerHandle, WorkerStdin, WorkerStdout};
use bytes::BytesMut;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::sync::mpsc;

use crate::dialect::{CliExit, Dialect, DialectName, DialectOutput, DialectReader};

/// Lines that may wait for a CLI that is slow to read.
const QUEUED_LINES: usize = 1024;
const READ_BYTES: usize = 64 << 10;

/// The content of the CLI's stdin.
#[derive(Debug)]
pub(super) enum ProcessStdin {
    /// No stdin at all.
    None,
    /// This text, then end of file.
    Whole(String),
    /// Lines that the dialect writes while the process runs.
    Lines,
}

#[derive(Debug)]
pub(super) struct CliProcess {
    dialect: Box<dyn Dialect>,
    reader: DialectReader,
    stdout: WorkerStdout,
    handle: WorkerHandle,
    lines: Option<mpsc::Sender<String>>,
    buffer: BytesMut,
    is_drained: bool,
    is_stopping: bool,
    exit: CliExit,
    /// It has been given a prompt.
    pub(super) is_used: bool,
}

/// The result of one read of stdout.
#[derive(Debug)]
pub(super) struct ProcessOutput {
    pub(super) outputs: Vec<DialectOutput>,
    /// The process is gone and nothing more will come.
    pub(super) is_over: bool,
}

impl CliProcess {
    pub(super) async fn start(
        mut launch: bus::Launch,
        dialect: DialectName,
        max_line_bytes: usize,
        input: ProcessStdin,
    ) -> Result<Self, SpawnError> {
        launch.stdin = match input {
            ProcessStdin::None => StdinKind::Null,
            ProcessStdin::Whole(_) | ProcessStdin::Lines => StdinKind::Pipe,
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
            (ProcessStdin::Lines, Some(stdin)) => {
                let (sender, lines) = mpsc::channel(QUEUED_LINES);
                task::spawn(write_lines(stdin, lines));
                Some(sender)
            }
            (ProcessStdin::Whole(text), Some(mut stdin)) => {
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

    pub(super) fn dialect(&mut self) -> &mut dyn Dialect {
        &mut *self.dialect
    }

    /// Reads its next output. Cancel-safe.
    pub(super) async fn next(&mut self) -> ProcessOutput {
        let mut outputs = Vec::new();
        if !self.is_drained {
            self.buffer.reserve(READ_BYTES);
            if let Ok(1..) = self.stdout.read_buf(&mut self.buffer).await {
                let chunk = self.buffer.split();
                self.reader.feed(&chunk, &mut *self.dialect, &mut outputs);
                return ProcessOutput { outputs, is_over: false };
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
        self.reader.finish(&self.exit, &mut *self.dialect, &mut outputs);
        ProcessOutput { outputs, is_over: true }
    }

    /// The exit status, once it is over.
    pub(super) fn exit(&self) -> &CliExit {
        &self.exit
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
