//! Places whose files make somebody run something later: hooks, shells, editors, agents.
//!
//! Allowing edits for a session must not mean these: each is asked about by its own name, also
//! where nothing is there yet.

use roots::Place;

use super::Files;
use crate::native::tools::Need;

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

pub(in crate::native) fn is_protected(place: &Place) -> bool {
    let n_below = place.relative().components().count();
    // A root that is such a directory itself; not what is above it, where worktrees may be.
    let root = place.real().ancestors().nth(n_below).and_then(|root| root.file_name());
    let below = place.relative().iter();
    let parts: Vec<String> =
        root.into_iter().chain(below).map(|part| part.to_string_lossy().to_lowercase()).collect();
    parts.iter().any(|part| NAMES.contains(&part.as_str()))
        || parts.windows(2).any(
            |pair| matches!(pair, [one, next] if PAIRS.contains(&(one.as_str(), next.as_str()))),
        )
}

impl Files {
    /// What changing these takes.
    pub(in crate::native) fn need_to_change(&self, places: &[&Place]) -> Need {
        let mut special: Vec<_> = places
            .iter()
            .filter(|place| is_protected(place))
            .map(|place| self.shown(place))
            .collect();
        special.sort();
        special.dedup();
        let key = match special.as_slice() {
            [] => "edit".to_owned(),
            special => format!("edit:protected:{}", special.join(",")),
        };
        Need::Permission { key }
    }
}

#[cfg(test)]
mod tests;
