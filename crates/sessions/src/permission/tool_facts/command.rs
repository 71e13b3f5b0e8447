//! The commands that a tool's input names, in whatever shape an agent has it.

use serde_json::Value;

use super::paths::expand;
use crate::name_list::names;
use projection::command_line;

/// Members that hold a command, in small letters and without `_` and `-`.
const MEMBERS: &[&str] = names!(
    "argv bash cmd cmdline command commandline commands executable program script shell \
     shellcommand"
);
/// Members that hold the arguments of a program.
const ARGUMENTS: [&str; 7] =
    ["args", "arguments", "cmdargs", "commandargs", "parameters", "params", "subcommand"];
/// Members that may hold a command, of a tool that says nothing else of one.
const MAYBE: [&str; 4] = ["code", "exec", "line", "run"];
/// Members of a tool that runs something which may hold commands as well.
const MAYBE_IF_RUN: [&str; 4] = ["input", "query", "stdin", "text"];
/// Members of a tool that names no command which may hold one.
const MAYBE_WITHOUT: [&str; 2] = ["args", "arguments"];
/// Members that say where a command runs.
const DIRECTORIES: [&str; 6] =
    ["cwd", "dir", "directory", "dirpath", "workdir", "workingdirectory"];
/// Members beside a command that change nothing about what it does, [`DIRECTORIES`] aside.
const HARMLESS: &[&str] = names!(
    "background callid description explanation id isbackground justification login \
     maxoutputtokens messageid mode parsedcmd reason requestid runinbackground sessionid \
     simplecommands timeout timeoutms title toolcallid turnid type yieldtimems"
);
const ENVIRONMENTS: [&str; 3] = ["env", "environment", "envs"];
/// Depth of inputs in each other, also where one is written as the text of another.
const MAX_DEPTH: usize = 8;

/// Whether a command is all that the input is about.
pub(super) fn is_all(input: &Value) -> bool {
    let is_text = |value: &Value| match value {
        Value::Array(words) => words.iter().all(Value::is_string),
        Value::Object(_) => false,
        _ => true,
    };
    let is_fine = |(name, value): (&String, &Value)| {
        let name = plain(name);
        let is_one_of = |names: &[&str]| names.contains(&name.as_str());
        is_one_of(HARMLESS)
            || is_one_of(MEMBERS) && is_text(value)
            || is_one_of(&DIRECTORIES) && (value.is_string() || value.is_null())
    };
    match input {
        Value::Object(members) => members.iter().all(is_fine),
        other => is_text(other),
    }
}

/// The directories in which the input says that its command runs.
pub(super) fn directories(input: &Value) -> Vec<String> {
    let members = input.as_object().into_iter().flatten();
    let members = members.filter(|(name, _)| DIRECTORIES.contains(&plain(name).as_str()));
    members.filter_map(|(_, value)| value.as_str().map(expand)).collect()
}

/// Texts that may be commands, though nothing says so.
pub(super) fn lines(input: &Value, kind: &str) -> Vec<String> {
    let names: Vec<&str> = match kind {
        "execute" => MAYBE.iter().chain(&MAYBE_IF_RUN).copied().collect(),
        "other" | "" => MAYBE.iter().chain(&MAYBE_WITHOUT).copied().collect(),
        _ => return Vec::new(),
    };
    let mut found = Vec::new();
    maybe(input, &names, MAX_DEPTH, &mut found);
    found
}

/// Whether the input holds a program's text, in whatever language.
pub(super) fn has_code(input: &Value) -> bool {
    let mut found = Vec::new();
    maybe(input, &["code"], MAX_DEPTH, &mut found);
    found.iter().any(|text| !text.trim().is_empty())
}

/// Whether the input is not that of reading: words of a command, or a page to be fetched.
pub(super) fn is_no_reading(input: &Value) -> bool {
    let is_page = |value: &Value| {
        let text = value.as_str().unwrap_or_default().trim_start().to_ascii_lowercase();
        text.starts_with("http://") || text.starts_with("https://")
    };
    let are_pages = |value: &Value| match value {
        Value::Array(values) => values.iter().any(is_page),
        other => is_page(other),
    };
    match input {
        Value::Array(words) => words.len() > 1 && words.iter().all(Value::is_string),
        Value::Object(members) => members.iter().any(|(name, value)| {
            ["url", "urls"].contains(&plain(name).as_str()) && are_pages(value)
        }),
        _ => false,
    }
}

