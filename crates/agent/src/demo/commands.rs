//! The script of a prompt: parses it into commands, which are listed in one table, and runs them.
//!
//! In: the prompt. Out: the turn's outcome, and what its commands do to the turn. The table is the
//! only list there is: `help`, the announced slash commands and the lookup all read it, and every
//! name is there once. A missing or unreadable argument is [`UsageError`], which tells the user the
//! command's syntax.

mod client;
mod misbehave;
mod process;
mod text;
mod tools;
mod updates;

pub(super) use process::flood_stderr;

use super::turn::{DemoTurn, PromptOutcome};
use CommandGroup::{Client, Misbehave, Process, Text, Tools, Updates};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::str::FromStr;

const END_TURN: &str = "end_turn";

/// How a script goes on after a command.
enum ScriptFlow {
    Next,
    End(PromptOutcome),
}

/// The result of a command's code.
type ScriptResult = Result<ScriptFlow, UsageError>;

struct ScriptCommand {
    name: &'static str,
    arguments: &'static str,
    about: &'static str,
    /// Announced to clients as a slash command.
    is_announced: bool,
}

/// The file that has a command's code.
#[derive(Clone, Copy)]
enum CommandGroup {
    Text,
    Tools,
    Updates,
    Client,
    Process,
    Misbehave,
}

const fn command(
    name: &'static str,
    arguments: &'static str,
    about: &'static str,
) -> ScriptCommand {
    ScriptCommand { name, arguments, about, is_announced: false }
}

/// A command that is announced to clients as a slash command.
const fn announced_command(
    name: &'static str,
    arguments: &'static str,
    about: &'static str,
) -> ScriptCommand {
    ScriptCommand { is_announced: true, ..command(name, arguments, about) }
}

