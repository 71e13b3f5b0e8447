//! The task that owns one keeper.
//!
//! In: the states that handles want, reports from the keeper. Out: the worker's life, as a watched
//! value. One task per worker. The control socket is the lifeline in both directions: when the last
//! handle is dropped we close our side and the keeper ends the tree; when the keeper's side closes
//! before it said "empty", it was killed, and we end the tree ourselves. The record and the cgroup
//! are removed after the tree is gone, never before.

use std::fs;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use rustix::net::Shutdown;
use tokio::net::UnixStream;
use tokio::sync::{oneshot, watch};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep_until, timeout};
use tokio_util::sync::CancellationToken;

use super::cgroup::{Cgroup, LimitHit};
use super::control::{KeeperReport, MAX_REPORT_BYTES, StartFailure, StartOrder, WantedState};
use super::exit::ExitReport;
use super::lost_workers;
use super::marked_processes::LostWorker;
use super::marker::Marker;
use super::orphans::KeeperProcess;
use super::spawn::{WorkerFds, send_at_once, send_order};

/// A cold start of the binary from a slow disk on a busy machine takes seconds; more means that
/// the worker's file system hangs.
const START_WAIT: Duration = Duration::from_secs(30);
/// A living keeper answers a kill with "empty" or, after 5 s, with "stuck". One that does neither
/// is stopped or wedged, and is replaced by ourselves.
const KEEPER_WAIT: Duration = Duration::from_secs(10);
/// From SIGTERM to SIGKILL for a worker that is hurried: as long as its keeper gives it when nobody
/// is there to decide.
const HURRIED_WAIT: Duration = Duration::from_millis(500);
/// After the tree is gone only bytes already in the pipe are left to read, unless somebody
/// outside the tree was given the descriptor.
const DRAIN_WAIT: Duration = Duration::from_secs(1);

/// The state of a worker, as its handles watch it.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct WorkerLife {
    /// What its keeper has said of the reason for its end.
    limit: Option<LimitHit>,
    pub(crate) exit: Option<ExitReport>,
    pub(crate) is_ended: bool,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct WorkerStart {
    pub(crate) pid: i32,
    pub(crate) in_cgroup: bool,
}

#[derive(Debug)]
pub(crate) enum HandshakeError {
    Failed(StartFailure),
    OrderNotSent(io::Error),
    KeeperLost,
    KeeperSilent,
}

/// Everything on Switchyard's side that belongs to one worker.
pub(crate) struct SupervisedWorker {
    pub(crate) marker: Marker,
    pub(crate) keeper: KeeperProcess,
    pub(crate) control: UnixStream,
    pub(crate) record: Option<PathBuf>,
    pub(crate) cgroup: Option<Cgroup>,
    pub(crate) drain: Option<JoinHandle<()>>,
    /// Cancelled when the worker is to end soon, whatever its handles want.
    pub(crate) hurry: CancellationToken,
}

/// Supervises from the order to the last process. Everything the caller must hear comes through
/// `started` once and `lives` after that.
pub(crate) async fn supervise(
    mut charge: SupervisedWorker,
    order: StartOrder,
    fds: WorkerFds,
    started: oneshot::Sender<Result<WorkerStart, HandshakeError>>,
    lives: watch::Sender<WorkerLife>,
    wanted_states: watch::Receiver<WantedState>,
) {
    let mut reports = ReportReader::default();
    match timeout(START_WAIT, charge.hand_over(order, fds, &mut reports)).await {
        Ok(Ok(worker)) => {
            // A caller that is gone has dropped its handles too; `watch_over` notices that.
            let _caller_gone = started.send(Ok(worker));
            let is_keeper_lost = charge.watch_over(&mut reports, &lives, wanted_states).await;
            charge.finish(is_keeper_lost, &lives).await;
        }
        Ok(Err(error)) => {
            charge.clean_up(!matches!(error, HandshakeError::Failed(_))).await;
            let _caller_gone = started.send(Err(error));
        }
        Err(_elapsed) => {
            charge.clean_up(true).await;
            let _caller_gone = started.send(Err(HandshakeError::KeeperSilent));
        }
    }
}

impl SupervisedWorker {
    async fn hand_over(
        &mut self,
        order: StartOrder,
        fds: WorkerFds,
        reports: &mut ReportReader,
    ) -> Result<WorkerStart, HandshakeError> {
        let sent = send_order(&mut self.control, &order, fds).await;
        if let Err(error) = sent {
            return Err(match error.kind() {
                io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset => {
                    HandshakeError::KeeperLost
                }
                _ => HandshakeError::OrderNotSent(error),
            });
        }
        match reports.next(&self.control).await {
            Some(KeeperReport::Started { pid, in_cgroup }) => Ok(WorkerStart { pid, in_cgroup }),
            Some(KeeperReport::Failed(failure)) => Err(HandshakeError::Failed(failure)),
            _ => Err(HandshakeError::KeeperLost),
        }
    }