/// Whether the input is a text alone, and no path, as far as can be told.
pub(super) fn is_line(input: &Value) -> bool {
    let text = input.as_str().unwrap_or_default();
    inner(text).is_none() && text.trim().contains(char::is_whitespace)
}

fn maybe(input: &Value, names: &[&str], depth: usize, found: &mut Vec<String>) {
    let Some(depth) = depth.checked_sub(1) else { return };
    match input {
        Value::String(text) => inner(text).iter().for_each(|one| maybe(one, names, depth, found)),
        Value::Array(values) => values.iter().for_each(|one| maybe(one, names, depth, found)),
        Value::Object(members) => {
            for (name, value) in members {
                let is_one = names.contains(&plain(name).as_str());
                match value {
                    Value::String(text) if is_one && inner(text).is_none() => {
                        found.push(text.clone());
                    }
                    Value::Array(words) if is_one && words.iter().all(Value::is_string) => {
                        found.extend(argv(value));
                    }
                    other => maybe(other, names, depth, found),
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// A name in small letters, and without `_` and `-`.
fn plain(name: &str) -> String {
    name.to_lowercase().replace(['_', '-'], "")
}

/// All commands of an input, a line each, as a shell would read them, with their environment first.
pub(super) fn command(input: &Value, kind: &str) -> Option<String> {
    let mut found = Vec::new();
    match input {
        // Nothing but the command.
        Value::String(text) if kind == "execute" && inner(text).is_none() => {
            found.push(text.clone());
        }
        Value::Array(_) if kind == "execute" => found.extend(argv(input)),
        _ => look(input, MAX_DEPTH, &mut found),
    }
    let mut lines: Vec<String> = Vec::new();
    for line in found {
        if !lines.contains(&line) {
            lines.push(line);
        }
    }
    (!lines.is_empty()).then(|| lines.join("\n"))
}

fn look(input: &Value, depth: usize, found: &mut Vec<String>) {
    let Some(depth) = depth.checked_sub(1) else { return };
    let members = match input {
        Value::String(text) => return inner(text).iter().for_each(|one| look(one, depth, found)),
        Value::Array(values) => return values.iter().for_each(|one| look(one, depth, found)),
        Value::Object(members) => members,
        _ => return,
    };
    let before = environment(input);
    let is_argument = |name: &str| ARGUMENTS.contains(&plain(name).as_str());
    let following = members.iter().filter(|(name, _)| is_argument(name));
    let following: Vec<String> = following.filter_map(|(_, value)| argument(value)).collect();
    let args = (!following.is_empty()).then(|| following.join(" "));
    for (name, value) in members {
        let name = plain(name);
        let is_nested = |value: &Value| value.is_object() || value.is_array();
        if !MEMBERS.contains(&name.as_str()) || value.is_object() {
            look(value, depth, found);
        } else {
            // In whatever is no word, there may be more.
            let others = value.as_array().into_iter().flatten().filter(|one| is_nested(one));
            others.for_each(|one| look(&named(one), depth, found));
            let lines = match value {
                Value::Array(lines) if name == "commands" => {
                    lines.iter().filter_map(Value::as_str).map(str::to_owned).collect()
                }
                Value::String(text) if inner(text).is_some() => {
                    look(value, depth, found);
                    Vec::new()
                }
                Value::String(text) => vec![text.clone()],
                other => argv(other),
            };
            let whole = |line: String| [before.clone(), Some(line), args.clone()];
            let parts =
                |parts: [Option<String>; 3]| parts.into_iter().flatten().collect::<Vec<_>>();
            found.extend(lines.into_iter().map(|line| parts(whole(line)).join(" ")));
        }
    }
}

/// An object that is written as text.
fn inner(text: &str) -> Option<Value> {
    let is_object = text.trim_start().starts_with('{');
    let read = || serde_json::from_str(&wire::readable(text)).ok();
    is_object.then(read).flatten().filter(Value::is_object)
}

/// A list of words in the place of a command, as a command.
fn named(value: &Value) -> Value {
    match value {
        Value::Array(_) => serde_json::json!({ "command": value }),
        other => other.clone(),
    }
}

fn argument(value: &Value) -> Option<String> {
    match value {
        Value::String(text) if inner(text).is_none() => Some(text.clone()),
        other => joined(other),
    }
}

fn joined(value: &Value) -> Option<String> {
    let words = value.as_array()?;
    let texts = words.iter().filter_map(Value::as_str);
    let is_blank = texts.clone().all(|text| text.trim().is_empty());
    (!words.is_empty()).then(|| if is_blank { String::new() } else { command_line(texts) })
}

/// The words of one command; if the first is no program, they are lines as well.
fn argv(value: &Value) -> Vec<String> {
    let words = value.as_array().into_iter().flatten().filter_map(Value::as_str);
    let is_line = words.clone().next().is_some_and(|first| first.contains(char::is_whitespace));
    let lines = words.filter(|_| is_line).map(str::to_owned);
    joined(value).into_iter().chain(lines).collect()
}

/// `A=1 B=2`
fn environment(input: &Value) -> Option<String> {
    let given = ENVIRONMENTS.iter().map(|name| &input[*name]);
    let pairs: Vec<(String, String)> = given.flat_map(pairs).collect();
    let setting = |(name, value): &(String, String)| {
        format!("{name}={}", command_line(std::iter::once(value.as_str())))
    };
    let settings: Vec<String> = pairs.iter().map(setting).collect();
    (!settings.is_empty()).then(|| settings.join(" "))
}

fn pairs(value: &Value) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    match value {
        Value::Object(members) => {
            members.iter().map(|(name, value)| (name.clone(), text(value))).collect()
        }
        Value::Array(pairs) => {
            let pair = |pair: &Value| match pair.as_str().and_then(|text| text.split_once('=')) {
                Some((name, value)) => (name.to_owned(), value.to_owned()),
                None => (text(&pair["name"]), text(&pair["value"])),
            };
            pairs.iter().map(pair).collect()
        }
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    //! A command is seen in whatever shape it comes.

    use serde_json::json;

    use super::*;

    #[test]
    fn every_shape_is_read() {
        for input in [
            json!("git push"),
            json!(["git", "push"]),
            json!({ "command": "git push" }),
            json!({ "Command": "git push" }),
            json!({ "commandLine": "git push" }),
            json!({ "command_line": "git push" }),
            json!({ "shell_command": "git push" }),
            json!({ "program": "git", "args": ["push"] }),
            json!({ "command": { "program": "git", "args": ["push"] } }),
            json!({ "arguments": "{\"command\":\"git push\"}" }),
            json!("{\"command\":\"git push\"}"),
            json!({ "commands": ["git push"] }),
            json!({ "input": { "cmd": "git push" } }),
            json!({ "command": "git", "arguments": ["push"] }),
            json!({ "command": "git", "args": "push" }),
            json!({ "executable": "git", "params": ["push"] }),
            json!({ "command": [["git", "push"]] }),
            json!({ "command": [{ "cmd": "git push" }] }),
            json!({ "tool_input": { "command": "git push" } }),
            json!({ "action": { "type": "exec", "command": ["git", "push"] } }),
            json!({ "commands": [{ "command": "git push" }] }),
            json!({ "command": ["git push"] }),
            json!(["cd x", "git push"]),
            json!({ "cmdline": "git push" }),
        ] {
            let found = command(&input, "execute").unwrap_or_default();
            assert!(found.lines().any(|line| line.trim() == "git push"), "{input}: {found}");
        }
        assert_eq!(command(&json!("a note"), "think"), None);
        assert_eq!(command(&json!({ "path": "x" }), "execute"), None);
    }

    #[test]
    fn all_that_is_named_is_seen() {
        for (input, seen) in [
            (json!({ "command": "ls", "cmd": "git push" }), "git push\nls"),
            (json!({ "commands": ["ls", "git push"] }), "ls\ngit push"),
            (json!({ "command": "cargo test", "env": { "A": "x y" } }), "A='x y' cargo test"),
            (json!({ "command": ["sh", "-c", "a b"] }), "sh -c 'a b'"),
        ] {
            let found = command(&input, "execute").unwrap();
            let mut lines: Vec<&str> = found.lines().collect();
            let mut wanted: Vec<&str> = seen.lines().collect();
            lines.sort_unstable();
            wanted.sort_unstable();
            assert_eq!(lines, wanted, "{input}");
        }
    }
}
