//! De-duplicates messages and thoughts that come in pieces, then whole, and sometimes again.
//!
//! Always true: the chunks that a client gets make up each text of the model, once. After a
//! dropped stream Codex begins the message again under another id; its repetition is left out,
//! and the rest goes on under the first id.

use std::collections::HashMap;

use super::items::ItemPhase;
use crate::dialect::Outputs;
use crate::dialect::repetition_filter::RepetitionFilter;
use crate::update::TextKind;

/// The texts of one turn.
#[derive(Debug, Default)]
pub(in crate::dialect) struct CodexTexts {
    /// By the id of the item.
    streams: HashMap<String, CodexTextStream>,
    /// Texts of a dropped stream, which the next item of the same voice repeats.
    broken: HashMap<TextKind, CodexTextStream>,
    n_begun: usize,
}

#[derive(Debug)]
struct CodexTextStream {
    /// Its place in the order in which they began.
    place: usize,
    voice: TextKind,
    /// The message id that the client knows.
    message: String,
    text: RepetitionFilter,
    is_whole: bool,
}

impl CodexTexts {
    /// The next piece of an item.
    pub(in crate::dialect) fn piece(
        &mut self,
        item: &str,
        voice: TextKind,
        piece: &str,
        out: &mut Outputs,
    ) {
        let stream = self.stream(item, voice);
        if !stream.is_whole && !piece.is_empty() {
            stream.tell(item, piece, out);
        }
    }

    /// All of an item so far; once it is completed, nothing more will come.
    pub(in crate::dialect) fn item(
        &mut self,
        item: &str,
        voice: TextKind,
        text: &str,
        phase: ItemPhase,
        out: &mut Outputs,
    ) {
        let stream = self.stream(item, voice);
        // Text that was emitted cannot be taken back, so another wording of it is left out.
        let is_same = || stream.text.fits(0, text) || stream.text.is_repeating();
        if !stream.is_whole && !text.is_empty() && is_same() {
            stream.text.restart();
            stream.tell(item, text, out);
        }
        stream.is_whole |= phase == ItemPhase::Completed;
    }

    /// The stream was dropped, and texts that are not whole will come again: of several texts of
    /// a voice the last, since only that one was being streamed.
    pub(in crate::dialect) fn break_off(&mut self) {
        let broken = self.streams.extract_if(|_, stream| !stream.is_whole);
        let mut broken: Vec<CodexTextStream> = broken.map(|(_, stream)| stream).collect();
        broken.retain(|stream| !stream.text.emitted.is_empty());
        broken.sort_unstable_by_key(|stream| stream.place);
        for mut stream in broken {
            stream.text.restart();
            self.broken.insert(stream.voice, stream);
        }
    }

    /// Whether this text was emitted as a message already.
    pub(in crate::dialect) fn has_said(&self, text: &str) -> bool {
        let mut said = self.streams.values().filter(|stream| stream.voice == TextKind::Message);
        said.any(|stream| stream.text.emitted.trim() == text.trim())
    }

    fn stream(&mut self, item: &str, voice: TextKind) -> &mut CodexTextStream {
        let (broken, n_begun) = (&mut self.broken, &mut self.n_begun);
        self.streams.entry(item.to_owned()).or_insert_with(|| {
            *n_begun += 1;
            let broken =
                broken.remove(&voice).map(|stream| CodexTextStream { place: *n_begun, ..stream });
            broken.unwrap_or_else(|| CodexTextStream {
                place: *n_begun,
                voice,
                message: item.to_owned(),
                text: RepetitionFilter::default(),
                is_whole: false,
            })
        })
    }
}

impl CodexTextStream {
    fn tell(&mut self, item: &str, piece: &str, out: &mut Outputs) {
        if self.text.is_repeating() && !self.text.continues_repetition(piece) {
            // It differs from the text before: another message.
            item.clone_into(&mut self.message);
        }
        out.text(self.voice, self.text.push(piece), Some(&self.message));
    }
}
