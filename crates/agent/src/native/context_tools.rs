//! Tools with which a model works on its own context, and makes sure of its work.
//!
//! | tool | does |
//! |---|---|
//! | `context_edit` | lists the parts of the conversation; hides, replaces, restores them |
//! | `thread_park` | puts parts aside under a name, and takes them up again |
//! | `classifier_threads` | groups the parts into named threads |
//! | `distill_threads` | puts a note in the place of threads |
//! | `objective_set` | keeps an objective in view |
//! | `verify` | runs the project's checks and judges |
//! | `refine` | lets a sub-agent work until they pass |
//!
//! They are off until somebody switches them on: in the configuration, in a variable, or as an
//! option of a session. Always true: the journal is only added to.

pub(super) mod checks;
mod classifier_threads;
mod context_edit;
mod context_editor;
mod distill_threads;
mod objective_set;
mod part_numbers;
mod refine;
mod side_requests;
mod thread_park;

use std::sync::Arc;

use super::session::NativeSession;
use super::settings::ContextToolName;
use super::tool::Tool;
use super::turn_bounds::TurnBounds;
use context_editor::ContextEditor;

/// The context tools of a session's own conversation, for one turn. A sub-agent has a conversation
/// that nobody keeps, and of these `verify` alone.
pub(super) fn of(session: &Arc<NativeSession>, bounds: &TurnBounds) -> Vec<Arc<Tool>> {
    let editor = ContextEditor { session: session.clone(), change_lock: Arc::default() };
    let make = |name: ContextToolName| match name {
        ContextToolName::ContextEdit => context_edit::tool(editor.clone()),
        ContextToolName::ThreadPark => thread_park::tool(editor.clone()),
        ContextToolName::ClassifierThreads => classifier_threads::tool(editor.clone()),
        ContextToolName::DistillThreads => distill_threads::tool(editor.clone()),
        ContextToolName::ObjectiveSet => objective_set::tool(editor.clone()),
        ContextToolName::Verify => checks::tool(session.clone()),
        ContextToolName::Refine => refine::tool(session.clone(), bounds.clone()),
    };
    session.context_tools().0.into_iter().map(make).collect()
}

#[cfg(test)]
mod tests;
