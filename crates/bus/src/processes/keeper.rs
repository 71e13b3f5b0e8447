//! The keeper: a small process that stands between Switchyard and one worker.
//!
//! In: an order, then commands, over the control socket that is its stdin. Out: reports on the
//! same socket. It is the child sub-reaper of everything the worker starts, so whoever
//! double-forks away becomes its child, and "no child left" means "no descendant left". It ends
//! the tree when told to, when the worker exits and leaves others behind, and when the control
//! socket closes because Switchyard is gone; it exits only after the tree is gone. It also stops
//! and continues the tree; a tree that is to end is continued first.
//!
//! It runs in its own session, so that Ctrl-C in a terminal does not reach it.

mod freezer;
mod start;

use std::fs::{self, File};
use std::io;
use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream as StdUnixStream;
use std::process::ExitCode;
use std::time::Duration;

use rustix::io::Errno;
use rustix::process::{
    Pid, Signal as StopSignal, WaitOptions, getpid, kill_process_group, set_child_subreaper,
    setsid, wait,
};
use tokio::net::UnixStream;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::{Instant, sleep_until};

use super::cgroup::Cgroup;
use super::control::{KeeperReport, WantedState};
use super::process_tree;
use super::procs::{Proc, freeze_and_kill, living, terminate};
use super::spawn::{self, send_at_once};
use crate::process_calls;
use freezer::Freezer;

/// The hidden verb under which a binary is a keeper; by it keepers are known among processes.
pub const VERB: &str = "__keeper";

/// Between SIGTERM and SIGKILL when nobody is there to decide: long enough for an agent to write
/// its session file, short enough that a restarted Switchyard does not meet the old worker.
const GRACE: Duration = Duration::from_millis(500);
/// The first pause between two killing rounds. It doubles: what does not die at once is stuck.
const FIRST_PAUSE: Duration = Duration::from_millis(5);
const LONGEST_PAUSE: Duration = Duration::from_millis(500);
/// SIGKILL takes milliseconds. What lives longer is another user's process or sits in the kernel,
/// and the owner should not wait for it any more.
const STUCK_AFTER: Duration = Duration::from_secs(5);

/// The whole life of a keeper. Call it first in `main`, before any thread or runtime.
pub fn main() -> ExitCode {
    process_calls::close_stray_fds();
    match keep() {
        Ok(()) => ExitCode::SUCCESS,
        // Nobody can be told: the owner sees the control socket close.
        Err(_) => ExitCode::FAILURE,
    }
}

fn keep() -> io::Result<()> {
    let mut control = take_control()?;
    setsid()?;
    set_child_subreaper(Some(getpid()))?;
    rustix::thread::set_name(c"sy-keeper")?;
    let (order, fds) = spawn::receive_order(&mut control)?;

    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
        let child_ended = catch_signals()?;
        control.set_nonblocking(true)?;
        let control = UnixStream::from_std(control)?;
        match start::start(order, fds) {
            Ok(started) => {
                tell(
                    &control,
                    KeeperReport::Started { pid: started.pid, in_cgroup: started.cgroup.is_some() },
                );
                let keeper = Keeper {
                    control,
                    has_owner: true,
                    worker: started.pid,
                    is_worker_reaped: false,
                    cgroup: started.cgroup,
                    freezer: Freezer::default(),
                    ending: TreeEnding::NotYet,
                };
                keeper.run(child_ended).await;
            }
            Err(failure) => tell(&control, KeeperReport::Failed(failure)),
        }
        Ok(())
    })
}

/// Our stdin is the control socket; it moves away from there, closed on exec.
fn take_control() -> io::Result<StdUnixStream> {
    let control = StdUnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
    control.local_addr()?;
    rustix::stdio::dup2_stdin(File::open("/dev/null")?)?;
    Ok(control)
}

/// Signals that would end us before our work is done are caught and forgotten. Not ignored: that
/// would be inherited by the worker.
fn catch_signals() -> io::Result<Signal> {
    for kind in [
        SignalKind::interrupt(),
        SignalKind::terminate(),
        SignalKind::hangup(),
        SignalKind::quit(),
        SignalKind::user_defined1(),
        SignalKind::user_defined2(),
    ] {
        // The handler stays installed when the stream is dropped.
        drop(signal(kind)?);
    }
    signal(SignalKind::child())
}

fn tell(control: &UnixStream, report: KeeperReport) {
    send_at_once(control, report.encode().as_bytes());
}

struct Keeper {
    control: UnixStream,
    has_owner: bool,
    worker: i32,
    /// Once it is, its pid and the number of its process group may belong to another process.
    is_worker_reaped: bool,
    cgroup: Option<Cgroup>,
    freezer: Freezer,
    ending: TreeEnding,
}

#[derive(Clone, Copy)]
enum TreeEnding {
    NotYet,
    Grace { kill_at: Instant },
    Killing { stuck_at: Instant, again_at: Instant, pause: Duration, is_stuck_reported: bool },
}

impl Keeper {
    async fn run(mut self, mut child_ended: Signal) {
        while self.reap() {
            let wake_at = self.wake_at();
            tokio::select! {
                _ = child_ended.recv() => {}
                wanted = next_wanted_state(&self.control), if self.has_owner => self.obey(wanted),
                () = async { sleep_until(wake_at.unwrap_or_else(Instant::now)).await },
                    if wake_at.is_some() => self.go_on(),
            }
        }
        if let Some(cgroup) = &self.cgroup {
            cgroup.remove();
        }
        tell(&self.control, KeeperReport::Empty);
    }

