use std::time::Duration;

use super::*;

#[tokio::test(start_paused = true)]
async fn the_next_chunk_waits_until_the_last_piece_of_the_one_before_is_gone() {
    let gate = ChunkGate::new();
    let mut chunk = gate.pass().await.attach_to(Bytes::from_static(b"0123456789"));
    // A connection splits what it writes.
    let piece = chunk.split_to(4);

    drop(chunk);
    let too_early = tokio::time::timeout(Duration::from_secs(60), gate.pass()).await;
    assert!(too_early.is_err());

    assert_eq!(&*piece, b"0123");
    drop(piece);
    gate.pass().await;
}
