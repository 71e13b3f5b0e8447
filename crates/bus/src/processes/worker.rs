//! A running worker, as its users see it.
//!
//! In: the wanted state (pause, stop, kill). Out: pipes, and how it ended. A handle is a cheap
//! clone; the tree is ended when the last one is dropped. All waiting functions may be called by
//! any number of tasks.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::unix::pipe;
use tokio::sync::watch;
use tokio::time::timeout;

use super::control::WantedState;
use super::exit::ExitReport;
use super::paced_output::PacedOutput;
use super::procs::Proc;
use super::stderr::{StderrLines, StderrTail};
use super::supervisor::{WorkerLife, WorkerStart};

/// The worker's stdin; dropping it ends the worker's input.
pub type WorkerStdin = pipe::Sender;
pub type WorkerStdout = pipe::Receiver;

/// A supervised child process with its pipes.
#[derive(Debug)]
pub struct Worker {
    /// `None` if it was started without.
    pub stdin: Option<WorkerStdin>,
    pub stdout: WorkerStdout,
    /// `None` if it was merged into stdout.
    pub stderr: Option<StderrLines>,
    pub handle: WorkerHandle,
}

/// The means that holds the worker's processes together: a cgroup, or their keeper alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Containment {
    Cgroup,
    Keeper,
}

/// How long each rung of a stop lasts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StopLadder {
    /// From end of input to SIGTERM.
    pub after_eof: Duration,
    /// From SIGTERM to SIGKILL.
    pub after_term: Duration,
}

impl Default for StopLadder {
    fn default() -> Self {
        Self {
            // Node-based agents flush their last lines only after stdin closes, most within one
            // second, one of them after just over two.
            after_eof: Duration::from_secs(3),
            // Agents use SIGTERM to save their session and to stop the tools they started.
            after_term: Duration::from_secs(3),
        }
    }
}

/// One rung of the ladder, reported when it is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopStep {
    /// Waiting for the worker to end by itself after its input ended.
    AwaitExit,
    /// SIGTERM to the whole tree.
    Terminate,
    /// SIGKILL to the whole tree.
    Kill,
}

#[derive(Clone)]
pub struct WorkerHandle {
    pub(crate) shared: Arc<WorkerHandleState>,
}

pub(crate) struct WorkerHandleState {
    pub(crate) id: String,
    pub(crate) keeper_pid: i32,
    pub(crate) started: WorkerStart,
    pub(crate) tail: Arc<StderrTail>,
    pub(crate) life: watch::Receiver<WorkerLife>,
    /// The lifeline: the supervisor ends the tree when this is dropped.
    pub(crate) wanted: watch::Sender<WantedState>,
}

impl WorkerHandle {
    /// The random id that marks this worker's processes (`SWITCHYARD_WORKER`).
    pub fn id(&self) -> &str {
        &self.shared.id
    }

    pub fn pid(&self) -> u32 {
        self.shared.started.pid.cast_unsigned()
    }

    pub fn keeper_pid(&self) -> u32 {
        self.shared.keeper_pid.cast_unsigned()
    }

    /// Whether the direct worker process is there right now. Its end is known to the kernel a
    /// little earlier than to [`exited`](Self::exited).
    pub fn is_present(&self) -> bool {
        let WorkerHandleState { started, keeper_pid, .. } = &*self.shared;
        // A pid that came to mean another process has another parent.
        Proc::read(started.pid)
            .is_some_and(|process| process.has_main_thread && process.parent == *keeper_pid)
    }

    pub fn containment(&self) -> Containment {
        match self.shared.started.in_cgroup {
            true => Containment::Cgroup,
            false => Containment::Keeper,
        }
    }

    /// The last 16 KiB of stderr at most, lossy UTF-8. Complete after [`ended`](Self::ended).
    pub fn stderr_tail(&self) -> String {
        self.shared.tail.text()
    }

    /// Its output, to be read at the pace that all commands share.
    pub fn paced(&self, stdout: WorkerStdout) -> PacedOutput<WorkerStdout> {
        PacedOutput::new(stdout, self.shared.life.clone())
    }

    /// Resolves when the direct worker process has exited. Others it started may still live for
    /// a moment.
    pub async fn exited(&self) -> ExitReport {
        self.wait_for(|life| life.exit.is_some()).await
    }

    /// Resolves when the whole tree is gone and stderr is read to its end.
    pub async fn ended(&self) -> ExitReport {
        self.wait_for(|life| life.is_ended).await
    }

    /// Stops the whole tree where it is, until [`resume`](Self::resume). Takes a moment, and
    /// nothing is lost by it: pipes fill, clocks run on. Ending a tree continues it first.
    pub fn pause(&self) {
        self.exchange(WantedState::Run, WantedState::Stop);
    }

    /// Lets a paused tree go on.
    pub fn resume(&self) {
        self.exchange(WantedState::Stop, WantedState::Run);
    }

    /// Ends the tree step by step; resolves when it is gone. The caller has dropped stdin.
    ///
    /// Calling it twice, or from two tasks, is fine: the faster ladder wins. A dropped call
    /// leaves the worker at the rung that was reached.
    pub async fn stop(&self, ladder: &StopLadder) -> ExitReport {
        self.stop_with(ladder, |_| {}).await
    }

    /// As [`stop`](Self::stop), and reports each rung when it is reached.
    pub async fn stop_with(
        &self,
        ladder: &StopLadder,
        mut observe: impl FnMut(StopStep) + Send,
    ) -> ExitReport {
        // A stopped worker does not see that its input has ended.
        self.resume();
        observe(StopStep::AwaitExit);
        if let Ok(report) = timeout(ladder.after_eof, self.ended()).await {
            return report;
        }
        observe(StopStep::Terminate);
        self.want(WantedState::Term);
        if let Ok(report) = timeout(ladder.after_term, self.ended()).await {
            return report;
        }
        observe(StopStep::Kill);
        self.kill();
        self.ended().await
    }

    /// SIGKILL to the whole tree, at once.
    pub fn kill(&self) {
        self.want(WantedState::Kill);
    }

    fn want(&self, wanted: WantedState) {
        self.shared.wanted.send_if_modified(|current| {
            let is_more = wanted > *current;
            *current = wanted.max(*current);
            is_more
        });
    }

    /// Replaces one wanted state by another, unless another one has been asked for meanwhile.
    fn exchange(&self, from: WantedState, to: WantedState) {
        self.shared.wanted.send_if_modified(|current| {
            let is_so = *current == from;
            if is_so {
                *current = to;
            }
            is_so
        });
    }

    async fn wait_for(&self, is_reached: impl FnMut(&WorkerLife) -> bool) -> ExitReport {
        let mut life = self.shared.life.clone();
        match life.wait_for(is_reached).await {
            Ok(life) => life.exit.unwrap_or_else(ExitReport::lost),
            // The runtime of the supervisor was shut down.
            Err(_) => ExitReport::lost(),
        }
    }
}

impl fmt::Debug for WorkerHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let WorkerHandleState { id, keeper_pid, started, .. } = &*self.shared;
        f.debug_struct("WorkerHandle")
            .field("id", id)
            .field("pid", &started.pid)
            .field("keeper_pid", keeper_pid)
            .finish_non_exhaustive()
    }
}
