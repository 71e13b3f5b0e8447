//! What an agent asks for, read from `session/request_permission`.
//!
//! Verdicts rest on the parsed input of the tool, its resolved paths and its kind; the
//! title is only for showing. Reading is lenient: what is missing is unknown, and unknown
//! is never a reason to allow.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PermissionOption {
    pub id: String,
    pub name: String,
    pub kind: String,
}

#[derive(Debug, Clone, Default)]
pub struct Question {
    pub agent: String,
    pub title: String,
    pub kind: String,
    /// Absolute, `..` and symbolic links resolved as far as the path exists.
    pub paths: Vec<PathBuf>,
    pub command: Option<String>,
    pub options: Vec<PermissionOption>,
    /// The model asks the user something; no rule knows the answer.
    pub is_for_a_person: bool,
    /// The session's roots, resolved the same way.
    pub roots: Vec<PathBuf>,
}

/// Members of a tool's input that hold a path, as agents are known to name them.
const PATH_MEMBERS: [&str; 14] = [
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
];
const COMMAND_MEMBERS: [&str; 3] = ["command", "cmd", "script"];
const READING_KINDS: [&str; 3] = ["read", "search", "think"];

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase")]
struct Params {
    #[serde(default)]
    tool_call: Value,
    #[serde(default)]
    options: Vec<Value>,
}

impl Question {
    /// Reads `params` of a request. `known` is what earlier updates said about the same
    /// tool call: some agents send the input there and only the id here.
    pub fn read(params: &str, known: Option<&Value>, agent: &str, roots: &[PathBuf]) -> Self {
        let params: Params = serde_json::from_str(params).unwrap_or_default();
        let mut question = Self {
            agent: agent.to_owned(),
            options: params.options.iter().filter_map(read_option).collect(),
            roots: roots.to_vec(),
            ..Self::default()
        };
        for call in [known, Some(&params.tool_call)].into_iter().flatten() {
            question.learn(call);
        }
        question.paths.sort();
        question.paths.dedup();
        question
    }

    fn learn(&mut self, call: &Value) {
        self.is_for_a_person |= call["_meta"]["switchyard"]["isQuestion"] == true;
        if let Some(title) = call["title"].as_str() {
            title.clone_into(&mut self.title);
        }
        if let Some(kind) = call["kind"].as_str() {
            kind.clone_into(&mut self.kind);
        }
        let input = &call["rawInput"];
        let located = call["locations"].as_array().into_iter().flatten().map(|at| &at["path"]);
        let edited = call["content"].as_array().into_iter().flatten().map(|part| &part["path"]);
        let given = PATH_MEMBERS.iter().map(|member| &input[*member]);
        let base = self.roots.first().cloned().unwrap_or_default();
        let paths = located.chain(edited).chain(given).filter_map(Value::as_str);
        self.paths.extend(paths.map(|path| resolve(&base, path)));
        if let Some(command) =
            COMMAND_MEMBERS.iter().find_map(|member| read_command(&input[*member]))
        {
            self.command = Some(command);
        }
    }

    /// More than one way to say yes: a question to the user, not a grant.
    pub fn is_multiple_choice(&self) -> bool {
        let is_about_an_act = self.command.is_some()
            || !self.paths.is_empty()
            || ["edit", "delete", "move", "execute"].contains(&self.kind.as_str());
        !is_about_an_act
            && self.options.iter().filter(|option| option.kind == "allow_once").count() > 1
    }

    pub fn only_reads(&self) -> bool {
        READING_KINDS.contains(&self.kind.as_str()) && self.command.is_none()
    }

    /// Whether all that it does is to edit files inside the session's roots that make nobody
    /// run anything later: hooks, tasks of editors and the like are not merely edited.
    pub fn only_edits_inside_roots(&self) -> bool {
        let is_inside = |path: &PathBuf| self.roots.iter().any(|root| path.starts_with(root));
        let is_plain = |path: &PathBuf| !self.roots.iter().any(|r| roots::is_protected(r, path));
        self.kind == "edit"
            && self.command.is_none()
            && !self.paths.is_empty()
            && self.paths.iter().all(|path| is_inside(path) && is_plain(path))
    }
}

fn read_option(option: &Value) -> Option<PermissionOption> {
    let text = |member: &str| option[member].as_str().unwrap_or_default().to_owned();
    option["optionId"].as_str().map(|id| PermissionOption {
        id: id.to_owned(),
        name: text("name"),
        kind: text("kind"),
    })
}

fn read_command(value: &Value) -> Option<String> {
    match value {
        Value::String(command) => Some(command.clone()),
        Value::Array(argv) => {
            let words: Vec<&str> = argv.iter().filter_map(Value::as_str).collect();
            Some(words.join(" "))
        }
        _ => None,
    }
}

fn resolve(base: &Path, path: &str) -> PathBuf {
    roots::resolve_path(&base.join(path.strip_prefix("file://").unwrap_or(path)))
}
