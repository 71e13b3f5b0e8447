//! Messages and thoughts that come in pieces, then whole, and sometimes a second time.
//!
//! Always true: what a client puts together is what the model said, once. After a dropped
//! stream Codex begins the message again under another id; its repetition is left out, and
//! the rest goes on under the first id.

use std::collections::HashMap;

use crate::dialect::Said;
use crate::dialect::retold::Retold;
use crate::update::{Update, Voice};

/// The texts of one turn.
#[derive(Debug, Default)]
pub(in crate::dialect) struct Texts {
    /// By the id of the item.
    streams: HashMap<String, Stream>,
    /// What a dropped stream left behind, for the next item to repeat.
    broken: HashMap<Voice, Stream>,
    n_begun: usize,
}

#[derive(Debug)]
struct Stream {
    /// Its place in the order in which they began.
    place: usize,
    voice: Voice,
    /// What the client knows it by.
    message: String,
    text: Retold,
    is_whole: bool,
}

impl Texts {
    /// The next piece of an item.
    pub(in crate::dialect) fn piece(
        &mut self,
        item: &str,
        voice: Voice,
        piece: &str,
        out: &mut Vec<Said>,
    ) {
        let stream = self.stream(item, voice);
        if !stream.is_whole && !piece.is_empty() {
            stream.tell(item, piece, out);
        }
    }

    /// All of an item so far.
    pub(in crate::dialect) fn grown(
        &mut self,
        item: &str,
        voice: Voice,
        text: &str,
        out: &mut Vec<Said>,
    ) {
        let stream = self.stream(item, voice);
        if stream.is_whole || text.is_empty() {
            return;
        }
        // What was said cannot be taken back, so that another wording is not said as well.
        if stream.text.fits(0, text) || stream.text.is_repeating() {
            stream.text.again();
            stream.tell(item, text, out);
        }
    }

    /// All of an item; nothing more will come.
    pub(in crate::dialect) fn whole(
        &mut self,
        item: &str,
        voice: Voice,
        text: &str,
        out: &mut Vec<Said>,
    ) {
        self.grown(item, voice, text, out);
        self.stream(item, voice).is_whole = true;
    }

    /// The stream was dropped and what was not whole will be said again: of several texts of a
    /// voice the last, since only that one was being said.
    pub(in crate::dialect) fn break_off(&mut self) {
        let broken = self.streams.extract_if(|_, stream| !stream.is_whole);
        let mut broken: Vec<Stream> = broken.map(|(_, stream)| stream).collect();
        broken.retain(|stream| !stream.text.told().is_empty());
        broken.sort_unstable_by_key(|stream| stream.place);
        for mut stream in broken {
            stream.text.again();
            self.broken.insert(stream.voice, stream);
        }
    }

    /// Whether this text was said as a whole message already.
    pub(in crate::dialect) fn has_said(&self, text: &str) -> bool {
        let mut said = self.streams.values().filter(|stream| stream.voice == Voice::Message);
        said.any(|stream| stream.text.told().trim() == text.trim())
    }

    fn stream(&mut self, item: &str, voice: Voice) -> &mut Stream {
        let (broken, n_begun) = (&mut self.broken, &mut self.n_begun);
        self.streams.entry(item.to_owned()).or_insert_with(|| {
            *n_begun += 1;
            let broken = broken.remove(&voice).map(|stream| Stream { place: *n_begun, ..stream });
            broken.unwrap_or_else(|| Stream {
                place: *n_begun,
                voice,
                message: item.to_owned(),
                text: Retold::default(),
                is_whole: false,
            })
        })
    }
}

impl Stream {
    fn tell(&mut self, item: &str, piece: &str, out: &mut Vec<Said>) {
        if self.text.is_repeating() && !self.text.goes_on(piece) {
            // It takes another course: another message.
            item.clone_into(&mut self.message);
        }
        let new = self.text.tell(piece);
        if !new.is_empty() {
            out.push(Said::Update(Update::said(self.voice, new, Some(self.message.clone()))));
        }
    }
}
