//! Facts about a tool call that a judgement rests on: its paths, commands and edits.
//!
//! Read from updates and permission requests of the agent, each of which may say a part of it.
//! Bounded: an agent chooses how much it says, and its calls are kept until the turn ends.

use std::collections::{BTreeMap, VecDeque};
use std::iter;

use serde::Deserialize;
use serde_json::Value;
use wire::Ambiguity;

use super::member_names::miscased_in_call;
use super::question::READING_KINDS;
use crate::host::MemoryShare;
use crate::name_list::names;

mod change;
mod command;
mod paths;

/// Members of a tool's input that hold a path, as agents are known to name them.
const PATH_MEMBERS: &[&str] = names!(
    "path file_path filePath filepath filename file abs_path absolute_path notebook_path \
     directory source destination old_path new_path oldPath newPath target target_file targetFile \
     uri from to"
);
/// Members that say where other paths begin.
const BASE_MEMBERS: [&str; 7] =
    ["cwd", "workdir", "working_directory", "workingDirectory", "base", "root", "directory"];
/// Members with several paths.
const LIST_MEMBERS: [&str; 4] = ["files", "paths", "file_paths", "filePaths"];
/// Separators between paths that are one text.
const SEPARATORS: &[char] = &[',', ';', ':', '|', ' ', '\t', '\n', '\r', '"', '\'', '[', ']'];

/// Paths of one call that are looked at, and what they may hold: an agent that names more is not
/// allowed the call.
const MAX_PATHS: usize = 1024;
const MAX_PATH_BYTES: usize = 128 << 10;
/// Memory that a path takes beside its text.
const TEXT_OVERHEAD: usize = 48;

