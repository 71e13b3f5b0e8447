//! What the agent can do, and how a tool is written.
//!
//! A tool is asked twice. First it *prepares* a call: it reads the arguments, looks at what
//! there is, and says what it would do, with its diff or its command, so that a person can be
//! asked before anything happens. Then the work that it prepared is run, or dropped.
//!
//! Always true: what a tool gives back is bounded; an error is text for the model, never the
//! end of a turn; dropping the work ends everything that it started.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde_json::Value;

use super::chat::{Part, ToolSpec};
use super::context::in_tokens;
use super::context_tools;
use super::scene::Scene;
use super::session::Session;
use super::task::Task;
use tokio_util::sync::CancellationToken;

pub use wire::ToolKind as Kind;

pub mod apply_patch;
pub(super) mod arguments;
pub mod edit;
pub mod glob;
pub mod grep;
pub mod list;
pub mod read;
mod search;
pub mod write;

/// The tools that look at files and change them.
pub fn of_files() -> Vec<Arc<dyn Tool>> {
    vec![
        Arc::new(read::Read),
        Arc::new(write::Write),
        Arc::new(edit::Edit),
        Arc::new(apply_patch::ApplyPatch),
        Arc::new(list::List),
        Arc::new(glob::Glob),
        Arc::new(grep::Grep),
    ]
}

/// What a call would do, as soon as it is known. Boxed by hand and not by `async_trait`, whose bounds
/// on lifetimes have the compiler prove `Send` anew, for every tool, of everything that a session
/// holds: a third of the time that this crate took to compile.
pub type Preparing<'a> = BoxFuture<'a, Result<Prepared, ToolError>>;

pub trait Tool: Send + Sync + std::fmt::Debug {
    fn spec(&self) -> ToolSpec;

    fn kind(&self) -> Kind;

    /// Says what a call would do. Changes nothing. The scene is the call's own: it knows the
    /// session's files and commands, and tells the client about progress.
    fn prepare<'a>(&'a self, arguments: Value, scene: &'a Scene) -> Preparing<'a>;
}

/// A call that can be run.
pub struct Prepared {
    pub shown: Shown,
    pub need: Need,
    /// Runs when the need is met. Dropping it early undoes nothing and leaves nothing running.
    pub work: BoxFuture<'static, Result<Output, ToolError>>,
}

impl std::fmt::Debug for Prepared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Prepared")
            .field("shown", &self.shown)
            .field("need", &self.need)
            .finish_non_exhaustive()
    }
}

/// What people see of a call.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Shown {
    /// Of this call, where the tool has calls of several kinds.
    pub kind: Option<Kind>,
    pub title: String,
    pub locations: Vec<Location>,
    /// A diff of what would be changed, the command that would be run.
    pub content: Vec<Content>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Location {
    pub path: PathBuf,
    /// Counted from 1.
    pub line: Option<u32>,
}

/// What is in a tool call, as ACP has it.
#[derive(Debug, Clone, PartialEq)]
pub enum Content {
    Text(String),
    Image {
        mime: String,
        data: String,
    },
    Diff {
        path: PathBuf,
        old: Option<String>,
        new: String,
    },
    /// A terminal of the client.
    Terminal(String),
}

/// What has to be true before a call runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Need {
    /// It only looks, and only inside the session's roots.
    Nothing,
    /// Somebody has to allow it. `key` names what *always* would mean: calls with the same key
    /// are not asked about again in this session (`edit`, `execute:cargo test`, `fetch:host`).
    Permission { key: String },
}

/// What a call gave.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Output {
    /// For the model.
    pub parts: Vec<Part>,
    /// For people; what was shown before stays when this is empty.
    pub content: Vec<Content>,
    pub locations: Vec<Location>,
    /// For programs, with members of their own (`rawOutput`).
    pub raw: Option<Value>,
    /// A better title than the one before, if there is one.
    pub title: Option<String>,
}

impl Output {
    pub fn text(text: impl Into<String>) -> Self {
        Self { parts: vec![Part::text(text)], ..Self::default() }
    }
}

/// Told to the model, which may try something else.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ToolError(pub String);

impl ToolError {
    pub fn new(why: impl std::fmt::Display) -> Self {
        Self(why.to_string())
    }
}

/// The tools of one turn, by name.
#[derive(Debug, Default)]
pub struct Toolbox(BTreeMap<String, Arc<dyn Tool>>);

impl Toolbox {
    /// Everything that a session has.
    pub fn of(session: &Arc<Session>, cancel: &CancellationToken) -> Self {
        let mut tools = Self::for_task(session);
        for tool in context_tools::of(session, cancel) {
            tools.add(tool);
        }
        let (session, cancel) = (session.clone(), cancel.clone());
        tools.add(Arc::new(Task { session, cancel }));
        tools
    }

    /// What a sub-agent has.
    pub(super) fn for_task(session: &Arc<Session>) -> Self {
        let mut tools = Self::default();
        session
            .tools
            .iter()
            .chain(&session.servers.tools())
            .for_each(|tool| tools.add(tool.clone()));
        for tool in context_tools::for_task(session) {
            tools.add(tool);
        }
        tools
    }

    fn add(&mut self, tool: Arc<dyn Tool>) {
        self.0.insert(tool.spec().name, tool);
    }

    pub fn get(&self, name: &str) -> Option<Arc<dyn Tool>> {
        self.0.get(name).cloned()
    }

    pub fn names(&self) -> Vec<&str> {
        self.0.keys().map(String::as_str).collect()
    }

    pub fn specs(&self) -> Vec<ToolSpec> {
        self.0.values().map(|tool| tool.spec()).collect()
    }

    /// About what they take in every request.
    pub(super) fn n_tokens(&self) -> u64 {
        let of = |spec: ToolSpec| {
            spec.name.len() + spec.description.len() + spec.parameters.to_string().len()
        };
        in_tokens(self.specs().into_iter().map(of).sum())
    }
}
