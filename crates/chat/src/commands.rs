//! Slash commands: ours, which are done here, and the agent's, which are prompts.

/// A command of ours.
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

/// What a typed text is.
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

#[cfg(test)]
mod tests {
    use super::{Command, Typed, read};

    #[test]
    fn ours_are_done_here_and_the_rest_goes_to_the_agent() {
        assert_eq!(read("/title  My work "), Typed::Ours(Command::Title, "My work"));
        assert_eq!(read("/exit"), Typed::Ours(Command::Quit, ""));
        assert_eq!(read("/compact now"), Typed::Prompt("/compact now"));
        assert_eq!(read("//model x"), Typed::Prompt("/model x"));
        assert_eq!(read("a /quit"), Typed::Prompt("a /quit"));
    }
}
