//! How long an agent has said nothing in a turn, and what it did last, for whoever wonders why.
//!
//! In: signs of life, and time. Out: when silence is worth a word, and that word. No I/O and no clock.
//!
//! Always true: each report of one silence comes after twice the time of the one before, up to a
//! bound, and none at once after another.

use std::time::{Duration, Instant};

use wire::event::AgentQuiet;

/// Of a tool's title.
const MAX_TITLE_CHARS: usize = 200;
/// Beyond this the time between reports no longer doubles.
const MAX_DOUBLINGS: u32 = 6;

#[derive(Debug)]
pub(super) struct Silence {
    since: Instant,
    n_reports: u32,
    last_act: LastAct,
}

impl Silence {
    pub(super) fn new(now: Instant) -> Self {
        Self { since: now, n_reports: 0, last_act: LastAct::default() }
    }

    pub(super) fn since(&self) -> Instant {
        self.since
    }

    /// It begins anew: something is going on, or a person's answer has just come.
    pub(super) fn begin_anew(&mut self, now: Instant) {
        (self.since, self.n_reports) = (now, 0);
    }

    /// The turn in which the agent did something is over.
    pub(super) fn forget_acts(&mut self) {
        self.last_act = LastAct::default();
    }

    pub(super) fn last_act(&mut self) -> &mut LastAct {
        &mut self.last_act
    }

    /// When it is worth a word, the first of which is said after `quiet_after`.
    pub(super) fn deadline(&self, quiet_after: Duration) -> Instant {
        let n = self.n_reports + 1;
        let doubled = 2_u32.pow(n.min(MAX_DOUBLINGS)) - 1;
        let longest = 2_u32.pow(MAX_DOUBLINGS - 1);
        let more = n.saturating_sub(MAX_DOUBLINGS).saturating_mul(longest);
        let factor = more.saturating_add(doubled);
        self.since + quiet_after * factor
    }

    /// The word.
    pub(super) fn report(&mut self, now: Instant) -> AgentQuiet {
        self.n_reports += 1;
        let quiet_ms = u64::try_from(now.duration_since(self.since).as_millis());
        AgentQuiet {
            quiet_ms: quiet_ms.unwrap_or(u64::MAX),
            waiting_for: Some(self.last_act.in_words()),
        }
    }
}

#[derive(Debug, Default)]
pub(super) enum LastAct {
    /// The turn has begun, and nothing came.
    #[default]
    Nothing,
    Answer,
    Thought,
    /// It has begun something.
    Begun(String),
    /// It has ended something.
    Ended(String),
}

impl LastAct {
    /// Notes an update by its name.
    pub(super) fn hear(&mut self, update: &str) {
        match update {
            "agent_message_chunk" => *self = Self::Answer,
            "agent_thought_chunk" => *self = Self::Thought,
            _ => {}
        }
    }

    /// Notes a tool call, as far as it is known.
    pub(super) fn hear_tool(&mut self, title: &str, status: Option<&str>) {
        let title = title.trim().chars().take(MAX_TITLE_CHARS).collect();
        *self = match status {
            Some("completed" | "failed" | "cancelled") => Self::Ended(title),
            _ => Self::Begun(title),
        };
    }

    fn in_words(&self) -> String {
        let named = |title: &str| match title {
            "" => "a tool".to_owned(),
            title => format!("“{title}”"),
        };
        match self {
            Self::Nothing => "it has said nothing in this turn".to_owned(),
            Self::Answer => "it was answering".to_owned(),
            Self::Thought => "it was thinking".to_owned(),
            Self::Begun(title) => format!("it has begun {}", named(title)),
            Self::Ended(title) => format!("it has done {}", named(title)),
        }
    }
}

#[cfg(test)]
mod tests;