    /// Returns whether the keeper was lost before the tree was empty.
    async fn watch_over(
        &mut self,
        reports: &mut ReportReader,
        lives: &watch::Sender<WorkerLife>,
        mut wanted_states: watch::Receiver<WantedState>,
    ) -> bool {
        let mut is_keeper_lost = true;
        let mut has_handles = true;
        let mut answer_by: Option<Instant> = None;
        let mut is_hurried = false;
        let mut kill_at: Option<Instant> = None;
        loop {
            tokio::select! {
                report = reports.next(&self.control) => match report {
                    None => return is_keeper_lost,
                    Some(KeeperReport::Empty) => is_keeper_lost = false,
                    Some(KeeperReport::Stuck(n)) => {
                        answer_by = None;
                        lives.send_modify(|life| life.end(n.unsigned_abs()));
                    }
                    Some(report) => lives.send_modify(|life| life.note(report)),
                },
                wanted = wanted_states.changed(), if has_handles => {
                    let wanted = wanted.ok().map(|()| *wanted_states.borrow_and_update());
                    if let Some(wanted) = wanted {
                        send_at_once(&self.control, &[wanted.encode()]);
                    } else {
                        has_handles = false;
                        let _gone = rustix::net::shutdown(&self.control, Shutdown::Write);
                    }
                    if wanted.is_none_or(|wanted| wanted == WantedState::Kill) {
                        answer_by.get_or_insert(Instant::now() + KEEPER_WAIT);
                    }
                }
                () = self.hurry.cancelled(), if !is_hurried => {
                    is_hurried = true;
                    send_at_once(&self.control, &[WantedState::Term.encode()]);
                    kill_at = Some(Instant::now() + HURRIED_WAIT);
                }
                () = sleep_until(kill_at.unwrap_or_else(Instant::now)), if kill_at.is_some() => {
                    kill_at = None;
                    send_at_once(&self.control, &[WantedState::Kill.encode()]);
                    answer_by.get_or_insert(Instant::now() + KEEPER_WAIT);
                }
                () = sleep_until(answer_by.unwrap_or_else(Instant::now)), if answer_by.is_some() => {
                    answer_by = None;
                    tracing::warn!(keeper = self.keeper.pid(), "keeper does not answer, killing it");
                    let _gone = self.keeper.start_kill();
                }
            }
        }
    }

    async fn finish(mut self, is_keeper_lost: bool, lives: &watch::Sender<WorkerLife>) {
        if is_keeper_lost {
            tracing::warn!(
                keeper = self.keeper.pid(),
                "keeper lost, ending its worker's processes"
            );
            lives.send_modify(|life| life.exit.get_or_insert_default().keeper_lost = true);
        }
        let n_left = self.clean_up(is_keeper_lost).await;
        if let Some(drain) = self.drain.take() {
            let _still_held_outside = timeout(DRAIN_WAIT, drain).await;
        }
        lives.send_modify(|life| life.end(n_left));
    }

    /// Ends what a lost keeper has left, and removes the cgroup and the record; returns how many
    /// processes could not be ended.
    async fn clean_up(&mut self, is_keeper_lost: bool) -> u32 {
        let mut n_left = 0;
        if is_keeper_lost {
            // It may live and only have closed, or garbled, its socket.
            let _gone = self.keeper.start_kill();
            n_left = self.end_without_keeper().await;
        }
        let _reaped = self.keeper.wait().await;
        if let Some(cgroup) = &self.cgroup {
            cgroup.remove();
        }
        if let (0, Some(record)) = (n_left, &self.record) {
            let _gone = fs::remove_file(record);
        }
        n_left
    }

    /// Ends the worker's processes in place of its keeper, which stays our zombie meanwhile, so
    /// that the number of its session stays its own.
    async fn end_without_keeper(&self) -> u32 {
        let lost = LostWorker {
            marker: self.marker.clone(),
            keeper: Some(self.keeper.pid()),
            cgroup: self.cgroup.clone(),
        };
        let ended = lost_workers::end(lost).await;
        ended.map_or(1, |end| u32::try_from(end.n_left).unwrap_or(u32::MAX))
    }
}

impl WorkerLife {
    fn note(&mut self, report: KeeperReport) {
        let (code, signal) = match report {
            KeeperReport::ExitedWith(code) => (Some(code), None),
            KeeperReport::KilledBy(signal) => (None, Some(signal)),
            KeeperReport::AtLimit(hit) => return self.limit = Some(hit),
            _ => return,
        };
        let limit = self.limit;
        self.exit = Some(ExitReport { code, signal, limit, ..ExitReport::default() });
    }

    fn end(&mut self, n_left: u32) {
        self.exit.get_or_insert_default().n_left = n_left;
        self.is_ended = true;
    }
}

/// The reports of a keeper as they come. A wait may be dropped at any time; no byte is lost by it.
#[derive(Default)]
struct ReportReader {
    unread: Vec<u8>,
}

impl ReportReader {
    /// The next report; `None` when the keeper is gone, or sent something unreadable.
    async fn next(&mut self, control: &UnixStream) -> Option<KeeperReport> {
        loop {
            if let Some(end) = memchr::memchr(b'\n', &self.unread) {
                let report = serde_json::from_slice(self.unread.get(..end)?);
                self.unread.drain(..=end);
                return report.ok();
            }
            if self.unread.len() > MAX_REPORT_BYTES {
                return None;
            }
            control.readable().await.ok()?;
            let mut chunk = [0; MAX_REPORT_BYTES];
            match control.try_read(&mut chunk) {
                Ok(0) => return None,
                Ok(n) => self.unread.extend(chunk.iter().take(n)),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(_) => return None,
            }
        }
    }
}

#[cfg(test)]
mod tests;
