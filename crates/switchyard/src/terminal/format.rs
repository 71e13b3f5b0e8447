//! Writes events to stdout in the chosen vocabulary.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::{IsTerminal as _, Write};

use projection::{Answer, Reader, Style, Text, Vocabulary};
use serde::Serialize;
use serde_json::{Map, Value};
use wire::{Event, SessionId};

use crate::cli::Format;
use crate::outcome::Failure;
use crate::terminal;
use crate::terminal::spinner::Spinner;

/// A vocabulary and the buffer it writes into.
pub(crate) struct Formatter {
    vocabulary: Vocabulary,
    out: String,
    /// Whether the last thing written ended its line.
    is_line_ended: bool,
    /// Turns until there is something to show.
    spinner: Option<Spinner>,
    /// How often something was said on stderr until now.
    n_said: u64,
}

/// What a reader of text wants to see.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TextOptions {
    pub(crate) color: bool,
    pub(crate) show_thinking: bool,
    pub(crate) show_prompts: bool,
    pub(crate) verbose: bool,
}

impl TextOptions {
    /// For whoever reads at the terminal what was said, asked and thought.
    pub(crate) fn reading() -> Self {
        let color = terminal::color_on_stdout();
        Self { color, show_thinking: true, show_prompts: true, verbose: false }
    }
}

impl Formatter {
    pub(crate) fn new(format: Format, session: SessionId, text: TextOptions) -> Self {
        let vocabulary = match format {
            Format::Text => {
                let renderer = Text::new(Style {
                    color: text.color,
                    width: terminal::width(),
                    verbose: text.verbose,
                    show_thinking: text.show_thinking,
                });
                Vocabulary::text(if text.show_prompts { renderer.with_prompts() } else { renderer })
            }
            Format::Json => Vocabulary::Events,
            Format::Envelopes => Vocabulary::envelopes(session.to_string()),
            Format::Ui => Vocabulary::ui(),
            Format::Quiet => {
                let answer = Answer::new(std::io::stdout().is_terminal());
                Vocabulary::Answer(Box::new(Reader::new(answer)))
            }
        };
        let n_said = terminal::n_said();
        Self { vocabulary, out: String::new(), is_line_ended: true, spinner: None, n_said }
    }

    /// For a terminal on which nobody types but to answer: the line of a call that has ended takes
    /// the place of the one that said it runs. Whoever wants no colours wants no such thing either.
    #[must_use]
    pub(crate) fn taking_back(mut self) -> Self {
        if let Vocabulary::Text(text) = &mut self.vocabulary
            && terminal::color_on_stdout()
        {
            text.projection_mut().take_back();
        }
        self
    }

    pub(crate) fn add(&mut self, event: &Event) {
        let n_said = terminal::n_said();
        if std::mem::replace(&mut self.n_said, n_said) != n_said
            && let Vocabulary::Text(text) = &mut self.vocabulary
        {
            text.projection_mut().disturb();
        }
        self.vocabulary.write(event, &mut self.out);
    }

    /// Nothing has come for a moment: what waited for more is shown.
    pub(crate) fn settle(&mut self) {
        if let Vocabulary::Text(text) = &mut self.vocabulary {
            text.settle(&mut self.out);
        }
    }

    /// Whoever waits for the first words sees that something happens.
    pub(crate) fn wait_with(&mut self, spinner: Spinner) {
        self.spinner = Some(spinner);
    }

    /// Ends the line that the last word stands in; nothing follows.
    pub(crate) fn end_line(&mut self) {
        if let Vocabulary::Answer(answer) = &mut self.vocabulary {
            answer.projection_mut().finish(&mut self.out);
        }
        if let Some(last) = self.out.chars().next_back() {
            if last != '\n' {
                self.out.push('\n');
            }
            return;
        }
        if self.out.is_empty() && !self.is_line_ended {
            self.out.push('\n');
        }
    }

    /// What has been added since the last call.
    pub(crate) fn take(&mut self) -> String {
        if let Some(last) = self.out.chars().next_back() {
            self.spinner = None;
            self.is_line_ended = last == '\n';
        }
        std::mem::take(&mut self.out)
    }
}

/// The word that an enum serialises to.
pub(crate) fn word(value: &impl Serialize) -> String {
    wire::Json::of(value).read().unwrap_or_default()
}

/// What a struct serialises to, member by member.
pub(crate) fn members(value: &impl Serialize) -> Map<String, Value> {
    wire::Json::of(value).read().unwrap_or_default()
}

/// Writes to stdout and flushes. A reader that is slow may block this; call it where that
/// is fine.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    if text.is_empty() {
        return Ok(());
    }
    let mut stdout = std::io::stdout().lock();
    let text = match stdout.is_terminal() {
        true => for_a_terminal(text),
        false => Cow::Borrowed(text),
    };
    let written = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
    written.map_err(|error| Failure::of_stdout(&error))
}

/// What JSON leaves as it is and a terminal, or its reader, would be led astray by is escaped as
/// JSON can be. In text for people there is nothing of the kind any more.
fn for_a_terminal(text: &str) -> Cow<'_, str> {
    let is_led_by = |c: char| c >= '\u{7f}' && wire::text::is_hidden(c);
    if !text.contains(is_led_by) {
        return Cow::Borrowed(text);
    }
    let mut safe = String::with_capacity(text.len() + 16);
    for (c, hides) in wire::text::with_hidden(None, text) {
        match hides && is_led_by(c) {
            true => escape_in_json(c, &mut safe),
            false => safe.push(c),
        }
    }
    Cow::Owned(safe)
}

/// A character as JSON can have it without showing it.
pub(crate) fn escape_in_json(c: char, out: &mut String) {
    for unit in c.encode_utf16(&mut [0; 2]) {
        // Writing to a String cannot fail.
        let _ = write!(out, "\\u{unit:04x}");
    }
}

#[cfg(test)]
mod tests {
    //! JSON on a terminal moves nothing, and says the same.

    use super::for_a_terminal;

    #[test]
    fn json_is_the_same_and_hides_nothing() {
        let said = "a\u{9b}31m\u{7f}\u{202e}b\u{e0041}\u{200d}c\n\u{1b}[0m";
        let json = serde_json::to_string(said).unwrap();
        let shown = for_a_terminal(&json);
        assert!(!shown.contains(['\u{9b}', '\u{7f}', '\u{202e}', '\u{e0041}', '\u{1b}']));
        assert_eq!(serde_json::from_str::<String>(&shown).unwrap(), said);
        let emoji = "\"❤\u{fe0f} a\u{fe0f}\"";
        assert_eq!(for_a_terminal(emoji), "\"❤\u{fe0f} a\\ufe0f\"");
        assert_eq!(for_a_terminal("\u{1b}[1mbold\u{1b}[0m\n"), "\u{1b}[1mbold\u{1b}[0m\n");
    }
}
