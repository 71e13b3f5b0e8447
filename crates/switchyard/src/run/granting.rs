//! Sets a session to what `run` was asked for, before its prompt.
//!
//! The agent may ask something meanwhile, and may wait for the answer before it sets anything, so
//! the log is shown and its questions are answered as in a turn.

use std::ops::ControlFlow;

use sessions::open::{self, OpenError};
use wire::Event;

use super::seen::Seen;
use super::{Reached, Turns};
use crate::ask::Asker;
use crate::follow::{Followed, follow};
use crate::format::Formatter;
use crate::outcome::Failure;
use crate::signals::Signals;

impl Turns<'_> {
    /// An exit code if that was the end of it.
    pub(super) async fn grant(
        &self,
        asker: Option<&Asker>,
        formatter: &mut Formatter,
        seen: &mut Seen,
        signals: &mut Signals,
    ) -> Result<Option<u8>, Failure> {
        let (Some((wishes, is_new)), Reached::Here { handle, slot }) =
            (&self.wishes, &self.session)
        else {
            return Ok(None);
        };
        let (id, cursor) = (self.session.id(), seen.until);
        let look = |event: &Event| {
            if let Some(asker) = asker {
                asker.consider(event, &self.session);
            }
            seen.look_before(event);
            ControlFlow::Continue(())
        };
        let failed = tokio::select! {
            granted = open::grant(handle, slot, wishes) => match granted {
                Ok(()) => return Ok(None),
                Err(error) => Err(OpenError::from(error).into()),
            },
            followed = follow(self.log, id, cursor, formatter, self.questions(), look) => match followed {
                // Nobody is left who could be shown anything.
                Ok(Followed::ReaderGone | Followed::Enough) => Ok(Some(0)),
                Err(failure) => Err(failure),
            },
            signal = signals.next() => Ok(Some(signal)),
        };
        self.session.let_go().await;
        if *is_new {
            // Nothing was said in it yet.
            self.log.delete(id).await?;
        }
        failed
    }
}
