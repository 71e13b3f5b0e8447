use std::cell::Cell;

use super::*;

#[tokio::test]
async fn a_shortage_of_handles_is_waited_out_without_spinning() {
    let n_tries = Cell::new(0_u32);
    let full = rustix::io::Errno::MFILE;
    let end = tokio::time::Instant::now() + FIRST_PAUSE * 6;
    let accepted = retry_accept(|| {
        n_tries.set(n_tries.get() + 1);
        let outcome = if tokio::time::Instant::now() < end { Err(full.into()) } else { Ok(7) };
        async move { outcome }
    });
    assert_eq!(accepted.await, 7);
    // The pauses double, so even a clock that lies about sleeping gives few tries.
    assert!(n_tries.get() <= 6, "{} tries", n_tries.get());
}

#[tokio::test]
async fn a_client_that_left_while_it_queued_costs_no_pause() {
    let n_tries = Cell::new(0_u32);
    let accepted = retry_accept(|| {
        n_tries.set(n_tries.get() + 1);
        let gone = io::Error::from(io::ErrorKind::ConnectionAborted);
        let outcome = if n_tries.get() < 10_000 { Err(gone) } else { Ok(7) };
        async move { outcome }
    });
    assert_eq!(accepted.await, 7);
}

#[test]
fn who_finds_no_place_is_told_so_as_a_problem() {
    let said = std::str::from_utf8(super::BUSY).unwrap();
    let (head, body) = said.split_once("\r\n\r\n").unwrap();
    assert!(head.contains(&format!("content-length: {}", body.len())), "{}", body.len());
    let problem: serde_json::Value = serde_json::from_str(body).unwrap();
    assert_eq!((&problem["status"], &problem["retry_after"]), (&503.into(), &1.into()));
}
