//! Turns the text of a prompt into commands and runs them.
//!
//! In: the prompt. Out: the turn's outcome.
//! Commands run in order; the first one that ends the turn is the last one that runs. A prompt
//! that does not begin with a command is answered in words.

use super::commands::{self, Flow};
use super::turn::{Outcome, Turn};

const END_TURN: &str = "end_turn";

pub(super) async fn run(turn: &Turn) -> Outcome {
    let prompt = &turn.prompt;
    if !prompt.attachments.is_empty() {
        turn.say(format!("You attached {}.\n", prompt.attachments.join(" "))).await;
    }
    let lines = split(request(&prompt.text));
    let is_script = lines.first().is_some_and(|(name, _)| commands::find(name).is_some());
    if !is_script || is_greeting(&lines) {
        commands::converse(turn).await;
        return Ok(END_TURN.to_owned());
    }
    for (name, rest) in lines {
        let Some((group, command)) = commands::find(name) else {
            turn.say(format!("I do not know `{name}`; `help` lists what I do know.\n")).await;
            continue;
        };
        match commands::perform(turn, group, command, rest).await {
            Flow::Next => {}
            Flow::End(outcome) => return outcome,
        }
    }
    Ok(END_TURN.to_owned())
}

/// What is asked for, without what clients put before it: instructions, then a heading.
fn request(text: &str) -> &str {
    text.rsplit_once("# Request\n").map_or(text, |(_, request)| request)
}

/// "say hello" is what a newcomer types first, and deserves more than its echo.
fn is_greeting(lines: &[(&str, &str)]) -> bool {
    matches!(lines, [("say", rest)] if rest.eq_ignore_ascii_case("hello"))
}

/// Splits at newlines and at ` ; `, and each command into its name and the rest. A leading slash
/// is dropped, because clients send the commands we announce in that form. Headings are no
/// commands.
fn split(text: &str) -> Vec<(&str, &str)> {
    text.lines()
        .flat_map(|line| line.split(" ; "))
        .map(str::trim)
        .filter(|command| !command.is_empty() && !command.starts_with('#'))
        .map(|command| {
            let command = command.strip_prefix('/').unwrap_or(command);
            match command.split_once(char::is_whitespace) {
                Some((name, rest)) => (name, rest.trim()),
                None => (command, ""),
            }
        })
        .collect()
}

#[cfg(test)]
mod tests;
