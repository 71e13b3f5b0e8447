//! Starting the worker from inside its keeper.
//!
//! In: an order and three descriptors. Out: a pid, or which of the four ways it went wrong. The
//! keeper itself goes to the worker's directory and into its cgroup, with the worker's score
//! for want of memory, lets the worker be born there and comes back: that needs no code between fork and exec, and tells a bad directory from
//! a bad program.

use std::env;
use std::ffi::OsStr;
use std::io;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use rustix::io::Errno;

use crate::processes::cgroup::Cgroup;
use crate::processes::control::{StartFailure, StartOrder};
use crate::processes::descriptors;
use crate::processes::marker::{MARKER_VARIABLE, Marker};
use crate::processes::oom_score;
use crate::processes::program;
use crate::processes::spawn::WorkerFds;

pub(super) struct WorkerChild {
    pub(super) pid: i32,
    /// The worker's cgroup, only if the worker is in there and we are not.
    pub(super) cgroup: Option<Cgroup>,
}

pub(super) fn start(order: StartOrder, fds: WorkerFds) -> Result<WorkerChild, StartFailure> {
    let marker = order.variable(MARKER_VARIABLE).and_then(OsStr::to_str).and_then(Marker::parse);
    let outside = Cgroup::own();
    let entered = marker
        .and_then(|marker| Cgroup::existing(order.cgroup.clone()?.into(), &marker))
        .filter(|cgroup| cgroup.enter().is_ok());

    if let Some(n) = order.n_descriptors {
        descriptors::lower_limit(n);
    }
    let score_before = oom_score::raise_for_worker();
    let pid = execute(order, fds);
    if let Some(before) = score_before {
        oom_score::lower_for_keeper(before);
    }

    // If we cannot leave, killing the group would kill us: then we do without it.
    let cgroup = entered.filter(|_| outside.is_some_and(|outside| outside.enter().is_ok()));
    // A keeper must not keep a directory busy that somebody wants to unmount.
    let _stay = env::set_current_dir("/");
    if let (Err(_), Some(cgroup)) = (&pid, &cgroup) {
        cgroup.remove();
    }
    Ok(WorkerChild { pid: pid?, cgroup })
}

fn execute(order: StartOrder, [stdin, stdout, stderr]: WorkerFds) -> Result<i32, StartFailure> {
    env::set_current_dir(&order.cwd).map_err(|error| StartFailure::Cwd(errno_of(&error)))?;
    let file: PathBuf = program::find(&order.program, order.variable("PATH"))?;
    let child = Command::new(file)
        .arg0(order.program)
        .args(order.args)
        .env_clear()
        .envs(order.env)
        .stdin(Stdio::from(stdin))
        .stdout(Stdio::from(stdout))
        .stderr(Stdio::from(stderr))
        .process_group(0)
        .spawn()
        .map_err(|error| failure_of(&error))?;
    Ok(child.id().cast_signed())
}

impl StartOrder {
    fn variable(&self, name: &str) -> Option<&OsStr> {
        self.env.iter().find(|(found, _)| found == name).map(|(_, value)| value.as_os_str())
    }
}

fn failure_of(error: &io::Error) -> StartFailure {
    let errno = errno_of(error);
    // The file was there a moment ago, so "not found" is about the interpreter it names.
    let is_about_the_file = [Errno::NOENT, Errno::ACCESS, Errno::NOEXEC, Errno::PERM]
        .iter()
        .any(|known| known.raw_os_error() == errno);
    if is_about_the_file { StartFailure::NotExecutable(errno) } else { StartFailure::Other(errno) }
}

fn errno_of(error: &io::Error) -> i32 {
    // Without an errno it is std that refused: a NUL byte in an argument or a variable.
    error.raw_os_error().unwrap_or(Errno::INVAL.raw_os_error())
}
