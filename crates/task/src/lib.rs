//! Starting tasks.
//!
//! In: a future. Out: a task of the runtime that is entered. What tokio needs to run a task it
//! compiles anew for every type of future, and twice, for both of its runtimes: some thirty small
//! functions each time, for a hundred futures. Here they all have one type.

use std::pin::Pin;

use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::task::JoinHandle;

/// A future of any type, on the heap. For what starts tasks otherwise than [`spawn`]: trackers,
/// sets, handles of a runtime.
pub type BoxedFuture<T> = Pin<Box<dyn Future<Output = T> + Send>>;

pub fn boxed<T>(future: impl Future<Output = T> + Send + 'static) -> BoxedFuture<T> {
    Box::pin(future)
}

/// Bytes of text that are read through in some ten milliseconds, which nobody notices. Every thread
/// that takes over keeps memory of its own, so this is for the few that are longer.
pub const LONG_BYTES: usize = 4 << 20;

/// Works on `n_bytes`, which takes long if they are many: the other tasks of this thread go on on
/// another one meanwhile, where the runtime has more than one.
pub fn beside_others<T>(n_bytes: usize, work: impl FnOnce() -> T) -> T {
    let has_others = n_bytes >= LONG_BYTES
        && Handle::try_current()
            .is_ok_and(|runtime| runtime.runtime_flavor() == RuntimeFlavor::MultiThread);
    if has_others { tokio::task::block_in_place(work) } else { work() }
}

/// As [`tokio::spawn`].
#[track_caller]
pub fn spawn<T: Send + 'static>(future: impl Future<Output = T> + Send + 'static) -> JoinHandle<T> {
    tokio::spawn(boxed(future))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Minutes, because tests run beside others that want the processor.
    const PATIENCE: std::time::Duration = std::time::Duration::from_mins(2);

    #[tokio::test]
    async fn a_task_runs_by_itself_and_tells_its_result() {
        let (sender, receiver) = tokio::sync::oneshot::channel();
        let told = spawn(async move { receiver.await.map(|number: u32| number + 1) });
        sender.send(41).unwrap();
        assert_eq!(told.await.unwrap(), Ok(42));
    }

    #[test]
    fn long_work_holds_up_no_other_task() {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).build().unwrap();
        runtime.block_on(async {
            let working = spawn(async {
                let (sender, receiver) = std::sync::mpsc::channel();
                spawn(async move { sender.send("went on").unwrap() });
                // The one thread is taken, and the other task runs all the same.
                beside_others(LONG_BYTES, || receiver.recv_timeout(PATIENCE).unwrap())
            });
            assert_eq!(working.await.unwrap(), "went on");
        });
        assert_eq!(beside_others(LONG_BYTES, || "without a runtime"), "without a runtime");
    }

    #[tokio::test]
    async fn long_work_is_done_where_there_is_one_thread_only() {
        assert_eq!(beside_others(LONG_BYTES, || 1), 1);
    }

    #[tokio::test]
    async fn a_panic_is_the_tasks_own() {
        let ended = spawn(async { panic!("as ordered") }).await;
        assert!(ended.unwrap_err().is_panic());
    }
}
