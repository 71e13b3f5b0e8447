//! The tool `todo`: the agent's plan, kept for a session and shown as ACP's plan.
//!
//! In: the whole list, each time. Out: the same list, checked. A list that is refused leaves the
//! one before as it was.

use std::fmt::Write as _;
use std::sync::{Arc, Mutex};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::display_text;
use super::lock;
use super::tool::arguments::{self, any, string, word};
use super::tool::{PreparedCall, Tool, ToolContext, ToolError, ToolKind, ToolOutput};

/// A longer plan is not looked at by anybody.
const MAX_TODOS: usize = 100;
const MAX_CONTENT_CHARS: usize = 500;

pub(super) type TodoList = Arc<Mutex<Vec<TodoEntry>>>;

/// One step, in ACP's words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct TodoEntry {
    pub content: String,
    #[serde(default)]
    pub priority: TodoPriority,
    #[serde(default)]
    pub status: TodoStatus,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum TodoPriority {
    High,
    #[default]
    Medium,
    Low,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum TodoStatus {
    #[default]
    Pending,
    InProgress,
    #[serde(alias = "done")]
    Completed,
}

#[derive(Deserialize)]
struct TodoArguments {
    todos: Option<Vec<TodoEntry>>,
}

/// The list that a call set, from the call as clients saw it last.
pub(super) fn list_of(shown: &Value) -> Option<Vec<TodoEntry>> {
    let is_one = shown["name"] == "todo" && shown["status"] == "completed";
    let arguments = TodoArguments::deserialize(&shown["rawInput"]).ok().filter(|_| is_one)?;
    arguments.todos
}

/// A list as an ACP update.
pub(super) fn plan(todos: &[TodoEntry]) -> Value {
    json!({ "sessionUpdate": "plan", "entries": todos })
}

/// The tool for one session, whose list begins as it was left.
pub(super) fn tool(list: TodoList) -> Arc<Tool> {
    let description = "Keeps the list of steps of the current task, which the user sees. Send \
        the whole list each time; without `todos` the list is returned as it is. Use it for \
        tasks of several steps, keep one step in_progress, and mark a step completed as soon \
        as it is.";
    let entry = arguments::schema([
        string("content", "What to do").required(),
        word("status", &["pending", "in_progress", "completed"], "").required(),
        word("priority", &["high", "medium", "low"], ""),
    ]);
    let todos = any("todos", json!({ "type": "array", "items": entry }));
    let prepare = move |asked, context: &ToolContext| prepare(asked, Arc::clone(&list), context);
    Tool::at_once("todo", ToolKind::Think, description, [todos], prepare)
}

fn prepare(
    asked: TodoArguments,
    list: TodoList,
    context: &ToolContext,
) -> Result<PreparedCall, ToolError> {
    if let Some(todos) = &asked.todos {
        check(todos)?;
    }
    let title = match &asked.todos {
        Some(todos) => summary(todos),
        None => "Look at the plan".into(),
    };
    let session = Arc::clone(&context.workspace);
    let work = async move {
        let Some(todos) = asked.todos else {
            let todos = lock(&list).clone();
            return Ok(ToolOutput::text(list_text(&todos)));
        };
        session.client.update(plan(&todos)).await.map_err(|error| {
            ToolError(format!("the plan was not shown, and not changed: {error}"))
        })?;
        let text = list_text(&todos);
        *lock(&list) = todos;
        Ok(ToolOutput::text(text))
    };
    Ok(PreparedCall::free(title, work))
}

fn check(todos: &[TodoEntry]) -> Result<(), ToolError> {
    if todos.len() > MAX_TODOS {
        let n = todos.len();
        return Err(ToolError(format!("{n} todos are too many; keep to {MAX_TODOS}")));
    }
    for (at, todo) in todos.iter().enumerate() {
        let n_chars = todo.content.chars().count();
        if todo.content.trim().is_empty() {
            return Err(ToolError(format!("todo {} has an empty `content`", at + 1)));
        }
        if n_chars > MAX_CONTENT_CHARS {
            return Err(ToolError(format!(
                "the `content` of todo {} has {n_chars} characters; keep to {MAX_CONTENT_CHARS}",
                at + 1
            )));
        }
    }
    Ok(())
}

fn summary(todos: &[TodoEntry]) -> String {
    let n_done = todos.iter().filter(|todo| todo.status == TodoStatus::Completed).count();
    match todos.iter().find(|todo| todo.status == TodoStatus::InProgress) {
        Some(todo) => {
            format!("Plan ({n_done}/{}): {}", todos.len(), display_text::title(&todo.content))
        }
        None => format!("Plan ({n_done}/{})", todos.len()),
    }
}

fn list_text(todos: &[TodoEntry]) -> String {
    if todos.is_empty() {
        return "The list is empty.".into();
    }
    let mut text = String::from("The list is now:\n");
    for todo in todos {
        let mark = match todo.status {
            TodoStatus::Pending => ' ',
            TodoStatus::InProgress => '>',
            TodoStatus::Completed => 'x',
        };
        let priority = match todo.priority {
            TodoPriority::High => " (high)",
            TodoPriority::Medium => "",
            TodoPriority::Low => " (low)",
        };
        let _ = writeln!(text, "[{mark}] {}{priority}", todo.content);
    }
    text
}

#[cfg(test)]
mod tests;
