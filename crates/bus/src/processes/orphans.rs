//! The children of this process: keepers, and processes that became our children because their
//! keeper died.
//!
//! As child sub-reaper of all keepers we are given whatever a dead keeper leaves, living or dead, in
//! whatever order the two die. Those that are left alive are ended by their marker; here all are
//! reaped once they are dead, which nobody else would do.
//!
//! The rule: a dead child is reaped here if it is in another session than we are, and is no keeper
//! that we started. Every keeper begins a session of its own, and no process can come back out of it
//! into ours, so whoever was ever below a keeper fulfils that. What this process has started
//! otherwise is in our session, and its exit status is left to the code that started it; that of a
//! keeper is left to its supervisor.

use std::collections::HashSet;
use std::io;
use std::process::ExitStatus;
use std::sync::{Mutex, MutexGuard, Once, PoisonError};
use std::time::Duration;

use tokio::process::{Child, Command};
use tokio::signal::unix::{SignalKind, signal};
use tokio::task::JoinHandle;
use tokio::time::sleep;

use super::process_tree::children;
use super::procs::Proc;

/// From the death of a child to the look for orphans: many children die together, and one look
/// serves all of them. A zombie costs nothing but its pid for so long.
const LOOK_AFTER: Duration = Duration::from_millis(50);

/// The pids of keepers that are waited for.
static KEEPERS: Mutex<Option<HashSet<i32>>> = Mutex::new(None);

/// A keeper that this process has started; its supervisor waits for it.
#[derive(Debug)]
pub(crate) struct KeeperProcess {
    child: Child,
    pid: i32,
}

impl KeeperProcess {
    pub(crate) fn start(command: &mut Command) -> io::Result<Self> {
        // Locked until its pid is noted: it could be dead before that.
        let mut keepers = keepers();
        let child = command.spawn()?;
        let pid = child.id().unwrap_or_default().cast_signed();
        keepers.get_or_insert_default().insert(pid);
        Ok(Self { child, pid })
    }

    pub(crate) fn pid(&self) -> i32 {
        self.pid
    }

    pub(crate) fn start_kill(&mut self) -> io::Result<()> {
        self.child.start_kill()
    }

    pub(crate) async fn wait(&mut self) -> io::Result<ExitStatus> {
        self.child.wait().await
    }
}

impl Drop for KeeperProcess {
    fn drop(&mut self) {
        if let Some(keepers) = keepers().as_mut() {
            keepers.remove(&self.pid);
        }
    }
}

fn keepers() -> MutexGuard<'static, Option<HashSet<i32>>> {
    KEEPERS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Makes this process adopt what its keepers leave behind, and reap it. Called before each launch,
/// because the task that reaps ends with the runtime that it runs in.
pub(crate) fn adopt() {
    static ADOPT: Once = Once::new();
    static REAPING: Mutex<Option<JoinHandle<()>>> = Mutex::new(None);
    ADOPT.call_once(|| {
        if let Err(error) = rustix::process::set_child_subreaper(Some(rustix::process::getpid())) {
            tracing::warn!(%error, "cannot adopt the processes of a killed keeper");
        }
    });
    let mut reaping = REAPING.lock().unwrap_or_else(PoisonError::into_inner);
    if reaping.as_ref().is_none_or(JoinHandle::is_finished) {
        *reaping = Some(task::spawn(reap_orphans()));
    }
}

async fn reap_orphans() {
    let mut child_ended = match signal(SignalKind::child()) {
        Ok(child_ended) => child_ended,
        Err(error) => return tracing::warn!(%error, "cannot hear of the deaths of orphans"),
    };
    loop {
        reap_dead();
        if child_ended.recv().await.is_none() {
            return;
        }
        sleep(LOOK_AFTER).await;
    }
}

/// Reaps the orphans among our children that are dead.
fn reap_dead() {
    let Some(own) = Proc::read(std::process::id().cast_signed()) else { return };
    // Locked until all are reaped: no pid can come to mean a keeper meanwhile.
    let keepers = keepers();
    let is_keeper = |pid: &i32| keepers.as_ref().is_some_and(|keepers| keepers.contains(pid));
    let others = children(own.pid).into_iter().filter(|pid| !is_keeper(pid));
    let is_dead_orphan = |process: &Proc| {
        process.is_zombie && process.parent == own.pid && process.session != own.session
    };
    others.filter_map(Proc::read).filter(is_dead_orphan).for_each(|orphan| orphan.reap());
}
