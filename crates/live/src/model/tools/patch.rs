//! Codex's way to change files: patches, and scripts around its tools.
//!
//! Paths in a patch are relative to the directory that the agent works in, so only the last part
//! of a path is used.

use super::ToolAction;
use serde_json::json;

/// A patch that adds a file.
pub(super) fn text(path: &str, content: &str) -> String {
    let lines = content.lines().fold(String::new(), |all, line| all + "+" + line + "\n");
    format!("*** Begin Patch\n*** Add File: {}\n{lines}*** End Patch\n", file_name(path))
}

/// The same as a shell command, which Codex recognises as a patch.
pub(super) fn command(path: &str, content: &str) -> String {
    format!("apply_patch <<'EOF'\n{}EOF\n", text(path, content))
}

/// JavaScript for "code mode".
pub(super) fn script(deed: &ToolAction) -> String {
    let call = |tool: &str, argument: serde_json::Value| {
        format!("const r = await tools.{tool}({argument});\ntext(r);\n")
    };
    let run = |command: &str| call("exec_command", json!({ "cmd": command }));
    match deed {
        ToolAction::Write { path, content } => call("apply_patch", json!(text(path, content))),
        ToolAction::Read { path } => run(&format!("cat {path}")),
        ToolAction::Edit { path, old, new } => run(&format!("sed -i s/{old}/{new}/ {path}")),
        ToolAction::Shell { command } => run(command),
        ToolAction::Plan => call(
            "update_plan",
            json!({ "plan": [{ "step": "step one", "status": "in_progress" },
                { "step": "step two", "status": "pending" }] }),
        ),
        ToolAction::Unknown => call("no_such_tool", json!({})),
        ToolAction::Misfit => call("exec_command", json!({ "nonsense": 1 })),
    }
}

fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}
