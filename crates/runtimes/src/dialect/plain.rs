//! The dialect of a CLI that just prints its answer as text.
//!
//! One process, one turn, from the first character to the exit. Escape sequences are removed, and
//! so are lines that are overwritten after a carriage return, as a terminal would not show them.
//! To know the latter, a line is held back until it ends, or is longer than a progress line.
//!
//! Always true: the text does not depend on where the stream was cut.

use super::single_turn::SingleTurn;
use super::tool_calls::keep_end;
use super::{CliExit, Dialect, Outputs, StopReason, TurnOutcome, stderr};
use crate::update::TextKind;

use wire::Fault;
use wire::text::{LineScreen, Tabs};

/// The longest progress line, in characters: about a line of a wide terminal. A longer line is
/// text and need not wait for its end.
const LONGEST_PROGRESS: usize = 200;

#[derive(Debug)]
pub(super) struct Plain {
    turn: SingleTurn,
    screen: LineScreen,
    /// The end of the output, which holds the error when nothing is on stderr.
    output_tail: String,
    has_printed: bool,
}

/// The longest error message that is taken from the output.
const MAX_LAST_BYTES: usize = 4096;

impl Dialect for Plain {
    fn line(&mut self, chunk: &str, out: &mut Outputs) {
        let mut text = String::new();
        self.screen.push(chunk, &mut text);
        self.say(text, out);
    }

    fn end(&mut self, exit: &CliExit, out: &mut Outputs) {
        let mut text = String::new();
        self.screen.finish(&mut text);
        self.say(text, out);
        let is_well = exit.code == Some(0);
        if is_well && !self.has_printed && !exit.is_stopped_by_us {
            out.warn("the CLI ended without printing anything");
        }
        let ending = match is_well {
            true => TurnOutcome::Stopped(StopReason::EndTurn),
            false => TurnOutcome::Failed(self.failure(exit)),
        };
        self.turn.exit(exit, ending, out);
    }
}

impl Default for Plain {
    fn default() -> Self {
        let screen = LineScreen::new(LONGEST_PROGRESS, Tabs::Kept);
        Self { turn: SingleTurn::default(), screen, output_tail: String::new(), has_printed: false }
    }
}

impl Plain {
    fn say(&mut self, mut text: String, out: &mut Outputs) {
        text.retain(|c| !c.is_control() || matches!(c, '\n' | '\t'));
        if text.is_empty() {
            return;
        }
        self.has_printed |= !text.trim().is_empty();
        self.output_tail.push_str(&text);
        keep_end(&mut self.output_tail, MAX_LAST_BYTES);
        out.text(TextKind::Message, text, None);
    }

    fn failure(&self, exit: &CliExit) -> Fault {
        if !exit.stderr.trim().is_empty() || !self.has_printed {
            return stderr::failure(exit);
        }
        let said = CliExit { stderr: self.output_tail.clone(), ..exit.clone() };
        let failure = stderr::failure(&said);
        // A sentence without the word "error" is still the reason.
        Fault { category: failure.category, ..stderr::exit_failure(&said) }
    }
}

#[cfg(test)]
mod tests;
