//! Rules that answer questions without asking, read from a TOML file.
//!
//! A rule applies when everything it names applies. Deny beats ask beats allow, whatever
//! their order in the file. An allowing rule needs certainty: it applies to a command only
//! if the command line is one plain command, and to paths only if every path is known to
//! match. A denying or asking rule applies as soon as any part of a command line or any
//! path matches.

use std::path::{Component, Path, PathBuf};

use globset::{GlobBuilder, GlobMatcher};
use serde::Deserialize;
use wire::ToolKind;

use super::command_glob::CommandGlob;
use super::command_line::{FoundCommand, commands_in};
use super::{DecidedBy, Decider, PolicyQuestion, PolicyVerdict, RulePlace};

#[derive(Debug, Clone, Default)]
pub struct Rules(Vec<Rule>);

#[derive(Debug, Clone)]
pub struct Rule {
    name: String,
    place: RulePlace,
    action: RuleAction,
    kinds: Option<Vec<String>>,
    paths: Option<Vec<PathGlob>>,
    commands: Option<Vec<CommandGlob>>,
    agents: Option<Vec<String>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum RuleAction {
    Allow,
    Ask,
    Deny,
}

#[derive(Debug, thiserror::Error)]
pub enum RuleError {
    #[error("cannot read the rules file {path}: {why}")]
    Unreadable { path: String, why: String },
    #[error("the rules file {path} has more than {max_bytes} bytes")]
    TooLarge { path: String, max_bytes: u64 },
    #[error("cannot use the rules file {path}: {error}")]
    InFile { path: String, error: Box<RuleError> },
    #[error("cannot read the rules: {0}")]
    Syntax(String),
    #[error("rule {rule}: `{glob}` is not a pattern: {why}")]
    Pattern { rule: String, glob: String, why: String },
    #[error("rule {rule}: there is no kind `{kind}`; the kinds are {}", ToolKind::NAMES.join(", "))]
    UnknownKind { rule: String, kind: String },
    #[error("rule {rule} has an empty list `{list}`: it would never apply")]
    EmptyList { rule: String, list: &'static str },
}

impl RuleError {
    fn pattern(rule: &str, glob: &str, why: &globset::Error) -> Self {
        let (rule, glob) = (rule.to_owned(), glob.to_owned());
        Self::Pattern { rule, glob, why: why.to_string() }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RulesDocument {
    #[serde(default)]
    rules: Vec<RuleEntry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RuleEntry {
    name: Option<String>,
    action: RuleAction,
    kinds: Option<Vec<String>>,
    paths: Option<Vec<String>>,
    commands: Option<Vec<String>>,
    agents: Option<Vec<String>>,
}

/// Kinds that say by themselves that something may be changed.
const CHANGING_KINDS: [&str; 4] = ["edit", "delete", "move", "execute"];
/// With any of these a command line is more than one plain command, or not what it seems.
const SHELL_MAGIC: &[char] = &[
    ';', '&', '|', '<', '>', '`', '$', '(', ')', '{', '}', '[', ']', '\\', '\'', '"', '\n', '\r',
    '#', '~', '!', '*', '?', '^', '\0',
];

impl Rules {
    /// Reads a rules file. Relative path patterns are below the directories of whichever
    /// session asks.
    pub fn parse(text: &str) -> Result<Self, RuleError> {
        let file: RulesDocument =
            toml::from_str(text).map_err(|error| RuleError::Syntax(error.to_string()))?;
        let rules = file.rules.into_iter().enumerate();
        let rules = rules.map(|(index, entry)| Rule::new(index, entry));
        Ok(Self(rules.collect::<Result<_, _>>()?))
    }

    /// Allows what only reads.
    pub fn approve_reads() -> Self {
        let kinds = Some(["read", "search", "think"].map(str::to_owned).to_vec());
        let name = "approve-reads".to_owned();
        let (place, action) = (RulePlace { file: None, index: 1 }, RuleAction::Allow);
        Self(vec![Rule { name, place, action, kinds, paths: None, commands: None, agents: None }])
    }

    /// Notes the file that the rules are from.
    #[must_use]
    pub(super) fn read_from(mut self, path: &Path) -> Self {
        let file = path.to_string_lossy();
        for rule in &mut self.0 {
            rule.place.file = Some(file.to_string());
        }
        self
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn all(&self) -> &[Rule] {
        &self.0
    }

    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        self.0.extend(other.0);
        self
    }
}

/// Whether a rule might deny the question, and it cannot be told.
pub(super) fn is_unsure<'a>(
    mut rules: impl Iterator<Item = &'a Rule>,
    question: &PolicyQuestion,
) -> bool {
    rules.any(|rule| rule.cannot_tell(question))
}

/// The verdict of `rules`: deny before ask before allow, whatever their order.
pub(super) fn judge<'a>(
    rules: impl Iterator<Item = &'a Rule> + Clone,
    question: &PolicyQuestion,
) -> Option<PolicyVerdict> {
    for action in [RuleAction::Deny, RuleAction::Ask, RuleAction::Allow] {
        let found = rules.clone().find(|rule| rule.action == action && rule.applies(question));
        let Some(rule) = found else {
            // What a rule would deny may be it; only a person can tell.
            if action == RuleAction::Deny && rules.clone().any(|rule| rule.cannot_tell(question)) {
                return Some(PolicyVerdict::Ask);
            }
            continue;
        };
        return Some(match action {
            RuleAction::Deny => PolicyVerdict::Deny(rule.decider()),
            RuleAction::Ask => PolicyVerdict::Ask,
            RuleAction::Allow => PolicyVerdict::Allow(rule.decider()),
        });
    }
    None
}

impl Rule {
    fn decider(&self) -> Decider {
        let rule = Some(self.place.clone());
        Decider { rule, ..Decider::detailed(DecidedBy::Rule, &self.name) }
    }

