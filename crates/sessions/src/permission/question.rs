//! A permission question of an agent, read from `session/request_permission`.
//!
//! Verdicts rest on the parsed input of the tool, its resolved paths and its kind; the
//! title is only for showing. Reading is lenient: what is missing is unknown, and unknown
//! is never a reason to allow.

use std::path::{Path, PathBuf};

use projection::{ACTING_KINDS, plain_yes};
use roots::ForbiddenDirs;
use serde_json::Value;

use super::ToolFacts;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PermissionOption {
    pub id: String,
    pub name: String,
    pub kind: String,
}

#[derive(Debug, Clone, Default)]
pub struct PolicyQuestion {
    pub agent: String,
    /// What is known of the tool call.
    pub facts: ToolFacts,
    /// Its paths: absolute, `..` and symbolic links resolved as far as the path exists.
    pub paths: Vec<PathBuf>,
    pub options: Vec<PermissionOption>,
    /// The session's roots, resolved the same way.
    pub roots: Vec<PathBuf>,
    /// It is about a directory that no session may touch.
    pub is_forbidden: bool,
    /// It is one of its agent's own tools that only write a file, which the agent gives no kind.
    pub is_known_edit: bool,
}

/// Options of a question, and their bytes: nobody could choose among more. Where there are more,
/// all are dropped, as one that is left out might have the id of another.
const MAX_OPTIONS: usize = 100;
const MAX_OPTION_BYTES: usize = 64 << 10;

pub(super) const READING_KINDS: [&str; 3] = ["read", "search", "think"];
/// Members of the input of a tool that writes a file, beside its path.
const WRITTEN_TEXTS: [&str; 3] = ["content", "before", "after"];
pub(super) const ALLOW_ONCE: &str = "allow_once";

impl PolicyQuestion {
    /// Reads `params` of a request. `known` is what earlier updates said about the same
    /// tool call: some agents send the input there and only the id here.
    pub fn read(params: &str, known: Option<&ToolFacts>, agent: &str, roots: &[PathBuf]) -> Self {
        let Ok(params) = serde_json::from_str::<Value>(&wire::readable(params)) else {
            // Nobody but a person can tell what it is about.
            let facts = ToolFacts { is_for_a_person: true, ..ToolFacts::default() };
            return Self { agent: agent.to_owned(), facts, ..Self::default() };
        };
        let mut facts = known.cloned().unwrap_or_default();
        facts.learn(&params["toolCall"]);
        let base = roots.first().cloned().unwrap_or_default();
        let is_inside = |path: &PathBuf| roots.iter().any(|root| path.starts_with(root));
        let is_elsewhere = |path: &String| {
            path.starts_with(['~', '$']) || !resolved(&base.join(path)).iter().all(is_inside)
        };
        let mut paths: Vec<PathBuf> =
            facts.paths.iter().flat_map(|path| resolved(&base.join(path))).collect();
        paths.sort();
        paths.dedup();
        facts.has_more_than_command |= facts.directories.iter().any(is_elsewhere);
        Self {
            agent: agent.to_owned(),
            facts,
            paths,
            options: params["options"].as_array().map(|all| read_options(all)).unwrap_or_default(),
            roots: roots.to_vec(),
            // Set by `noting_forbidden` and `noting_known_edit`.
            is_forbidden: false,
            is_known_edit: false,
        }
    }

    /// Notes whether it is one of `tools`, by their titles: those of its agent that write a file
    /// and do nothing else. Its input must be a path and texts, and nothing else.
    #[must_use]
    pub fn noting_known_edit(mut self, tools: &[String], call: &Value) -> Self {
        let says_nothing = ["", "other"].contains(&self.facts.kind.as_str());
        let title = self.facts.title.to_lowercase();
        let is_named = |path: &str| {
            tools.iter().filter_map(|tool| title.strip_prefix(tool.as_str())).any(|rest| {
                let detail = rest.trim_matches([' ', ':', '·', '`', '(', ')']);
                // A longer name is another tool's.
                rest.is_empty() || !rest.starts_with(char::is_alphanumeric) && detail == path
            })
        };
        let members = call["rawInput"].as_object();
        let is_plain = |(name, value): (&String, &Value)| {
            value.is_string() && (name == "path" || WRITTEN_TEXTS.contains(&name.as_str()))
        };
        self.is_known_edit = says_nothing
            && members.is_some_and(|members| members.len() > 1 && members.iter().all(is_plain))
            && call["rawInput"]["path"].as_str().is_some_and(|path| is_named(&path.to_lowercase()));
        self
    }

