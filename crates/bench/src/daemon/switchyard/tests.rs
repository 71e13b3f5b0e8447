//! What is read off the daemon's events and metrics.

use super::*;

#[test]
fn chunks_and_the_end_of_a_turn_are_known_among_events() {
    let mut chunks = bench::chunk::Chunks::new("s", 40);
    let chunk = String::from_utf8(chunks.line(7).to_vec()).unwrap();
    let event = |kind: &str, payload: &str| json!({ "seq": 1, "kind": kind, "payload": payload });
    let seen = |event: serde_json::Value| ChunkEvent::of(event.to_string().as_bytes());

    assert_eq!(seen(event("agent_message_chunk", &chunk)), ChunkEvent::Chunk(7));
    assert_eq!(seen(event("turn_ended", "")), ChunkEvent::TurnEnded);
    assert_eq!(seen(event("turn_started", "")), ChunkEvent::Other);
    assert_eq!(seen(event("prompt_received", "stream 1 40.")), ChunkEvent::Other);
}

#[test]
fn only_ready_workers_of_our_agent_count() {
    let metrics = "# TYPE switchyard_warm_workers gauge\n\
        switchyard_warm_workers{agent=\"other\",state=\"ready\"} 3\n\
        switchyard_warm_workers{agent=\"scripted\",state=\"starting\"} 2\n";
    assert_eq!(n_ready(metrics), 0);
    let metrics =
        format!("{metrics}switchyard_warm_workers{{agent=\"scripted\",state=\"ready\"}} 1\n");
    assert_eq!(n_ready(&metrics), 1);
}
