//! Hands memory back to the system after something large, or many small things, passed through.
//!
//! A message of many values leaves holes between what stays, and the C library keeps them: a
//! daemon that holds nothing any more would look as if it did.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::host::AgentMessage;

/// Size of a batch of messages after which memory is given back.
const LARGE_BYTES: usize = 1 << 20;
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
