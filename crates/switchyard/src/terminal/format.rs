//! Formats events in the chosen vocabulary; values by the words that they serialise to.

use std::io::IsTerminal as _;

use projection::{AnswerProjection, LogReader, TextOptions, TextProjection, Vocabulary};
use serde::Serialize;
use serde_json::{Map, Value};
use wire::{Event, SessionId};

use crate::cli::format::OutputFormat;
use crate::outcome::Failure;
use crate::terminal;
use crate::terminal::output::print;
use crate::terminal::spinner::Spinner;

/// A vocabulary and the buffer it writes into.
pub(crate) struct Formatter {
    vocabulary: Vocabulary,
    out: String,
    /// Whether the last thing written ended its line.
    is_line_ended: bool,
    /// Shown until there is something to print.
    pub(crate) spinner: Option<Spinner>,
    /// How often stderr had been written to at the last event.
    n_stderr_writes: u64,
}

/// The style of text on stdout, with thinking.
pub(crate) fn style() -> TextOptions {
    let color = terminal::color_on_stdout();
    TextOptions { color, width: terminal::width(), verbose: false, show_thinking: true }
}

impl Formatter {
    /// A formatter for a session; `style` and `shows_prompts` are for text alone.
    pub(crate) fn new(
        format: OutputFormat,
        session: SessionId,
        style: TextOptions,
        shows_prompts: bool,
    ) -> Self {
        let vocabulary = match format {
            OutputFormat::Text => {
                let text = TextProjection::new(style);
                Vocabulary::text(if shows_prompts { text.with_prompts() } else { text })
            }
            OutputFormat::Json => Vocabulary::Events,
            OutputFormat::Envelopes => Vocabulary::envelopes(session.to_string()),
            OutputFormat::Ui => Vocabulary::ui(),
            OutputFormat::Quiet => {
                let answer = AnswerProjection::new(std::io::stdout().is_terminal());
                Vocabulary::Answer(Box::new(LogReader::new(answer)))
            }
        };
        let n_stderr_writes = terminal::n_stderr_writes();
        Self { vocabulary, out: String::new(), is_line_ended: true, spinner: None, n_stderr_writes }
    }

    /// Has the line of a tool call that has ended replace the one that said it runs. For a terminal
    /// on which nobody types but to answer; whoever wants no colours does not want this either.
    #[must_use]
    pub(crate) fn replacing_call_lines(mut self) -> Self {
        if let Vocabulary::Text(text) = &mut self.vocabulary
            && terminal::color_on_stdout()
        {
            text.projection_mut().replace_lines();
        }
        self
    }

    pub(crate) fn add(&mut self, event: &Event) {
        let n_said = terminal::n_stderr_writes();
        if std::mem::replace(&mut self.n_stderr_writes, n_said) != n_said
            && let Vocabulary::Text(text) = &mut self.vocabulary
        {
            text.projection_mut().note_foreign_output();
        }
        self.vocabulary.write(event, &mut self.out);
    }

    /// Formats what waited for more, because nothing has come for a moment.
    pub(crate) fn settle(&mut self) {
        if let Vocabulary::Text(text) = &mut self.vocabulary {
            text.settle(&mut self.out);
        }
    }

    /// Ends the last line, if it is still open; nothing follows.
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

    /// Takes the text that has been added since the last call.
    pub(crate) fn take(&mut self) -> String {
        if let Some(last) = self.out.chars().next_back() {
            self.spinner = None;
            self.is_line_ended = last == '\n';
        }
        std::mem::take(&mut self.out)
    }

    /// Prints what is formatted; false when nobody reads stdout any more.
    pub(crate) fn show(&mut self) -> Result<bool, Failure> {
        let text = self.take();
        if text.is_empty() {
            return Ok(true);
        }
        // A slow reader blocks this thread; the runtime must not wait with it.
        match tokio::task::block_in_place(|| print(&text)) {
            Ok(()) => Ok(true),
            Err(failure) if failure.is_reader_gone => Ok(false),
            Err(failure) => Err(failure),
        }
    }
}

/// The word that an enum serialises to.
pub(crate) fn word(value: &impl Serialize) -> String {
    wire::Json::of(value).read().unwrap_or_default()
}

/// The members that a struct serialises to.
pub(crate) fn members(value: &impl Serialize) -> Map<String, Value> {
    wire::Json::of(value).read().unwrap_or_default()
}