    fn new(index: usize, entry: RuleEntry) -> Result<Self, RuleError> {
        let name = entry.name.unwrap_or_else(|| format!("#{}", index + 1));
        for (list, is_empty) in [
            ("kinds", entry.kinds.as_ref().is_some_and(Vec::is_empty)),
            ("paths", entry.paths.as_ref().is_some_and(Vec::is_empty)),
            ("commands", entry.commands.as_ref().is_some_and(Vec::is_empty)),
            ("agents", entry.agents.as_ref().is_some_and(Vec::is_empty)),
        ] {
            if is_empty {
                return Err(RuleError::EmptyList { rule: name, list });
            }
        }
        let mut kinds = entry.kinds.iter().flatten();
        if let Some(kind) = kinds.find(|kind| !ToolKind::NAMES.contains(&kind.as_str())) {
            return Err(RuleError::UnknownKind { rule: name, kind: kind.clone() });
        }
        let paths = entry.paths.map(|globs| {
            globs.iter().map(|glob| PathGlob::new(glob, &name)).collect::<Result<_, _>>()
        });
        let commands = entry.commands.map(|globs| {
            let pattern = |glob: &String| {
                CommandGlob::new(glob).map_err(|error| RuleError::pattern(&name, glob, &error))
            };
            globs.iter().map(pattern).collect::<Result<_, _>>()
        });
        Ok(Self {
            place: RulePlace { file: None, index: index + 1 },
            paths: paths.transpose()?,
            commands: commands.transpose()?,
            action: entry.action,
            kinds: entry.kinds,
            agents: entry.agents,
            name,
        })
    }

    fn applies(&self, question: &PolicyQuestion) -> bool {
        let contains = |list: &Option<Vec<String>>, item: &String| {
            list.as_ref().is_none_or(|list| list.contains(item))
        };
        self.applies_to_kind(question)
            && contains(&self.agents, &question.agent)
            && self.paths.as_ref().is_none_or(|globs| self.applies_to_paths(globs, question))
            && self.commands.as_ref().is_none_or(|globs| self.applies_to_command(globs, question))
            && !self.grants_a_command_unseen(question)
    }

    /// Whether the rule is about the question's kind. Denied edits deny deleting and moving, too;
    /// allowed ones do not allow them.
    fn applies_to_kind(&self, question: &PolicyQuestion) -> bool {
        let Some(kinds) = &self.kinds else { return true };
        let kind = question.facts.kind.as_str();
        let is_about = |one: &String| one == kind;
        match self.action {
            RuleAction::Allow => {
                let is_more = question.facts.is_edit && !CHANGING_KINDS.contains(&kind);
                kinds.iter().any(is_about) && (!is_more || kinds.iter().any(|one| one == "edit"))
            }
            // One that says nothing of its kind may be any.
            RuleAction::Ask | RuleAction::Deny => {
                let is_edit = question.facts.is_edit || question.takes_along();
                kind.is_empty() || kinds.iter().any(|one| is_about(one) || is_edit && one == "edit")
            }
        }
    }

    /// Whether it denies commands or paths, and the question does not name the one it is about.
    fn cannot_tell(&self, question: &PolicyQuestion) -> bool {
        let runs = question.facts.kind == "execute" || question.facts.is_run;
        let names_no_command = runs && question.facts.command.is_none();
        let changes = question.takes_along() || question.facts.kind == "edit";
        let names_no_path =
            changes && question.paths.is_empty() && question.facts.command.is_none();
        let is_hidden = self.commands.is_some() && names_no_command
            || self.paths.is_some() && names_no_path
            || self.commands.as_ref().is_some_and(|globs| is_among_lines(globs, question));
        let is_of_agent =
            self.agents.as_ref().is_none_or(|agents| agents.contains(&question.agent));
        self.action == RuleAction::Deny
            && is_hidden
            && is_of_agent
            && self.applies_to_kind(question)
    }