/// Calls of one turn that are remembered, and what they hold in all.
const MAX_CALLS: usize = 512;
const MAX_BYTES: usize = 4 << 20;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolFacts {
    pub title: String,
    pub kind: String,
    /// Paths as the agent wrote them.
    pub paths: Vec<String>,
    pub command: Option<String>,
    /// It runs something, even if it does not say what, and whatever its kind.
    pub is_run: bool,
    /// It shows a program's text: what is run by a call that says it only reads, and else may be
    /// what it writes.
    pub has_code: bool,
    /// The input is a text with blanks, and nothing else.
    pub is_line: bool,
    /// Texts beside the command that may be commands, a line or several each.
    pub lines: Vec<String>,
    /// The directories in which its command runs, as the agent wrote them.
    pub directories: Vec<String>,
    /// The model asks the user something.
    pub is_for_a_person: bool,
    /// It names more paths than are looked at.
    pub is_cut: bool,
    /// There is more to it than a command, or its command is not text.
    pub has_more_than_command: bool,
    /// It shows a replacement or new text for a file, whatever its kind.
    pub is_edit: bool,
    /// Why an update about it is ambiguous: it may mean something else to the agent.
    pub doubt: Option<Ambiguity>,
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
        self.is_edit |= content().any(|part| part["type"] == "diff") || change::shows_edit(input);
        self.has_code |= command::has_code(input) || command::is_no_reading(input);
        self.is_line |= command::is_line(input);
        let is_code_run = self.has_code && READING_KINDS.contains(&self.kind.as_str())
            || self.is_line && self.kind == "read";
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
        let named = paths::paths(input);
        self.is_cut |= named.is_cut;
        let bases: Vec<&str> =
            BASE_MEMBERS.iter().filter_map(|member| input[*member].as_str()).collect();
        let bases: Vec<String> = bases.into_iter().map(paths::expand).collect();
        for path in told.into_iter().chain(named.paths.iter().map(String::as_str)) {
            let path = paths::expand(path);
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

    /// Notes a path; false if there is no room for it.
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

    /// The facts of a call that said more than can be kept.
    fn cut(self) -> Self {
        Self { is_cut: true, doubt: self.doubt, ..Self::default() }
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
pub(crate) struct TurnToolCalls {
    calls: BTreeMap<String, ToolFacts>,
    /// The oldest first.
    order: VecDeque<String>,
    n_bytes: usize,
    /// The share of the memory that the sessions of its process may keep.
    share: MemoryShare,
    /// Why an update is ambiguous of which the call is not known.
    doubt: Option<Ambiguity>,
}

/// The id of a call. One that is no text is none of ACP's, and some may take it for one.
pub(crate) fn call_id(call: &Value) -> Option<String> {
    match &call["toolCallId"] {
        Value::Null => None,
        Value::String(id) => Some(id.clone()),
        other => Some(other.to_string()),
    }
}

impl TurnToolCalls {
    pub(crate) fn of(share: MemoryShare) -> Self {
        Self { share, ..Self::default() }
    }

    /// Adds what the params of an update say, which need not be readable.
    pub(crate) fn hear(&mut self, params: &str, update: &Value) {
        if let Some(id) = call_id(update) {
            self.learn(&id, update);
        }
        let odd =
            miscased_in_call(update).map(|name| format!("`{name}` is no member; check its case"));
        let check = odd.map_or(Ok(()), |why| Err(Ambiguity::Unreadable(why)));
        if let Err(why) = wire::check_unambiguous(params).and(check) {
            self.doubt(params, why);
        }
    }

    fn learn(&mut self, id: &str, call: &Value) {
        let before = self.forget(id);
        let mut facts = before.unwrap_or_default();
        facts.learn(call);
        if n_bytes_of(id, &facts) > MAX_BYTES {
            facts = facts.cut();
        }
        while self.calls.len() >= MAX_CALLS || !self.take(n_bytes_of(id, &facts)) {
            if let Some(oldest) = self.order.front().cloned() {
                let doubt = self.forget(&oldest).and_then(|facts| facts.doubt);
                self.doubt = self.doubt.take().or(doubt);
            } else if facts.n_bytes() > 0 {
                // So much was said in other sessions of the process.
                facts = facts.cut();
            } else {
                self.doubt = self.doubt.take().or(facts.doubt);
                return;
            }
        }
        self.order.push_back(id.to_owned());
        self.calls.insert(id.to_owned(), facts);
    }

    /// Notes that what was said of a call can be read in several ways, or not at all: of one call,
    /// if all readers find the same id, and of all of them else.
    fn doubt(&mut self, params: &str, why: Ambiguity) {
        #[derive(Deserialize)]
        struct UpdateParams {
            update: Update,
        }
        #[derive(Deserialize)]
        struct Update {
            #[serde(rename = "toolCallId")]
            id: String,
        }
        let read = serde_json::from_str::<UpdateParams>(params).ok();
        match read.and_then(|params| self.calls.get_mut(&params.update.id)) {
            Some(facts) => facts.doubt = Some(why),
            None => self.doubt = Some(why),
        }
    }

    /// The facts about a call, unless an update about it is ambiguous.
    pub(crate) fn get(&self, id: Option<&str>) -> Result<Option<&ToolFacts>, Ambiguity> {
        let facts = id.and_then(|id| self.calls.get(id));
        match facts.and_then(|facts| facts.doubt.as_ref()).or(self.doubt.as_ref()) {
            Some(why) => Err(why.clone()),
            None => Ok(facts),
        }
    }

    pub(crate) fn clear(&mut self) {
        let mut share = std::mem::take(&mut self.share);
        share.resize(0);
        *self = Self::of(share);
    }

    /// Whether there was room for so many bytes more.
    fn take(&mut self, n_bytes: usize) -> bool {
        let wanted = self.n_bytes + n_bytes;
        let is_taken = wanted <= MAX_BYTES && self.share.resize(wanted);
        if is_taken {
            self.n_bytes = wanted;
        }
        is_taken
    }

    fn forget(&mut self, id: &str) -> Option<ToolFacts> {
        let facts = self.calls.remove(id)?;
        self.order.retain(|one| one != id);
        self.n_bytes -= n_bytes_of(id, &facts);
        self.share.resize(self.n_bytes);
        Some(facts)
    }
}

/// Bytes that a call holds here: its id stands in both lists.
fn n_bytes_of(id: &str, facts: &ToolFacts) -> usize {
    2 * (id.len() + TEXT_OVERHEAD) + facts.n_bytes()
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
        let mut tools = TurnToolCalls::default();
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
        let facts = tools.get(Some("small")).unwrap().unwrap();
        assert_eq!((facts.command.as_deref(), facts.paths.len()), (Some("ls"), 2));
        for n in 0..1000 {
            tools.learn(&format!("call {n}"), &json!({}));
        }
        assert_eq!((tools.calls.len(), tools.order.len()), (MAX_CALLS, MAX_CALLS));
        let is_known = |id: &str| tools.get(Some(id)).unwrap().is_some();
        assert!(is_known("call 999") && !is_known("call 0"));
        let huge = json!({ "rawInput": { "command": "x".repeat(MAX_BYTES + 1) } });
        tools.learn("huge", &huge);
        let facts = tools.get(Some("huge")).unwrap().unwrap();
        assert!(facts.is_cut && facts.command.is_none());
    }

    #[test]
    fn a_doubt_is_about_one_call_or_about_all_of_them() {
        let doubted = |update: &str| {
            let mut tools = TurnToolCalls::default();
            tools.learn("other", &json!({}));
            let params = format!(r#"{{"update":{update}}}"#);
            let read: Value = serde_json::from_str(&params).unwrap_or_default();
            tools.hear(&params, &read["update"]);
            tools
        };
        let one = doubted(r#"{"toolCallId":"a","x":{"y":1,"y":2}}"#);
        assert_eq!(one.get(Some("a")), Err(Ambiguity::Duplicate));
        assert!(one.get(Some("other")).is_ok_and(|facts| facts.is_some()));
        assert!(one.get(None).is_ok());
        let spelt = doubted(r#"{"toolCallId":"a","rawinput":{"command":"ls"}}"#);
        assert!(spelt.get(Some("a")).is_err() && spelt.get(Some("other")).is_ok());
        for update in [
            r#"{"ToolCallId":"a"}"#,
            r#"{"toolCallId":"a","toolCallId":"b"}"#,
            r#"{"x":1,"x":2}"#,
            r#"{"toolCallId":"a","x":1e400}"#,
        ] {
            let all = doubted(update);
            assert!(
                [Some("a"), Some("b"), Some("other"), None].iter().all(|id| all.get(*id).is_err())
            );
        }
        // It does not end with what is no longer known.
        let mut flooded = one;
        (0..MAX_CALLS).for_each(|n| flooded.learn(&n.to_string(), &json!({})));
        assert!(flooded.get(Some("a")).is_err());
        flooded.clear();
        assert_eq!(flooded.get(Some("a")), Ok(None));
    }
}
