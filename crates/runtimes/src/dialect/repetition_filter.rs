//! A filter for text that a CLI prints a second time.
//!
//! A CLI whose model stream was dropped asks again and prints the beginning of the answer
//! again. In: the pieces as they come, and when a new attempt begins. Out: the text that was not
//! emitted before.
//!
//! An attempt that differs from the one before is emitted in full: text that was emitted cannot
//! be taken back, and half an answer would be worse than one and a half.

/// The text of one message, over all attempts at it.
#[derive(Debug, Default)]
pub(super) struct RepetitionFilter {
    pub(super) emitted: String,
    /// How many bytes of `emitted` the present attempt has repeated; `None` when it is past it.
    at: Option<usize>,
}

impl RepetitionFilter {
    /// Another message begins.
    pub(super) fn reset(&mut self) {
        *self = Self::default();
    }

    /// The same message is attempted again, from its beginning.
    pub(super) fn restart(&mut self) {
        self.at = (!self.emitted.is_empty()).then_some(0);
    }

    /// Whether the present attempt so far only repeats `emitted`.
    pub(super) fn is_repeating(&self) -> bool {
        self.at.is_some()
    }

    /// Whether `piece` agrees with `emitted` from byte `at` on.
    pub(super) fn fits(&self, at: usize, piece: &str) -> bool {
        let rest = self.emitted.get(at..).unwrap_or_default();
        rest.starts_with(piece) || piece.starts_with(rest)
    }

    /// Whether `piece` goes on with the repetition.
    pub(super) fn continues_repetition(&self, piece: &str) -> bool {
        self.at.is_some_and(|at| self.fits(at, piece))
    }

    /// Takes a piece; gives the part of it that is new.
    pub(super) fn push(&mut self, piece: &str) -> String {
        let Some(at) = self.at else {
            self.emitted.push_str(piece);
            return piece.to_owned();
        };
        let (before, rest) = self.emitted.split_at(at.min(self.emitted.len()));
        if let Some(new) = piece.strip_prefix(rest) {
            let new = new.to_owned();
            self.emitted.push_str(&new);
            self.at = None;
            new
        } else if rest.starts_with(piece) {
            self.at = Some(at + piece.len());
            String::new()
        } else {
            let all = format!("{before}{piece}");
            self.emitted.clone_from(&all);
            self.at = None;
            all
        }
    }

    /// The text of the present attempt that was left out as a repetition: for when it turns out
    /// to have been none.
    pub(super) fn withheld(&mut self) -> String {
        let at = self.at.take().unwrap_or_default();
        self.emitted.get(..at).unwrap_or_default().to_owned()
    }
}

#[cfg(test)]
mod tests;
