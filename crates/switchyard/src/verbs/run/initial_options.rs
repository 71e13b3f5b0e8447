//! Applies the options of `run` to a session, before its prompt.
//!
//! The agent may ask something meanwhile, and may wait for the answer before it sets anything, so
//! the log is shown and its questions are answered as in a turn.

use serde_json::Value;

use super::opening::RunSession;
use super::turns::{RunEnd, Turns};
use crate::outcome::Failure;
use crate::signals::Signals;

impl Turns<'_> {
    /// Starts the agent and applies the options; returns how the run has ended, if it has.
    pub(super) async fn apply_options(
        &mut self,
        signals: &mut Signals,
    ) -> Result<Option<RunEnd>, Failure> {
        let RunSession { session, is_new, needs_start: is_unstarted, changes, .. } =
            self.opened.clone();
        let auth = self.args.auth.as_deref();
        let setting = async {
            if is_unstarted {
                session.start(auth).await?;
            }
            match changes.is_empty() {
                true => Ok(()),
                false => session.change(&Value::Object(changes)).await,
            }
        };
        tokio::pin!(setting);
        let failed = loop {
            tokio::select! {
                set = &mut setting => match set {
                    Ok(()) => {
                        // Whatever kept it from going on before.
                        self.view.halted = None;
                        return Ok(None);
                    }
                    Err(error) => break Err(error.into()),
                },
                events = self.view.next() => match events {
                    Ok(Some(events)) => {
                        for event in &events {
                            self.consider(event);
                            self.facts.note_before_turn(event);
                        }
                    }
                    // Nobody is left who could be shown anything.
                    Ok(None) => break Ok(Some(RunEnd::With(0))),
                    Err(failure) => break Err(failure),
                },
                signal = signals.next() => break Ok(Some(RunEnd::With(signal))),
            }
        };
        if is_new {
            // Nothing was said in it yet.
            let _ = session.delete().await;
        }
        failed
    }
}