/// The commands under their headings.
const GROUPS: &[(CommandGroup, &str, &[ScriptCommand])] = &[
    (
        Text,
        "Say something",
        &[
            announced_command("help", "", "list the commands"),
            announced_command("echo", "TEXT", "answer TEXT in one chunk"),
            announced_command("say", "TEXT", "answer TEXT word by word"),
            command("text", "N [BYTES]", "N numbered chunks of BYTES bytes"),
            announced_command("markdown", "", "a sample with heading, list, table and code"),
            command("unicode", "", "text that is hard on renderers"),
            command("empty", "", "an empty chunk"),
            announced_command("think", "TEXT", "a thought, word by word"),
            announced_command("image", "", "a tiny picture"),
            announced_command("slow", "N MS", "N chunks, MS milliseconds apart"),
        ],
    ),
    (
        Tools,
        "Pretend to use a tool",
        &[
            announced_command(
                "tool",
                "KIND",
                "a tool call: read edit delete move search execute think fetch switch_mode other",
            ),
            command("tool-fail", "", "a tool call that fails"),
            command("tool-unclosed", "", "a tool call that never completes"),
            command("tool-update-first", "", "an update of a tool call that was never announced"),
            announced_command("diff", "[PATH]", "an edit with a diff"),
        ],
    ),
    (
        Updates,
        "Tell the client about the session",
        &[
            announced_command("plan", "", "a plan that progresses to its end"),
            announced_command("usage", "", "tokens and cost so far"),
            announced_command("title", "TEXT", "name the session"),
            command("commands", "", "announce the slash commands again"),
            command("mode", "ID", "change the mode by myself"),
            command("notice", "TEXT", "a notice, if the client shows them"),
            command("compaction", "", "pretend to compact, if the client shows it"),
            command("unknown-update", "", "an update of a kind nobody knows"),
            command("update", "JSON", "send JSON as the update, byte for byte"),
        ],
    ),
    (
        Tools,
        "Ask the user",
        &[
            announced_command("permission", "[KIND] [COMMAND or PATH]", "ask before a tool call"),
            command("permission-odd", "", "ask with only `always allow` and `reject`"),
            command("permission-twice", "", "two questions at once"),
            command("permission-hang", "", "ask, then hang whatever the answer is"),
            announced_command("ask", "NAME", "a form with a text, a choice and a switch"),
        ],
    ),
    (
        Client,
        "Use what the client offers",
        &[
            announced_command("read", "PATH [LINE LIMIT]", "read a file through the client"),
            announced_command("write", "PATH TEXT", "write a file through the client"),
            announced_command("run", "CMD ARGS...", "run a command in a terminal of the client"),
            command("terminal-kill", "CMD ARGS...", "start a command in a terminal and kill it"),
            command("terminal-leave", "CMD ARGS...", "start a command in a terminal and leave it"),
            command("call", "METHOD JSON", "send any request and show the raw answer"),
            command("notify", "METHOD JSON", "send any notification"),
        ],
    ),
    (
        Text,
        "Remember, and talk about myself",
        &[
            announced_command("remember", "TEXT", "keep a note in this session"),
            announced_command("recall", "", "what I remember of this session"),
            command("cwd", "", "the working directory of the session"),
            command("env", "NAME", "a variable of my environment"),
            command("pid", "", "my process id"),
            command("echo-prompt", "", "the raw JSON of this prompt"),
        ],
    ),
    (
        Text,
        "End the turn in some way",
        &[
            command("stop", "REASON", "end the turn with any stop reason"),
            command("fail", "CODE MESSAGE", "answer the prompt with an error"),
            command("provider-error", "", "end well after text that looks like an API failure"),
            command("sleep", "MS", "wait"),
            command("silence", "MS", "say nothing for a while"),
            command("hang", "", "never answer until cancelled"),
            command("hang-hard", "", "never answer, not even when cancelled"),
        ],
    ),
    (
        Process,
        "Misbehave as a process",
        &[
            command("crash", "[CODE | before-tool | during-tool | after-tool]", "exit at once"),
            command("abort", "", "die by a signal"),
            command("stuck", "", "stop reading stdin and go on"),
            command("stderr", "N", "N lines on stderr"),
            command("stderr-flood", "BYTES", "BYTES bytes on stderr before anything else"),
            command("children", "N [DEPTH]", "start descendants that ignore signals"),
            command("no-newline", "TEXT", "a last line without its newline, then exit"),
        ],
    ),
    (
        Misbehave,
        "Misbehave in the protocol",
        &[
            command("flood", "N [BYTES]", "N numbered chunks as fast as possible"),
            command("big", "BYTES", "one line with BYTES bytes of text"),
            command("garbage", "", "lines that are no messages, between good ones"),
            command("bad-utf8", "", "a line that is not UTF-8, between good ones"),
            command("deep", "N", "an update with N nested arrays"),
            command("dup-id", "", "two requests with the same id"),
            command("collide", "", "a request with the id of this prompt"),
            command("dup-response", "", "answer this prompt twice"),
            command("late", "N", "N updates after the answer"),
            command("after-cancel", "N", "wait; when cancelled, N updates and then the answer"),
            command("unknown-response", "", "an answer to a question never asked"),
        ],
    ),
];

/// Runs the script of a prompt: commands in order, and the first one that ends the turn is the last
/// one that runs. A prompt that does not begin with a command is answered in words.
pub(super) async fn run(turn: &DemoTurn) -> PromptOutcome {
    let prompt = &turn.prompt;
    if !prompt.attachments.is_empty() {
        turn.say(format!("You attached {}.\n", prompt.attachments.join(" "))).await;
    }
    let lines = split(request(&prompt.text));
    let is_script = lines.first().is_some_and(|(name, _)| find(name).is_some());
    if !is_script || is_greeting(&lines) {
        text::converse(turn).await;
        return Ok(END_TURN.to_owned());
    }
    for (name, rest) in lines {
        let Some((group, command)) = find(name) else {
            turn.say(format!("I do not know `{name}`; `help` lists what I do know.\n")).await;
            continue;
        };
        match perform(turn, group, command, rest).await {
            ScriptFlow::Next => {}
            ScriptFlow::End(outcome) => return outcome,
        }
    }
    Ok(END_TURN.to_owned())
}

/// The request in a prompt, without what clients put before it: instructions, then a heading.
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

fn all() -> impl Iterator<Item = (CommandGroup, &'static ScriptCommand)> {
    GROUPS.iter().flat_map(|(group, _, commands)| commands.iter().map(|it| (*group, it)))
}

