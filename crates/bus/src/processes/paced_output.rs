//! Reads what commands print without letting a flood cost more than a little of a processor.
//!
//! In: a pipe. Out: its bytes, all of them and in order. A command's first [`FREE_BYTES`] are read
//! as fast as they come, which is all that builds and tests print. What it prints beyond that comes
//! out of [`BYTES_PER_SECOND`], which all such commands of this process share; one that prints more
//! is held up by its own full pipe.
//!
//! Always true: what was read is handed on at once, and only the next read is late. What is left in
//! the pipe of a worker that has exited is read as fast as it can be: nobody waits for an end.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::io::{self, AsyncRead, AsyncReadExt as _};
use tokio::sync::watch;

use super::supervisor::WorkerLife;

/// Bytes to read at once: as much as gets no faster by being more.
pub const READ_BYTES: usize = 64 << 10;
/// The output of a command that is never held up: more than a large build or test run prints.
const FREE_BYTES: u64 = 8 << 20;
/// What all floods together may cost: a few hundredths of a processor. It is far beyond what
/// anybody reads, and a file of 100 MB takes three seconds.
const BYTES_PER_SECOND: u64 = 32 << 20;
/// Time that was not used counts for so long, since timers are late by a little each time.
const SLACK: Duration = Duration::from_millis(50);

/// Shared by all commands of this process.
static FLOODS: Mutex<Pace> = Mutex::new(Pace { is_used_until: None });

/// What a worker prints that is not a protocol.
#[derive(Debug)]
pub struct PacedOutput<R> {
    output: R,
    /// Not the handle, which would keep the worker alive.
    life: watch::Receiver<WorkerLife>,
    n_free: u64,
    floods: &'static Mutex<Pace>,
    may_read_at: Option<Instant>,
}

impl<R: AsyncRead + Unpin> PacedOutput<R> {
    pub(crate) fn new(output: R, life: watch::Receiver<WorkerLife>) -> Self {
        Self { output, life, n_free: FREE_BYTES, floods: &FLOODS, may_read_at: None }
    }

    /// As any reader of tokio; cancel-safe.
    pub async fn read(&mut self, chunk: &mut [u8]) -> io::Result<usize> {
        if let Some(at) = self.may_read_at {
            tokio::select! {
                () = tokio::time::sleep_until(at.into()) => {}
                // Without a supervisor it has ended, too.
                _ = self.life.wait_for(|life| life.exit.is_some()) => {}
            }
            self.may_read_at = None;
        }
        let n = self.output.read(chunk).await?;
        let n_paid = self.spend(n as u64);
        if n_paid > 0 {
            let now = tokio::time::Instant::now().into_std();
            let mut floods = self.floods.lock().unwrap_or_else(PoisonError::into_inner);
            self.may_read_at = floods.take(now, n_paid);
        }
        Ok(n)
    }

    /// How many of the bytes are beyond what is free.
    fn spend(&mut self, n_bytes: u64) -> u64 {
        let n_free = self.n_free.min(n_bytes);
        self.n_free -= n_free;
        n_bytes - n_free
    }
}

/// Bytes a second, taken in turn.
#[derive(Debug)]
struct Pace {
    /// Up to then all is taken.
    is_used_until: Option<Instant>,
}

impl Pace {
    /// Takes `n_bytes`; gives the time at which whoever did may come again, unless that is now.
    fn take(&mut self, now: Instant, n_bytes: u64) -> Option<Instant> {
        let unused_from = now.checked_sub(SLACK).unwrap_or(now);
        let from = self.is_used_until.map_or(unused_from, |until| until.max(unused_from));
        let until = from + Duration::from_nanos(n_bytes * 1_000_000_000 / BYTES_PER_SECOND);
        self.is_used_until = Some(until);
        (until > now).then_some(until)
    }
}

#[cfg(test)]
mod tests;
