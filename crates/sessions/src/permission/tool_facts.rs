//! What is known of a tool call, as far as somebody who judges it wants to know.
//!
//! Read from updates and permission requests of the agent, each of which may say a part of it.
//! Bounded: an agent chooses how much it says, and its calls are kept until the turn ends.

use std::collections::{BTreeMap, VecDeque};
use std::iter;

use serde_json::Value;

use super::question::READING_KINDS;

mod change;
mod command;
mod named;

/// Members of a tool's input that hold a path, as agents are known to name them.
const PATH_MEMBERS: [&str; 22] = [
    "path",
    "file_path",
    "filePath",
    "filepath",
    "filename",
    "file",
    "abs_path",
    "absolute_path",
    "notebook_path",
    "directory",
    "source",
    "destination",
    "old_path",
    "new_path",
    "oldPath",
    "newPath",
    "target",
    "target_file",
    "targetFile",
    "uri",
    "from",
    "to",
];
/// Members that say where other paths begin.
const BASE_MEMBERS: [&str; 7] =
    ["cwd", "workdir", "working_directory", "workingDirectory", "base", "root", "directory"];
/// Members with several paths.
const LIST_MEMBERS: [&str; 4] = ["files", "paths", "file_paths", "filePaths"];
/// What may stand between them, if they are one text.
const SEPARATORS: &[char] = &[',', ';', ':', '|', ' ', '\t', '\n', '\r', '"', '\'', '[', ']'];

/// Paths of one call that are looked at, and what they may hold: an agent that names more is not
/// allowed the call.
const MAX_PATHS: usize = 1024;
const MAX_PATH_BYTES: usize = 1 << 20;
/// What a path takes beside its text.
const TEXT_OVERHEAD: usize = 48;

/// Calls of one turn that are remembered, and what they hold in all.
const MAX_CALLS: usize = 512;
const MAX_BYTES: usize = 4 << 20;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolFacts {
    pub title: String,
    pub kind: String,
    /// As the agent wrote them.
    pub paths: Vec<String>,
    pub command: Option<String>,
    /// It runs something, even if it does not say what, and whatever its kind.
    pub is_run: bool,
    /// It shows a program's text: what is run by a call that says it only reads, and else may be
    /// what it writes.
    has_code: bool,
    /// Texts beside the command that may be commands, a line or several each.
    pub lines: Vec<String>,
    /// Where its command runs, as the agent wrote it.
    pub directories: Vec<String>,
    /// The model asks the user something.
    pub is_for_a_person: bool,
    /// It names more paths than are looked at.
    pub is_cut: bool,
    /// There is more to it than a command, or its command is not text.
    pub has_more_than_command: bool,
    /// It shows what it would put in the place of what, whatever its kind.
    pub is_edit: bool,
    /// It has members twice, of which the agent may mean the other one.
    pub has_twins: bool,
}

impl ToolFacts {
    /// Adds what an ACP tool call, or an update of one, says.
    pub fn learn(&mut self, call: &Value) {
        self.is_for_a_person |= call["_meta"]["switchyard"]["isQuestion"] == true;
        if let Some(title) = call["title"].as_str() {
            title.clone_into(&mut self.title);
        }
        if let Some(kind) = call["kind"].as_str() {
            kind.clone_into(&mut self.kind);
        }
        let input = &call["rawInput"];
        let content = || call["content"].as_array().into_iter().flatten();
        self.is_edit |= content().any(|part| part["type"] == "diff") || change::is_shown(input);
        self.has_code |= command::has_code(input);
        let is_code_run = self.has_code && READING_KINDS.contains(&self.kind.as_str());
        self.is_run |= is_code_run || content().any(|part| part["type"] == "terminal");
        let located = call["locations"].as_array().into_iter().flatten().map(|at| &at["path"]);
        let shown = content().flat_map(|part| {
            let inner = &part["content"];
            [&part["path"], &part["uri"], &inner["uri"], &inner["resource"]["uri"]]
        });
        let given = PATH_MEMBERS.iter().map(|member| &input[*member]);
        let listed = LIST_MEMBERS.iter().filter_map(|member| input[*member].as_array()).flatten();
        let texts = LIST_MEMBERS.iter().filter_map(|member| input[*member].as_str());
        let joined = texts.flat_map(|text| iter::once(text).chain(text.split(SEPARATORS)));
        let told = located.chain(shown).chain(given).chain(listed).filter_map(Value::as_str);
        let told: Vec<&str> = told.chain(joined.filter(|path| !path.is_empty())).collect();
        let named = named::paths(input);
        self.is_cut |= named.is_cut;
        let bases: Vec<&str> =
            BASE_MEMBERS.iter().filter_map(|member| input[*member].as_str()).collect();
        let bases: Vec<String> = bases.into_iter().map(named::expanded).collect();
        for path in told.into_iter().chain(named.paths.iter().map(String::as_str)) {
            let path = named::expanded(path);
            let bases = bases.iter().filter(|_| !path.starts_with('/'));
            let based = bases.map(|base| format!("{base}/{path}"));
            if !based.chain([path.clone()]).all(|path| self.note(path)) {
                self.is_cut = true;
                break;
            }
        }
        self.learn_command(input);
    }

