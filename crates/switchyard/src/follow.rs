//! Reads a session's log as it grows and shows it.

use std::io;
use std::ops::ControlFlow;

use store::EventLog;
use wire::{Event, Seq, SessionId};

use crate::format::{self, Formatter};
use crate::outcome::Failure;

/// Events read at once.
const PAGE: usize = 256;

/// Why following ended.
pub(crate) enum Followed {
    /// The caller had seen enough.
    Enough,
    /// Whoever read our output has gone.
    ReaderGone,
}

/// Shows every event after `after`, until `look` has seen enough. `look` sees an event
/// after it was shown.
pub(crate) async fn follow(
    log: &dyn EventLog,
    session: SessionId,
    mut after: Seq,
    formatter: &mut Formatter,
    mut look: impl FnMut(&Event) -> ControlFlow<()>,
) -> Result<Followed, Failure> {
    loop {
        let events = log.read(session, after, PAGE).await?;
        for event in &events {
            formatter.add(event);
        }
        if !show(formatter)? {
            return Ok(Followed::ReaderGone);
        }
        for event in &events {
            after = event.seq;
            if look(event).is_break() {
                return Ok(Followed::Enough);
            }
        }
        if events.is_empty() {
            log.wait(session, after).await?;
        }
    }
}

/// Shows every event up to `until`.
pub(crate) async fn show_all(
    log: &dyn EventLog,
    session: SessionId,
    until: Seq,
    formatter: &mut Formatter,
    mut write: impl FnMut(&str) -> anyhow::Result<()>,
) -> Result<(), Failure> {
    let mut after = Seq(0);
    while after < until {
        let events = log.read(session, after, PAGE).await?;
        let Some(last) = events.last() else { break };
        after = last.seq;
        for event in &events {
            formatter.add(event);
        }
        write(&formatter.take())?;
    }
    Ok(())
}

/// False when nobody reads any more.
pub(crate) fn show(formatter: &mut Formatter) -> Result<bool, Failure> {
    let text = formatter.take();
    if text.is_empty() {
        return Ok(true);
    }
    // A slow reader blocks this thread; the runtime must not wait with it.
    match tokio::task::block_in_place(|| format::print(&text)) {
        Ok(()) => Ok(true),
        Err(error) if is_broken_pipe(&error) => Ok(false),
        Err(error) => Err(error.context("cannot write to stdout").into()),
    }
}

pub(crate) fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.downcast_ref::<io::Error>().is_some_and(|e| e.kind() == io::ErrorKind::BrokenPipe)
}
