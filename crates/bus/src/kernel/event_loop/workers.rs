//! The processes of workers: started and ended, lines in and out.
//!
//! A process is started and watched by a task; its pipes are the event loop's. It has ended for the
//! switch when it has exited *and* all its output was read.

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use rustix::event::epoll::{self, EventFlags};
use rustix::io::Errno;

use super::{EventLoop, Party};
use crate::kernel::inbox::{LineCut, LineCutter};
use crate::kernel::mailbox::{LoopMessage, Mailbox, StartedWorker};
use crate::kernel::outbox::{FlushOutcome, Outbox};
use crate::processes::exit::ExitReport;
use crate::processes::launch::Launch;
use crate::processes::process_tree;
use crate::processes::stderr::StderrLines;
use crate::processes::worker::{StopLadder, Worker, WorkerHandle};
use crate::switch::{MonotonicMillis, StopHow, SwitchInput, WorkerId};

/// How long one sign of a worker's end may be there without the other: its pipe closed but the
/// process alive, or the other way round.
const HALF_ENDED_WAIT: u64 = 2_000;
/// Characters of a dying worker's stderr that go into its exit status.
const MAX_STDERR_CHARS: usize = 300;
/// How long the report of an exit waits for the rest of stderr.
const STDERR_WAIT: Duration = Duration::from_millis(100);

#[derive(Default)]
pub(super) struct WorkerConnection {
    pool: Arc<str>,
    ladder: StopLadder,
    /// Its process, once it is started.
    process: Option<WorkerProcess>,
    /// How it is to be stopped, if that was asked for before it was started.
    wanted_stop: Option<StopHow>,
    pub(super) inbox: LineCutter,
    pub(super) outbox: Outbox,
    pub(super) is_paused: bool,
    is_read: bool,
    is_touched: bool,
    /// Since when its pipe takes nothing.
    blocked_since: Option<MonotonicMillis>,
    is_waiting_to_write: bool,
    /// Since when no byte has come of a line that it has begun, or since when that line is too long.
    unfinished_since: Option<MonotonicMillis>,
    /// No more input; once the outbox is empty the pipe is closed.
    is_closing: bool,
    /// Since when one of the signs of its end is there.
    half_ended_since: Option<MonotonicMillis>,
    exit: Option<(ExitReport, String)>,
}

struct WorkerProcess {
    stdin: Option<OwnedFd>,
    stdout: Option<OwnedFd>,
    handle: WorkerHandle,
}

impl WorkerConnection {
    pub(super) fn pid(&self) -> Option<u32> {
        self.process.as_ref().map(|process| process.handle.pid())
    }
}

impl EventLoop {
    pub(super) fn start_worker(&mut self, id: WorkerId, pool: &Arc<str>, slot: u32) {
        let Some(setup) = self.pools.get(pool) else {
            let why = "its pool is gone".to_owned();
            return self.feed_afterwards(SwitchInput::WorkerNotStarted { worker: id, why });
        };
        let edge = WorkerConnection {
            pool: Arc::clone(pool),
            ladder: setup.ladder,
            ..WorkerConnection::default()
        };
        let name = format!("{pool}/{slot}");
        let task = watch_worker(id, name, setup.launch.clone(), self.mailbox.clone());
        self.tracker.spawn_on(task, &self.runtime);
        self.workers.insert(id, edge);
    }

    pub(super) fn worker_started(&mut self, id: WorkerId, started: Result<StartedWorker, String>) {
        let Some(worker) = self.workers.get_mut(&id) else { return };
        let StartedWorker { stdin, stdout, handle } = match started {
            Ok(started) => started,
            Err(why) => {
                tracing::warn!(pool = &*worker.pool, why, "a worker could not be started");
                self.workers.remove(&id);
                return self.feed(SwitchInput::WorkerNotStarted { worker: id, why });
            }
        };
        let token = Party::WorkerOutput(id).token();
        let is_readable = epoll::add(&self.epoll, &stdout, token, EventFlags::IN).is_ok();
        tracing::info!(pool = &*worker.pool, pid = handle.pid(), "worker runs");
        worker.is_read = is_readable;
        worker.process = Some(WorkerProcess { stdin: Some(stdin), stdout: Some(stdout), handle });
        match worker.wanted_stop {
            Some(how) => self.stop_worker(id, how),
            None if is_readable => {
                self.feed(SwitchInput::WorkerRuns { worker: id });
                self.touch_worker(id);
            }
            None => self.stop_worker(id, StopHow::AtOnce),
        }
    }

