use tokio::time::{Instant as PausedInstant, advance, timeout};

use super::*;

/// A pace of a test's own: its clock may be paused.
fn a_pace() -> &'static Mutex<Pace> {
    Box::leak(Box::new(Mutex::new(Pace { is_used_until: None })))
}

/// The output of a worker that lives until the sender says otherwise.
fn output_of<R: AsyncRead + Unpin>(
    output: R,
    floods: &'static Mutex<Pace>,
) -> (PacedOutput<R>, watch::Sender<WorkerLife>) {
    let (sender, life) = watch::channel(WorkerLife::default());
    (PacedOutput { floods, ..PacedOutput::new(output, life) }, sender)
}

/// Bytes that are read of floods in a time, of each.
async fn read_of_floods<const N: usize>(
    within: Duration,
    floods: &'static Mutex<Pace>,
) -> [u64; N] {
    let readers: Vec<_> = (0..N)
        .map(|_| {
            tokio::spawn(async move {
                let (mut output, _life) = output_of(tokio::io::repeat(b'y'), floods);
                let (mut chunk, mut n_bytes) = (vec![0; READ_BYTES], 0);
                let until = PausedInstant::now() + within;
                while let Ok(read) = tokio::time::timeout_at(until, output.read(&mut chunk)).await {
                    n_bytes += read.unwrap() as u64;
                }
                n_bytes
            })
        })
        .collect();
    let mut read = [0; N];
    for (n_bytes, flood) in read.iter_mut().zip(readers) {
        *n_bytes = flood.await.unwrap();
    }
    read
}

#[tokio::test(start_paused = true)]
async fn floods_share_one_pace_and_what_is_no_flood_waits_for_nothing() {
    let (seconds, floods) = (10, a_pace());
    let shared = BYTES_PER_SECOND * seconds + READ_BYTES as u64;
    let slack = BYTES_PER_SECOND / 20;
    for n_bytes in read_of_floods::<1>(Duration::from_secs(seconds), floods).await {
        assert!(n_bytes <= FREE_BYTES + shared + slack, "{n_bytes}");
        assert!(n_bytes >= FREE_BYTES + shared * 8 / 10, "{n_bytes}");
    }
    advance(SLACK * 4).await;
    let read = read_of_floods::<16>(Duration::from_secs(seconds), floods).await;
    let (most, least) = (read.iter().max().unwrap(), read.iter().min().unwrap());
    let all: u64 = read.iter().sum();
    let one_each = 16 * READ_BYTES as u64;
    assert!(all <= 16 * FREE_BYTES + shared + one_each + slack, "{all}");
    assert!(most - least <= slack + 2 * READ_BYTES as u64, "each has its share: {read:?}");

    // Beside them, or after them, what prints little is read when it comes.
    let (mut quiet, _life) = output_of(tokio::io::repeat(b'y').take(FREE_BYTES), floods);
    let began = PausedInstant::now();
    let mut chunk = vec![0; READ_BYTES];
    while quiet.read(&mut chunk).await.unwrap() > 0 {}
    assert_eq!(began.elapsed(), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn a_read_that_is_given_up_loses_nothing() {
    let n_bytes = FREE_BYTES + BYTES_PER_SECOND;
    let (mut output, _life) = output_of(tokio::io::repeat(b'y').take(n_bytes), a_pace());
    let (mut chunk, mut n_read) = (vec![0; READ_BYTES], 0);
    loop {
        match timeout(Duration::from_millis(1), output.read(&mut chunk)).await {
            Ok(Ok(0)) => break,
            Ok(read) => n_read += read.unwrap() as u64,
            Err(_given_up) => {}
        }
    }
    assert_eq!(n_read, n_bytes);
}

#[tokio::test(start_paused = true)]
async fn what_a_worker_leaves_in_its_pipe_is_read_at_once() {
    let n_bytes = FREE_BYTES + BYTES_PER_SECOND;
    let (mut output, life) = output_of(tokio::io::repeat(b'y').take(n_bytes), a_pace());
    let (mut chunk, mut n_read) = (vec![0; READ_BYTES], 0);
    while n_read < FREE_BYTES + BYTES_PER_SECOND / 2 {
        n_read += output.read(&mut chunk).await.unwrap() as u64;
    }
    let began = PausedInstant::now();
    life.send_modify(|life| life.exit = Some(crate::ExitReport::default()));
    while let n @ 1.. = output.read(&mut chunk).await.unwrap() {
        n_read += n as u64;
    }
    assert_eq!((n_read, began.elapsed()), (n_bytes, Duration::ZERO));
}

#[test]
fn what_was_not_used_counts_for_a_moment_only() {
    let (mut pace, now) = (Pace { is_used_until: None }, Instant::now());
    assert_eq!(pace.take(now, BYTES_PER_SECOND / 100), None);
    let mut pace = Pace { is_used_until: None };
    let second = Duration::from_secs(1);
    let first = second.checked_sub(SLACK).unwrap();
    assert_eq!(pace.take(now, BYTES_PER_SECOND), Some(now + first));
    assert_eq!(pace.take(now, BYTES_PER_SECOND), Some(now + first + second));
    let later = now + Duration::from_hours(1);
    assert_eq!(pace.take(later, BYTES_PER_SECOND), Some(later + first));
}
