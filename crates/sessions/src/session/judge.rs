//! Judges by rules and mode what an agent does without asking a person.
//!
//! An agent asks for permission by itself before it does something, so nothing is asked here a
//! second time; but what is denied stays denied for agents that do not ask. Everything that goes
//! through us is judged: `fs/*` and `terminal/create`, whoever serves them, and what an agent of
//! ours does by itself and announces first (`_switchyard/check`).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use roots::Roots;
use serde::Deserialize;
use serde_json::value::RawValue;
use wire::RpcError;

use crate::name_list::names;
use crate::permission::{
    PermissionMode, PermissionPolicy, PolicyQuestion, PolicyVerdict, RuleBook, ToolFacts,
    miscased_name, resolved,
};
use crate::terminals::{Argv, Variable, read};
use projection::command_line;

/// The method by which an agent announces what it is about to do by itself.
pub(super) const CHECK: &str = "_switchyard/check";

pub(super) const READ: &str = "read";
pub(super) const EDIT: &str = "edit";
const EXECUTE: &str = "execute";
#[derive(Debug)]
pub(super) struct Judge {
    pub(super) policy: PermissionPolicy,
    /// The rules that all sessions share.
    pub(super) rules: RuleBook,
    pub(super) agent: String,
    pub(super) roots: Arc<Roots>,
}

impl Judge {
    /// Judges a request of the agent that somebody is about to serve.
    pub(super) fn request(&self, method: &str, params: &str) -> Result<(), RpcError> {
        #[derive(Deserialize)]
        struct FileParams {
            path: String,
        }
        #[derive(Deserialize)]
        struct CheckParams {
            kind: String,
            #[serde(default)]
            paths: Vec<String>,
            command: Option<String>,
        }
        if is_of_client(method) {
            // What a client would make of it is not known.
            wire::check_unambiguous(params).map_err(RpcError::invalid_params)?;
            check_names(params)?;
        }
        match method {
            "fs/read_text_file" => self.files(READ, &[absolute(read::<FileParams>(params)?.path)?]),
            "fs/write_text_file" => {
                self.files(EDIT, &[absolute(read::<FileParams>(params)?.path)?])
            }
            "terminal/create" => {
                let lines = read::<Argv>(params)?.lines(&self.roots.paths())?;
                lines.into_iter().try_for_each(|line| self.command(line))
            }
            CHECK => match read(params)? {
                CheckParams { command: Some(command), .. } => self.command(command),
                CheckParams { kind, paths, .. } => self.files(&kind, &paths),
            },
            "terminal/output" | "terminal/wait_for_exit" | "terminal/kill" | "terminal/release" => {
                Ok(())
            }
            // ACP has no others, and what they would do is not known.
            method if is_of_client(method) || passes_for_judged(method) => {
                Err(RpcError::method_not_found(method))
            }
            _ => Ok(()),
        }
    }

    /// Judges reading or editing a file that may be reached, by its real path.
    pub(super) fn file(&self, kind: &str, real: &Path) -> Result<(), RpcError> {
        self.mode(kind)?;
        self.rules(&self.about(kind, vec![real.to_owned()]))
    }

    /// Judges files that were not checked to be within reach yet.
    fn files(&self, kind: &str, paths: &[String]) -> Result<(), RpcError> {
        self.mode(kind)?;
        let paths = paths.iter().flat_map(|path| resolved(Path::new(path))).collect();
        self.rules(&self.about(kind, paths).noting_forbidden(self.roots.forbidden()))
    }

    fn command(&self, line: String) -> Result<(), RpcError> {
        self.mode(EXECUTE)?;
        let mut question = self.about(EXECUTE, Vec::new());
        question.facts.command = Some(line);
        self.rules(&question)
    }

    fn rules(&self, question: &PolicyQuestion) -> Result<(), RpcError> {
        match self.policy.judge_by_rules(&self.rules.current(), question) {
            Some(PolicyVerdict::Deny(by)) => {
                let detail = by.detail.unwrap_or_default();
                Err(match by.rule {
                    Some(_) => RpcError::denied(format_args!("denied by rule {detail}")),
                    None => {
                        RpcError::denied(format_args!("denied by {}: {detail}", by.who.as_str()))
                    }
                })
            }
            Some(PolicyVerdict::Allow(_) | PolicyVerdict::Ask) | None => Ok(()),
        }
    }

    fn mode(&self, kind: &str) -> Result<(), RpcError> {
        match self.policy.mode {
            PermissionMode::DenyAll if kind == READ => {
                Err(RpcError::denied("denied: this session may do nothing"))
            }
            mode if kind == READ || mode.allows_changes() => Ok(()),
            _ => Err(RpcError::denied("denied: this session may only read")),
        }
    }

