//! Somebody on this machine tries tokens as fast as the machine goes.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::http::Request;
use http_body_util::Full;

use crate::stage::Stage;

const N_GUESSERS: usize = 8;

#[tokio::test(flavor = "multi_thread")]
async fn any_number_of_wrong_tokens_get_ten_answers_and_disturb_nobody() {
    let n_tries = soak::size(1_000, 10_000);
    let stage = Arc::new(Stage::start().await);
    let n_evaluated = Arc::new(AtomicUsize::new(0));
    let start = std::time::Instant::now();
    let guessers: Vec<_> = (0..N_GUESSERS)
        .map(|guesser| {
            let (stage, n_evaluated) = (stage.clone(), n_evaluated.clone());
            tokio::spawn(async move {
                let mut client = stage.http2().await;
                for n in 0..n_tries / N_GUESSERS {
                    // What is sent beside the token must not make a difference.
                    let request = Request::builder()
                        .uri(format!("http://{}/v1/things", stage.host()))
                        .header("authorization", format!("Bearer sy_{guesser}-{n}"))
                        .header("x-device-token", n.to_string())
                        .header("x-forwarded-for", format!("192.0.2.{}", n % 250));
                    let request = request.body(Full::default()).unwrap();
                    let answer = client.send_request(request).await.unwrap();
                    match answer.status().as_u16() {
                        401 => {
                            n_evaluated.fetch_add(1, Ordering::SeqCst);
                        }
                        429 => assert!(answer.headers().contains_key("retry-after")),
                        other => panic!("{other}"),
                    }
                }
            })
        })
        .collect();

    let mut n_served = 0;
    while !guessers.iter().all(tokio::task::JoinHandle::is_finished) {
        let answer = stage.say(stage.head("GET", "/v1/things", &[&stage.bearer()])).await;
        assert_eq!(answer.status(), 200, "{}", answer.0);
        n_served += 1;
    }
    for guesser in guessers {
        guesser.await.unwrap();
    }

    assert!(n_served > 0);
    assert_eq!(stage.counts.n_reached(), n_served);
    // A slow machine may need more than a minute, and then ten more are answered.
    let n_minutes = usize::try_from(start.elapsed().as_secs() / 60).unwrap();
    let n_evaluated = n_evaluated.load(Ordering::SeqCst);
    assert!((10..=10 * (n_minutes + 1)).contains(&n_evaluated), "{n_evaluated}");
}

#[tokio::test(flavor = "multi_thread")]
async fn asking_without_a_token_is_no_guess() {
    let stage = Stage::start().await;
    for _ in 0..30 {
        assert_eq!(stage.say(stage.head("GET", "/v1/things", &[])).await.status(), 401);
    }
}
