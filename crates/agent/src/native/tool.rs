//! Tools, and the context of their calls.
//!
//! A tool is asked twice. First it *prepares* a call: it reads the arguments, looks at what
//! there is, and says what it would do, with its diff or its command, so that a person can be
//! asked before anything happens. Then the work that it prepared is run, or dropped.
//!
//! Always true: what a tool gives back is bounded; an error is text for the model, never the
//! end of a turn; dropping the work ends everything that it started.

pub(super) mod arguments;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use futures_util::future::{BoxFuture, ready};
use roots::Roots;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::chat::ToolSpec;
use super::client::AcpClient;
use super::files::Files;
use super::lock;
use super::settings::ToolSettings;
use super::tool_call::set_shown;
pub use super::tool_call::{
    CallContent, CallDescription, CallNeed, Location, PreparedCall, ToolError, ToolKind, ToolOutput,
};
use arguments::Argument;

/// The preparation of a call. Boxed, so that tools of all kinds have one type, and so that the
/// compiler does not prove `Send` anew for every tool of everything that a session holds.
pub type PreparationFuture = BoxFuture<'static, Result<PreparedCall, ToolError>>;

/// A tool of the agent.
pub struct Tool {
    pub spec: ToolSpec,
    pub kind: ToolKind,
    prepare: Box<dyn Fn(Value, ToolContext) -> PreparationFuture + Send + Sync>,
}

impl std::fmt::Debug for Tool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tool").field("name", &self.spec.name).finish_non_exhaustive()
    }
}

impl Tool {
    /// A tool of ours: what a model gives as its `arguments` is read into an `A`.
    pub(super) fn new<A, P>(
        name: &'static str,
        kind: ToolKind,
        description: impl Into<String>,
        arguments: impl IntoIterator<Item = Argument>,
        prepare: impl Fn(A, ToolContext) -> P + Send + Sync + 'static,
    ) -> Arc<Self>
    where
        A: DeserializeOwned,
        P: Future<Output = Result<PreparedCall, ToolError>> + Send + 'static,
    {
        let spec = ToolSpec {
            name: name.to_owned(),
            description: description.into(),
            parameters: arguments::schema(arguments),
        };
        Arc::new(Self::taking_any(spec, kind, move |given, context| {
            match arguments::read(name, given) {
                Ok(asked) => Box::pin(prepare(asked, context)),
                Err(error) => Box::pin(ready(Err(error))),
            }
        }))
    }

    /// A tool that need not wait to know what a call would do.
    pub(super) fn at_once<A: DeserializeOwned>(
        name: &'static str,
        kind: ToolKind,
        description: impl Into<String>,
        arguments: impl IntoIterator<Item = Argument>,
        prepare: impl Fn(A, &ToolContext) -> Result<PreparedCall, ToolError> + Send + Sync + 'static,
    ) -> Arc<Self> {
        let prepare = move |asked, context: ToolContext| ready(prepare(asked, &context));
        Self::new(name, kind, description, arguments, prepare)
    }

    /// A tool that reads its arguments itself.
    pub(super) fn taking_any(
        spec: ToolSpec,
        kind: ToolKind,
        prepare: impl Fn(Value, ToolContext) -> PreparationFuture + Send + Sync + 'static,
    ) -> Self {
        Self { spec, kind, prepare: Box::new(prepare) }
    }

    /// Says what a call would do. Changes nothing. The context is the call's own: it knows the
    /// session's files and commands, and tells the client about progress.
    pub fn prepare(&self, arguments: Value, context: &ToolContext) -> PreparationFuture {
        (self.prepare)(arguments, context.clone())
    }
}

/// The tools of one turn, by name.
pub(super) type Toolbox = BTreeMap<String, Arc<Tool>>;

/// Indexes tools by name; of two with one name the later counts.
pub(super) fn by_name(tools: impl IntoIterator<Item = Arc<Tool>>) -> Toolbox {
    tools.into_iter().map(|tool| (tool.spec.name.clone(), tool)).collect()
}

/// The context of a call: its session's files and client, and a way to show what it does. Cheap to
/// clone; each call has its own.
#[derive(Debug, Clone)]
pub struct ToolContext {
    pub workspace: Arc<Workspace>,
    /// The id of the call, as clients see it.
    pub call: String,
    pub progress: CallProgress,
}

/// Content that a running call has shown last: all that is left of it when it is interrupted.
pub type CallProgress = Arc<Mutex<Vec<CallContent>>>;

/// The workspace of a session, which all its calls share.
#[derive(Debug)]
pub struct Workspace {
    pub cwd: PathBuf,
    /// `cwd` and what the client added to it: nothing outside is read or changed.
    pub roots: Vec<PathBuf>,
    pub files: Files,
    pub client: AcpClient,
    pub settings: ToolSettings,
}

impl ToolContext {
    /// Shows more of the call that runs, while it runs. What is shown replaces what was.
    pub fn show(&self, content: &[CallContent], locations: &[Location]) {
        if !content.is_empty() {
            *lock(&self.progress) = content.to_vec();
        }
        let mut update = json!({
            "sessionUpdate": "tool_call_update", "toolCallId": self.call, "status": "in_progress",
        });
        set_shown(&mut update, content, locations);
        self.workspace.client.update_if_room(update);
    }
}

impl Workspace {
    /// A session in `cwd` that may also use `more`.
    pub fn new(
        cwd: PathBuf,
        more: &[PathBuf],
        client: AcpClient,
        settings: ToolSettings,
    ) -> Result<Self, roots::RootsError> {
        let mut roots = vec![cwd.clone()];
        roots.extend_from_slice(more);
        let files =
            Files::new(cwd.clone(), Roots::open(&roots, &settings.forbidden)?, client.clone());
        let settings = ToolSettings { sandbox: settings.sandbox.for_session(), ..settings };
        Ok(Self { cwd, roots, files, client, settings })
    }
}
