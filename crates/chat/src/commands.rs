//! Slash commands: ours, which are done here, and the agent's, which are prompts.

use crate::conversation::AgentCommand;

/// A slash command of the chat itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Command {
    Help,
    Sessions,
    New,
    Agents,
    Model,
    Mode,
    Effort,
    Fork,
    Title,
    Export,
    Cancel,
    Thinking,
    Tools,
    Drop,
    Quit,
}

pub(crate) struct Entry {
    pub(crate) command: Command,
    pub(crate) name: &'static str,
    pub(crate) takes: &'static str,
    pub(crate) about: &'static str,
}

const fn entry(
    command: Command,
    name: &'static str,
    takes: &'static str,
    about: &'static str,
) -> Entry {
    Entry { command, name, takes, about }
}

pub(crate) const OURS: &[Entry] = &[
    entry(Command::Help, "help", "", "keys and commands"),
    entry(Command::Sessions, "sessions", "", "go to another session"),
    entry(Command::New, "new", "[AGENT]", "a new session, with this or another agent"),
    entry(Command::Agents, "agents", "", "choose an agent for a new session"),
    entry(Command::Model, "model", "[NAME]", "choose the model"),
    entry(Command::Mode, "mode", "[NAME]", "choose the agent's mode"),
    entry(Command::Effort, "effort", "[NAME]", "choose the reasoning effort"),
    entry(Command::Fork, "fork", "", "a new session that begins with this conversation"),
    entry(Command::Title, "title", "TEXT", "name this session"),
    entry(Command::Export, "export", "[FILE]", "write the whole log of this session to a file"),
    entry(Command::Cancel, "cancel", "", "stop the turn (Esc)"),
    entry(Command::Drop, "drop", "", "take the last waiting prompt back"),
    entry(Command::Thinking, "thinking", "", "show or fold what the agent thinks (Ctrl-T)"),
    entry(Command::Tools, "tools", "", "show tool calls in full or in short (Ctrl-O)"),
    entry(Command::Quit, "quit", "", "leave; the session stays (Ctrl-D)"),
];

/// A line of input: a command or a prompt.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Typed<'a> {
    Ours(Command, &'a str),
    /// Goes to the agent as it is.
    Prompt(&'a str),
}

pub(crate) fn read(text: &str) -> Typed<'_> {
    let Some(rest) = text.strip_prefix('/') else { return Typed::Prompt(text) };
    // Two slashes: a command of the agent that is named like one of ours.
    if rest.starts_with('/') {
        return Typed::Prompt(rest);
    }
    let (name, argument) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    let name = if name == "exit" { "quit" } else { name };
    match OURS.iter().find(|entry| entry.name == name) {
        Some(entry) => Typed::Ours(entry.command, argument.trim()),
        None => Typed::Prompt(text),
    }
}

/// The name of a command that neither we nor the agent have, where that can be told: an agent that
/// names its commands has no others, and a word that is nearly one of ours was meant to be it.
pub(crate) fn unknown<'a>(text: &'a str, of_agent: &[AgentCommand]) -> Option<&'a str> {
    let rest = text.strip_prefix('/')?;
    let name = rest.split(char::is_whitespace).next().unwrap_or_default();
    let is_name =
        !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || "-_:".contains(c));
    let is_its = of_agent.iter().any(|one| one.name.trim_start_matches('/') == name);
    let is_like_ours = OURS.iter().any(|one| are_alike(one.name, name));
    (is_name && !is_its && (!of_agent.is_empty() || is_like_ours)).then_some(name)
}

/// Whether two words are the same but for one letter, or two that changed places.
fn are_alike(one: &str, other: &str) -> bool {
    let (one, other): (Vec<char>, Vec<char>) = (one.chars().collect(), other.chars().collect());
    let n_before = one.iter().zip(&other).take_while(|(a, b)| a == b).count();
    let (rest, others) = (&one[n_before..], &other[n_before..]);
    let n_after = rest.iter().rev().zip(others.iter().rev()).take_while(|(a, b)| a == b).count();
    let (rest, others) = (&rest[..rest.len() - n_after], &others[..others.len() - n_after]);
    match (rest, others) {
        ([a, b], [c, d]) => (a, b) == (d, c),
        (rest, others) => rest.len() <= 1 && others.len() <= 1,
    }
}

#[cfg(test)]
mod tests {
    use super::{Command, Typed, are_alike, read, unknown};
    use crate::conversation::AgentCommand;

    #[test]
    fn a_word_that_is_no_command_of_anybodys_is_known_as_such() {
        let compact = [AgentCommand { name: "compact".into(), about: String::new() }];
        assert_eq!(unknown("/modle gpt", &[]), Some("modle"));
        assert_eq!(unknown("/foo", &compact), Some("foo"));
        assert_eq!(unknown("/compact now", &compact), None);
        // It may have commands that it does not name; and a path is none.
        assert_eq!(unknown("/foo", &[]), None);
        assert_eq!(unknown("/etc/hosts is what?", &compact), None);
        assert_eq!(unknown("a /foo", &compact), None);
        for (one, other, is_so) in [
            ("quit", "qiut", true),
            ("quit", "quits", true),
            ("quit", "uit", true),
            ("quit", "quip", true),
            ("quit", "quilt", true),
            ("quit", "quote", false),
            ("new", "old", false),
        ] {
            assert_eq!(are_alike(one, other), is_so, "{one} {other}");
        }
    }

    #[test]
    fn ours_are_done_here_and_the_rest_goes_to_the_agent() {
        assert_eq!(read("/title  My work "), Typed::Ours(Command::Title, "My work"));
        assert_eq!(read("/exit"), Typed::Ours(Command::Quit, ""));
        assert_eq!(read("/compact now"), Typed::Prompt("/compact now"));
        assert_eq!(read("//model x"), Typed::Prompt("/model x"));
        assert_eq!(read("a /quit"), Typed::Prompt("a /quit"));
    }
}
