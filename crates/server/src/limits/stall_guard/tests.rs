use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::*;

impl Patient for tokio::io::DuplexStream {}

const LONG: Duration = Duration::from_secs(600);
const SHORT: Duration = Duration::from_millis(100);

#[tokio::test(start_paused = true)]
async fn a_peer_that_takes_nothing_is_left() {
    let (ours, theirs) = tokio::io::duplex(16);
    let cut = CancellationToken::new();
    let mut ours = StallGuard::new(ours, SHORT, LastWords::default(), cut.clone(), None);

    let error = ours.write_all(&[0; 1024]).await.unwrap_err();

    assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    assert!(cut.is_cancelled());
    drop(theirs);
}

#[tokio::test(start_paused = true)]
async fn a_peer_that_stands_still_has_longer_for_what_it_is_told_last() {
    let (ours, mut theirs) = tokio::io::duplex(16);
    let last_words = LastWords::default();
    let waiting = last_words.wait(SHORT * 5);
    let mut ours = StallGuard::new(ours, SHORT, last_words.clone(), CancellationToken::new(), None);
    let writing = tokio::spawn(async move {
        ours.write_all(&[7; 32]).await.unwrap();
        ours
    });
    tokio::time::sleep(SHORT * 3).await;
    theirs.read_exact(&mut [0; 32]).await.unwrap();
    let mut ours = writing.await.unwrap();

    drop(waiting);
    let began = tokio::time::Instant::now();
    ours.write_all(&[7; 32]).await.unwrap_err();
    assert_eq!(began.elapsed(), SHORT, "what is said after that has no more time than before");
}

#[tokio::test(start_paused = true)]
async fn a_peer_that_is_merely_slow_is_not() {
    let (ours, mut theirs) = tokio::io::duplex(16);
    let mut ours =
        StallGuard::new(ours, SHORT, LastWords::default(), CancellationToken::new(), None);
    let writing = tokio::spawn(async move { ours.write_all(&[7; 640]).await });
    let mut got = [0; 16];
    for _ in 0..40 {
        tokio::time::sleep(SHORT / 2).await;
        theirs.read_exact(&mut got).await.unwrap();
    }
    writing.await.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn silence_is_no_stall() {
    let (ours, mut theirs) = tokio::io::duplex(16);
    let mut ours =
        StallGuard::new(ours, SHORT, LastWords::default(), CancellationToken::new(), None);
    tokio::time::sleep(SHORT * 3).await;
    theirs.write_all(b"x").await.unwrap();
    assert_eq!(ours.read_u8().await.unwrap(), b'x');
    ours.write_all(b"y").await.unwrap();
}

#[tokio::test]
async fn a_cut_wakes_a_reader_and_a_writer() {
    let (ours, _theirs) = tokio::io::duplex(16);
    let cut = CancellationToken::new();
    let (mut reader, mut writer) =
        tokio::io::split(StallGuard::new(ours, LONG, LastWords::default(), cut.clone(), None));
    let reading = tokio::spawn(async move { reader.read_u8().await });
    let writing = tokio::spawn(async move { writer.write_all(&[0; 1024]).await });
    tokio::task::yield_now().await;
    cut.cancel();
    assert_eq!(reading.await.unwrap().unwrap_err().kind(), io::ErrorKind::ConnectionAborted);
    assert_eq!(writing.await.unwrap().unwrap_err().kind(), io::ErrorKind::ConnectionAborted);
}

#[tokio::test]
async fn a_connection_that_ends_gives_its_place_back_and_says_so() {
    let places = std::sync::Arc::new(tokio::sync::Semaphore::new(1));
    let place = places.clone().try_acquire_owned().unwrap();
    let cut = CancellationToken::new();
    let (ours, _theirs) = tokio::io::duplex(16);
    let ours = StallGuard::new(ours, LONG, LastWords::default(), cut.clone(), Some(place));
    assert_eq!(places.available_permits(), 0);
    drop(ours);
    assert_eq!(places.available_permits(), 1);
    assert!(cut.is_cancelled());
}
