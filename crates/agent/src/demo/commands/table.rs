//! The table of commands.
//!
//! In: nothing. Out: name, arguments, group and one line about each command.
//! Every name is there once.

pub(in crate::demo) struct Command {
    pub(super) name: &'static str,
    pub(super) arguments: &'static str,
    pub(super) group: Group,
    pub(super) about: &'static str,
    /// Whether clients hear of it as a slash command.
    pub(super) is_announced: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Group {
    Text,
    Tools,
    Updates,
    Permission,
    Client,
    Myself,
    Ends,
    Process,
    Misbehave,
}

impl Group {
    pub(super) const ALL: [Self; 9] = [
        Self::Text,
        Self::Tools,
        Self::Updates,
        Self::Permission,
        Self::Client,
        Self::Myself,
        Self::Ends,
        Self::Process,
        Self::Misbehave,
    ];

    pub(super) fn title(self) -> &'static str {
        match self {
            Self::Text => "Say something",
            Self::Tools => "Pretend to use a tool",
            Self::Updates => "Tell the client about the session",
            Self::Permission => "Ask the user",
            Self::Client => "Use what the client offers",
            Self::Myself => "Remember, and talk about myself",
            Self::Ends => "End the turn in some way",
            Self::Process => "Misbehave as a process",
            Self::Misbehave => "Misbehave in the protocol",
        }
    }
}

const fn command(
    group: Group,
    name: &'static str,
    arguments: &'static str,
    about: &'static str,
) -> Command {
    Command { name, arguments, group, about, is_announced: false }
}

/// A command that clients hear of.
const fn shown(
    group: Group,
    name: &'static str,
    arguments: &'static str,
    about: &'static str,
) -> Command {
    Command { name, arguments, group, about, is_announced: true }
}

use Group::{Client, Ends, Misbehave, Myself, Permission, Process, Text, Tools, Updates};

pub(super) const COMMANDS: &[Command] = &[
    shown(Text, "help", "", "list the commands"),
    shown(Text, "echo", "TEXT", "answer TEXT in one chunk"),
    shown(Text, "say", "TEXT", "answer TEXT word by word"),
    command(Text, "text", "N [BYTES]", "N numbered chunks of BYTES bytes"),
    shown(Text, "markdown", "", "a sample with heading, list, table and code"),
    command(Text, "unicode", "", "text that is hard on renderers"),
    command(Text, "empty", "", "an empty chunk"),
    shown(Text, "think", "TEXT", "a thought, word by word"),
    shown(Text, "image", "", "a tiny picture"),
    shown(Text, "slow", "N MS", "N chunks, MS milliseconds apart"),
    shown(
        Tools,
        "tool",
        "KIND",
        "a tool call: read edit delete move search execute think fetch switch_mode other",
    ),
    command(Tools, "tool-fail", "", "a tool call that fails"),
    command(Tools, "tool-unclosed", "", "a tool call that never completes"),
    command(Tools, "tool-update-first", "", "an update of a tool call that was never announced"),
    shown(Tools, "diff", "[PATH]", "an edit with a diff"),
    shown(Updates, "plan", "", "a plan that progresses to its end"),
    shown(Updates, "usage", "", "tokens and cost so far"),
    shown(Updates, "title", "TEXT", "name the session"),
    command(Updates, "commands", "", "announce the slash commands again"),
    command(Updates, "mode", "ID", "change the mode by myself"),
    command(Updates, "notice", "TEXT", "a notice, if the client shows them"),
    command(Updates, "compaction", "", "pretend to compact, if the client shows it"),
    command(Updates, "unknown-update", "", "an update of a kind nobody knows"),
    command(Updates, "update", "JSON", "send JSON as the update, byte for byte"),
    shown(Permission, "permission", "[KIND] [COMMAND or PATH]", "ask before a tool call"),
    command(Permission, "permission-odd", "", "ask with only `always allow` and `reject`"),
    command(Permission, "permission-twice", "", "two questions at once"),
    command(Permission, "permission-hang", "", "ask, then hang whatever the answer is"),
    shown(Permission, "ask", "NAME", "a form with a text, a choice and a switch"),
    shown(Client, "read", "PATH [LINE LIMIT]", "read a file through the client"),
    shown(Client, "write", "PATH TEXT", "write a file through the client"),
    shown(Client, "run", "CMD ARGS...", "run a command in a terminal of the client"),
    command(Client, "terminal-kill", "CMD ARGS...", "start a command in a terminal and kill it"),
    command(Client, "terminal-leave", "CMD ARGS...", "start a command in a terminal and leave it"),
    command(Client, "call", "METHOD JSON", "send any request and show the raw answer"),
    command(Client, "notify", "METHOD JSON", "send any notification"),
    shown(Myself, "remember", "TEXT", "keep a note in this session"),
    shown(Myself, "recall", "", "what I remember of this session"),
    command(Myself, "cwd", "", "the working directory of the session"),
    command(Myself, "env", "NAME", "a variable of my environment"),
    command(Myself, "pid", "", "my process id"),
    command(Myself, "echo-prompt", "", "the raw JSON of this prompt"),
    command(Ends, "stop", "REASON", "end the turn with any stop reason"),
    command(Ends, "fail", "CODE MESSAGE", "answer the prompt with an error"),
    command(Ends, "provider-error", "", "end well after text that looks like an API failure"),
    command(Ends, "sleep", "MS", "wait"),
    command(Ends, "silence", "MS", "say nothing for a while"),
    command(Ends, "hang", "", "never answer until cancelled"),
    command(Ends, "hang-hard", "", "never answer, not even when cancelled"),
    command(Process, "crash", "[CODE | before-tool | during-tool | after-tool]", "exit at once"),
    command(Process, "abort", "", "die by a signal"),
    command(Process, "stuck", "", "stop reading stdin and go on"),
    command(Process, "stderr", "N", "N lines on stderr"),
    command(Process, "stderr-flood", "BYTES", "BYTES bytes on stderr before anything else"),
    command(Process, "children", "N [DEPTH]", "start descendants that ignore signals"),
    command(Process, "no-newline", "TEXT", "a last line without its newline, then exit"),
    command(Misbehave, "flood", "N [BYTES]", "N numbered chunks as fast as possible"),
    command(Misbehave, "big", "BYTES", "one line with BYTES bytes of text"),
    command(Misbehave, "garbage", "", "lines that are no messages, between good ones"),
    command(Misbehave, "bad-utf8", "", "a line that is not UTF-8, between good ones"),
    command(Misbehave, "deep", "N", "an update with N nested arrays"),
    command(Misbehave, "dup-id", "", "two requests with the same id"),
    command(Misbehave, "collide", "", "a request with the id of this prompt"),
    command(Misbehave, "dup-response", "", "answer this prompt twice"),
    command(Misbehave, "late", "N", "N updates after the answer"),
    command(Misbehave, "after-cancel", "N", "wait; when cancelled, N updates and then the answer"),
    command(Misbehave, "unknown-response", "", "an answer to a question never asked"),
];
