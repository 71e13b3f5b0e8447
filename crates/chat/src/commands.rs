//! Slash commands: ours, which are done here, and the agent's, which are prompts.

use crate::conversation::AgentCommand;

/// A slash command of the chat itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ChatCommand {
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

pub(crate) struct CommandEntry {
    pub(crate) command: ChatCommand,
    pub(crate) name: &'static str,
    pub(crate) takes: &'static str,
    pub(crate) about: &'static str,
}

const fn entry(
    command: ChatCommand,
    name: &'static str,
    takes: &'static str,
    about: &'static str,
) -> CommandEntry {
    CommandEntry { command, name, takes, about }
}

pub(crate) const CHAT_COMMANDS: &[CommandEntry] = &[
    entry(ChatCommand::Help, "help", "", "keys and commands"),
    entry(ChatCommand::Sessions, "sessions", "", "go to another session"),
    entry(ChatCommand::New, "new", "[AGENT]", "a new session, with this or another agent"),
    entry(ChatCommand::Agents, "agents", "", "choose an agent for a new session"),
    entry(ChatCommand::Model, "model", "[NAME]", "choose the model"),
    entry(ChatCommand::Mode, "mode", "[NAME]", "choose the agent's mode"),
    entry(ChatCommand::Effort, "effort", "[NAME]", "choose the reasoning effort"),
    entry(ChatCommand::Fork, "fork", "", "a new session that begins with this conversation"),
    entry(ChatCommand::Title, "title", "TEXT", "name this session"),
    entry(ChatCommand::Export, "export", "[FILE]", "write the whole log of this session to a file"),
    entry(ChatCommand::Cancel, "cancel", "", "cancel the turn (Esc)"),
    entry(ChatCommand::Drop, "drop", "", "take the last queued prompt back"),
    entry(ChatCommand::Thinking, "thinking", "", "show or fold what the agent thinks (Ctrl-T)"),
    entry(ChatCommand::Tools, "tools", "", "show tool calls in full or in short (Ctrl-O)"),
    entry(ChatCommand::Quit, "quit", "", "quit; the session stays (Ctrl-D)"),
];

/// A line of input: a command or a prompt.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum InputLine<'a> {
    Ours(ChatCommand, &'a str),
    /// Goes to the agent as it is.
    Prompt(&'a str),
}

pub(crate) fn read(text: &str) -> InputLine<'_> {
    let Some(rest) = text.strip_prefix('/') else { return InputLine::Prompt(text) };
    // Two slashes: a command of the agent that is named like one of ours.
    if rest.starts_with('/') {
        return InputLine::Prompt(rest);
    }
    let (name, argument) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    let name = if name == "exit" { "quit" } else { name };
    match CHAT_COMMANDS.iter().find(|entry| entry.name == name) {
        Some(entry) => InputLine::Ours(entry.command, argument.trim()),
        None => InputLine::Prompt(text),
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
    let is_like_ours = CHAT_COMMANDS.iter().any(|one| are_alike(one.name, name));
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
    use super::{ChatCommand, InputLine, are_alike, read, unknown};
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
        assert_eq!(read("/title  My work "), InputLine::Ours(ChatCommand::Title, "My work"));
        assert_eq!(read("/exit"), InputLine::Ours(ChatCommand::Quit, ""));
        assert_eq!(read("/compact now"), InputLine::Prompt("/compact now"));
        assert_eq!(read("//model x"), InputLine::Prompt("/model x"));
        assert_eq!(read("a /quit"), InputLine::Prompt("a /quit"));
    }
}
