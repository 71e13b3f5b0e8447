//! The command line and surroundings of a worker, and its start.
//!
//! In: a [`Launch`]. Out: a running [`Worker`], or a typed reason. When `spawn` returns an error,
//! or its future is dropped, nothing of the worker is left.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::sync::{oneshot, watch};
use tokio_util::sync::CancellationToken;

use super::cgroup::{Cgroup, WorkerLimits};
use super::control::{StartFailure, StartOrder, WantedState};
use super::descriptors;
use super::environment::Environment;
use super::keeper::VERB;
use super::marker::Marker;
use super::orphans;
use super::paced_output::PacedOutput;
use super::program;
use super::record::{self, ProcessIdentity, WorkerRecord};
use super::spawn::{self, StderrKind, StdinKind, WorkerPipes};
use super::stderr::{self, StderrTail};
use super::supervisor::{HandshakeError, SupervisedWorker, WorkerLife, supervise};
use super::worker::{Worker, WorkerHandle, WorkerHandleState};

/// Everything needed to start one worker.
#[derive(Debug, Clone)]
pub struct Launch {
    /// A path, or a name to be looked up in the worker's `PATH`. A relative path is relative to
    /// `cwd`.
    pub program: OsString,
    pub args: Vec<OsString>,
    pub cwd: PathBuf,
    pub env: Environment,
    pub stdin: StdinKind,
    pub stderr: StderrKind,
    /// The executable that calls [`keeper::main`](super::keeper::main) when given `keeper_args`.
    pub keeper_exe: PathBuf,
    pub keeper_args: Vec<OsString>,
    /// The directory in which [`sweep`](super::record::sweep) will look after a crash, if any.
    pub records_dir: Option<PathBuf>,
    /// Use a cgroup per worker where we may make one.
    pub cgroups: bool,
    /// What it may use, in that cgroup.
    pub limits: WorkerLimits,
    /// When it is cancelled, the worker has a moment to end, whatever else it was promised: for an
    /// owner that has to end itself, with all that it has launched.
    pub hurry: CancellationToken,
}

#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SpawnError {
    #[error("`{}` was not found", program.display())]
    NotFound { program: OsString },
    #[error("`{}` cannot be executed: {source}", program.display())]
    NotExecutable { program: OsString, source: io::Error },
    #[error("cannot work in {}: {source}", cwd.display())]
    BadCwd { cwd: PathBuf, source: io::Error },
    #[error("starting `{}`: {source}", program.display())]
    Exec { program: OsString, source: io::Error },
    #[error("pipes for a worker: {0}")]
    Pipes(#[source] io::Error),
    #[error("recording a worker in {}: {source}", dir.display())]
    Record { dir: PathBuf, source: io::Error },
    #[error("starting the keeper {}: {source}", exe.display())]
    Keeper { exe: PathBuf, source: io::Error },
    #[error("the keeper of `{}` died before the worker ran", program.display())]
    KeeperLost { program: OsString },
    #[error("the keeper of `{}` did not answer in time", program.display())]
    KeeperSilent { program: OsString },
}

impl SpawnError {
    /// The directory whose disk is full, if that is why it was not started.
    pub fn full_disk(&self) -> Option<&Path> {
        match self {
            Self::Record { dir, source } if source.kind() == io::ErrorKind::StorageFull => {
                Some(dir)
            }
            _ => None,
        }
    }

    /// Whether it did not start because too many files are open, here or in its keeper.
    pub fn is_out_of_descriptors(&self) -> bool {
        match self {
            Self::NotExecutable { source, .. }
            | Self::BadCwd { source, .. }
            | Self::Exec { source, .. }
            | Self::Pipes(source)
            | Self::Record { source, .. }
            | Self::Keeper { source, .. } => wire::fault::is_out_of_descriptors(source),
            Self::NotFound { .. } | Self::KeeperLost { .. } | Self::KeeperSilent { .. } => false,
        }
    }
}

impl Launch {
    /// A worker with piped stdin and captured stderr, our environment, and ourselves, re-executed
    /// with `__keeper`, as its keeper.
    pub fn new(program: impl Into<OsString>, cwd: impl Into<PathBuf>) -> Self {
        Self {
            program: program.into(),
            args: Vec::new(),
            cwd: cwd.into(),
            env: Environment::default(),
            stdin: StdinKind::Pipe,
            stderr: StderrKind::Captured,
            // Still names this very executable after an upgrade replaced the file.
            keeper_exe: PathBuf::from("/proc/self/exe"),
            keeper_args: vec![VERB.into()],
            records_dir: None,
            cgroups: true,
            limits: WorkerLimits::default(),
            hurry: CancellationToken::new(),
        }
    }

    /// The file that would be executed, or why nothing could be; nothing is started.
    pub fn find_program(&self) -> Result<PathBuf, SpawnError> {
        let bad_cwd = |source| SpawnError::BadCwd { cwd: self.cwd.clone(), source };
        // An entry of its own: a directory that may be entered, and not merely be seen.
        std::fs::metadata(self.cwd.join(".")).map_err(bad_cwd)?;
        let path = self.env.variable(OsStr::new("PATH"));
        // A path is relative to the worker's directory, a name is not.
        let program = match self.program.as_bytes().contains(&b'/') {
            true => self.cwd.join(&self.program).into_os_string(),
            false => self.program.clone(),
        };
        let failed = |failure| {
            let error = HandshakeError::Failed(failure);
            spawn_error(error, self.program.clone(), self.cwd.clone())
        };
        program::find(&program, path.as_deref()).map_err(failed)
    }

