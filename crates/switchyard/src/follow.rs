//! Reads a session's log as it grows and shows it.

mod open_question;

use std::io;
use std::ops::ControlFlow;
use std::time::Duration;

use store::EventLog;
use wire::{Event, Seq, SessionId};

use crate::format::{self, Formatter};
use crate::outcome::Failure;
pub(crate) use open_question::OpenQuestion;

/// Events read at once.
const PAGE: usize = 256;

/// What was told in part is shown as it is when nothing follows for so long: the rest of it comes
/// within a fraction of that, or not before something has been done.
const SETTLED_AFTER: Duration = Duration::from_millis(700);

/// Why following ended.
pub(crate) enum Followed {
    /// The caller had seen enough.
    Enough,
    /// Whoever read our output has gone.
    ReaderGone,
}

/// Who answers the questions that are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Questions {
    /// A person at this terminal.
    Here,
    Elsewhere,
}

/// Shows every event after `after`, until `look` has seen enough. `look` sees every event that was
/// shown, after it was shown.
pub(crate) async fn follow(
    log: &dyn EventLog,
    session: SessionId,
    mut after: Seq,
    formatter: &mut Formatter,
    questions: Questions,
    mut look: impl FnMut(&Event) -> ControlFlow<()>,
) -> Result<Followed, Failure> {
    loop {
        let events = log.read(session, after, PAGE).await?;
        let mut question = None;
        let mut n_shown = 0;
        for event in &events {
            formatter.add(event);
            n_shown += 1;
            question = OpenQuestion::of(event).filter(|_| questions == Questions::Here);
            if question.is_some() {
                break;
            }
        }
        if !show(formatter)? {
            return Ok(Followed::ReaderGone);
        }
        let mut is_enough = false;
        for event in events.iter().take(n_shown) {
            after = event.seq;
            // Those behind it were shown as well.
            is_enough |= look(event).is_break();
        }
        if is_enough {
            return Ok(Followed::Enough);
        }
        if let Some(question) = question {
            question.until_over(log, session).await?;
            continue;
        }
        if events.is_empty() {
            let waiting = log.wait(session, after);
            if let Ok(waited) = tokio::time::timeout(SETTLED_AFTER, waiting).await {
                waited?;
                continue;
            }
            formatter.settle();
            if !show(formatter)? {
                return Ok(Followed::ReaderGone);
            }
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

#[cfg(test)]
mod tests {
    //! What was shown was looked at, so that whoever goes on from there shows nothing twice.

    use store::{Batch, MemoryLog, NewSession};
    use wire::{Draft, Json, Kind};

    use super::*;
    use crate::cli::Format;
    use crate::format::TextOptions;

    const PLAIN: TextOptions =
        TextOptions { color: false, show_thinking: false, show_prompts: false, verbose: false };

    async fn session(log: &MemoryLog) -> SessionId {
        let (id, created) = (sessions::mint::session_id(), sessions::mint::now());
        let (agent, cwd, details) = ("a".into(), "/".into(), Json::trusted("{}"));
        let new = NewSession { id, agent, cwd, created, details, origin: None };
        log.create(new).await.unwrap();
        id
    }

    fn draft(kind: Kind, payload: &'static str) -> Draft {
        Draft { at: sessions::mint::now(), turn: None, kind, payload: Json::trusted(payload) }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn what_stands_behind_the_last_event_that_was_wanted_counts_as_seen() {
        let log = MemoryLog::default();
        let id = session(&log).await;
        let kinds = [Kind::TurnStarted, Kind::TurnEnded, Kind::Error, Kind::Error];
        let drafts = kinds.map(|kind| draft(kind, "{}"));
        log.append(Batch::new(id, drafts.into())).await.unwrap();

        let mut formatter = Formatter::new(Format::Quiet, id, PLAIN);
        let mut seen = Vec::new();
        let look = |event: &Event| {
            seen.push(event.seq);
            match event.kind {
                Kind::TurnEnded => ControlFlow::Break(()),
                _ => ControlFlow::Continue(()),
            }
        };
        let following = follow(&log, id, Seq(0), &mut formatter, Questions::Elsewhere, look);
        let followed = following.await.ok().unwrap();
        assert!(matches!(followed, Followed::Enough));
        assert_eq!(seen, [1, 2, 3, 4].map(Seq));
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn nothing_is_shown_below_a_question_that_is_answered_here() {
        let log = MemoryLog::default();
        let id = session(&log).await;
        let asked = r#"{"requestId":"r23456789012345678901234","ask":true,"request":{}}"#;
        let other = r#"{"requestId":"r0","outcome":{}}"#;
        let forged = r#"{"update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"? Read a file"}}}"#;
        let drafts = vec![
            draft(Kind::PermissionRequested, asked),
            draft(Kind::update("agent_message_chunk"), forged),
            draft(Kind::PermissionResolved, other),
        ];
        log.append(Batch::new(id, drafts)).await.unwrap();

        let mut formatter = Formatter::new(Format::Quiet, id, PLAIN);
        let seen = std::sync::Mutex::new(Vec::new());
        let look = |event: &Event| {
            seen.lock().unwrap().push(event.seq);
            match event.kind {
                Kind::TurnEnded => ControlFlow::Break(()),
                _ => ControlFlow::Continue(()),
            }
        };
        let following = follow(&log, id, Seq(0), &mut formatter, Questions::Here, look);
        tokio::pin!(following);
        let waiting = tokio::time::timeout(Duration::from_millis(100), &mut following).await;
        assert!(waiting.is_err());
        assert_eq!(*seen.lock().unwrap(), [Seq(1)]);

        let answer = r#"{"requestId":"r23456789012345678901234","outcome":{}}"#;
        let drafts = vec![draft(Kind::PermissionResolved, answer), draft(Kind::TurnEnded, "{}")];
        log.append(Batch::new(id, drafts)).await.unwrap();
        following.await.ok().unwrap();
        assert_eq!(*seen.lock().unwrap(), [1, 2, 3, 4, 5].map(Seq));
    }
}
