//! Places whose files make somebody run something later: hooks, shells, editors, agents.
//!
//! Whoever allows edits in a directory does not mean these.

use std::path::Path;

/// Anywhere in a path, as a directory or as a file.
const NAMES: &[&str] = &[
    // Version control: hooks, filters, aliases.
    ".git",
    ".hg",
    ".svn",
    ".jj",
    ".gitconfig",
    ".gitmodules",
    ".husky",
    // Keys and who may come in.
    ".ssh",
    ".gnupg",
    ".netrc",
    // Shells and what they read on the way.
    ".bashrc",
    ".bash_profile",
    ".bash_login",
    ".bash_logout",
    ".bash_aliases",
    ".profile",
    ".zshrc",
    ".zshenv",
    ".zprofile",
    ".zlogin",
    ".zlogout",
    ".kshrc",
    ".cshrc",
    ".tcshrc",
    ".login",
    ".inputrc",
    ".envrc",
    // Agents and editors: servers, tasks and commands that they start.
    ".mcp.json",
    ".claude",
    ".claude.json",
    ".codex",
    ".gemini",
    ".qwen",
    ".cursor",
    ".opencode",
    "opencode.json",
    "opencode.jsonc",
    ".kiro",
    ".vscode",
    ".idea",
    ".zed",
    ".devcontainer",
    ".switchyard",
    "switchyard.toml",
];

/// One directory and the next.
const PAIRS: &[(&str, &str)] = &[
    (".config", "fish"),
    (".config", "git"),
    (".config", "opencode"),
    (".config", "switchyard"),
    (".config", "systemd"),
    (".config", "autostart"),
];

/// Whether a file below `root` is in such a place, also where nothing is there yet. Both are
/// without links; what is not below `root` is none of its places.
pub fn is_protected(root: &Path, path: &Path) -> bool {
    let Ok(below) = path.strip_prefix(root) else { return false };
    // A root that is such a directory itself; not what is above it, where worktrees may be.
    let parts: Vec<String> = root
        .file_name()
        .into_iter()
        .chain(below)
        .map(|part| part.to_string_lossy().to_lowercase())
        .collect();
    parts.iter().any(|part| NAMES.contains(&part.as_str()))
        || parts.windows(2).any(
            |pair| matches!(pair, [one, next] if PAIRS.contains(&(one.as_str(), next.as_str()))),
        )
}
