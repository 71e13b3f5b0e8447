use std::sync::Arc;

use super::*;

async fn filled(n: u64) -> Arc<MessageStream> {
    let stream = stream();
    for number in 1..=n {
        stream.push(Bytes::from(number.to_string())).await;
    }
    stream
}

fn message(number: u64) -> ReadOutcome {
    ReadOutcome::Message(number, Bytes::from(number.to_string()))
}

fn stream() -> Arc<MessageStream> {
    let quota = Arc::new(crate::limits::ByteQuota::default());
    Arc::new(MessageStream::new(quota.reserve("a")))
}

#[tokio::test]
async fn a_reader_that_comes_back_goes_on_where_it_was() {
    let stream = filled(3).await;
    let mut reader = stream.read(None).unwrap();
    assert_eq!(reader.next().await, message(1));
    assert_eq!(reader.next().await, message(2));
    drop(reader);
    // It had seen the first only when it was cut off.
    let mut again = stream.read(Some(1)).unwrap();
    assert_eq!(again.next().await, message(2));
    assert_eq!(again.next().await, message(3));
}

#[tokio::test]
async fn a_second_reader_is_refused_unless_it_comes_back() {
    let stream = filled(2).await;
    let mut first = stream.read(None).unwrap();
    assert!(stream.read(None).is_none());
    let mut second = stream.read(Some(0)).unwrap();
    assert_eq!(first.next().await, ReadOutcome::Over);
    drop(first);
    assert!(stream.is_read(), "the end of the old reader is not the end of the new one");
    assert_eq!(second.next().await, message(1));
}

#[tokio::test]
async fn what_is_no_longer_kept_is_told_as_lost() {
    let stream = filled(0).await;
    let mut reader = stream.read(None).unwrap();
    for number in 1..=MAX_SENT_MESSAGES as u64 + 10 {
        stream.push(Bytes::from(number.to_string())).await;
        assert_eq!(reader.next().await, message(number));
    }
    drop(reader);
    let mut late = stream.read(Some(1)).unwrap();
    assert_eq!(late.next().await, ReadOutcome::Lost);
    assert_eq!(late.next().await, message(11));
    for nowhere in [u64::MAX - 1, u64::MAX] {
        let mut foreign = stream.read(Some(nowhere)).unwrap();
        assert_eq!(foreign.next().await, ReadOutcome::Lost);
    }
}

#[tokio::test]
async fn a_slow_reader_makes_the_front_wait() {
    let stream = stream();
    let mut reader = stream.read(None).unwrap();
    let large = Bytes::from(vec![b'x'; MAX_BYTES / 2]);
    stream.push(large.clone()).await;
    stream.push(large.clone()).await;
    let pushing = tokio::spawn({
        let (stream, large) = (stream.clone(), large.clone());
        async move { stream.push(large).await }
    });
    tokio::task::yield_now().await;
    assert!(!pushing.is_finished());
    assert_eq!(reader.next().await, ReadOutcome::Message(1, large));
    pushing.await.unwrap();
    assert_eq!(stream.state.locked().last, 3);
}

#[tokio::test]
async fn what_nobody_reads_is_dropped_and_told() {
    let stream = stream();
    let large = Bytes::from(vec![b'x'; MAX_BYTES / 2]);
    for _ in 0..5 {
        stream.push(large.clone()).await;
    }
    let mut reader = stream.read(None).unwrap();
    assert_eq!(reader.next().await, ReadOutcome::Lost);
    assert_eq!(reader.next().await, ReadOutcome::Message(4, large));
}

#[tokio::test]
async fn a_reader_that_leaves_holds_nobody_up() {
    let stream = stream();
    let reader = stream.read(None).unwrap();
    stream.push(Bytes::from(vec![b'x'; MAX_BYTES])).await;
    let one_more = stream.push(Bytes::from_static(b"more"));
    tokio::pin!(one_more);
    assert!(futures_util::poll!(&mut one_more).is_pending());
    drop(reader);
    tokio::time::timeout(soak::PATIENCE, one_more).await.unwrap();
}

#[tokio::test]
async fn all_streams_of_a_client_share_what_they_may_hold() {
    let quota = Arc::new(crate::limits::ByteQuota::default());
    let streams: Vec<_> =
        (0..20).map(|_| Arc::new(MessageStream::new(quota.reserve("a")))).collect();
    // Nobody reads them, so what has no room is dropped, and whoever comes is told.
    for stream in &streams {
        stream.push(Bytes::from(vec![b'x'; MAX_BYTES])).await;
    }
    let held: usize = streams.iter().map(|stream| stream.state.locked().n_bytes).sum();
    assert_eq!(held, 48 << 20);
    let mut last = streams[19].read(None).unwrap();
    assert_eq!(last.next().await, ReadOutcome::Lost);
    // To a reader one is given all the same.
    streams[19].push(Bytes::from(vec![b'y'; MAX_BYTES])).await;
    assert!(matches!(last.next().await, ReadOutcome::Message(2, _)));
    drop((last, streams));
    assert!(quota.reserve("a").take(48 << 20), "all of it is given back");
}
