//! The state of the terminal's output so far, as far as the next write depends on it.
//!
//! In: streamed text and whole lines. Out: the same, with line breaks between parts, so
//! that a line never continues a stream. Streamed text is made safe here; lines have to be
//! safe already.

use anstyle::{AnsiColor, Style};

use wire::text::Sanitizer;

pub(super) const PLAIN: Style = Style::new();
pub(super) const DIM: Style = Style::new().dimmed();
pub(super) const STRONG: Style = Style::new().bold();
pub(super) const GOOD: Style = AnsiColor::Green.on_default();
pub(super) const BAD: Style = AnsiColor::Red.on_default();
pub(super) const ASKING: Style = AnsiColor::Yellow.on_default().bold();
pub(super) const BUSY: Style = AnsiColor::Cyan.on_default();

/// The escape sequences that go one row up and empty it.
const ROW_UP: &str = "\u{1b}[1A\u{1b}[2K";

/// The kind of output of the last write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OutputPart {
    Nothing,
    Answer,
    Thinking,
    User,
    Lines,
}

#[derive(Debug, Clone)]
pub(super) struct TextOutput {
    color: bool,
    part: OutputPart,
    is_line_start: bool,
    /// Whether the last line is empty, so that parts are already apart.
    is_after_blank: bool,
    sanitizer: Sanitizer,
    /// Changes with every write, so that a line can tell whether it is still the last.
    pub(super) n_writes: u64,
}

impl TextOutput {
    pub(super) fn new(color: bool) -> Self {
        Self {
            color,
            part: OutputPart::Nothing,
            is_line_start: true,
            is_after_blank: true,
            sanitizer: Sanitizer::default(),
            n_writes: 0,
        }
    }

    /// Continues a streamed part, or starts it.
    pub(super) fn stream(&mut self, part: OutputPart, chunk: &str, out: &mut String) {
        let is_start = part != self.part;
        // Many models open an answer with empty lines; the part has its own already.
        let chunk = if is_start { chunk.trim_start_matches(['\n', '\r']) } else { chunk };
        if chunk.is_empty() {
            return;
        }
        if is_start {
            self.turn_to(part, out);
            match part {
                OutputPart::Thinking => self.line_here(DIM.italic(), "thinking", out),
                OutputPart::User => self.write(STRONG, "› ", out),
                OutputPart::Answer | OutputPart::Nothing | OutputPart::Lines => {}
            }
        }
        let mut text = String::with_capacity(chunk.len());
        self.sanitizer.push(chunk, &mut text);
        let style = match part {
            OutputPart::Thinking => DIM,
            OutputPart::User => STRONG,
            OutputPart::Answer | OutputPart::Nothing | OutputPart::Lines => PLAIN,
        };
        self.write(style, &text, out);
    }

    /// Writes one line; `text` is safe and has no line break.
    pub(super) fn line(&mut self, style: Style, text: &str, out: &mut String) {
        self.turn_to(OutputPart::Lines, out);
        self.line_here(style, text, out);
    }

    /// A line with a coloured sign in front.
    pub(super) fn marked(&mut self, style: Style, mark: &str, text: &str, out: &mut String) {
        self.turn_to(OutputPart::Lines, out);
        self.write(style, mark, out);
        self.line_here(PLAIN, &format!(" {text}"), out);
    }

    /// Ends what is being written; whatever comes next is a part of its own.
    pub(super) fn end_part(&mut self, out: &mut String) {
        self.end_line(out);
        self.part = OutputPart::Nothing;
    }

    fn end_line(&mut self, out: &mut String) {
        let mut held = String::new();
        self.sanitizer.finish(&mut held);
        self.write(PLAIN, &held, out);
        if !self.is_line_start {
            self.line_here(PLAIN, "", out);
        }
    }

    /// Notes that somebody else has written on the terminal: no line of ours is the last any more.
    pub(super) fn note_foreign_output(&mut self) {
        self.n_writes += 1;
    }

    /// Takes back the last line, which is a row of the terminal.
    pub(super) fn take_back_row(&mut self, out: &mut String) {
        out.push_str(ROW_UP);
        self.n_writes += 1;
    }

    fn turn_to(&mut self, part: OutputPart, out: &mut String) {
        if part == self.part {
            return;
        }
        self.end_line(out);
        if !self.is_after_blank {
            out.push('\n');
            self.is_after_blank = true;
        }
        self.part = part;
    }

    fn line_here(&mut self, style: Style, text: &str, out: &mut String) {
        self.write(style, text, out);
        out.push('\n');
        self.is_after_blank = self.is_line_start;
        self.is_line_start = true;
        self.n_writes += 1;
    }

    fn write(&mut self, style: Style, text: &str, out: &mut String) {
        if text.is_empty() {
            return;
        }
        if self.color && style != PLAIN {
            use std::fmt::Write;
            // Writing to a String cannot fail.
            let _ = write!(out, "{style}{text}{style:#}");
        } else {
            out.push_str(text);
        }
        let was_line_start = self.is_line_start;
        self.is_line_start = text.ends_with('\n');
        self.is_after_blank = text.ends_with("\n\n") || (was_line_start && text == "\n");
        self.n_writes += 1;
    }
}