    pub(super) fn stop_worker(&mut self, id: WorkerId, how: StopHow) {
        let Some(worker) = self.workers.get_mut(&id) else { return };
        let Some(WorkerProcess { handle, .. }) = &worker.process else {
            worker.wanted_stop = Some(how);
            return;
        };
        let handle = handle.clone();
        worker.is_closing = true;
        match how {
            StopHow::AtOnce => {
                worker.outbox.clear();
                handle.kill();
            }
            StopHow::Gently => {
                let ladder = worker.ladder;
                let stop = async move {
                    handle.stop(&ladder).await;
                };
                self.tracker.spawn_on(stop, &self.runtime);
            }
        }
        self.touch_worker(id);
    }

    pub(super) fn write_to_worker(&mut self, id: WorkerId, line: Bytes) {
        let marks = self.switch.limits().worker_queue;
        let Some(worker) = self.workers.get_mut(&id).filter(|worker| !worker.is_closing) else {
            return;
        };
        worker.outbox.push(line);
        // Bytes that can be written at once do not count as waiting.
        if worker.outbox.n_bytes() > marks.high && worker.blocked_since.is_none() {
            self.settle_worker_input(id);
        }
        let Some(worker) = self.workers.get_mut(&id) else { return };
        let crossing = worker.outbox.crossing(marks);
        self.touch_worker(id);
        if let Some(level) = crossing {
            self.feed_afterwards(SwitchInput::WorkerOutbox { worker: id, level });
        }
    }

    fn touch_worker(&mut self, id: WorkerId) {
        if let Some(worker) = self.workers.get_mut(&id)
            && !std::mem::replace(&mut worker.is_touched, true)
        {
            self.touched.push(Party::WorkerInput(id));
        }
    }

    pub(super) fn settle_worker_input(&mut self, id: WorkerId) {
        let Some(worker) = self.workers.get_mut(&id) else { return };
        worker.is_touched = false;
        let Some(WorkerProcess { stdin, .. }) = &mut worker.process else { return };
        let Some(pipe) = stdin else {
            worker.outbox.clear();
            return;
        };
        let n_before = worker.outbox.n_bytes();
        let flushed = worker.outbox.flush(&*pipe);
        let is_blocked = flushed == FlushOutcome::Blocked;
        if is_blocked != worker.is_waiting_to_write {
            worker.is_waiting_to_write = is_blocked;
            let token = Party::WorkerInput(id).token();
            // Only while it is waited for: a pipe without a reader would be reported for ever.
            let _registered = match is_blocked {
                true => epoll::add(&self.epoll, &*pipe, token, EventFlags::OUT),
                false => epoll::delete(&self.epoll, &*pipe),
            };
        }
        let has_moved = worker.outbox.n_bytes() < n_before;
        match flushed {
            FlushOutcome::Blocked if has_moved => worker.blocked_since = Some(self.now),
            FlushOutcome::Blocked => {
                worker.blocked_since.get_or_insert(self.now);
            }
            FlushOutcome::All => worker.blocked_since = None,
            FlushOutcome::Broken => {
                worker.blocked_since = None;
                worker.outbox.clear();
                worker.half_ended_since.get_or_insert(self.now);
            }
        }
        if flushed == FlushOutcome::Broken || (worker.is_closing && flushed == FlushOutcome::All) {
            *stdin = None;
        }
        let is_watched = worker.blocked_since.is_some() || worker.half_ended_since.is_some();
        let crossing = worker.outbox.crossing(self.switch.limits().worker_queue);
        if is_watched {
            self.watch();
        }
        if let Some(level) = crossing {
            self.feed_afterwards(SwitchInput::WorkerOutbox { worker: id, level });
        }
    }

    pub(super) fn pause_worker(&mut self, id: WorkerId, is_paused: bool) {
        if let Some(worker) = self.workers.get_mut(&id) {
            worker.is_paused = is_paused;
            self.touched.push(Party::WorkerOutput(id));
        }
    }

    pub(super) fn settle_worker_output(&mut self, id: WorkerId) {
        let Some(worker) = self.workers.get_mut(&id) else { return };
        let Some(WorkerProcess { stdout: Some(pipe), .. }) = &worker.process else { return };
        let is_read = !worker.is_paused;
        if is_read != worker.is_read {
            worker.is_read = is_read;
            let interest = if is_read { EventFlags::IN } else { EventFlags::empty() };
            let _same = epoll::modify(&self.epoll, pipe, Party::WorkerOutput(id).token(), interest);
        }
    }

