//! A message of a client on its way to a worker, and how long its answer may take.

use std::borrow::Cow;

use wire::{Envelope, MessageKind};

use super::ids::{FanOutId, SessionKey};
use super::{MonotonicMillis, PoolPlan};

/// The kinds of requests that the switch tells apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CallKind {
    Plain,
    Prompt,
    /// Opens a new session, which its answer names.
    Open,
    /// Opens the existing session that it names.
    Load,
    /// Ends its session, once it is answered.
    Close,
    Initialize,
    /// The client's `initialize`, sent to one more worker.
    Replay,
    /// One part of a fan-out, and its number.
    Fan(FanOutId, u32),
    /// A `session/load` of the switch itself, which moves a session.
    Move,
}

/// A message of a client on its way to a worker.
#[derive(Debug)]
pub(super) struct RoutedMessage<'a> {
    pub(super) line: Cow<'a, [u8]>,
    pub(super) envelope: Envelope,
    pub(super) kind: CallKind,
    pub(super) session: Option<SessionKey>,
    /// Whether the session is known only because of this request.
    pub(super) is_first_use: bool,
    pub(super) received: MonotonicMillis,
}

impl<'a> RoutedMessage<'a> {
    pub(super) fn new(
        line: impl Into<Cow<'a, [u8]>>,
        envelope: Envelope,
        kind: CallKind,
        received: MonotonicMillis,
    ) -> Self {
        Self { line: line.into(), envelope, kind, session: None, is_first_use: false, received }
    }

    pub(super) fn is_request(&self) -> bool {
        self.envelope.kind == MessageKind::Request
    }

    pub(super) fn raw_id(&self) -> &[u8] {
        self.envelope.id.of(&self.line)
    }

    /// Whether it is a request that the client waits for under its own id.
    pub(super) fn is_clients(&self) -> bool {
        self.is_request() && !matches!(self.kind, CallKind::Fan(..) | CallKind::Move)
    }

    /// A copy that can wait: without the read buffer that its line is a part of.
    pub(super) fn detached(self) -> RoutedMessage<'static> {
        RoutedMessage { line: Cow::Owned(self.line.into_owned()), ..self }
    }
}

/// The timeouts of requests by kind, counted from when these came.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Timeouts {
    prompt: Option<u64>,
    /// For a replayed `initialize` and a move of a session, for which a prompt may wait.
    before: Option<u64>,
    other: Option<u64>,
}

impl Timeouts {
    pub(super) fn new(plan: &PoolPlan) -> Self {
        let (prompt, other) = (plan.prompt_timeout, plan.request_timeout);
        Self { prompt, before: other.or(prompt), other }
    }

    pub(super) fn of(self, kind: CallKind) -> Option<u64> {
        match kind {
            CallKind::Prompt => self.prompt,
            CallKind::Replay | CallKind::Move => self.before,
            _ => self.other,
        }
    }

    pub(super) fn of_message(self, routed: &RoutedMessage<'_>) -> Option<u64> {
        self.of(routed.kind).filter(|_| routed.is_request())
    }
}
