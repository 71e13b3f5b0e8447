use http_body_util::BodyExt;
use tokio::sync::mpsc;

use super::*;

fn limits(body_timeout: Duration) -> HttpLimits {
    HttpLimits { body_timeout, ..HttpLimits::default() }
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
    let (body, note) = Metered::wrap(Body::from("12345"), 5, &limits(Duration::from_secs(60)));
    assert_eq!(body.collect().await.unwrap().to_bytes(), "12345");
    assert_eq!(note.get(), None);
}

#[tokio::test]
async fn a_body_that_said_nothing_of_its_length_is_broken_off_at_the_limit() {
    let (sender, body) = stream();
    let (mut body, note) = Metered::wrap(body, 5, &limits(Duration::from_secs(60)));
    sender.send(b"123").await.unwrap();
    assert!(body.frame().await.unwrap().is_ok());
    sender.send(b"456").await.unwrap();
    assert!(body.frame().await.unwrap().is_err());
    assert_eq!(note.get(), Some(Fault::TooLarge));
    assert!(body.frame().await.unwrap().is_err(), "and stays so");
}

#[tokio::test(start_paused = true)]
async fn one_byte_now_and_then_is_too_slow() {
    let (sender, body) = stream();
    let (mut body, note) = Metered::wrap(body, 1 << 20, &limits(Duration::from_millis(200)));
    tokio::spawn(async move {
        while sender.send(b"x").await.is_ok() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    });
    while let Some(Ok(_)) = body.frame().await {}
    assert_eq!(note.get(), Some(Fault::TooSlow));
}

#[tokio::test(start_paused = true)]
async fn a_handler_may_take_its_time() {
    let (sender, body) = stream();
    let (mut body, note) = Metered::wrap(body, 1 << 20, &limits(Duration::from_millis(200)));
    sender.send(b"x").await.unwrap();
    assert!(body.frame().await.unwrap().is_ok());
    tokio::time::sleep(Duration::from_millis(400)).await;
    sender.send(b"y").await.unwrap();
    assert!(body.frame().await.unwrap().is_ok());
    assert_eq!(note.get(), None);
}
