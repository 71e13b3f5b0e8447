//! The silence of an agent in a turn: how long it has sent nothing, and what it did last.
//!
//! In: signs of life, and time. Out: when silence is to be reported, and the report. No I/O and no
//! clock.
//!
//! Always true: each report of one silence comes after twice the time of the one before, up to a
//! bound, and none at once after another.

use std::time::{Duration, Instant};

use wire::event::AgentQuiet;

/// Longest title of a tool that is kept.
const MAX_TITLE_CHARS: usize = 200;
/// Beyond this the time between reports no longer doubles.
const MAX_DOUBLINGS: u32 = 6;

#[derive(Debug)]
pub(super) struct Silence {
    since: Instant,
    n_reports: u32,
    last_act: LastActivity,
}

impl Silence {
    pub(super) fn new(now: Instant) -> Self {
        Self { since: now, n_reports: 0, last_act: LastActivity::default() }
    }

    pub(super) fn since(&self) -> Instant {
        self.since
    }

    /// Begins the silence anew: something is going on, or a person's answer has just come.
    pub(super) fn begin_anew(&mut self, now: Instant) {
        (self.since, self.n_reports) = (now, 0);
    }

    /// The turn in which the agent did something is over.
    pub(super) fn forget_acts(&mut self) {
        self.last_act = LastActivity::default();
    }

    pub(super) fn last_act(&mut self) -> &mut LastActivity {
        &mut self.last_act
    }

    /// When the next report is due; the first one is after `quiet_after`.
    pub(super) fn deadline(&self, quiet_after: Duration) -> Instant {
        let n = self.n_reports + 1;
        let doubled = 2_u32.pow(n.min(MAX_DOUBLINGS)) - 1;
        let longest = 2_u32.pow(MAX_DOUBLINGS - 1);
        let more = n.saturating_sub(MAX_DOUBLINGS).saturating_mul(longest);
        let factor = more.saturating_add(doubled);
        self.since + quiet_after * factor
    }

    /// The next report.
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
pub(super) enum LastActivity {
    /// The turn has begun, and nothing came.
    #[default]
    Nothing,
    Answer,
    Thought,
    /// A tool call that it has begun, by its title.
    Begun(String),
    /// A tool call that it has ended, by its title.
    Ended(String),
}

impl LastActivity {
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