    fn learn_command(&mut self, input: &Value) {
        let new = |lines: Vec<String>, known: &[String]| -> Vec<String> {
            lines.into_iter().filter(|line| !known.contains(line)).collect()
        };
        self.lines.extend(new(command::lines(input, &self.kind), &self.lines));
        let Some(command) = command::command(input, &self.kind) else { return };
        self.is_run = true;
        if command.trim().is_empty() {
            // Which one it was before may no longer be it.
            self.has_more_than_command |= self.command.is_some();
            return;
        }
        self.command = Some(command);
        self.has_more_than_command |= !command::is_all(input);
        self.directories.extend(new(command::directories(input), &self.directories));
    }

    /// Whether there was room for it.
    fn note(&mut self, path: String) -> bool {
        if self.paths.contains(&path) {
            return true;
        }
        let n_bytes: usize = self.paths.iter().map(String::len).sum();
        let has_room = self.paths.len() < MAX_PATHS && n_bytes + path.len() <= MAX_PATH_BYTES;
        if has_room {
            self.paths.push(path);
        }
        has_room
    }

    fn n_bytes(&self) -> usize {
        let lists = [&self.paths, &self.lines, &self.directories];
        let listed = lists.into_iter().flatten().map(|text| text.len() + TEXT_OVERHEAD);
        let command = self.command.as_ref().map_or(0, String::len);
        self.title.len() + self.kind.len() + listed.sum::<usize>() + command
    }
}

/// The last calls of a turn.
#[derive(Debug, Default)]
pub(crate) struct KnownTools {
    calls: BTreeMap<String, ToolFacts>,
    /// The oldest first.
    order: VecDeque<String>,
    n_bytes: usize,
}

impl KnownTools {
    pub(crate) fn learn(&mut self, id: &str, call: &Value) {
        let before = self.forget(id);
        let mut facts = before.unwrap_or_default();
        facts.learn(call);
        if id.len() + facts.n_bytes() > MAX_BYTES {
            facts = ToolFacts { is_cut: true, ..ToolFacts::default() };
        }
        let n_bytes = id.len() + facts.n_bytes();
        while self.calls.len() >= MAX_CALLS || self.n_bytes + n_bytes > MAX_BYTES {
            let Some(oldest) = self.order.front().cloned() else { return };
            self.forget(&oldest);
        }
        self.n_bytes += n_bytes;
        self.order.push_back(id.to_owned());
        self.calls.insert(id.to_owned(), facts);
    }

    /// Notes that what was said of a call can be read in two ways.
    pub(crate) fn doubt(&mut self, id: &str) {
        if let Some(facts) = self.calls.get_mut(id) {
            facts.has_twins = true;
        }
    }

    pub(crate) fn get(&self, id: &str) -> Option<&ToolFacts> {
        self.calls.get(id)
    }

    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }

    fn forget(&mut self, id: &str) -> Option<ToolFacts> {
        let facts = self.calls.remove(id)?;
        self.order.retain(|one| one != id);
        self.n_bytes -= id.len() + facts.n_bytes();
        Some(facts)
    }
}

#[cfg(test)]
mod tests {
    //! What calls hold is bounded, whatever an agent says of them.

    use serde_json::json;

    use super::*;

    #[test]
    fn a_call_that_names_too_many_paths_is_cut() {
        let places = |n: usize| (0..n).map(|n| json!({ "path": format!("/{n}") })).collect();
        let facts_of = |call: Value| {
            let mut facts = ToolFacts::default();
            facts.learn(&call);
            (facts.is_cut, facts.paths.len())
        };
        let locations = |n: usize| json!({ "locations": Value::Array(places(n)) });
        assert_eq!(facts_of(locations(MAX_PATHS)), (false, MAX_PATHS));
        assert_eq!(facts_of(locations(MAX_PATHS + 1)), (true, MAX_PATHS));
        let same = json!({ "locations": vec![json!({ "path": "/a" }); 2 * MAX_PATHS] });
        assert_eq!(facts_of(same), (false, 1));
        // Each of them would be as long as what it is below.
        let base = "x".repeat(MAX_PATH_BYTES / 2);
        let below = json!({ "rawInput": { "cwd": base, "paths": ["a", "b", "c"] } });
        assert_eq!(facts_of(below), (true, 2));
    }

    #[test]
    fn many_large_calls_are_not_kept() {
        let mut tools = KnownTools::default();
        for n in 0..100_u32 {
            let text = "x".repeat(1 << 20);
            let update = json!({
                "title": text, "rawInput": { "command": text, "other": text }, "content": [text],
            });
            tools.learn(&format!("call {n}"), &update);
            let kept: usize = tools.calls.values().map(ToolFacts::n_bytes).sum();
            assert!(kept <= MAX_BYTES);
        }
        tools.clear();
        tools.learn("small", &json!({ "rawInput": { "command": "ls", "path": "a" } }));
        tools.learn("small", &json!({ "locations": [{ "path": "b" }, { "path": "a" }] }));
        let facts = tools.get("small").unwrap();
        assert_eq!((facts.command.as_deref(), facts.paths.len()), (Some("ls"), 2));
        for n in 0..1000 {
            tools.learn(&format!("call {n}"), &json!({}));
        }
        assert_eq!((tools.calls.len(), tools.order.len()), (MAX_CALLS, MAX_CALLS));
        assert!(tools.get("call 999").is_some() && tools.get("call 0").is_none());
        let huge = json!({ "rawInput": { "command": "x".repeat(MAX_BYTES + 1) } });
        tools.learn("huge", &huge);
        assert!(tools.get("huge").is_some_and(|facts| facts.is_cut && facts.command.is_none()));
    }
}
