//! The pipes between Switchyard and a worker, and the hand-over of a worker to its keeper, seen
//! from both sides.
//!
//! Owner: starts the keeper with the control socket as its stdin, an empty environment (a
//! worker can read its keeper's) and nothing else, then sends the order and the worker's three
//! descriptors. Keeper: drops whatever else it inherited and receives them. After that the worker
//! can hold exactly the descriptors 0, 1 and 2, whatever was open in Switchyard.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, IoSlice, IoSliceMut, Read as _};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::UnixStream as StdUnixStream;
use std::path::Path;
use std::process::Stdio;

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, send, sendmsg,
};
use rustix::pipe::{PipeFlags, fcntl_setpipe_size, pipe_with};
use tokio::io::{AsyncWriteExt as _, Interest};
use tokio::net::UnixStream;
use tokio::net::unix::pipe::{Receiver, Sender};
use tokio::process::Command;
use wire::Json;

use super::control::{MAX_ORDER_BYTES, StartOrder};
use super::orphans::KeeperProcess;

/// Worker's stdin, stdout and stderr. All are close-on-exec; only the keeper hands them on.
pub(crate) type WorkerFds = [OwnedFd; 3];

/// Starts a keeper that waits for its order. Our end of the control socket comes back.
pub(crate) fn start_keeper(
    exe: &Path,
    args: &[OsString],
) -> io::Result<(KeeperProcess, UnixStream)> {
    let (ours, keepers) = StdUnixStream::pair()?;
    ours.set_nonblocking(true)?;
    let control = UnixStream::from_std(ours)?;
    let mut command = Command::new(exe);
    command
        .args(args)
        .env_clear()
        .stdin(Stdio::from(OwnedFd::from(keepers)))
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    Ok((KeeperProcess::start(&mut command)?, control))
}

/// Sends the order and the worker's descriptors; our copies of these are closed afterwards, so that
/// the end of the worker is the end of its pipes.
pub(crate) async fn send_order(
    control: &mut UnixStream,
    order: &StartOrder,
    fds: WorkerFds,
) -> io::Result<()> {
    let order = Json::of(order);
    let order = order.as_str().as_bytes();
    let len = u32::try_from(order.len()).ok().filter(|_| order.len() <= MAX_ORDER_BYTES);
    let header = len.ok_or(io::ErrorKind::ArgumentListTooLong)?.to_le_bytes();
    control
        .async_io(Interest::WRITABLE, || {
            let borrowed = [fds[0].as_fd(), fds[1].as_fd(), fds[2].as_fd()];
            let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(3))];
            let mut ancillary = SendAncillaryBuffer::new(&mut space);
            ancillary.push(SendAncillaryMessage::ScmRights(&borrowed));
            let data = [IoSlice::new(&header)];
            Ok(sendmsg(&*control, &data, &mut ancillary, SendFlags::NOSIGNAL)?)
        })
        .await?;
    drop(fds);
    control.write_all(order).await
}

/// The keeper's side of [`send_order`]. Blocks; an error if the owner died before it was done.
pub(crate) fn receive_order(control: &mut StdUnixStream) -> io::Result<(StartOrder, WorkerFds)> {
    let mut header = [0; 4];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(3))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let mut data = [IoSliceMut::new(&mut header)];
    let received = recvmsg(&*control, &mut data, &mut ancillary, RecvFlags::CMSG_CLOEXEC)?;
    let mut fds = Vec::new();
    for message in ancillary.drain() {
        if let RecvAncillaryMessage::ScmRights(rights) = message {
            fds.extend(rights);
        }
    }
    let fds = WorkerFds::try_from(fds).map_err(|_| io::ErrorKind::InvalidData)?;
    let len = usize::try_from(u32::from_le_bytes(header)).unwrap_or(usize::MAX);
    if received.bytes != header.len() || len > MAX_ORDER_BYTES {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let mut order = vec![0; len];
    control.read_exact(&mut order)?;
    Ok((serde_json::from_slice(&order)?, fds))
}

/// Sends a few bytes into an almost empty buffer: they fit, or the other side is gone or wedged,
/// and both are noticed elsewhere. (tokio's `try_write` would also refuse before its reactor has
/// seen the socket writable for the first time.)
pub(crate) fn send_at_once(control: &UnixStream, bytes: &[u8]) {
    let _unheard = send(control, bytes, SendFlags::DONTWAIT | SendFlags::NOSIGNAL);
}

/// The size of a worker's stdin and stdout. A whole large message fits, and costs one wake-up
/// instead of sixteen; it is also the most that an ordinary user may ask for by default.
const PIPE_BYTES: usize = 1024 * 1024;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StdinKind {
    Pipe,
    Null,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StderrKind {
    /// Drained into a tail and a queue of lines.
    Captured,
    MergedIntoStdout,
}

pub(crate) struct WorkerPipes {
    pub(crate) stdin: Option<Sender>,
    pub(crate) stdout: Receiver,
    pub(crate) stderr: Option<Receiver>,
    pub(crate) workers: WorkerFds,
}

impl WorkerPipes {
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
