//! Key presses.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use serde_json::json;

use super::{ChatState, LEAVES_WITHIN_MS, Overlay};
use crate::conversation::AnswerKind;
use crate::effect::{Effect, Scroll};

impl ChatState {
    pub(crate) fn press(&mut self, key: KeyEvent) -> Vec<Effect> {
        if self.confirms(&key) {
            return Vec::new();
        }
        let mut effects = self.withdraw_due_answer(Some(&key));
        effects.extend(self.pressed(key));
        self.last_key = self.now;
        self.look_at_question();
        effects
    }

    /// Text that was pasted, which is never a command by itself.
    pub(crate) fn paste(&mut self, text: &str) -> Vec<Effect> {
        let effects = self.withdraw_due_answer(None);
        self.last_key = self.now;
        if let Some(Overlay::Picker(picker)) = &mut self.overlay {
            let text: String = text.chars().filter(|c| !c.is_control()).take(200).collect();
            picker.narrow(|filter| filter.push_str(&text));
            return effects;
        }
        self.is_answering = false;
        self.history.stop();
        if !self.editor.insert(text) {
            self.show_remark("this is too long to be pasted");
        }
        effects
    }

    fn pressed(&mut self, key: KeyEvent) -> Vec<Effect> {
        let is_ctrl = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Char('c') if is_ctrl => return self.interrupt(),
            KeyCode::Char('z') if is_ctrl => return vec![Effect::Suspend],
            KeyCode::Char('l') if is_ctrl => return vec![Effect::Redraw],
            KeyCode::PageUp => return vec![Effect::Scroll(Scroll::Pages(-1))],
            KeyCode::PageDown => return vec![Effect::Scroll(Scroll::Pages(1))],
            _ => self.leaving_since = None,
        }
        match self.overlay {
            Some(Overlay::Picker(_)) => return self.press_picker(key, is_ctrl),
            Some(Overlay::Help) => {
                self.overlay = None;
                return Vec::new();
            }
            None => {}
        }
        if self.is_answering {
            return self.press_question(key, is_ctrl);
        }
        self.press_editor(key, is_ctrl)
    }

    /// Cancels what runs, empties what is typed; the second time it quits.
    fn interrupt(&mut self) -> Vec<Effect> {
        let is_second = self.leaving_since.is_some_and(|since| self.now < since + LEAVES_WITHIN_MS);
        if is_second {
            return vec![Effect::Leave];
        }
        self.leaving_since = Some(self.now);
        if self.overlay.take().is_some() {
            self.show_remark("Ctrl-C again quits");
            return Vec::new();
        }
        self.show_remark_for("Ctrl-C again quits; the session stays", LEAVES_WITHIN_MS);
        if !self.is_running() {
            self.editor.take();
        }
        self.cancel_turn()
    }

    fn press_question(&mut self, key: KeyEvent, is_ctrl: bool) -> Vec<Effect> {
        let Some(question) = self.question() else { return Vec::new() };
        let AnswerKind::Choice(choices) = &question.answer_kind else {
            let body = |action: &str| json!({ "response": { "action": action } });
            let answer = match key.code {
                KeyCode::Char('1' | 'y') => Some(body("accept")),
                KeyCode::Char('2' | 'n') => Some(body("decline")),
                _ => None,
            };
            return match answer {
                Some(body) if !is_ctrl => self.answer_with(key, body),
                _ => self.press_beside_question(key, is_ctrl),
            };
        };
        let of_kind = |kind: &str| choices.iter().position(|choice| choice.kind == kind);
        let last = choices.len().saturating_sub(1);
        let chosen = match key.code {
            KeyCode::Up => {
                self.marked = Some(self.marked.map_or(last, |marked| marked.saturating_sub(1)));
                return Vec::new();
            }
            KeyCode::Down => {
                self.marked = Some(self.marked.map_or(0, |marked| (marked + 1).min(last)));
                return Vec::new();
            }
            // Enter alone, which is pressed all the time, allows nothing.
            KeyCode::Enter => self.marked.map(|marked| marked.min(last)),
            KeyCode::Char(digit @ '1'..='9') if !is_ctrl => {
                digit.to_digit(10).and_then(|digit| usize::try_from(digit).ok()).map(|n| n - 1)
            }
            KeyCode::Char('y') if !is_ctrl => question.plain_yes(),
            KeyCode::Char('a') if !is_ctrl => of_kind("allow_always"),
            KeyCode::Char('n') if !is_ctrl => of_kind("reject_once"),
            _ => return self.press_beside_question(key, is_ctrl),
        };
        let option = chosen.and_then(|n| choices.get(n)).map(|choice| choice.id.clone());
        match option {
            Some(id) => self.answer_with(key, json!({ "optionId": id })),
            None => Vec::new(),
        }
    }

    /// Keys with the same meaning for every question.
    fn press_beside_question(&mut self, key: KeyEvent, is_ctrl: bool) -> Vec<Effect> {
        match key.code {
            KeyCode::Tab => {
                self.is_answering = false;
                self.is_question_deferred = true;
                self.show_remark("typing; Tab goes back to the question");
                Vec::new()
            }
            KeyCode::Esc => self.cancel_turn(),
            KeyCode::Char('d') if is_ctrl => vec![Effect::Leave],
            KeyCode::Char('t' | 'o') if is_ctrl => self.press_editor(key, is_ctrl),
            _ => Vec::new(),
        }
    }

    /// Sends an answer, once.
    pub(super) fn answer(&mut self, body: serde_json::Value) -> Vec<Effect> {
        let Some(id) = self.question().map(|question| question.id) else { return Vec::new() };
        self.answered.push(id);
        self.conversation.own.answer(id);
        self.is_answering = false;
        self.form = None;
        vec![Effect::Answer { id, body }]
    }

    pub(super) fn cancel_turn(&mut self) -> Vec<Effect> {
        match self.is_running() {
            true => {
                self.is_cancelling = true;
                vec![Effect::Cancel]
            }
            false => Vec::new(),
        }
    }

    fn press_editor(&mut self, key: KeyEvent, is_ctrl: bool) -> Vec<Effect> {
        let is_alt = key.modifiers.contains(KeyModifiers::ALT);
        let is_shift = key.modifiers.contains(KeyModifiers::SHIFT);
        if let Some(effects) = self.press_completion(key) {
            return effects;
        }
        match key.code {
            KeyCode::Enter if is_alt || is_shift || is_ctrl => self.newline(),
            KeyCode::Char('j') if is_ctrl => self.newline(),
            KeyCode::Enter => return self.enter(),
            KeyCode::Esc => return self.escape(),
            KeyCode::Tab if self.question().is_some() && self.form.is_none() => {
                self.is_question_deferred = false;
                self.answer_now();
            }
            KeyCode::Char('d') if is_ctrl && self.editor.is_empty() => return vec![Effect::Leave],
            KeyCode::Char('t') if is_ctrl => {
                self.shows_thinking = !self.shows_thinking;
                let what = if self.shows_thinking { "shown" } else { "folded" };
                self.show_remark(format!("thinking is {what}"));
            }
            KeyCode::Char('o') if is_ctrl => {
                self.shows_tools = !self.shows_tools;
                let how = if self.shows_tools { "in full" } else { "in short" };
                self.show_remark(format!("tool calls are shown {how}"));
            }
            KeyCode::Up if is_shift => return vec![Effect::Scroll(Scroll::Lines(-1))],
            KeyCode::Down if is_shift => return vec![Effect::Scroll(Scroll::Lines(1))],
            KeyCode::Home if is_ctrl => return vec![Effect::Scroll(Scroll::Start)],
            KeyCode::End if is_ctrl => return vec![Effect::Scroll(Scroll::End)],
            KeyCode::Up => {
                if !self.editor.up() {
                    self.older();
                }
            }
            KeyCode::Down => {
                if !self.editor.down() {
                    self.newer();
                }
            }
            KeyCode::Char('p') if is_ctrl => self.older(),
            KeyCode::Char('n') if is_ctrl => self.newer(),
            _ => self.edit(key, is_ctrl, is_alt),
        }
        Vec::new()
    }

    fn edit(&mut self, key: KeyEvent, is_ctrl: bool, is_alt: bool) {
        let editor = &mut self.editor;
        match (key.code, is_ctrl, is_alt) {
            (KeyCode::Left, true, _) | (KeyCode::Left | KeyCode::Char('b'), _, true) => {
                editor.word_left();
            }
            (KeyCode::Right, true, _) | (KeyCode::Right | KeyCode::Char('f'), _, true) => {
                editor.word_right();
            }
            (KeyCode::Left, ..) | (KeyCode::Char('b'), true, _) => editor.left(),
            (KeyCode::Right, ..) | (KeyCode::Char('f'), true, _) => editor.right(),
            (KeyCode::Home, ..) | (KeyCode::Char('a'), true, _) => editor.line_start(),
            (KeyCode::End, ..) | (KeyCode::Char('e'), true, _) => editor.line_end(),
            (KeyCode::Backspace | KeyCode::Char('w'), true, _) | (KeyCode::Backspace, _, true) => {
                editor.cut_word();
            }
            (KeyCode::Char('u'), true, _) => editor.cut_to_start(),
            (KeyCode::Char('k'), true, _) => editor.cut_to_end(),
            (KeyCode::Char('y'), true, _) => editor.paste_cut(),
            (KeyCode::Backspace, ..) | (KeyCode::Char('h'), true, _) => editor.backspace(),
            (KeyCode::Delete, ..) | (KeyCode::Char('d'), true, _) => editor.delete(),
            (KeyCode::Char(letter), false, false) => {
                editor.insert(letter.encode_utf8(&mut [0; 4]));
            }
            _ => return,
        }
        self.history.stop();
        self.offer = Some(0);
    }

    fn press_completion(&mut self, key: KeyEvent) -> Option<Vec<Effect>> {
        let (completion, offer) = self.completion()?;
        let last = completion.offers.len().saturating_sub(1);
        match key.code {
            KeyCode::Up if offer > 0 => self.offer = Some(offer - 1),
            KeyCode::Up => self.offer = Some(last),
            KeyCode::Down => self.offer = Some(if offer == last { 0 } else { offer + 1 }),
            KeyCode::Esc => self.offer = None,
            KeyCode::Tab | KeyCode::Enter => {
                let chosen = completion.offers.get(offer)?;
                // A command that is typed out and takes nothing is done at once.
                let typed = self.editor.text();
                let is_whole = key.code == KeyCode::Enter
                    && completion.offers.iter().any(|offer| offer.text.trim_end() == typed);
                if is_whole {
                    return None;
                }
                self.editor.replace(completion.range, &chosen.text);
                self.offer = Some(0);
            }
            _ => return None,
        }
        Some(Vec::new())
    }

    fn newline(&mut self) {
        self.history.stop();
        self.editor.insert("\n");
    }

    fn older(&mut self) {
        let draft = self.editor.text().to_owned();
        if let Some(entry) = self.history.older(&draft).map(str::to_owned) {
            self.editor.set(&entry);
            self.offer = None;
        }
    }

    fn newer(&mut self) {
        if let Some(entry) = self.history.newer().map(str::to_owned) {
            self.editor.set(&entry);
            self.offer = None;
        }
    }

    fn escape(&mut self) -> Vec<Effect> {
        if self.form.take().is_some() {
            return self.answer(json!({ "response": { "action": "cancel" } }));
        }
        self.cancel_turn()
    }
}
