//! What the agent did last in a turn, for whoever wonders why it is silent.

/// Of a tool's title.
const MAX_TITLE_CHARS: usize = 200;

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

    pub(super) fn in_words(&self) -> String {
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
mod tests {
    use super::*;

    #[test]
    fn what_was_last_is_told() {
        let mut act = LastAct::default();
        assert_eq!(act.in_words(), "it has said nothing in this turn");
        act.hear("agent_thought_chunk");
        assert_eq!(act.in_words(), "it was thinking");
        act.hear_tool("make test", None);
        act.hear("usage_update");
        assert_eq!(act.in_words(), "it has begun “make test”");
        act.hear_tool("make test", Some("failed"));
        assert_eq!(act.in_words(), "it has done “make test”");
        act.hear("agent_message_chunk");
        assert_eq!(act.in_words(), "it was answering");
        act.hear_tool(&"x".repeat(1000), Some("in_progress"));
        assert!(act.in_words().len() < 300);
    }
}
