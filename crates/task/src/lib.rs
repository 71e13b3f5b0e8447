//! Starting tasks.
//!
//! In: a future. Out: a task of the runtime that is entered. What tokio needs to run a task it
//! compiles anew for every type of future, and twice, for both of its runtimes: some thirty small
//! functions each time, for a hundred futures. Here they all have one type.

use std::pin::Pin;

use tokio::task::JoinHandle;

/// A future of any type, on the heap. For what starts tasks otherwise than [`spawn`]: trackers,
/// sets, handles of a runtime.
pub type BoxedFuture<T> = Pin<Box<dyn Future<Output = T> + Send>>;

pub fn boxed<T>(future: impl Future<Output = T> + Send + 'static) -> BoxedFuture<T> {
    Box::pin(future)
}

/// As [`tokio::spawn`].
#[track_caller]
pub fn spawn<T: Send + 'static>(future: impl Future<Output = T> + Send + 'static) -> JoinHandle<T> {
    tokio::spawn(boxed(future))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_task_runs_by_itself_and_tells_its_result() {
        let (sender, receiver) = tokio::sync::oneshot::channel();
        let told = spawn(async move { receiver.await.map(|number: u32| number + 1) });
        sender.send(41).unwrap();
        assert_eq!(told.await.unwrap(), Ok(42));
    }

    #[tokio::test]
    async fn a_panic_is_the_tasks_own() {
        let ended = spawn(async { panic!("as ordered") }).await;
        assert!(ended.unwrap_err().is_panic());
    }
}