    fn about(&self, kind: &str, paths: Vec<PathBuf>) -> PolicyQuestion {
        let (agent, roots) = (self.agent.clone(), self.roots.paths());
        let facts = ToolFacts { kind: kind.to_owned(), ..ToolFacts::default() };
        PolicyQuestion { agent, facts, paths, roots, ..PolicyQuestion::default() }
    }
}

impl Argv {
    /// The lines that it may be: some clients run `command` as a program, others as the beginning
    /// of a line.
    fn lines(&self, directories: &[PathBuf]) -> Result<Vec<String>, RpcError> {
        if let Some(Variable { name, .. }) = self.env.iter().find(|one| !is_variable(&one.name)) {
            let error = format_args!("`{name}` is no name of a variable");
            return Err(RpcError::invalid_params(error));
        }
        let setting = |one: &Variable| {
            format!("{}={}", one.name, command_line(std::iter::once(one.value.as_str())))
        };
        let settings: Vec<String> = self.env.iter().map(setting).collect();
        let args = command_line(self.args.iter().map(String::as_str));
        let line = |command: &str| {
            let words = settings.iter().map(String::as_str).chain([command, &args]);
            words.collect::<Vec<_>>().join(" ")
        };
        let mut lines = vec![line(&self.command)];
        if self.may_be_a_program(directories) {
            // `a=b/../rm` is no variable then.
            let is_below = self.command.contains('=') && !self.command.starts_with('/');
            let here = if is_below { "./" } else { "" };
            lines.push(line(&format!("'{here}{}'", self.command.replace('\'', r"'\''"))));
        }
        Ok(lines)
    }

    /// Whether all of `command` may be the path of one. A line of a shell has no arguments beside
    /// it, and seldom begins at the root; it may end with a path, though (`ls packages/npm`).
    fn may_be_a_program(&self, directories: &[PathBuf]) -> bool {
        let is_there = |directory: &PathBuf| directory.join(&self.command).exists();
        !self.args.is_empty()
            || self.command.starts_with('/')
            || directories.iter().chain(&self.cwd).chain([&PathBuf::new()]).any(is_there)
    }
}

/// Whether a shell takes it for the name of a variable, and for nothing else.
fn is_variable(name: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    !name.is_empty() && name.chars().all(is_part) && !name.starts_with(|c: char| c.is_ascii_digit())
}

/// Whether a method is about files or commands at the client, also to a careless reader.
pub(crate) fn is_of_client(method: &str) -> bool {
    // As ACP and the libraries for it have them.
    const NAMES: &[&str] = names!(
        "readtextfile writetextfile terminalcreate terminaloutput terminalwaitforexit \
         terminalkill terminalrelease createterminal waitforterminalexit killterminal \
         releaseterminal"
    );
    let (start, letters) = (method.trim_start().to_ascii_lowercase(), letters(method));
    let start = start.trim_start_matches("client/");
    // Letters that look like others, or are the same to somebody: ACP has none.
    !method.is_ascii()
        || ["fs/", "terminal/"].iter().any(|one| start.starts_with(one))
        || NAMES.iter().any(|name| letters.contains(name))
}

/// Whether a careless client takes a method for a question or an update, which are judged or learnt
/// from under the name that they have in ACP.
pub(crate) fn passes_for_judged(method: &str) -> bool {
    let letters = letters(method);
    let questions = ["requestpermission", "elicitationcreate", "createelicitation"];
    questions.iter().any(|name| letters.contains(name)) || letters == "sessionupdate"
}

/// The letters of a method, without separators and without a leading `client`.
fn letters(method: &str) -> String {
    let letters = method.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase);
    let letters: String = letters.collect();
    letters.trim_start_matches("client").to_owned()
}

/// Refuses members that a client may take for others: some do not mind upper and lower case.
fn check_names(params: &str) -> Result<(), RpcError> {
    type Members<'a> = BTreeMap<String, &'a RawValue>;
    #[derive(Deserialize)]
    struct Nested<'a> {
        #[serde(default, borrow)]
        env: Vec<Members<'a>>,
    }
    const NAMES: &[&str] = names!(
        "sessionId path content line limit command args env cwd outputByteLimit terminalId name \
         value _meta"
    );
    let members: Members<'_> = read(params)?;
    let nested: Nested<'_> = read(params)?;
    let names = members.keys().chain(nested.env.iter().flat_map(Members::keys));
    match miscased_name(names, NAMES) {
        None => Ok(()),
        Some(name) => {
            Err(RpcError::invalid_params(format_args!("`{name}` is no member; check its case")))
        }
    }
}

/// The path, if it is absolute: what a client makes of another is not known.
fn absolute(path: String) -> Result<String, RpcError> {
    match Path::new(&path).is_absolute() && !path.contains('\0') {
        true => Ok(path),
        false => Err(RpcError::invalid_params(format_args!("`{path}` is not an absolute path"))),
    }
}

#[cfg(test)]
mod tests;
