use std::time::Duration;

use http_body_util::BodyExt;
use tokio::sync::mpsc;

use super::*;

fn limits(body_timeout: Duration) -> HttpLimits {
    HttpLimits { body_timeout, ..HttpLimits::default() }
}

fn terms(max_bytes: u64) -> BodyLimits {
    BodyLimits { max_bytes, reservation: None, revoked: None }
}

fn stream() -> (mpsc::Sender<&'static [u8]>, Body) {
    let (sender, receiver) = mpsc::channel::<&'static [u8]>(1);
    let chunks = futures_util::stream::unfold(receiver, |mut receiver| async move {
        let chunk = receiver.recv().await?;
        Some((Ok::<_, std::io::Error>(Bytes::from_static(chunk)), receiver))
    });
    (sender, Body::from_stream(chunks))
}

#[tokio::test]
async fn a_body_up_to_the_limit_passes_unchanged() {
    let (body, note) =
        MeteredBody::wrap(Body::from("12345"), terms(5), &limits(Duration::from_secs(60)));
    assert_eq!(body.collect().await.unwrap().to_bytes(), "12345");
    assert_eq!(note.get(), None);
}

#[tokio::test]
async fn a_body_that_said_nothing_of_its_length_is_broken_off_at_the_limit() {
    let (sender, body) = stream();
    let (mut body, note) = MeteredBody::wrap(body, terms(5), &limits(Duration::from_secs(60)));
    sender.send(b"123").await.unwrap();
    assert!(body.frame().await.unwrap().is_ok());
    sender.send(b"456").await.unwrap();
    assert!(body.frame().await.unwrap().is_err());
    assert_eq!(note.get().copied(), Some(BodyFault::TooLarge));
    assert!(body.frame().await.unwrap().is_err(), "and stays so");
}

#[tokio::test(start_paused = true)]
async fn one_byte_now_and_then_is_too_slow() {
    let (sender, body) = stream();
    let (mut body, note) =
        MeteredBody::wrap(body, terms(1 << 20), &limits(Duration::from_millis(200)));
    tokio::spawn(async move {
        while sender.send(b"x").await.is_ok() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    });
    while let Some(Ok(_)) = body.frame().await {}
    assert_eq!(note.get().copied(), Some(BodyFault::TooSlow));
}

#[tokio::test(start_paused = true)]
async fn a_handler_may_take_its_time() {
    let (sender, body) = stream();
    let (mut body, note) =
        MeteredBody::wrap(body, terms(1 << 20), &limits(Duration::from_millis(200)));
    sender.send(b"x").await.unwrap();
    assert!(body.frame().await.unwrap().is_ok());
    tokio::time::sleep(Duration::from_millis(400)).await;
    sender.send(b"y").await.unwrap();
    assert!(body.frame().await.unwrap().is_ok());
    assert_eq!(note.get(), None);
}

#[tokio::test]
async fn a_body_whose_sender_is_revoked_meanwhile_is_none() {
    let (sender, body) = stream();
    let revoked = CancellationToken::new();
    let terms = BodyLimits { revoked: Some(revoked.clone()), ..terms(100) };
    let (mut body, note) = MeteredBody::wrap(body, terms, &limits(Duration::from_secs(60)));
    sender.send(b"{}").await.unwrap();
    assert!(body.frame().await.unwrap().is_ok());
    let ending = tokio::spawn(async move { body.frame().await.map(|frame| frame.is_ok()) });
    revoked.cancel();
    assert_eq!(ending.await.unwrap(), Some(false));
    assert_eq!(note.get().copied(), Some(BodyFault::Revoked));
    drop(sender);
}

#[tokio::test]
async fn a_body_for_which_there_is_no_room_is_broken_off_and_its_room_given_back() {
    let quota = Arc::new(super::super::ByteQuota::default());
    let full = quota.reserve("a");
    assert!(full.take(48 << 20));
    let wrap = |name: &str| {
        let terms = BodyLimits { reservation: Some(Arc::new(quota.reserve(name))), ..terms(100) };
        MeteredBody::wrap(Body::from("12345"), terms, &limits(Duration::from_secs(60)))
    };
    let (body, note) = wrap("a");
    assert!(body.collect().await.is_err());
    assert_eq!(note.get().copied(), Some(BodyFault::NoRoom));
    assert!(wrap("b").0.collect().await.is_ok());
    drop(full);
    assert!(wrap("a").0.collect().await.is_ok());
}
