//! The script of a prompt: parses it into commands, which are listed in one table, and runs them.
//!
//! In: the prompt. Out: the turn's outcome, and what its commands do to the turn. The table is the
//! only list there is: `help`, the announced slash commands and the lookup all read it; what each
//! command does stands below it. A missing or unreadable argument is [`UsageError`], which tells the
//! user the command's syntax.

mod client;
mod misbehave;
mod process;
mod text;
mod tools;
mod updates;

pub(super) use process::flood_stderr;

use super::ConnectionEnd;
use super::turn::{DemoTurn, OnCancel, PromptOutcome};
use CommandRow::{Announced, Command, Heading};
use client::TerminalEnd;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::str::FromStr;
use std::time::Duration;
use tools::PretendedCall;
use wire::RpcError;

const END_TURN: &str = "end_turn";

/// A heading, or the name of a command, its arguments and what it does.
enum CommandRow {
    Heading(&'static str),
    Command(&'static str, &'static str, &'static str),
    /// Announced to clients as a slash command.
    Announced(&'static str, &'static str, &'static str),
}

/// The commands under their headings.
const COMMANDS: &[CommandRow] = &[
    Heading("Say something"),
    Announced("help", "", "list the commands"),
    Announced("echo", "TEXT", "answer TEXT in one chunk"),
    Announced("say", "TEXT", "answer TEXT word by word"),
    Command("text", "N [BYTES]", "N numbered chunks of BYTES bytes"),
    Announced("markdown", "", "a sample with heading, list, table and code"),
    Command("unicode", "", "text that is hard on renderers"),
    Command("empty", "", "an empty chunk"),
    Announced("think", "TEXT", "a thought, word by word"),
    Announced("image", "", "a tiny picture"),
    Announced("slow", "N MS", "N chunks, MS milliseconds apart"),
    Heading("Pretend to use a tool"),
    Announced(
        "tool",
        "KIND",
        "a tool call: read edit delete move search execute think fetch switch_mode other",
    ),
    Command("tool-fail", "", "a tool call that fails"),
    Command("tool-unclosed", "", "a tool call that never completes"),
    Command("tool-update-first", "", "an update of a tool call that was never announced"),
    Announced("diff", "[PATH]", "an edit with a diff"),
    Heading("Tell the client about the session"),
    Announced("plan", "", "a plan that progresses to its end"),
    Announced("usage", "", "tokens and cost so far"),
    Announced("title", "TEXT", "name the session"),
    Command("commands", "", "announce the slash commands again"),
    Command("mode", "ID", "change the mode by myself"),
    Command("notice", "TEXT", "a notice, if the client shows them"),
    Command("compaction", "", "pretend to compact, if the client shows it"),
    Command("unknown-update", "", "an update of a kind nobody knows"),
    Command("update", "JSON", "send JSON as the update, byte for byte"),
    Heading("Ask the user"),
    Announced("permission", "[KIND] [COMMAND or PATH]", "ask before a tool call"),
    Command("permission-odd", "", "ask with only `always allow` and `reject`"),
    Command("permission-twice", "", "two questions at once"),
    Command("permission-hang", "", "ask, then hang whatever the answer is"),
    Announced("ask", "NAME", "a form with a text, a choice and a switch"),
    Heading("Use what the client offers"),
    Announced("read", "PATH [LINE LIMIT]", "read a file through the client"),
    Announced("write", "PATH TEXT", "write a file through the client"),
    Announced("run", "CMD ARGS...", "run a command in a terminal of the client"),
    Command("terminal-kill", "CMD ARGS...", "start a command in a terminal and kill it"),
    Command("terminal-leave", "CMD ARGS...", "start a command in a terminal and leave it"),
    Command("call", "METHOD JSON", "send any request and show the raw answer"),
    Command("notify", "METHOD JSON", "send any notification"),
    Heading("Remember, and talk about myself"),
    Announced("remember", "TEXT", "keep a note in this session"),
    Announced("recall", "", "what I remember of this session"),
    Command("cwd", "", "the working directory of the session"),
    Command("env", "NAME", "a variable of my environment"),
    Command("pid", "", "my process id"),
    Command("echo-prompt", "", "the raw JSON of this prompt"),
    Heading("End the turn in some way"),
    Command("stop", "REASON", "end the turn with any stop reason"),
    Command("fail", "CODE MESSAGE", "answer the prompt with an error"),
    Command("provider-error", "", "end well after text that looks like an API failure"),
    Command("sleep", "MS", "wait"),
    Command("silence", "MS", "say nothing for a while"),
    Command("hang", "", "never answer until cancelled"),
    Command("hang-hard", "", "never answer, not even when cancelled"),
    Heading("Misbehave as a process"),
    Command("crash", "[CODE | before-tool | during-tool | after-tool]", "exit at once"),
    Command("abort", "", "die by a signal"),
    Command("stuck", "", "stop reading stdin and go on"),
    Command("stderr", "N", "N lines on stderr"),
    Command("stderr-flood", "BYTES", "BYTES bytes on stderr before anything else"),
    Command("children", "N [DEPTH]", "start descendants that ignore signals"),
    Command("no-newline", "TEXT", "a last line without its newline, then exit"),
    Heading("Misbehave in the protocol"),
    Command("flood", "N [BYTES]", "N numbered chunks as fast as possible"),
    Command("big", "BYTES", "one line with BYTES bytes of text"),
    Command("garbage", "", "lines that are no messages, between good ones"),
    Command("bad-utf8", "", "a line that is not UTF-8, between good ones"),
    Command("deep", "N", "an update with N nested arrays"),
    Command("dup-id", "", "two requests with the same id"),
    Command("collide", "", "a request with the id of this prompt"),
    Command("dup-response", "", "answer this prompt twice"),
    Command("late", "N", "N updates after the answer"),
    Command("after-cancel", "N", "wait; when cancelled, N updates and then the answer"),
    Command("unknown-response", "", "an answer to a question never asked"),
];

/// Runs the script of a prompt: commands in order, and the first one that ends the turn is the last
/// one that runs. A prompt that does not begin with a command is answered in words.
pub(super) async fn run(turn: &DemoTurn) -> PromptOutcome {
    let prompt = &turn.prompt;
    if !prompt.attachments.is_empty() {
        turn.say(format!("You attached {}.\n", prompt.attachments.join(" "))).await;
    }
    let lines = split(request(&prompt.text));
    let is_script = lines.first().is_some_and(|(name, _)| syntax(name).is_some());
    if !is_script || is_greeting(&lines) {
        text::stream(turn, text::GREETING).await;
        return Ok(END_TURN.to_owned());
    }
    for (name, rest) in lines {
        let Some(arguments) = syntax(name) else {
            turn.say(format!("I do not know `{name}`; `help` lists what I do know.\n")).await;
            continue;
        };
        // Boxed, because the state of all commands together is large and each turn holds it.
        match Box::pin(perform(turn, name, ScriptArguments::new(rest))).await {
            Ok(None) => {}
            Ok(Some(outcome)) => return outcome,
            Err(UsageError) => turn.say(format!("usage: {name} {arguments}\n")).await,
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

/// The arguments of a command; none if there is no such command.
fn syntax(wanted: &str) -> Option<&'static str> {
    COMMANDS.iter().find_map(|row| match row {
        Command(name, arguments, _) | Announced(name, arguments, _) if *name == wanted => {
            Some(*arguments)
        }
        _ => None,
    })
}

/// Runs one command; gives the turn's outcome if it ends the turn.
async fn perform(
    turn: &DemoTurn,
    name: &str,
    mut arguments: ScriptArguments<'_>,
) -> Result<Option<PromptOutcome>, UsageError> {
    match name {
        "help" => turn.say(help()).await,
        "echo" => turn.say(arguments.rest()).await,
        "say" => text::stream(turn, arguments.need_rest()?).await,
        "text" => text::numbered(turn, arguments.number()?, arguments.number_or(0)?, 0).await,
        "markdown" => turn.say(text::MARKDOWN).await,
        "unicode" => turn.say(text::UNICODE).await,
        "empty" => turn.say("").await,
        "think" => {
            for word in arguments.need_rest()?.split_inclusive(' ') {
                turn.think(word).await;
            }
        }
        "image" => text::image(turn).await,
        "slow" => text::numbered(turn, arguments.number()?, 0, arguments.number()?).await,

        "tool" => {
            let call = PretendedCall::new(turn, tools::kind(arguments.need_word()?)?, None);
            call.announce(turn).await;
            call.begin(turn).await;
            call.complete(turn).await;
        }
        "tool-fail" | "tool-unclosed" => {
            let call = PretendedCall::new(turn, "execute", None);
            call.announce(turn).await;
            call.begin(turn).await;
            if name == "tool-fail" {
                call.fail(turn, "exit status 1").await;
            }
        }
        "tool-update-first" => {
            let call = PretendedCall::new(turn, "read", None);
            call.begin(turn).await;
            call.complete(turn).await;
        }
        "diff" => {
            let call = PretendedCall::new(turn, "edit", arguments.word());
            call.announce(turn).await;
            call.complete(turn).await;
        }

        "plan" => updates::plan(turn).await,
        "usage" => updates::usage(turn).await,
        "title" => updates::title(turn, arguments.need_rest()?).await,
        "commands" => turn.update(available()).await,
        "mode" => updates::mode(turn, arguments.need_word()?).await,
        "notice" => updates::notice(turn, arguments.need_rest()?).await,
        "compaction" => updates::compaction(turn).await,
        "unknown-update" => updates::raw(turn, updates::UNKNOWN_UPDATE).await,
        "update" => updates::raw(turn, json_text(arguments.need_rest()?)?).await,

        "permission" => tools::ask_about(turn, arguments.rest()).await,
        "permission-odd" => {
            tools::ask_for(turn, &PretendedCall::new(turn, "execute", None), tools::ODD).await;
        }
        "permission-twice" => tools::ask_twice(turn).await,
        "permission-hang" => {
            tools::ask_for(turn, &PretendedCall::new(turn, "execute", None), tools::ALL).await;
            std::future::pending::<()>().await;
        }
        "ask" => tools::form(turn, arguments.need_rest()?).await,

        "read" => client::read(turn, arguments).await?,
        "write" => {
            let path = client::absolute(turn, arguments.need_word()?);
            client::write(turn, &path, arguments.rest()).await;
        }
        "run" => client::terminal(turn, &arguments.argv()?, TerminalEnd::Wait).await,
        "terminal-kill" => client::terminal(turn, &arguments.argv()?, TerminalEnd::Kill).await,
        "terminal-leave" => client::terminal(turn, &arguments.argv()?, TerminalEnd::Leave).await,
        "call" => {
            let method = arguments.need_word()?;
            let answer = turn.connection.call(method, arguments.json_or_object()?).await;
            turn.say(client::report(&answer)).await;
        }
        "notify" => {
            let method = arguments.need_word()?;
            turn.raw(wire::notification_line(method, arguments.json_or_object()?)).await;
        }

        "remember" => text::remember(turn, arguments.need_rest()?).await,
        "recall" => turn.say(text::recall(turn)).await,
        "cwd" => turn.say(format!("{}\n", turn.cwd())).await,
        "env" => turn.say(text::variable(arguments.need_word()?)).await,
        "pid" => turn.say(format!("{}\n", std::process::id())).await,
        "echo-prompt" => turn.say(turn.blocks.get()).await,

        "stop" => return Ok(Some(Ok(arguments.need_word()?.to_owned()))),
        "fail" => {
            let code = arguments.number()?;
            return Ok(Some(Err(RpcError::new(code, arguments.need_rest()?))));
        }
        "provider-error" => {
            turn.say(text::PROVIDER_ERROR).await;
            return Ok(Some(Ok(END_TURN.to_owned())));
        }
        "sleep" | "silence" => {
            tokio::time::sleep(Duration::from_millis(arguments.number()?)).await;
        }
        "hang" => std::future::pending::<()>().await,
        "hang-hard" => {
            turn.end_options().on_cancel = OnCancel::Ignore;
            std::future::pending::<()>().await;
        }

        "crash" => process::crash(turn, arguments.word()).await?,
        "abort" => turn.connection.order_the_end(ConnectionEnd::Abort).await,
        "stuck" => process::stop_reading(turn).await,
        "stderr" => process::write_lines(arguments.number()?).await,
        "stderr-flood" => flood_stderr(arguments.number()?).await,
        "children" => {
            let pids = process::children(arguments.number()?, arguments.number_or(1)?).await;
            turn.say(pids).await;
        }
        "no-newline" => {
            turn.raw(turn.chunk_line(arguments.rest()).trim_end().to_owned()).await;
            turn.connection.order_the_end(ConnectionEnd::Exit(0)).await;
        }

        "flood" => misbehave::flood(turn, arguments.number()?, arguments.number_or(0)?).await,
        "big" => misbehave::big(turn, arguments.number()?).await,
        "garbage" => misbehave::garbage(turn).await,
        "bad-utf8" => misbehave::bad_utf8(turn).await,
        "deep" => misbehave::deep(turn, arguments.number()?).await,
        "dup-id" => misbehave::dup_id(turn).await,
        "collide" => misbehave::collide(turn).await,
        "dup-response" => turn.end_options().answers_twice = true,
        "late" => turn.end_options().n_late_updates = arguments.number()?,
        "after-cancel" => {
            turn.end_options().on_cancel = OnCancel::Linger(arguments.number()?);
            std::future::pending::<()>().await;
        }
        "unknown-response" => {
            turn.raw("{\"jsonrpc\":\"2.0\",\"id\":987654321,\"result\":{}}\n").await;
        }
        _ => return Err(UsageError),
    }
    Ok(None)
}

/// The `available_commands_update` of this agent: what a person might want to type.
pub(super) fn available() -> Value {
    let listed = COMMANDS.iter().filter_map(|row| {
        let Announced(name, arguments, about) = row else { return None };
        let mut entry = json!({ "name": name, "description": about });
        if !arguments.is_empty() {
            entry["input"] = json!({ "hint": arguments });
        }
        Some(entry)
    });
    let listed: Vec<Value> = listed.collect();
    json!({ "sessionUpdate": "available_commands_update", "availableCommands": listed })
}

fn help() -> String {
    let mut text = String::from(
        "I am the demo agent. A prompt is a script: one command per line, or several with ` ; ` \
         between them.\n",
    );
    for row in COMMANDS {
        let _ = match row {
            Heading(title) => write!(text, "\n**{title}**\n\n"),
            Command(name, arguments, about) | Announced(name, arguments, about) => {
                let syntax = format!("{name} {arguments}");
                writeln!(text, "- `{}`: {about}", syntax.trim_end())
            }
        };
    }
    text
}

/// The text, if it is JSON.
fn json_text(text: &str) -> Result<&str, UsageError> {
    serde_json::from_str::<&RawValue>(text).map_err(|_| UsageError)?;
    Ok(text)
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

    /// The rest as JSON; an empty object if there is none.
    fn json_or_object(self) -> Result<&'a str, UsageError> {
        if self.rest.is_empty() { Ok("{}") } else { json_text(self.rest) }
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
