//! Calls of the tools that an agent happens to offer.
//!
//! In: what shall be done, and the tools of the request. Out: the name of a tool that can do it,
//! with arguments that fit its schema.
//! Agents name tools and members as they like; both are recognised by their names, and what else
//! a schema requires is filled with the smallest value that fits.

mod arguments;
mod patch;
#[cfg(test)]
mod tests;

pub use arguments::smallest;

use arguments::KnownArguments;
use serde_json::{Value, json};

#[derive(Debug, Clone)]
pub struct Tool {
    pub name: String,
    /// Codex sorts the tools of its newer models into namespaces.
    pub namespace: Option<String>,
    /// JSON schema of the arguments; nothing for a tool that takes plain text.
    pub schema: Option<Value>,
}

/// What the model wants done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToolAction {
    Write {
        path: String,
        content: String,
    },
    Read {
        path: String,
    },
    Edit {
        path: String,
        old: String,
        new: String,
    },
    Shell {
        command: String,
    },
    Plan,
    /// A tool that nobody offers.
    Unknown,
    /// A shell call whose arguments fit no schema.
    Misfit,
}

/// A call as it goes over the wire.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    pub name: String,
    pub namespace: Option<String>,
    pub input: Input,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Input {
    Json(Value),
    Text(String),
}

const WRITE: &[&str] =
    &["Write", "write", "write_file", "WriteFile", "create", "create_file", "Create"];
const READ: &[&str] = &["Read", "read", "read_file", "ReadFile", "view"];
const EDIT: &[&str] =
    &["Edit", "edit", "replace", "StrReplaceFile", "search_replace", "edit_file", "patch"];
const SHELL: &[&str] = &[
    "Bash",
    "bash",
    "run_shell_command",
    "Shell",
    "exec_command",
    "shell_command",
    "shell",
    "terminal",
    "run_commands",
    "run_command",
    "Execute",
];
const PLAN: &[&str] = &[
    "TodoWrite",
    "todowrite",
    "todo_write",
    "write_todos",
    "update_plan",
    "TaskCreate",
    "SetTodoList",
    "TodoList",
    "todo",
];
const PATCH: &[&str] = &["apply_patch"];

/// How this set of tools does the deed.
pub fn call(deed: &ToolAction, tools: &[Tool]) -> Call {
    if let Some(script) = tools.iter().find(|tool| is_script(tool)) {
        return with(script, Input::Text(patch::script(deed)));
    }
    let fitting =
        |names: &[&str]| names.iter().find_map(|name| tools.iter().find(|tool| tool.name == *name));
    let filled = |names: &[&str], facts: KnownArguments| {
        let tool = fitting(names)?;
        let schema = tool.schema.as_ref()?;
        Some(with(tool, Input::Json(facts.fill(schema))))
    };
    let shell = |command: &str| {
        filled(SHELL, KnownArguments::command(command))
            .unwrap_or_else(|| plain("shell", json!({ "command": command })))
    };
    match deed {
        ToolAction::Write { path, content } => filled(WRITE, KnownArguments::write(path, content))
            .or_else(|| Some(patch_with(fitting(PATCH)?, path, content)))
            .unwrap_or_else(|| shell(&patch::command(path, content))),
        ToolAction::Read { path } => filled(READ, KnownArguments::path(path))
            .unwrap_or_else(|| shell(&format!("cat {path}"))),
        ToolAction::Edit { path, old, new } => filled(EDIT, KnownArguments::edit(path, old, new))
            .unwrap_or_else(|| shell(&format!("sed -i s/{old}/{new}/ {path}"))),
        ToolAction::Shell { command } => shell(command),
        ToolAction::Plan => {
            filled(PLAN, KnownArguments::plan()).unwrap_or_else(|| plain("no_plan_tool", json!({})))
        }
        ToolAction::Unknown => plain("no_such_tool", json!({ "x": 1 })),
        ToolAction::Misfit => {
            let name = fitting(SHELL).map_or("shell", |tool| tool.name.as_str());
            plain(name, json!({ "nonsense": 1 }))
        }
    }
}

/// Codex in "code mode": one tool that takes JavaScript, and everything else inside it.
fn is_script(tool: &Tool) -> bool {
    tool.name == "exec" && tool.schema.is_none()
}

fn patch_with(tool: &Tool, path: &str, content: &str) -> Call {
    let text = patch::text(path, content);
    let input = match &tool.schema {
        Some(schema) => Input::Json(KnownArguments::patch(&text).fill(schema)),
        None => Input::Text(text),
    };
    with(tool, input)
}

fn with(tool: &Tool, input: Input) -> Call {
    Call { name: tool.name.clone(), namespace: tool.namespace.clone(), input }
}

fn plain(name: &str, arguments: Value) -> Call {
    Call { name: name.to_owned(), namespace: None, input: Input::Json(arguments) }
}

impl Input {
    /// As one string, in which both kinds are streamed.
    pub fn text(&self) -> String {
        match self {
            Self::Json(value) => value.to_string(),
            Self::Text(text) => text.clone(),
        }
    }

    pub fn json(&self) -> Value {
        match self {
            Self::Json(value) => value.clone(),
            Self::Text(text) => json!({ "input": text }),
        }
    }
}