fn find(name: &str) -> Option<(CommandGroup, &'static ScriptCommand)> {
    all().find(|(_, command)| command.name == name)
}

async fn perform(
    turn: &DemoTurn,
    group: CommandGroup,
    command: &ScriptCommand,
    rest: &str,
) -> ScriptFlow {
    let name = command.name;
    let arguments = ScriptArguments::new(rest);
    // Boxed, because the state of all commands together would be large and each turn holds it.
    let done = match group {
        Text => Box::pin(text::perform(turn, name, arguments)).await,
        Tools => Box::pin(tools::perform(turn, name, arguments)).await,
        Updates => Box::pin(updates::perform(turn, name, arguments)).await,
        Client => Box::pin(client::perform(turn, name, arguments)).await,
        Process => Box::pin(process::perform(turn, name, arguments)).await,
        Misbehave => Box::pin(misbehave::perform(turn, name, arguments)).await,
    };
    if let Ok(flow) = done {
        return flow;
    }
    turn.say(format!("usage: {} {}\n", command.name, command.arguments)).await;
    ScriptFlow::Next
}

/// The `available_commands_update` of this agent: what a person might want to type.
pub(super) fn available() -> Value {
    let announced = all().map(|(_, command)| command).filter(|command| command.is_announced);
    let listed: Vec<Value> = announced
        .map(|command| {
            let mut entry = json!({ "name": command.name, "description": command.about });
            if !command.arguments.is_empty() {
                entry["input"] = json!({ "hint": command.arguments });
            }
            entry
        })
        .collect();
    json!({ "sessionUpdate": "available_commands_update", "availableCommands": listed })
}

fn help() -> String {
    let mut text = String::from(
        "I am the demo agent. A prompt is a script: one command per line, or several with ` ; ` \
         between them.\n",
    );
    for (_, title, commands) in GROUPS {
        let _ = write!(text, "\n**{title}**\n\n");
        for command in *commands {
            let syntax = format!("{} {}", command.name, command.arguments);
            let _ = writeln!(text, "- `{}`: {}", syntax.trim_end(), command.about);
        }
    }
    text
}

/// The arguments do not fit the command.
struct UsageError;

/// The words after a command, taken one by one.
struct ScriptArguments<'a> {
    rest: &'a str,
}

impl<'a> ScriptArguments<'a> {
    fn new(rest: &'a str) -> Self {
        Self { rest: rest.trim() }
    }

    fn word(&mut self) -> Option<&'a str> {
        if self.rest.is_empty() {
            return None;
        }
        let (word, rest) = self.rest.split_once(char::is_whitespace).unwrap_or((self.rest, ""));
        self.rest = rest.trim_start();
        Some(word)
    }

    fn need_word(&mut self) -> Result<&'a str, UsageError> {
        self.word().ok_or(UsageError)
    }

    fn number<T: FromStr>(&mut self) -> Result<T, UsageError> {
        self.need_word()?.parse().map_err(|_| UsageError)
    }

    fn number_or<T: FromStr>(&mut self, default: T) -> Result<T, UsageError> {
        match self.word() {
            Some(word) => word.parse().map_err(|_| UsageError),
            None => Ok(default),
        }
    }

    fn rest(self) -> &'a str {
        self.rest
    }

    fn need_rest(self) -> Result<&'a str, UsageError> {
        if self.rest.is_empty() { Err(UsageError) } else { Ok(self.rest) }
    }

    /// The remaining words as an argv. Quotes keep words together, as in a shell, and that is all
    /// they do.
    fn argv(self) -> Result<Vec<String>, UsageError> {
        let mut argv = Vec::new();
        let mut word: Option<String> = None;
        let mut quote = None;
        for character in self.rest.chars() {
            match quote {
                Some(open) if character == open => quote = None,
                None if character == '"' || character == '\'' => {
                    quote = Some(character);
                    word.get_or_insert_default();
                }
                None if character.is_whitespace() => argv.extend(word.take()),
                Some(_) | None => word.get_or_insert_default().push(character),
            }
        }
        argv.extend(word);
        if quote.is_some() || argv.is_empty() { Err(UsageError) } else { Ok(argv) }
    }
}

#[cfg(test)]
mod tests;
