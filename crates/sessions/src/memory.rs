//! Hands memory back to the system after something large, or many small things, passed through.
//!
//! A message of many values leaves holes between what stays, and the C library keeps them: a
//! daemon that holds nothing any more would look as if it did.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use crate::host::AgentMessage;

/// Size of a batch of messages after which memory is given back.
const LARGE_BYTES: usize = 1 << 20;
/// Sessions that leave memory, a few dozen kilobytes each, until some of it is given back.
const MANY_SESSIONS: usize = 128;
/// The wait before the first time: most is done with by then, and a row of batches counts once.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
/// The wait before the second time, for messages that took longer.
const SECOND_PAUSE: Duration = Duration::from_secs(10);

/// Something large has passed since memory was last given back. There is one heap in a process.
static IS_WANTED: AtomicBool = AtomicBool::new(false);
static IS_UNDER_WAY: AtomicBool = AtomicBool::new(false);

/// Clears [`IS_UNDER_WAY`] when dropped, also if the task is dropped with its runtime.
struct UnderWay;

impl Drop for UnderWay {
    fn drop(&mut self) {
        IS_UNDER_WAY.store(false, Ordering::Relaxed);
    }
}

pub(crate) fn is_large(batch: &[AgentMessage]) -> bool {
    batch.iter().map(AgentMessage::n_bytes).sum::<usize>() >= LARGE_BYTES
}

/// Notes that a session has left memory.
pub(crate) fn session_has_left() {
    static N_LEFT: AtomicUsize = AtomicUsize::new(0);
    if N_LEFT.fetch_add(1, Ordering::Relaxed) % MANY_SESSIONS == MANY_SESSIONS - 1 {
        give_back_soon();
    }
}

pub(crate) fn give_back_soon() {
    IS_WANTED.store(true, Ordering::Relaxed);
    if IS_UNDER_WAY.swap(true, Ordering::Relaxed) {
        return;
    }
    let under_way = UnderWay;
    task::spawn(async move {
        while IS_WANTED.swap(false, Ordering::Relaxed) {
            for pause in [FIRST_PAUSE, SECOND_PAUSE] {
                tokio::time::sleep(pause).await;
                let _ = tokio::task::spawn_blocking(bus::give_free_memory_back).await;
            }
        }
        drop(under_way);
    });
}
