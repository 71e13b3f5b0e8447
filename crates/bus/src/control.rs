//! The words spoken between Switchyard and a keeper.
//!
//! One unix stream socket. Switchyard sends one order (the worker's descriptors ride on its
//! length header), then single-byte commands; the keeper sends fixed-size reports. End of file
//! is a word too: towards the keeper it means "our owner is gone", towards Switchyard "the keeper
//! is gone". Both ends are the same binary, so there is no version to negotiate.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::PathBuf;

/// Above what `execve` takes for arguments and environment on any default Linux.
pub(crate) const MAX_ORDER_BYTES: usize = 16 * 1024 * 1024;

/// What the keeper is to start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Order {
    pub(crate) program: OsString,
    pub(crate) args: Vec<OsString>,
    pub(crate) cwd: PathBuf,
    pub(crate) env: Vec<(OsString, OsString)>,
    pub(crate) cgroup: Option<PathBuf>,
    /// How many descriptors it may open, if that is another number than ours.
    pub(crate) n_descriptors: Option<u64>,
}

impl Order {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        put(&mut out, self.program.as_bytes());
        put(&mut out, self.cwd.as_os_str().as_bytes());
        put(&mut out, self.cgroup.as_deref().map_or(&[][..], |dir| dir.as_os_str().as_bytes()));
        put(&mut out, self.n_descriptors.map(u64::to_le_bytes).as_ref().map_or(&[], |n| n));
        put_len(&mut out, self.args.len());
        for arg in &self.args {
            put(&mut out, arg.as_bytes());
        }
        for (name, value) in &self.env {
            put(&mut out, name.as_bytes());
            put(&mut out, value.as_bytes());
        }
        out
    }

    pub(crate) fn decode(mut bytes: &[u8]) -> Option<Self> {
        let rest = &mut bytes;
        let program = take(rest)?;
        let cwd = take(rest)?.into();
        let cgroup = Some(take(rest)?).filter(|dir| !dir.is_empty()).map(PathBuf::from);
        let n_descriptors = match take(rest)?.as_bytes() {
            [] => None,
            bytes => Some(u64::from_le_bytes(bytes.try_into().ok()?)),
        };
        let n_args = take_len(rest)?;
        let args = (0..n_args).map(|_| take(rest)).collect::<Option<_>>()?;
        let mut env = Vec::new();
        while !rest.is_empty() {
            env.push((take(rest)?, take(rest)?));
        }
        Some(Self { program, args, cwd, env, cgroup, n_descriptors })
    }
}

/// What Switchyard wants of a running tree. From `Stop` there is a way back to `Run`; the others
/// are never taken back, and each includes those before it but `Stop`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Wish {
    Run,
    /// Nothing of it may run for now.
    Stop,
    Term,
    Kill,
}

impl Wish {
    pub(crate) fn encode(self) -> u8 {
        match self {
            Self::Run => b'R',
            Self::Stop => b'S',
            Self::Term => b'T',
            Self::Kill => b'K',
        }
    }

    pub(crate) fn decode(byte: u8) -> Option<Self> {
        [Self::Run, Self::Stop, Self::Term, Self::Kill]
            .into_iter()
            .find(|wish| wish.encode() == byte)
    }
}

/// Why a worker did not start. The number is an errno.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StartFailure {
    Cwd(i32),
    NotFound,
    NotExecutable(i32),
    Other(i32),
}

/// What a keeper tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Report {
    Started {
        pid: i32,
        in_cgroup: bool,
    },
    Failed(StartFailure),
    ExitedWith(i32),
    KilledBy(i32),
    /// Killing has lasted long and this many processes still live; the keeper goes on trying.
    Stuck(i32),
    /// No descendant is left; the keeper exits after this.
    Empty,
}

impl Report {
    pub(crate) const BYTES: usize = 9;

    pub(crate) fn encode(self) -> [u8; Self::BYTES] {
        let (tag, a, b) = match self {
            Self::Started { pid, in_cgroup } => (b'S', pid, i32::from(in_cgroup)),
            Self::Failed(StartFailure::Cwd(errno)) => (b'F', 1, errno),
            Self::Failed(StartFailure::NotFound) => (b'F', 2, 0),
            Self::Failed(StartFailure::NotExecutable(errno)) => (b'F', 3, errno),
            Self::Failed(StartFailure::Other(errno)) => (b'F', 4, errno),
            Self::ExitedWith(code) => (b'X', code, 0),
            Self::KilledBy(signal) => (b'K', signal, 0),
            Self::Stuck(n) => (b'L', n, 0),
            Self::Empty => (b'E', 0, 0),
        };
        let [a0, a1, a2, a3] = a.to_le_bytes();
        let [b0, b1, b2, b3] = b.to_le_bytes();
        [tag, a0, a1, a2, a3, b0, b1, b2, b3]
    }

    pub(crate) fn decode([tag, a0, a1, a2, a3, b0, b1, b2, b3]: [u8; Self::BYTES]) -> Option<Self> {
        let a = i32::from_le_bytes([a0, a1, a2, a3]);
        let b = i32::from_le_bytes([b0, b1, b2, b3]);
        Some(match (tag, a) {
            (b'S', pid) => Self::Started { pid, in_cgroup: b != 0 },
            (b'F', 1) => Self::Failed(StartFailure::Cwd(b)),
            (b'F', 2) => Self::Failed(StartFailure::NotFound),
            (b'F', 3) => Self::Failed(StartFailure::NotExecutable(b)),
            (b'F', 4) => Self::Failed(StartFailure::Other(b)),
            (b'X', code) => Self::ExitedWith(code),
            (b'K', signal) => Self::KilledBy(signal),
            (b'L', n) => Self::Stuck(n),
            (b'E', _) => Self::Empty,
            _ => return None,
        })
    }
}

fn put_len(out: &mut Vec<u8>, len: usize) {
    // An order beyond u32 is refused before it is sent, so saturating never reaches a reader.
    out.extend_from_slice(&u32::try_from(len).unwrap_or(u32::MAX).to_le_bytes());
}

fn put(out: &mut Vec<u8>, bytes: &[u8]) {
    put_len(out, bytes.len());
    out.extend_from_slice(bytes);
}

fn take_len(rest: &mut &[u8]) -> Option<usize> {
    let (head, tail) = rest.split_first_chunk::<4>()?;
    *rest = tail;
    usize::try_from(u32::from_le_bytes(*head)).ok()
}

fn take(rest: &mut &[u8]) -> Option<OsString> {
    let len = take_len(rest)?;
    let (head, tail) = rest.split_at_checked(len)?;
    *rest = tail;
    Some(OsString::from_vec(head.to_vec()))
}

#[cfg(test)]
mod tests;
