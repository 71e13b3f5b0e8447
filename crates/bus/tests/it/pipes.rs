//! No pipe of a worker can block us, and none is lost.

use std::time::Duration;

use bus::{StderrKind, StdinKind, StopLadder};
use tokio::io::AsyncWriteExt as _;

use crate::stage::{launch, launch_testbin, read_all, read_line};

#[tokio::test]
async fn ten_mib_of_stderr_before_the_first_byte_of_stdout_do_not_block() {
    let mut worker = launch_testbin(["noisy", "10485760"]).spawn().await.unwrap();

    // Nobody reads the lines meanwhile.
    assert_eq!(read_line(&mut worker.stdout).await, "done");
    assert_eq!(worker.handle.ended().await.code, Some(0));

    let tail = worker.handle.stderr_tail();
    assert_eq!(tail.len(), 16 * 1024);
    assert!(tail.ends_with("the last line\n"));
    let mut lines = worker.stderr.unwrap();
    let mut n_received = 0;
    while lines.recv().await.is_some() {
        n_received += 1;
    }
    assert_eq!(n_received + lines.n_dropped(), 10_485_760 / 100 + 1);
}

#[tokio::test]
async fn a_worker_that_never_reads_its_stdin_blocks_only_its_writer() {
    let mut worker = launch_testbin(["hang"]).spawn().await.unwrap();
    let mut stdin = worker.stdin.take().unwrap();
    let writer = tokio::spawn(async move {
        let chunk = vec![b'x'; 64 * 1024];
        loop {
            if let Err(error) = stdin.write_all(&chunk).await {
                return error.kind();
            }
        }
    });

    let ladder = StopLadder { after_eof: Duration::ZERO, after_term: Duration::ZERO };
    let report = worker.handle.stop(&ladder).await;

    assert!(report.signal.is_some(), "{report}");
    assert_eq!(writer.await.unwrap(), std::io::ErrorKind::BrokenPipe);
}

#[tokio::test]
async fn stdout_ends_with_the_worker() {
    let mut worker = launch("sh", ["-c", "echo one; echo two >&2; exit 3"]).spawn().await.unwrap();

    assert_eq!(read_all(&mut worker).await, "one\n");
    assert_eq!(worker.handle.ended().await.to_string(), "exit code 3");
    assert_eq!(worker.handle.stderr_tail(), "two\n");
    assert_eq!(worker.stderr.as_mut().unwrap().recv().await.unwrap().text, "two");
}

#[tokio::test]
async fn stderr_can_be_merged_and_stdin_can_be_nothing() {
    let mut launch = launch("sh", ["-c", "cat; echo out; echo err >&2"]);
    launch.stdin = StdinKind::Null;
    launch.stderr = StderrKind::MergedIntoStdout;
    let mut worker = launch.spawn().await.unwrap();

    assert!(worker.stdin.is_none() && worker.stderr.is_none());
    assert_eq!(read_all(&mut worker).await, "out\nerr\n");
}

#[tokio::test]
async fn signals_are_reported_by_name() {
    let worker = launch("sh", ["-c", "kill -SEGV $$"]).spawn().await.unwrap();

    assert_eq!(worker.handle.exited().await.to_string(), "killed by SIGSEGV (11)");
}