    /// Also of a worker that is paused, when its pipe was closed: the rest is not much.
    pub(super) fn worker_readable(&mut self, id: WorkerId) {
        let max_line_bytes = self.edges.max_worker_line_bytes;
        let Some(worker) = self.workers.get_mut(&id) else { return };
        let Some(WorkerProcess { stdout, .. }) = &mut worker.process else { return };
        let Some(pipe) = stdout else { return };
        let (buffer, n) = match self.buffer.read(&*pipe) {
            Ok(read) => read,
            Err(Errno::AGAIN | Errno::INTR) => return,
            Err(error) => {
                tracing::warn!(%error, "a worker cannot be read");
                *stdout = None;
                return self.worker_half_ended(id);
            }
        };
        if n == 0 {
            self.buffer.give_back(buffer);
            *stdout = None;
            if let Some(cut) = worker.inbox.finish(max_line_bytes) {
                self.worker_cut(id, cut);
            }
            self.feed(SwitchInput::WorkerMute { worker: id });
            return self.worker_half_ended(id);
        }
        self.n_read_bytes += n;
        let mut chunk = buffer.slice(..n);
        while let Some(worker) = self.workers.get_mut(&id)
            && let Some(cut) = worker.inbox.cut(&mut chunk, max_line_bytes)
        {
            self.worker_cut(id, cut);
        }
        drop(chunk);
        self.buffer.give_back(buffer);
        let Some(worker) = self.workers.get_mut(&id) else { return };
        if !worker.inbox.is_in_line() {
            worker.unfinished_since = None;
            return;
        }
        // More of a line that is lost is no progress.
        if !(worker.inbox.is_skipping() && worker.unfinished_since.is_some()) {
            worker.unfinished_since = Some(self.now);
        }
        self.watch();
    }

    fn worker_cut(&mut self, worker: WorkerId, cut: LineCut) {
        match cut {
            LineCut::Line(line) => self.feed_worker_line(worker, line),
            LineCut::TooLong(head) => self.feed(SwitchInput::WorkerLineTooLong { worker, head }),
        }
    }

    pub(super) fn worker_exited(&mut self, id: WorkerId, report: ExitReport, last_words: &str) {
        let Some(worker) = self.workers.get_mut(&id) else { return };
        worker.exit = Some((report, last_words.to_owned()));
        self.worker_half_ended(id);
    }

    fn worker_half_ended(&mut self, id: WorkerId) {
        let Some(worker) = self.workers.get_mut(&id) else { return };
        let has_closed = worker.process.as_ref().is_some_and(|process| process.stdout.is_none());
        if worker.exit.is_some() && has_closed {
            return self.finish_worker(id);
        }
        worker.half_ended_since.get_or_insert(self.now);
        self.watch();
    }

    fn finish_worker(&mut self, id: WorkerId) {
        let Some(worker) = self.workers.remove(&id) else { return };
        let (report, last_words) =
            worker.exit.unwrap_or_else(|| (ExitReport::lost(), String::new()));
        let status = match last_words.is_empty() {
            true => report.to_string(),
            false => format!("{report}; on stderr: {last_words}"),
        };
        tracing::info!(pool = &*worker.pool, status, "worker ended");
        let is_success = report.is_success();
        self.feed(SwitchInput::WorkerExited { worker: id, is_success, status });
    }

    /// Finds workers that take no input, and those of whose end only one sign has come.
    pub(super) fn tick_workers(&mut self) {
        let (mut stuck, mut ended, mut is_watching) = (Vec::new(), Vec::new(), false);
        let mut unfinished = Vec::new();
        for (id, worker) in &mut self.workers {
            let has_passed = |since: Option<MonotonicMillis>, n: u64| {
                since.is_some_and(|since| self.now.since(since) >= n)
            };
            is_watching |= worker.blocked_since.is_some() || worker.half_ended_since.is_some();
            if worker.is_paused && worker.unfinished_since.is_some() {
                // It is we who do not read.
                worker.unfinished_since = Some(self.now);
            }
            is_watching |= worker.unfinished_since.is_some();
            if has_passed(worker.unfinished_since, self.edges.line_timeout) {
                unfinished.push(*id);
            }
            let is_late = has_passed(worker.half_ended_since, HALF_ENDED_WAIT);
            match worker.exit {
                Some(_) if is_late => ended.push(*id),
                None if is_late
                    || has_passed(worker.blocked_since, self.edges.worker_stuck_after) =>
                {
                    stuck.push(*id);
                }
                _ => {}
            }
        }
        for worker in stuck {
            self.feed(SwitchInput::WorkerStuck { worker });
        }
        let n_millis = self.edges.line_timeout;
        for worker in unfinished {
            self.feed(SwitchInput::WorkerLineUnfinished { worker, n_millis });
        }
        for id in ended {
            self.finish_worker(id);
        }
        if is_watching {
            self.watch();
        }
    }

