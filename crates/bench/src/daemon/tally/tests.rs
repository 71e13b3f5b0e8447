//! What counts as delivered.

use super::*;

fn tally(n_chunks: u64, numbers: &[u64]) -> Burst {
    let mut tally = ChunkTally::new(n_chunks);
    for number in numbers {
        tally.add(*number);
    }
    tally.burst()
}

#[test]
fn a_whole_burst_is_all_delivered() {
    let burst = tally(4, &[1, 2, 3, 4]);
    assert_eq!((burst.share_delivered, burst.n_doubled, burst.n_disordered), (1.0, 0, 0));
    assert!(burst.per_second > 0.0);
}

#[test]
fn missing_ones_are_missing_even_if_others_came_twice() {
    let burst = tally(4, &[1, 1, 3, 3]);
    assert_eq!((burst.share_delivered, burst.n_doubled, burst.n_disordered), (0.5, 2, 0));
}

#[test]
fn a_chunk_after_its_successor_is_out_of_order() {
    let burst = tally(4, &[2, 1, 4, 3]);
    assert_eq!((burst.share_delivered, burst.n_doubled, burst.n_disordered), (1.0, 0, 2));
}

#[test]
fn chunks_that_were_not_asked_for_do_not_count() {
    let burst = tally(2, &[0, 3, 1, u64::MAX]);
    assert_eq!((burst.share_delivered, burst.n_doubled, burst.n_disordered), (0.5, 0, 0));
}
