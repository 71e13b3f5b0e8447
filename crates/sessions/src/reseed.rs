//! The recap of a session, for an agent that has forgotten it.

use projection::{LogReader, RecapProjection};
use store::{EventLog, StoreError};
use wire::{Event, Seq, SessionId, TurnId};

const PAGE: usize = 512;

/// The conversation as text, to go before the next prompt; `None` if nothing was said.
/// Prompts of `waiting` turns are still to come and left out.
pub(crate) async fn preamble(
    log: &dyn EventLog,
    session: SessionId,
    waiting: &[TurnId],
) -> Result<Option<String>, StoreError> {
    let (mut recap, mut told) = (LogReader::<RecapProjection>::default(), String::new());
    let mut after = Seq(0);
    loop {
        let events = log.read(session, after, PAGE).await?;
        let Some(last) = events.last() else { break };
        after = last.seq;
        let is_past = |event: &&Event| event.turn.is_none_or(|turn| !waiting.contains(&turn));
        for event in events.iter().filter(is_past) {
            recap.project(event, &mut told);
        }
    }
    Ok(recap.projection_mut().preamble(told))
}
