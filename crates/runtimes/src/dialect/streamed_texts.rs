//! De-duplicates the texts of a CLI that streams blocks, repeats them whole, and retries requests.
//!
//! In: pieces of blocks, whole blocks, and when a message or another attempt at it begins. Out:
//! each character once.

use std::collections::HashMap;

use super::Outputs;
use super::repetition_filter::RepetitionFilter;
use crate::update::TextKind;

#[derive(Debug, Default)]
pub(super) struct StreamedTexts {
    answer: RepetitionFilter,
    thought: RepetitionFilter,
    /// The text of each block that the present request to the model has streamed.
    streamed: HashMap<u64, String>,
}

impl StreamedTexts {
    /// Another message begins.
    pub(super) fn begin_message(&mut self) {
        *self = Self::default();
    }

    /// A request to the model begins.
    pub(super) fn begin_request(&mut self) {
        self.streamed.clear();
    }

    /// The request failed, and the same message is attempted again.
    pub(super) fn retry_message(&mut self) {
        self.begin_request();
        self.answer.restart();
        self.thought.restart();
    }

    /// The next piece of a block of the message `id`.
    pub(super) fn push_piece(
        &mut self,
        block: u64,
        voice: TextKind,
        piece: &str,
        id: Option<&str>,
        out: &mut Outputs,
    ) {
        self.streamed.entry(block).or_default().push_str(piece);
        let retold = match voice {
            TextKind::Message => &mut self.answer,
            TextKind::Thought => &mut self.thought,
        };
        out.text(voice, retold.push(piece), id);
    }

    /// A whole block: emits the part of it that was not streamed.
    pub(super) fn push_whole(
        &mut self,
        block: u64,
        voice: TextKind,
        text: &str,
        id: Option<&str>,
        out: &mut Outputs,
    ) {
        let streamed = self.streamed.get(&block).map(String::as_str).unwrap_or_default();
        let rest = text.strip_prefix(streamed).unwrap_or_default();
        self.push_piece(block, voice, rest, id, out);
    }
}
