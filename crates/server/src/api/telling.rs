//! The vocabularies in which the API gives a session's log.

use projection::{AcpReplay, Style, Text, Vocabulary};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use wire::SessionId;

/// How a log is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Format {
    /// The events as they are in the log.
    #[default]
    Json,
    /// Params of `session/update`, as `session/load` replays them.
    Acp,
    /// For a user interface.
    Ui,
    Envelopes,
    /// Items that are shown, and what changes in them.
    Conversation,
    /// For a person.
    Text,
}

impl Format {
    pub(crate) fn vocabulary(self, session: SessionId) -> Vocabulary {
        match self {
            Self::Json => Vocabulary::Events,
            Self::Acp => Vocabulary::Acp(Box::new(AcpReplay::new(session.to_string()))),
            Self::Ui => Vocabulary::ui(),
            Self::Envelopes => Vocabulary::envelopes(session.to_string()),
            Self::Conversation => Vocabulary::conversation(),
            Self::Text => {
                let style = Style { color: false, width: 0, verbose: false, show_thinking: true };
                Vocabulary::text(Text::new(style).with_prompts())
            }
        }
    }

    /// Whether what is said of an event depends on those before it.
    pub(crate) fn remembers(self) -> bool {
        self != Self::Json
    }
}