    /// Takes the exit status of every dead child; whether there are others.
    fn reap(&mut self) -> bool {
        loop {
            match wait(WaitOptions::NOHANG) {
                Ok(Some((pid, status))) if pid.as_raw_nonzero().get() == self.worker => {
                    let was_killed = status.terminating_signal() == Some(StopSignal::KILL.as_raw());
                    if status.exit_status() != Some(0)
                        && let Some(hit) =
                            self.cgroup.as_ref().and_then(|group| group.limit_hit(was_killed))
                    {
                        tell(&self.control, KeeperReport::AtLimit(hit));
                    }
                    if let Some(code) = status.exit_status() {
                        tell(&self.control, KeeperReport::ExitedWith(code));
                    } else if let Some(signal) = status.terminating_signal() {
                        tell(&self.control, KeeperReport::KilledBy(signal));
                    }
                    self.is_worker_reaped = true;
                    self.end_after_grace();
                }
                Ok(Some(_)) | Err(Errno::INTR) => {}
                Ok(None) => return true,
                Err(_no_child_left) => return false,
            }
        }
    }

    fn obey(&mut self, wanted: Option<WantedState>) {
        match wanted {
            Some(WantedState::Run) => self.freezer.resume(self.cgroup.as_ref()),
            Some(WantedState::Stop) if matches!(self.ending, TreeEnding::NotYet) => {
                self.freezer.stop(self.cgroup.as_ref(), below_us);
            }
            Some(WantedState::Stop) => {}
            Some(WantedState::Term) => {
                self.freezer.resume(self.cgroup.as_ref());
                terminate(&below_us());
            }
            Some(WantedState::Kill) => self.kill(),
            None => {
                self.has_owner = false;
                self.end_after_grace();
            }
        }
    }

    fn wake_at(&self) -> Option<Instant> {
        match self.ending {
            TreeEnding::NotYet => self.freezer.again_at(),
            TreeEnding::Grace { kill_at } => Some(kill_at),
            TreeEnding::Killing { again_at, .. } => Some(again_at),
        }
    }

    fn go_on(&mut self) {
        match self.ending {
            TreeEnding::NotYet => self.freezer.stop(self.cgroup.as_ref(), below_us),
            TreeEnding::Grace { .. } | TreeEnding::Killing { .. } => self.kill(),
        }
    }

    fn end_after_grace(&mut self) {
        if matches!(self.ending, TreeEnding::NotYet) {
            self.freezer.resume(self.cgroup.as_ref());
            terminate(&below_us());
            self.ending = TreeEnding::Grace { kill_at: Instant::now() + GRACE };
        }
    }

    fn kill(&mut self) {
        if let Some(cgroup) = &self.cgroup {
            cgroup.kill();
        }
        // What is killed need not run for it, but a group that could not be killed must not
        // keep its processes from dying one by one.
        self.freezer.resume(self.cgroup.as_ref());
        // A fork bomb leaves us little time to look at its processes one by one; most of them sit
        // in the worker's own process group and can be stopped with one call.
        if let (false, Some(group)) = (self.is_worker_reaped, Pid::from_raw(self.worker)) {
            let _gone = kill_process_group(group, StopSignal::STOP);
        }
        let killed = freeze_and_kill(below_us);

        let now = Instant::now();
        let (stuck_at, pause, mut is_stuck_reported) = match self.ending {
            TreeEnding::Killing { stuck_at, pause, is_stuck_reported, .. } => {
                (stuck_at, LONGEST_PAUSE.min(pause * 2), is_stuck_reported)
            }
            TreeEnding::NotYet | TreeEnding::Grace { .. } => {
                (now + STUCK_AFTER, FIRST_PAUSE, false)
            }
        };
        // On a machine that is so busy that a round takes seconds, time alone says nothing: there
        // were rounds enough when the pause has grown.
        let is_late = now >= stuck_at && pause == LONGEST_PAUSE;
        if is_late && !is_stuck_reported && !killed.is_empty() {
            is_stuck_reported = true;
            tell(
                &self.control,
                KeeperReport::Stuck(i32::try_from(killed.len()).unwrap_or(i32::MAX)),
            );
        }
        self.ending =
            TreeEnding::Killing { stuck_at, again_at: now + pause, pause, is_stuck_reported };
    }
}

fn below_us() -> Vec<Proc> {
    let all = process_tree::below(getpid().as_raw_nonzero().get());
    living(&all).copied().collect()
}

/// The next command; `None` when the owner is gone.
async fn next_wanted_state(control: &UnixStream) -> Option<WantedState> {
    loop {
        let mut byte = [0];
        control.readable().await.ok()?;
        match control.try_read(&mut byte) {
            Ok(0) => return None,
            Ok(_) => return Some(WantedState::decode(byte[0]).unwrap_or(WantedState::Run)),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(_) => return None,
        }
    }
}

/// Whether a process was started, at whatever remove, by a worker of ours: one of its ancestors
/// is a keeper. One that is gone, and may have left its connection to anybody, counts as one.
pub fn is_below_keeper(pid: i32) -> bool {
    /// Deeper than anybody nests shells.
    const MAX_ANCESTORS: usize = 1000;
    let mut at = Proc::read(pid);
    for _ in 0..MAX_ANCESTORS {
        match at {
            Some(Proc { pid: 0 | 1, .. } | Proc { parent: 0, .. }) => return false,
            Some(found) if is_keeper(found.parent) => return true,
            Some(found) => at = Proc::read(found.parent),
            None => return true,
        }
    }
    true
}

fn is_keeper(pid: i32) -> bool {
    let arguments = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    arguments.split(|byte| *byte == 0).nth(1) == Some(VERB.as_bytes())
}
