use std::time::Duration;

use bytes::Bytes;

use super::*;
use crate::limits::holding;

#[tokio::test(start_paused = true)]
async fn the_next_chunk_waits_until_the_last_piece_of_the_one_before_is_gone() {
    let gate = ChunkGate::default();
    let pass = gate.clone().lock_owned().await;
    let mut chunk = holding(Bytes::from_static(b"0123456789"), pass);
    // A connection splits what it writes.
    let piece = chunk.split_to(4);

    drop(chunk);
    let too_early = tokio::time::timeout(Duration::from_secs(60), gate.lock()).await;
    assert!(too_early.is_err());

    assert_eq!(&*piece, b"0123");
    drop(piece);
    drop(gate.lock().await);
}
