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

use futures_util::future::{BoxFuture, ready};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::chat::{Part, ToolSpec};
use super::context::in_tokens;
use super::context_tools;
use super::scene::Scene;
use super::session::Session;
use super::task;
use arguments::Argument;
use tokio_util::sync::CancellationToken;

pub use wire::ToolKind as Kind;

mod apply_patch;
pub(super) mod arguments;
mod edit;
mod glob;
mod grep;
mod list;
mod read;
mod search;
mod write;

/// The tools that look at files and change them.
pub fn of_files() -> Vec<Arc<Tool>> {
    vec![
        read::tool(),
        write::tool(),
        edit::tool(),
        apply_patch::tool(),
        list::tool(),
        glob::tool(),
        grep::tool(),
    ]
}

/// What a call would do, as soon as it is known. Boxed by hand and not by `async_trait`, whose bounds
/// on lifetimes have the compiler prove `Send` anew, for every tool, of everything that a session
/// holds: a third of the time that this crate took to compile.
pub type Preparing = BoxFuture<'static, Result<Prepared, ToolError>>;

/// Something that the agent can do.
pub struct Tool {
    pub spec: ToolSpec,
    pub kind: Kind,
    prepare: Box<dyn Fn(Value, Scene) -> Preparing + Send + Sync>,
}

impl std::fmt::Debug for Tool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tool").field("name", &self.spec.name).finish_non_exhaustive()
    }
}

impl Tool {
    /// One of ours: what a model gives as its `arguments` is read into an `A`.
    pub(super) fn new<A, P>(
        name: &'static str,
        kind: Kind,
        description: impl Into<String>,
        arguments: impl IntoIterator<Item = Argument>,
        prepare: impl Fn(A, Scene) -> P + Send + Sync + 'static,
    ) -> Arc<Self>
    where
        A: DeserializeOwned,
        P: Future<Output = Result<Prepared, ToolError>> + Send + 'static,
    {
        let spec = ToolSpec {
            name: name.to_owned(),
            description: description.into(),
            parameters: arguments::schema(arguments),
        };
        Arc::new(Self::taking_any(spec, kind, move |given, scene| {
            match arguments::read(name, given) {
                Ok(asked) => Box::pin(prepare(asked, scene)),
                Err(error) => Box::pin(ready(Err(error))),
            }
        }))
    }

    /// The same of one that need not wait to know what a call would do.
    pub(super) fn at_once<A: DeserializeOwned>(
        name: &'static str,
        kind: Kind,
        description: impl Into<String>,
        arguments: impl IntoIterator<Item = Argument>,
        prepare: impl Fn(A, &Scene) -> Result<Prepared, ToolError> + Send + Sync + 'static,
    ) -> Arc<Self> {
        let prepare = move |asked, scene: Scene| ready(prepare(asked, &scene));
        Self::new(name, kind, description, arguments, prepare)
    }

    /// One that reads its arguments itself.
    pub(super) fn taking_any(
        spec: ToolSpec,
        kind: Kind,
        prepare: impl Fn(Value, Scene) -> Preparing + Send + Sync + 'static,
    ) -> Self {
        Self { spec, kind, prepare: Box::new(prepare) }
    }

    /// Says what a call would do. Changes nothing. The scene is the call's own: it knows the
    /// session's files and commands, and tells the client about progress.
    pub fn prepare(&self, arguments: Value, scene: &Scene) -> Preparing {
        (self.prepare)(arguments, scene.clone())
    }
}

/// A call that can be run.
pub struct Prepared {
    pub shown: Shown,
    pub need: Need,
    /// Runs when the need is met. Dropping it early undoes nothing and leaves nothing running.
    pub work: BoxFuture<'static, Result<Output, ToolError>>,
}

impl Prepared {
    /// A call that anybody may make, and of which no more than its title is shown.
    pub(super) fn free(
        title: impl Into<String>,
        work: impl Future<Output = Result<Output, ToolError>> + Send + 'static,
    ) -> Self {
        let shown = Shown { title: title.into(), ..Shown::default() };
        Self { shown, need: Need::Nothing, work: Box::pin(work) }
    }
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

impl Location {
    /// A place as a whole.
    pub(super) fn of(place: &roots::Place) -> Self {
        Self { path: place.path().to_owned(), line: None }
    }
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
pub struct Toolbox(BTreeMap<String, Arc<Tool>>);

impl Toolbox {
    /// Everything that a session has.
    pub fn of(session: &Arc<Session>, cancel: &CancellationToken) -> Self {
        let mut tools = Self::for_task(session);
        for tool in context_tools::of(session, cancel) {
            tools.add(tool);
        }
        tools.add(task::tool(session.clone(), cancel.clone()));
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

    fn add(&mut self, tool: Arc<Tool>) {
        self.0.insert(tool.spec.name.clone(), tool);
    }

    pub fn get(&self, name: &str) -> Option<Arc<Tool>> {
        self.0.get(name).cloned()
    }

    pub fn names(&self) -> Vec<&str> {
        self.0.keys().map(String::as_str).collect()
    }

    pub fn specs(&self) -> Vec<ToolSpec> {
        self.0.values().map(|tool| tool.spec.clone()).collect()
    }

    /// About what they take in every request.
    pub(super) fn n_tokens(&self) -> u64 {
        let of = |tool: &Arc<Tool>| {
            let ToolSpec { name, description, parameters } = &tool.spec;
            name.len() + description.len() + parameters.to_string().len()
        };
        in_tokens(self.0.values().map(of).sum())
    }
}
