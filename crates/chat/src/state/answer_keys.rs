//! Tells keys that answer a question from words that are typed or pasted.
//!
//! A key answers a question only when it comes alone: nothing was typed for a moment before it
//! (see `look_at_question`), and nothing comes right after it. Keys that arrive together are
//! what a terminal makes of a paste, or of what was typed while it was slow: words, whatever
//! they begin with.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use serde_json::Value;
use wire::CallId;

use super::{ChatState, Overlay};
use crate::effect::Effect;

/// How long a key has to stay alone: whoever writes words has pressed the next one by then.
const ALONE_FOR_MS: u64 = 250;

/// An answer whose key may still turn out to be the first letter of a word.
#[derive(Debug)]
pub(super) struct DueAnswer {
    id: CallId,
    body: Value,
    key: KeyEvent,
    at: u64,
}

impl ChatState {
    /// Keys that came together.
    pub(crate) fn press_all(&mut self, keys: &[KeyEvent]) -> Vec<Effect> {
        if let [key] = keys {
            return self.press(*key);
        }
        let is_words = keys.iter().filter(|key| letter(key).is_some()).count() > 1;
        let mut effects = Vec::new();
        let mut words = String::new();
        self.comes_together = true;
        for key in keys {
            match letter(key).filter(|_| is_words) {
                Some(letter) => words.push(letter),
                None => {
                    effects.extend(self.take_words(&std::mem::take(&mut words)));
                    effects.extend(self.press(*key));
                }
            }
        }
        effects.extend(self.take_words(&words));
        self.comes_together = false;
        effects
    }

    /// One line with its Enter is a line that was typed; several are a paste, which is never
    /// sent by itself. While something is asked, nothing of it is sent at all.
    fn take_words(&mut self, words: &str) -> Vec<Effect> {
        if words.is_empty() {
            return Vec::new();
        }
        if matches!(self.overlay, Some(Overlay::Help)) {
            self.overlay = None;
        }
        let line = words.strip_suffix('\n').unwrap_or(words);
        let is_sent = words.ends_with('\n') && !line.contains('\n') && self.question().is_none();
        if !line.trim().is_empty() {
            let text = if is_sent || self.question().is_some() { line } else { words };
            self.paste(text);
            self.offer = Some(0);
        }
        match is_sent {
            true => self.press(KeyEvent::new(KeyCode::Enter, KeyModifiers::NONE)),
            false => Vec::new(),
        }
    }

    /// The key means this answer, if it stays alone.
    pub(super) fn answer_with(&mut self, key: KeyEvent, body: Value) -> Vec<Effect> {
        let Some(id) = self.question().map(|question| question.id) else { return Vec::new() };
        // A key that is held down was not pressed for this question.
        if self.comes_together || key.kind == KeyEventKind::Repeat {
            self.show_remark("not answered: press one key by itself");
            return Vec::new();
        }
        if !self.is_question_visible() {
            return Vec::new();
        }
        self.due_answer = Some(DueAnswer { id, body, key, at: self.now });
        Vec::new()
    }

    /// The answer whose key has been alone for long enough.
    pub(crate) fn send_due_answer(&mut self) -> Vec<Effect> {
        match self.due_answer.take_if(|due| self.now >= due.at + ALONE_FOR_MS) {
            Some(due) if self.question().is_some_and(|open| open.id == due.id) => {
                self.answer(due.body)
            }
            // Not yet; or somebody else was first.
            _ => Vec::new(),
        }
    }

    /// Handles a key or paste after the key of an answer. Returns the effects of one that was due.
    pub(super) fn withdraw_due_answer(&mut self, next: Option<&KeyEvent>) -> Vec<Effect> {
        let settled = self.send_due_answer();
        let Some(due) = self.due_answer.take() else { return settled };
        if next.is_none_or(|key| letter(key).is_some()) {
            self.is_answering = false;
            if let KeyCode::Char(letter) = due.key.code {
                self.editor.insert(letter.encode_utf8(&mut [0; 4]));
            }
            self.show_remark("taken as typed text; the question was not answered");
        }
        settled
    }

    /// Whether the key only confirms an answer that is due, as some are used to.
    pub(super) fn confirms(&self, key: &KeyEvent) -> bool {
        let is_due = self.due_answer.as_ref().is_some_and(|due| self.now < due.at + ALONE_FOR_MS);
        is_due && key.code == KeyCode::Enter && !self.comes_together
    }
}

/// The character that a key writes, if it writes one.
fn letter(key: &KeyEvent) -> Option<char> {
    if key.modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT) {
        return None;
    }
    match key.code {
        KeyCode::Char(letter) => Some(letter),
        KeyCode::Enter if key.modifiers.is_empty() => Some('\n'),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
