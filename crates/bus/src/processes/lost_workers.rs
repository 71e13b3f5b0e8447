//! Ending what workers whose keepers died have left, for all supervisors of this process.
//!
//! In: lost workers, whenever they are lost. Out: to each supervisor, what was left of its own. One
//! thread serves all: a keeper that dies while others are cleaned up after is part of the next look
//! at `/proc`, so that hundreds which die together cost a few looks.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

use tokio::sync::oneshot;

use super::marked_processes::{
    LOOK_AGAIN_AFTER, LostWorker, MarkedCleanup, WorkerEnding, kill_once,
};

static QUEUE: Mutex<Queue> = Mutex::new(Queue { waiting: Vec::new(), is_served: false });

/// As many wait as keepers have just died.
struct Queue {
    waiting: Vec<(oneshot::Sender<MarkedCleanup>, WorkerEnding)>,
    /// A thread looks at it, until nothing is left to be done.
    is_served: bool,
}

fn queue() -> MutexGuard<'static, Queue> {
    QUEUE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Ends the processes of a worker whose keeper is dead.
pub(crate) async fn end(worker: LostWorker) -> Option<MarkedCleanup> {
    let (done, on_done) = oneshot::channel();
    let is_served = {
        let mut queue = queue();
        queue.waiting.push((done, WorkerEnding::new(worker)));
        std::mem::replace(&mut queue.is_served, true)
    };
    // Not `spawn_blocking`, which panics when no thread can be had: a worker that used up all
    // processes is one of the reasons to come here.
    if !is_served && thread::Builder::new().name("end-marked".into()).spawn(serve).is_err() {
        serve();
    }
    on_done.await.ok()
}

fn serve() {
    let mut endings = Vec::new();
    loop {
        {
            let mut queue = queue();
            endings.append(&mut queue.waiting);
            if endings.is_empty() {
                queue.is_served = false;
                return;
            }
        }
        for (done, cleanup) in kill_once(&mut endings) {
            let _runtime_gone = done.send(cleanup);
        }
        if !endings.is_empty() {
            thread::sleep(LOOK_AGAIN_AFTER);
        }
    }
}