    /// Starts the worker; resolves when the keeper has said that it runs, or why not.
    ///
    /// The worker is supervised by a task of the runtime this is called in: when that runtime is
    /// shut down, the worker is ended.
    pub async fn spawn(self) -> Result<Worker, SpawnError> {
        orphans::adopt();
        let marker = Marker::random().map_err(SpawnError::Pipes)?;
        let pipes = WorkerPipes::open(self.stdin, self.stderr).map_err(SpawnError::Pipes)?;
        if let Some(dir) = &self.records_dir {
            record::prepare_dir(dir).map_err(|source| record_error(dir, source))?;
        }
        let (keeper, control) = spawn::start_keeper(&self.keeper_exe, &self.keeper_args)
            .map_err(|source| SpawnError::Keeper { exe: self.keeper_exe.clone(), source })?;
        // A keeper that is dropped from here on sees its lifeline close and exits.
        let keeper_pid = keeper.pid();
        let cgroup = self.cgroups.then(|| Cgroup::create(&marker, &self.limits)).flatten();
        let record = match &self.records_dir {
            None => None,
            Some(dir) => match write_record(dir, &marker, keeper_pid, cgroup.as_ref()) {
                Ok(path) => Some(path),
                Err(source) => {
                    cgroup.as_ref().map(Cgroup::remove);
                    return Err(record_error(dir, source));
                }
            },
        };

        let (lives, life) = watch::channel(WorkerLife::default());
        let tail = Arc::new(StderrTail::default());
        let (drain, stderr) = match pipes.stderr {
            None => (None, None),
            Some(pipe) => {
                let (sink, lines) = stderr::channel();
                let pipe = PacedOutput::new(pipe, life.clone());
                let drain = task::spawn(stderr::drain(pipe, Arc::clone(&tail), sink));
                (Some(drain), Some(lines))
            }
        };
        let order = StartOrder {
            env: self.env.resolve(std::env::vars_os(), &marker),
            program: self.program.clone(),
            args: self.args,
            cwd: self.cwd.clone().into(),
            cgroup: cgroup.as_ref().map(|group| group.dir().into()),
            n_descriptors: descriptors::limit_of_workers(),
        };
        let (wanted, wanted_states) = watch::channel(WantedState::Run);
        let (started, on_started) = oneshot::channel();
        let id = marker.to_string();
        let charge =
            SupervisedWorker { marker, keeper, control, record, cgroup, drain, hurry: self.hurry };
        task::spawn(supervise(charge, order, pipes.workers, started, lives, wanted_states));

        match on_started.await.unwrap_or(Err(HandshakeError::KeeperLost)) {
            Ok(started) => {
                let shared =
                    Arc::new(WorkerHandleState { id, keeper_pid, started, tail, life, wanted });
                let handle = WorkerHandle { shared };
                Ok(Worker { stdin: pipes.stdin, stdout: pipes.stdout, stderr, handle })
            }
            Err(error) => Err(spawn_error(error, self.program, self.cwd)),
        }
    }
}

fn write_record(
    dir: &Path,
    marker: &Marker,
    keeper_pid: i32,
    cgroup: Option<&Cgroup>,
) -> io::Result<PathBuf> {
    let own_pid = std::process::id().cast_signed();
    let identity = |pid| ProcessIdentity::of(pid).ok_or(io::Error::from(io::ErrorKind::NotFound));
    let record = WorkerRecord {
        marker: marker.clone(),
        owner: identity(own_pid)?,
        keeper: identity(keeper_pid)?,
        cgroup: cgroup.cloned(),
    };
    record.write(dir)
}

fn record_error(dir: &Path, source: io::Error) -> SpawnError {
    SpawnError::Record { dir: dir.to_path_buf(), source }
}

fn spawn_error(error: HandshakeError, program: OsString, cwd: PathBuf) -> SpawnError {
    let os = io::Error::from_raw_os_error;
    match error {
        HandshakeError::Failed(StartFailure::Cwd(errno)) => {
            SpawnError::BadCwd { cwd, source: os(errno) }
        }
        HandshakeError::Failed(StartFailure::NotFound) => SpawnError::NotFound { program },
        HandshakeError::Failed(StartFailure::NotExecutable(errno)) => {
            SpawnError::NotExecutable { program, source: os(errno) }
        }
        HandshakeError::Failed(StartFailure::Other(errno)) => {
            SpawnError::Exec { program, source: os(errno) }
        }
        HandshakeError::OrderNotSent(source) => SpawnError::Exec { program, source },
        HandshakeError::KeeperLost => SpawnError::KeeperLost { program },
        HandshakeError::KeeperSilent => SpawnError::KeeperSilent { program },
    }
}

#[cfg(test)]
mod tests;