    /// Notes whether a path is in one of the `forbidden` directories.
    #[must_use]
    pub fn noting_forbidden(mut self, forbidden: &ForbiddenDirs) -> Self {
        let takes_along = self.takes_along();
        let is_touched = |path: &PathBuf| {
            forbidden.covers(path)
                || takes_along && forbidden.is_below(path)
                || forbidden.paths().iter().any(|own| pattern_reaches(path, own, takes_along))
        };
        self.is_forbidden = self.paths.iter().any(is_touched);
        self
    }

    /// Its options alone: all that an answer needs after it has been judged.
    #[must_use]
    pub(crate) fn options_alone(self) -> Self {
        Self { options: self.options, ..Self::default() }
    }

    /// More than one way to say yes, and none of them the plain one: a question to the user, not
    /// a grant.
    pub fn is_multiple_choice(&self) -> bool {
        let kinds = self.options.iter().map(|option| option.kind.as_str());
        let has_yes = self.options.iter().any(|option| option.kind == ALLOW_ONCE);
        !self.is_act()
            && self.paths.is_empty()
            && has_yes
            && plain_yes(&self.facts.kind, kinds).is_none()
    }

    /// Whether it runs or changes something, as far as it says so.
    pub(super) fn is_act(&self) -> bool {
        self.runs_something()
            || self.facts.is_edit
            || ACTING_KINDS.contains(&self.facts.kind.as_str())
    }

    pub fn only_reads(&self) -> bool {
        READING_KINDS.contains(&self.facts.kind.as_str())
            && !self.runs_something()
            && !self.facts.is_edit
    }

    /// Whether it runs something, whatever its kind.
    pub(super) fn runs_something(&self) -> bool {
        self.facts.is_run || self.facts.command.is_some()
    }

    /// Whether what is below a directory goes with it.
    pub(super) fn takes_along(&self) -> bool {
        ["delete", "move"].contains(&self.facts.kind.as_str())
    }

    /// Whether all that it does is to edit files inside the session's roots that make nobody
    /// run anything later: hooks, tasks of editors and the like are not merely edited.
    pub fn only_edits_inside_roots(&self) -> bool {
        let is_inside = |path: &PathBuf| self.roots.iter().any(|root| path.starts_with(root));
        let is_plain = |path: &PathBuf| !self.roots.iter().any(|r| roots::is_protected(r, path));
        (self.facts.kind == "edit" || self.is_known_edit)
            && !self.runs_something()
            && !self.paths.is_empty()
            && self.paths.iter().all(|path| is_inside(path) && is_plain(path))
    }
}

/// Whether a path that is a pattern may mean `own`, what is in it, or what is around it.
fn pattern_reaches(pattern: &Path, own: &Path, takes_along: bool) -> bool {
    if !pattern.to_string_lossy().contains(['*', '?', '[', '{']) {
        return false;
    }
    let mut names = own.components();
    for part in pattern.components() {
        let Some(name) = names.next() else { return true };
        let part = part.as_os_str().to_string_lossy();
        if part.contains("**") {
            return takes_along;
        }
        let glob = globset::Glob::new(&part).map(|glob| glob.compile_matcher());
        if !glob.is_ok_and(|glob| glob.is_match(Path::new(name.as_os_str()))) {
            return false;
        }
    }
    takes_along || names.next().is_none()
}

fn read_options(options: &[Value]) -> Vec<PermissionOption> {
    if options.len() > MAX_OPTIONS {
        return Vec::new();
    }
    let options: Vec<_> = options.iter().filter_map(read_option).collect();
    let n_bytes =
        |option: &PermissionOption| option.id.len() + option.name.len() + option.kind.len();
    let is_short = options.iter().map(n_bytes).sum::<usize>() <= MAX_OPTION_BYTES;
    if is_short { options } else { Vec::new() }
}

fn read_option(option: &Value) -> Option<PermissionOption> {
    let text = |member: &str| option[member].as_str().unwrap_or_default().to_owned();
    option["optionId"].as_str().map(|id| PermissionOption {
        id: id.to_owned(),
        name: text("name"),
        kind: text("kind"),
    })
}

/// Places a path may lead to: some programs drop `..` before they follow links, others after.
pub(crate) fn resolved(path: &Path) -> [PathBuf; 2] {
    [roots::resolve_path(path), roots::resolve_path(&roots::without_dots(path))]
}