    /// Counts the memory of each worker that has a limit, with all that it has started.
    pub(super) fn look_at_memory(&mut self) {
        self.memory_at = Some(self.now.after(self.edges.memory_interval));
        let mut keepers = Vec::new();
        for (id, worker) in &self.workers {
            let has_limit = self
                .pools
                .get(&worker.pool)
                .is_some_and(|pool| pool.plan.max_memory_bytes.is_some());
            if let Some(WorkerProcess { handle, .. }) = &worker.process
                && has_limit
            {
                keepers.push((*id, handle.keeper_pid()));
            }
        }
        if keepers.is_empty() {
            return;
        }
        let mailbox = self.mailbox.clone();
        let look = async move {
            let seen = tokio::task::spawn_blocking(move || memory_of_trees(&keepers)).await;
            if let Ok(seen) = seen {
                let _bus_ended = mailbox.send(LoopMessage::Memory(seen)).await;
            }
        };
        self.tracker.spawn_on(look, &self.runtime);
    }
}

fn memory_of_trees(keepers: &[(WorkerId, u32)]) -> Vec<(WorkerId, u64)> {
    let pids: Vec<u32> = keepers.iter().map(|(_, keeper)| *keeper).collect();
    keepers.iter().map(|(worker, _)| *worker).zip(process_tree::resident_bytes(&pids)).collect()
}

/// Starts a worker, reports its start and its end, and stays until all its processes are gone.
async fn watch_worker(id: WorkerId, name: String, launch: Launch, mailbox: Mailbox) {
    let started = launch.spawn().await.map_err(|error| error.to_string()).and_then(split_worker);
    let (started, running) = match started {
        Ok((started, stderr)) => {
            let handle = started.handle.clone();
            (Ok(started), Some((handle, stderr)))
        }
        Err(why) => (Err(why), None),
    };
    let told = mailbox.send(LoopMessage::WorkerStarted { worker: id, started }).await;
    let (Ok(()), Some((handle, stderr))) = (told, running) else { return };
    let log = log_stderr(name, stderr);
    let life = async {
        let report = handle.exited().await;
        // Its stderr is whole when nothing is left of it, most often at once.
        let _sent_without = tokio::time::timeout(STDERR_WAIT, handle.ended()).await;
        let last_words = summary_line(&handle.stderr_tail());
        let message = LoopMessage::WorkerExited { worker: id, report, last_words };
        let _bus_ended = mailbox.send(message).await;
        handle.ended().await;
    };
    tokio::select! {
        ((), ()) = async { tokio::join!(life, log) } => {}
        // Nobody is left who could stop it.
        () = mailbox.closed() => {
            handle.kill();
            handle.ended().await;
        }
    }
}

fn split_worker(worker: Worker) -> Result<(StartedWorker, Option<StderrLines>), String> {
    let Worker { stdin, stdout, stderr, handle } = worker;
    let stdin = stdin.ok_or("it has no stdin")?;
    let stdin = stdin.into_nonblocking_fd().map_err(|error| error.to_string())?;
    let stdout = stdout.into_nonblocking_fd().map_err(|error| error.to_string())?;
    Ok((StartedWorker { stdin, stdout, handle }, stderr))
}

async fn log_stderr(name: String, lines: Option<StderrLines>) {
    let Some(mut lines) = lines else { return };
    while let Some(line) = lines.recv().await {
        tracing::info!(worker = name, "{}", line.text);
    }
}

/// The line on stderr that says most: among the last ones the first that speaks of an error,
/// because what follows is a stack trace or a last remark; else the last one.
fn summary_line(stderr: &str) -> String {
    const N_LINES: usize = 30;
    let mut lines: Vec<&str> =
        stderr.lines().rev().filter(|line| !line.trim().is_empty()).take(N_LINES).collect();
    lines.reverse();
    let says_why = |line: &&&str| {
        let line = line.to_ascii_lowercase();
        ["error", "panicked", "fatal"].iter().any(|word| line.contains(word))
    };
    let line = lines.iter().find(says_why).or(lines.last()).copied().unwrap_or_default();
    line.trim().chars().filter(|c| !c.is_control()).take(MAX_STDERR_CHARS).collect()
}
