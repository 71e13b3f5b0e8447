//! A turn of a conversation, and how it ended.

use serde::{Deserialize, Serialize};
use wire::event::{DropReason, StopReason, TurnEnded, TurnOutcome, UsageScope};
use wire::{Category, Fault, Millis, Seq, TurnId, fault};

use crate::usage::TurnUsage;

/// A turn that runs.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ActiveTurn {
    pub id: Option<TurnId>,
    /// The event that started it.
    pub started: Seq,
    pub since: Millis,
}

/// The end of a turn.
#[derive(Debug)]
pub struct TurnEnd {
    pub turn: Option<TurnId>,
    /// Its start was seen; a log may begin in the middle, or a turn end before it has begun.
    pub has_begun: bool,
    pub outcome: TurnOutcome,
    pub reason: TurnEndReason,
    pub fault: Option<Fault>,
    /// The end of the answer already says the fault.
    pub is_in_answer: bool,
    pub usage: Option<TurnUsage>,
    /// `usage` counts only the last of its requests to the model.
    pub is_usage_partial: bool,
    /// Its cost in US dollars.
    pub cost_usd: Option<f64>,
    pub took_ms: Option<u64>,
}

/// Why a turn ended.
#[derive(Debug)]
pub enum TurnEndReason {
    Stopped(StopReason),
    /// It never began: its prompt was dropped.
    Dropped(DropReason),
    /// The log has no end of it.
    Lost,
}

impl TurnEnd {
    pub(crate) fn lost(turn: &ActiveTurn) -> Self {
        Self {
            turn: turn.id,
            has_begun: true,
            outcome: TurnOutcome::Failed,
            reason: TurnEndReason::Lost,
            fault: None,
            is_in_answer: false,
            usage: None,
            is_usage_partial: false,
            cost_usd: None,
            took_ms: None,
        }
    }

    pub(crate) fn dropped(turn: &ActiveTurn, reason: DropReason) -> Self {
        Self {
            outcome: TurnOutcome::Cancelled,
            reason: TurnEndReason::Dropped(reason),
            ..Self::lost(turn)
        }
    }

    /// `turn` is the one that runs and ends with this, `id` the one that the event names.
    pub(crate) fn of(
        ended: &TurnEnded<'_>,
        turn: Option<&ActiveTurn>,
        id: Option<TurnId>,
        at: Millis,
    ) -> Self {
        let took = turn.map(|turn| at.0.saturating_sub(turn.since.0));
        Self {
            turn: turn.map_or(id, |turn| turn.id),
            has_begun: turn.is_some(),
            outcome: ended.outcome(),
            reason: TurnEndReason::Stopped(ended.stop_reason.clone()),
            fault: ended.error.clone(),
            is_in_answer: false,
            usage: TurnUsage::of(ended),
            is_usage_partial: ended.usage_of == Some(UsageScope::LastCall),
            cost_usd: ended.cost_usd,
            took_ms: took.and_then(|ms| u64::try_from(ms).ok()),
        }
    }

    /// It was ended by a process that found it running after a crash.
    pub fn was_interrupted(&self) -> bool {
        self.fault.as_ref().is_some_and(|fault| fault.category == Category::Interrupted)
    }

    pub fn stop_reason(&self) -> Option<String> {
        match &self.reason {
            TurnEndReason::Stopped(reason) => Some(reason.as_str().to_owned()),
            TurnEndReason::Dropped(reason) => Some(reason.as_str().to_owned()),
            TurnEndReason::Lost => None,
        }
    }
}

/// Whether an answer already says an error. Some agents send an error as their answer first, and
/// then again as the end of the turn, with a label before it and a number behind. Nothing more is
/// left out: the text of an agent must not hide an error.
pub(crate) fn is_in_answer(answer: &str, message: &str) -> bool {
    /// A shorter text stands in many errors, so it proves no repetition.
    const SHORTEST: usize = 12;
    const LONGEST_LABEL: usize = 40;
    let (answer, message) = (answer.trim(), message.trim());
    let bare = message.strip_prefix(fault::AGENT_ERROR_PREFIX).unwrap_or(message);
    let words = answer.strip_prefix("Error: ").unwrap_or(answer);
    let around = bare.split_once(words).filter(|_| words.len() >= SHORTEST);
    let is_whole = around.is_some_and(|(before, after)| {
        let is_label = before.is_empty() || before.ends_with(": ");
        is_label && before.len() <= LONGEST_LABEL && !after.contains(char::is_alphabetic)
    });
    answer == message || is_whole
}

#[cfg(test)]
mod tests;
