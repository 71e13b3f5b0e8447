//! Events in the chosen vocabulary, and values by the words that they serialise to.

use std::io::IsTerminal as _;

use projection::{Answer, Reader, Style, Text, Vocabulary};
use serde::Serialize;
use serde_json::{Map, Value};
use wire::{Event, SessionId};

use crate::cli::format::Format;
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

/// For whoever reads at the terminal what was said, asked and thought.
pub(crate) fn style() -> Style {
    let color = terminal::color_on_stdout();
    Style { color, width: terminal::width(), verbose: false, show_thinking: true }
}

impl Formatter {
    /// Where it is text, the style says how, and the last whether prompts are shown, too.
    pub(crate) fn new(
        format: Format,
        session: SessionId,
        style: Style,
        shows_prompts: bool,
    ) -> Self {
        let vocabulary = match format {
            Format::Text => {
                let text = Text::new(style);
                Vocabulary::text(if shows_prompts { text.with_prompts() } else { text })
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
        let is_ended = match self.out.chars().next_back() {
            Some(last) => last == '\n',
            None => self.is_line_ended,
        };
        if !is_ended {
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