    fn applies_to_paths(&self, globs: &[PathGlob], question: &PolicyQuestion) -> bool {
        let roots = &question.roots;
        let matches = |path: &PathBuf| globs.iter().any(|glob| glob.is_match(path, roots));
        match self.action {
            RuleAction::Allow => !question.paths.is_empty() && question.paths.iter().all(matches),
            RuleAction::Ask | RuleAction::Deny => {
                let takes_along = |path: &PathBuf| {
                    question.takes_along() && globs.iter().any(|glob| glob.is_below(path, roots))
                };
                question.paths.iter().any(|path| matches(path) || takes_along(path))
            }
        }
    }

    fn applies_to_command(&self, globs: &[CommandGlob], question: &PolicyQuestion) -> bool {
        let Some(command) = &question.facts.command else { return false };
        let is_it = |line: &str| globs.iter().any(|glob| glob.is_match(line));
        match self.action {
            RuleAction::Allow => {
                let changes = question.facts.is_edit
                    || question.takes_along()
                    || question.facts.kind == "edit";
                !changes
                    && !question.facts.has_more_than_command
                    && !command.contains(SHELL_MAGIC)
                    && is_it(command.trim())
            }
            RuleAction::Ask | RuleAction::Deny => is_it(command.trim()) || may_run(globs, command),
        }
    }

    /// A rule about kinds or paths does not allow a command that it does not name: an
    /// agent may call a shell command a "read".
    fn grants_a_command_unseen(&self, question: &PolicyQuestion) -> bool {
        let names_commands = self.commands.is_some()
            || self.kinds.as_ref().is_some_and(|kinds| kinds.iter().any(|kind| kind == "execute"));
        let is_narrowed = self.kinds.is_some() || self.paths.is_some();
        self.action == RuleAction::Allow
            && is_narrowed
            && !names_commands
            && question.runs_something()
    }
}

/// Whether a line may run a command that a pattern matches.
fn may_run(globs: &[CommandGlob], line: &str) -> bool {
    let may_be = |one: &FoundCommand| globs.iter().any(|glob| glob.may_match(one));
    commands_in(line).is_none_or(|found| found.iter().any(may_be))
}

/// Whether a text that need not be a command may run one that a pattern matches.
fn is_among_lines(globs: &[CommandGlob], question: &PolicyQuestion) -> bool {
    let is_told = |line: &String| commands_in(line).is_some();
    let mut lines = question.facts.lines.iter();
    match question.facts.kind.as_str() {
        "execute" => lines.any(|line| may_run(globs, line)),
        // What is no line of a shell is no command of theirs.
        "other" | "" if !question.runs_something() => {
            lines.any(|line| is_told(line) && may_run(globs, line))
        }
        _ => false,
    }
}

const WILD: [char; 4] = ['*', '?', '[', '{'];

/// A pattern of paths: absolute, or below the directories of a session.
#[derive(Debug, Clone)]
struct PathGlob {
    glob: GlobMatcher,
    is_absolute: bool,
    /// The directories before its first wildcard.
    directory: PathBuf,
}

impl PathGlob {
    fn new(glob: &str, rule: &str) -> Result<Self, RuleError> {
        let is_absolute = Path::new(glob).is_absolute();
        let mut relative = glob;
        while let Some(rest) = relative.strip_prefix("./") {
            relative = rest;
        }
        let glob = GlobBuilder::new(relative).literal_separator(true).build();
        let glob = glob.map_err(|error| RuleError::pattern(rule, relative, &error))?;
        let is_wild = |part: &Component| part.as_os_str().to_string_lossy().contains(WILD);
        let directory =
            Path::new(relative).components().take_while(|part| !is_wild(part)).collect();
        Ok(Self { glob: glob.compile_matcher(), is_absolute, directory })
    }

    /// Whether it may match something that is in a directory.
    fn is_below(&self, directory: &Path, roots: &[PathBuf]) -> bool {
        let starts = match self.is_absolute {
            true => vec![self.directory.clone()],
            false => roots.iter().map(|root| root.join(&self.directory)).collect(),
        };
        let is_wild = self.glob.glob().glob().contains(WILD);
        let may_be_in = |start: &PathBuf| {
            start.starts_with(directory) || is_wild && directory.starts_with(start)
        };
        starts.iter().any(may_be_in) && (directory.is_dir() || !directory.exists())
    }

    fn is_match(&self, path: &Path, roots: &[PathBuf]) -> bool {
        if self.is_absolute {
            return self.glob.is_match(path);
        }
        let below = |root: &PathBuf| path.strip_prefix(root).is_ok_and(|p| self.glob.is_match(p));
        roots.iter().any(below)
    }
}
