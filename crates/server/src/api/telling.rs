//! A session's log in the vocabulary that a client asks for.

use serde::{Deserialize, Serialize};
use sessions::projection::{AcpReplay, Envelopes, Style, TextRenderer, Ui};
use utoipa::ToSchema;
use wire::{Event, Json, SessionId};

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
    /// For a person.
    Text,
}

pub(crate) enum Telling {
    Json,
    Acp(Box<AcpReplay>),
    Ui(Box<Ui>),
    Envelopes(Box<Envelopes>),
    Text(Box<TextRenderer>),
}

impl Telling {
    pub(crate) fn new(format: Format, session: SessionId) -> Self {
        match format {
            Format::Json => Self::Json,
            Format::Acp => Self::Acp(Box::new(AcpReplay::new(session.to_string()))),
            Format::Ui => Self::Ui(Box::default()),
            Format::Envelopes => Self::Envelopes(Box::new(Envelopes::new(session.to_string()))),
            Format::Text => {
                let style = Style { color: false, width: 0, verbose: false, show_thinking: true };
                Self::Text(Box::new(TextRenderer::new(style).with_prompts()))
            }
        }
    }

    /// Whether what is said of an event depends on those before it.
    pub(crate) fn remembers(&self) -> bool {
        !matches!(self, Self::Json)
    }

    /// What is to be said of the next event, each a JSON value.
    pub(crate) fn tell(&mut self, event: &Event) -> Vec<Json> {
        match self {
            Self::Json => vec![Json::trusted(event.to_json_line())],
            Self::Acp(replay) => {
                let mut updates = Vec::new();
                replay.project(event, &mut updates);
                updates
            }
            Self::Ui(ui) => {
                let mut events = Vec::new();
                ui.project(event, &mut events);
                events.iter().map(Json::of).collect()
            }
            Self::Envelopes(envelopes) => {
                let mut projected = Vec::new();
                envelopes.project(event, &mut projected);
                projected.iter().map(Json::of).collect()
            }
            Self::Text(renderer) => {
                let mut text = String::new();
                renderer.project(event, &mut text);
                if text.is_empty() { Vec::new() } else { vec![Json::of(&text)] }
            }
        }
    }

    /// The same as lines of a file.
    pub(crate) fn write(&mut self, event: &Event, out: &mut String) {
        if let Self::Text(renderer) = self {
            return renderer.project(event, out);
        }
        for said in self.tell(event) {
            out.push_str(said.as_str());
            out.push('\n');
        }
    }
}

impl std::fmt::Debug for Telling {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Telling")
    }
}
