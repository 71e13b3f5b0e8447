use std::time::Duration;

use futures_util::StreamExt as _;
use wire::{Draft, Json, Kind, Millis};

use super::*;
use crate::events::testing::{One, PACE};

type Chunks = axum::body::BodyDataStream;

/// More than one page, so that there is always a next chunk.
async fn flood(one: &One) {
    let draft = Draft {
        at: Millis(1),
        turn: None,
        kind: Kind::AgentStderr,
        payload: Json::of(&serde_json::json!({ "text": "x".repeat(200) })),
    };
    one.append(vec![draft; 5000]).await;
}

async fn chunks(one: &One) -> Chunks {
    respond(one.stream().await).into_body().into_data_stream()
}

async fn text(chunks: &mut Chunks) -> Option<String> {
    let chunk = chunks.next().await?.expect("a chunk");
    Some(String::from_utf8(chunk.to_vec()).unwrap())
}

fn assert_counted(one: &One, wanted: &[&str]) {
    let told = one.daemon.metrics.render();
    for line in wanted {
        assert!(told.contains(&format!("switchyard_{line}\n")), "no {line} in {told}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_reader_that_takes_every_chunk_gets_the_log_in_small_ones() {
    let one = One::new().await;
    flood(&one).await;
    let mut chunks = chunks(&one).await;

    let mut all = text(&mut chunks).await.unwrap();
    assert!(all.starts_with("retry: 1000\n\nevent: stream\n"));
    let last = format!("id: {}-", one.record().await.head.0);
    while !all.contains(&last) {
        let chunk = text(&mut chunks).await.unwrap();
        assert!(chunk.len() <= CHUNK_BYTES);
        all += &chunk;
    }

    let ids: Vec<&str> = all.lines().filter(|line| line.starts_with("id: ")).collect();
    assert_eq!(ids.len() as u64, one.record().await.head.0);
    assert!(!all.contains("slow_client"));
}

#[tokio::test(start_paused = true)]
async fn a_daemon_that_stops_tells_what_is_in_the_log_first() {
    let one = One::new().await;
    flood(&one).await;
    let mut chunks = chunks(&one).await;
    one.daemon.ended.cancel();

    let mut all = String::new();
    while let Some(chunk) = text(&mut chunks).await {
        all += &chunk;
    }

    let ids = all.lines().filter(|line| line.starts_with("id: ")).count();
    assert_eq!(ids as u64, one.record().await.head.0);
    assert!(all.ends_with("event: daemon_stopping\ndata: {}\n\n"));
}

#[tokio::test(start_paused = true)]
async fn silence_is_broken_by_heartbeats() {
    let one = One::new().await;
    let mut chunks = chunks(&one).await;
    let mut all = String::new();
    while !all.contains(": heartbeat\n\n: heartbeat") {
        all += &text(&mut chunks).await.unwrap();
    }
    assert!(all.contains(&format!("id: {}-", one.record().await.head.0)));
}

#[tokio::test(start_paused = true)]
async fn a_slow_reader_is_warned_with_its_next_frame() {
    let one = One::new().await;
    flood(&one).await;
    let mut chunks = chunks(&one).await;

    // Held for longer than the warning takes, and shorter than the eviction.
    let held = chunks.next().await.unwrap().unwrap();
    let waiting = tokio::spawn(async move {
        let next = text(&mut chunks).await.unwrap();
        (next, text(&mut chunks).await.unwrap())
    });
    tokio::time::sleep(PACE.warn_after + Duration::from_secs(5)).await;
    drop(held);

    let (warning, next) = waiting.await.unwrap();
    assert!(warning.starts_with("event: slow_client_warning\n"), "{warning}");
    assert!(next.starts_with("id: 1-"), "{next}");
    assert_counted(&one, &["slow_clients_total{what=\"warned\"} 1"]);
}

#[tokio::test(start_paused = true)]
async fn a_reader_that_takes_nothing_is_evicted_and_cut() {
    let one = One::new().await;
    flood(&one).await;
    let mut chunks = chunks(&one).await;
    drop(chunks.next().await.unwrap().unwrap());
    let held = chunks.next().await.unwrap().unwrap();

    let last = chunks.next().await.unwrap().unwrap();
    let last_words = std::str::from_utf8(&last).unwrap();
    assert!(last_words.starts_with("event: client_evicted\n"), "{last_words}");
    let told = std::str::from_utf8(&held).unwrap();
    let last_id = told.lines().filter_map(|line| line.strip_prefix("id: ")).next_back().unwrap();
    assert!(last_words.contains(last_id), "{last_words} does not name {last_id}");

    assert_counted(&one, &["streams_open{kind=\"sse\"} 1"]);
    // It does not take this either: the connection is broken off.
    assert!(chunks.next().await.unwrap().is_err());
    assert!(chunks.next().await.is_none());
    drop(chunks);
    assert_counted(
        &one,
        &["slow_clients_total{what=\"evicted\"} 1", "streams_open{kind=\"sse\"} 0"],
    );
}

#[tokio::test(start_paused = true)]
async fn a_reader_that_takes_its_last_frame_is_let_go_properly() {
    let one = One::new().await;
    flood(&one).await;
    let mut chunks = chunks(&one).await;
    let held = chunks.next().await.unwrap().unwrap();

    let last = chunks.next().await.unwrap().unwrap();
    assert!(last.starts_with(b"event: client_evicted\n"));
    drop((held, last));

    assert!(chunks.next().await.is_none());
}

#[tokio::test(start_paused = true)]
async fn a_reader_that_comes_back_after_its_eviction_reads_why_it_was() {
    let one = One::new().await;
    flood(&one).await;
    let mut chunks = chunks(&one).await;
    let held = chunks.next().await.unwrap().unwrap();
    let last = chunks.next().await.unwrap().unwrap();
    assert!(last.starts_with(b"event: client_evicted\n"));

    let ending = tokio::spawn(async move { chunks.next().await });
    tokio::time::sleep(PACE.evict_after * 5).await;
    drop((held, last));

    assert!(ending.await.unwrap().is_none(), "the body ends properly, however late");
}

#[tokio::test(start_paused = true)]
async fn revocation_and_stop_end_streams_of_readers_that_take_nothing_too() {
    for ending in ["revoked", "daemon_stopping"] {
        let one = One::new().await;
        flood(&one).await;
        let mut chunks = chunks(&one).await;
        let _held = chunks.next().await.unwrap().unwrap();

        match ending {
            "revoked" => one.principal.revoked.cancel(),
            _ => one.daemon.ended.cancel(),
        }

        let last = chunks.next().await.unwrap().unwrap();
        assert!(last.starts_with(format!("event: {ending}\n").as_bytes()));
    }
}

#[tokio::test(start_paused = true)]
async fn a_frame_larger_than_a_chunk_comes_in_pieces() {
    let one = One::new().await;
    let payload = Json::of(&serde_json::json!({ "text": "y".repeat(1 << 20) }));
    let draft = Draft { at: Millis(1), turn: None, kind: Kind::AgentStderr, payload };
    one.append(vec![draft]).await;
    let mut chunks = chunks(&one).await;

    let mut all = String::new();
    while !all.ends_with("yyy\"}}\n\n") {
        let chunk = text(&mut chunks).await.unwrap();
        assert!(chunk.len() <= CHUNK_BYTES);
        all += &chunk;
    }
    assert!(all.contains(&"y".repeat(1 << 20)));
}

#[tokio::test(start_paused = true)]
async fn a_large_event_does_not_wait_for_a_slow_reader_when_too_many_do() {
    let one = One::new().await;
    let large = Draft {
        at: Millis(1),
        turn: None,
        kind: Kind::AgentStderr,
        payload: Json::of(&serde_json::json!({ "text": "x".repeat(2 << 20) })),
    };
    one.append(vec![large]).await;
    let mut chunks = chunks(&one).await;
    let held = loop {
        let chunk = chunks.next().await.unwrap().unwrap();
        if chunk.len() == CHUNK_BYTES {
            break chunk;
        }
    };
    let budget = one.daemon.load.budget(&one.principal.name);
    let other = tokio::spawn(async move { budget.take(usize::MAX).await });
    let since = tokio::time::Instant::now();
    assert!(chunks.next().await.unwrap().is_err());
    assert!(since.elapsed() < PACE.warn_after);
    drop(chunks);
    other.await.unwrap();
    drop(held);
}
