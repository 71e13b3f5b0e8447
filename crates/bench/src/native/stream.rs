//! The trait of a token source that is measured, and measurements of its delays and rate.

use anyhow::ensure;
use bench::chunk::ChunkRequest;
use bench::histogram::Histogram;

use super::model_server::TokenWriteTimes;

pub(super) trait TokenSource {
    /// Forgets what was said: a long history is summarised, and everybody does that differently.
    fn begin_anew(&mut self) -> anyhow::Result<()>;

    fn ask(&mut self, request: ChunkRequest) -> anyhow::Result<()>;

    /// Reads one line and tells which tokens are in it; false at the end of the answer.
    fn next(&mut self, seen: &mut dyn FnMut(u64)) -> anyhow::Result<bool>;
}

/// A short turn.
pub(super) fn short(stream: &mut dyn TokenSource) -> anyhow::Result<()> {
    stream.ask(ChunkRequest { n_chunks: 20, n_bytes: 0 })?;
    let mut n_tokens = 0;
    while stream.next(&mut |_| n_tokens += 1)? {}
    ensure!(n_tokens == 20, "{n_tokens} of 20 tokens came");
    Ok(())
}

/// From the write of each token to its arrival.
pub(super) fn delays(
    stream: &mut dyn TokenSource,
    clock: &TokenWriteTimes,
    n_chunks: u64,
    delays: &mut Histogram,
) -> anyhow::Result<()> {
    stream.ask(ChunkRequest { n_chunks, n_bytes: 0 })?;
    let mut n_tokens = 0;
    let mut seen = |number| {
        n_tokens += 1;
        if let Some(nanos) = clock.since(number, clock.now()) {
            delays.add(nanos);
        }
    };
    while stream.next(&mut seen)? {}
    ensure!(n_tokens == n_chunks, "{n_tokens} of {n_chunks} tokens came");
    Ok(())
}

/// Tokens per second, from the first to the last.
pub(super) fn rate(
    stream: &mut dyn TokenSource,
    clock: &TokenWriteTimes,
    n_chunks: u64,
) -> anyhow::Result<f64> {
    stream.begin_anew()?;
    stream.ask(ChunkRequest { n_chunks, n_bytes: 0 })?;
    let (mut n_tokens, mut first, mut last) = (0_u64, None, 0);
    let mut seen = |_| {
        n_tokens += 1;
        last = clock.now();
        first.get_or_insert(last);
    };
    while stream.next(&mut seen)? {}
    ensure!(n_tokens == n_chunks, "{n_tokens} of {n_chunks} tokens came");
    let nanos = last.saturating_sub(first.unwrap_or(last)).max(1);
    #[allow(clippy::cast_precision_loss, reason = "far below 2^52")]
    let per_second = n_tokens as f64 * 1e9 / nanos as f64;
    Ok(per_second)
}
