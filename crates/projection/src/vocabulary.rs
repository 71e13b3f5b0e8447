//! All vocabularies as one type, for callers that let a client choose one.
//!
//! In: events. Out: frames, each a JSON value and in some vocabularies a name; or the same as
//! lines.

use wire::{Event, Json};

use crate::items::{ConversationChanges, ItemsProjection};
use crate::{
    AcpReplay, AnswerProjection, EnvelopesProjection, LogReader, TextProjection, UiProjection,
};

/// The version of the states that [`Vocabulary::state`] returns: to be raised whenever a log gives
/// another state than before, so that no old one is taken for a new one.
pub const STATE_VERSION: u32 = 1;

/// The format in which a client reads a log, and its state. A copy goes on from the same event.
#[derive(Debug, Clone)]
pub enum Vocabulary {
    /// The events as they are.
    Events,
    /// Params of `session/update`, as `session/load` replays them.
    Acp(Box<AcpReplay>),
    Ui(Box<LogReader<UiProjection>>),
    Envelopes(Box<LogReader<EnvelopesProjection>>),
    /// Items to show, and the changes of them.
    Conversation(Box<LogReader<ItemsProjection>>),
    Text(Box<LogReader<TextProjection>>),
    Answer(Box<LogReader<AnswerProjection>>),
}

/// One piece of output.
#[derive(Debug)]
pub struct Frame {
    /// The kind of frame, where the data does not say it.
    pub name: Option<&'static str>,
    pub data: Json,
}

impl Frame {
    pub fn named(name: &'static str, data: &impl serde::Serialize) -> Self {
        Self { name: Some(name), data: Json::of(data) }
    }

    /// As one JSON value that has the name, too.
    pub fn into_json(self) -> Json {
        match self.name {
            None => self.data,
            Some(name) => {
                #[derive(serde::Serialize)]
                struct NamedFrame {
                    event: &'static str,
                    data: Json,
                }
                Json::of(&NamedFrame { event: name, data: self.data })
            }
        }
    }
}

impl Vocabulary {
    pub fn ui() -> Self {
        Self::Ui(Box::default())
    }

    pub fn conversation() -> Self {
        Self::Conversation(Box::default())
    }

    pub fn envelopes(session: impl Into<String>) -> Self {
        Self::Envelopes(Box::new(LogReader::new(EnvelopesProjection::new(session))))
    }

    pub fn acp(session: impl Into<String>) -> Self {
        Self::Acp(Box::new(AcpReplay::new(session)))
    }

    /// Those that can be stored, before the first event.
    pub fn all_with_states(session: &str) -> [Self; 4] {
        [Self::acp(session), Self::ui(), Self::envelopes(session), Self::conversation()]
    }

    pub fn text(text: TextProjection) -> Self {
        Self::Text(Box::new(LogReader::new(text)))
    }

    /// Its state, from which [`Self::restored`] makes a copy; `None` where that cannot be.
    pub fn state(&self) -> Option<Json> {
        match self {
            Self::Acp(replay) => Some(Json::of(replay)),
            Self::Ui(reader) => reader.projection().is_storable().then(|| Json::of(reader)),
            Self::Envelopes(reader) => Some(Json::of(reader)),
            Self::Conversation(reader) => Some(Json::of(reader)),
            Self::Events | Self::Text(_) | Self::Answer(_) => None,
        }
    }

    /// A copy of the vocabulary of this kind that had this state.
    pub fn restored(&self, state: &str) -> Option<Self> {
        match self {
            Self::Acp(_) => serde_json::from_str(state).ok().map(Self::Acp),
            Self::Ui(_) => serde_json::from_str(state).ok().map(Self::Ui),
            Self::Envelopes(_) => serde_json::from_str(state).ok().map(Self::Envelopes),
            Self::Conversation(_) => serde_json::from_str(state).ok().map(Self::Conversation),
            Self::Events | Self::Text(_) | Self::Answer(_) => None,
        }
    }

    /// The frames for the next event.
    pub fn frames(&mut self, event: &Event) -> Vec<Frame> {
        let plain = |data| Frame { name: None, data };
        let text = |text: String| match text.is_empty() {
            true => Vec::new(),
            false => vec![plain(Json::of(&text))],
        };
        match self {
            Self::Events => vec![plain(Json::trusted(event.to_json_line()))],
            Self::Acp(replay) => {
                let mut updates = Vec::new();
                replay.project(event, &mut updates);
                updates.into_iter().map(plain).collect()
            }
            Self::Ui(reader) => {
                let events = reader.read(event);
                events
                    .iter()
                    .map(|one| Frame { name: Some(one.name()), data: one.data() })
                    .collect()
            }
            Self::Envelopes(reader) => {
                reader.read(event).iter().map(|one| plain(Json::of(one))).collect()
            }
            Self::Conversation(reader) => {
                let changes = reader.read(event);
                let changes = ConversationChanges { seq: event.seq.0, time: event.at.0, changes };
                vec![plain(Json::of(&changes))]
            }
            Self::Text(reader) => text(reader.read(event)),
            Self::Answer(reader) => text(reader.read(event)),
        }
    }

    /// The same as lines of a file; text as it is.
    pub fn write(&mut self, event: &Event, out: &mut String) {
        match self {
            Self::Text(reader) => reader.project(event, out),
            Self::Answer(reader) => reader.project(event, out),
            Self::Events => {
                event.write_json(out);
                out.push('\n');
            }
            Self::Acp(_) | Self::Ui(_) | Self::Envelopes(_) | Self::Conversation(_) => {
                for frame in self.frames(event) {
                    out.push_str(frame.into_json().as_str());
                    out.push('\n');
                }
            }
        }
    }
}
