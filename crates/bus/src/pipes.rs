//! The pipes between Switchyard and a worker.
//!
//! In: what stdin and stderr should be. Out: our ends for tokio, and the worker's three
//! descriptors. All are close-on-exec; only the keeper hands them on.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;

use rustix::pipe::{PipeFlags, fcntl_setpipe_size, pipe_with};
use tokio::net::unix::pipe::{Receiver, Sender};

use crate::launch::{StderrKind, StdinKind};
use crate::spawn::WorkerFds;

/// A whole large message then fits, and costs one wake-up instead of sixteen. It is also the most
/// that an ordinary user may ask for by default.
const PIPE_BYTES: usize = 1024 * 1024;

pub(crate) struct Pipes {
    pub(crate) stdin: Option<Sender>,
    pub(crate) stdout: Receiver,
    pub(crate) stderr: Option<Receiver>,
    pub(crate) workers: WorkerFds,
}

impl Pipes {
    pub(crate) fn open(stdin: StdinKind, stderr: StderrKind) -> io::Result<Self> {
        let (stdin, workers_stdin) = match stdin {
            StdinKind::Pipe => {
                let (read, write) = wide_pipe()?;
                (Some(Sender::from_owned_fd(write)?), read)
            }
            StdinKind::Null => (None, File::open("/dev/null")?.into()),
        };
        let (stdout, workers_stdout) = wide_pipe()?;
        let (stderr, workers_stderr) = match stderr {
            StderrKind::Captured => {
                let (read, write) = pipe_with(PipeFlags::CLOEXEC)?;
                (Some(Receiver::from_owned_fd(read)?), write)
            }
            StderrKind::MergedIntoStdout => (None, workers_stdout.try_clone()?),
        };
        Ok(Self {
            stdin,
            stdout: Receiver::from_owned_fd(stdout)?,
            stderr,
            workers: [workers_stdin, workers_stdout, workers_stderr],
        })
    }
}

fn wide_pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    let (read, write) = pipe_with(PipeFlags::CLOEXEC)?;
    // A user's pipes share a quota; when it is used up, the default size must do.
    let _best_effort = fcntl_setpipe_size(&write, PIPE_BYTES);
    Ok((read, write))
}
