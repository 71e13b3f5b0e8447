//! Directories where package managers and version managers put programs.
//!
//! A program started from a desktop or a service often has a short `PATH`, so these are searched
//! after it.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use crate::definition::Version;

/// Directories below the home directory.
const HOME_DIRS: [&str; 25] = [
    ".local/bin",
    "bin",
    ".npm-global/bin",
    ".npm-packages/bin",
    ".local/share/pnpm",
    ".local/share/pnpm/bin",
    "Library/pnpm",
    ".bun/bin",
    ".volta/bin",
    ".asdf/shims",
    ".local/share/mise/shims",
    ".proto/shims",
    ".vite-plus/bin",
    ".yarn/bin",
    ".config/yarn/global/node_modules/.bin",
    ".deno/bin",
    ".cargo/bin",
    "go/bin",
    ".pyenv/shims",
    ".rye/shims",
    ".local/pipx/bin",
    ".nix-profile/bin",
    ".local/state/nix/profile/bin",
    ".linuxbrew/bin",
    "miniconda3/bin",
];

/// Environment variables that name a directory, each with the subdirectory of programs.
const NAMED_DIRS: [(&str, &str); 21] = [
    ("NPM_CONFIG_PREFIX", "bin"),
    ("npm_config_prefix", "bin"),
    ("PNPM_HOME", ""),
    ("BUN_INSTALL", "bin"),
    ("VOLTA_HOME", "bin"),
    ("ASDF_DATA_DIR", "shims"),
    ("MISE_DATA_DIR", "shims"),
    ("VP_HOME", "bin"),
    ("NVM_BIN", ""),
    ("DENO_INSTALL", "bin"),
    ("CARGO_HOME", "bin"),
    ("GOBIN", ""),
    ("GOPATH", "bin"),
    ("PYENV_ROOT", "shims"),
    ("UV_TOOL_BIN_DIR", ""),
    ("PIPX_BIN_DIR", ""),
    ("XDG_BIN_HOME", ""),
    ("VIRTUAL_ENV", "bin"),
    ("CONDA_PREFIX", "bin"),
    ("HOMEBREW_PREFIX", "bin"),
    ("NIX_PROFILE", "bin"),
];

const SYSTEM_DIRS: [&str; 8] = [
    "/opt/homebrew/bin",
    "/home/linuxbrew/.linuxbrew/bin",
    "/usr/local/bin",
    "/usr/bin",
    "/bin",
    "/run/current-system/sw/bin",
    "/nix/var/nix/profiles/default/bin",
    "/snap/bin",
];

/// Version managers of Node: the variable of the root, the root below home without it, below the
/// root the directory of versions, below each version the directory of programs.
const NODE_VERSIONS: [(&str, &str, &str, &str); 5] = [
    ("NVM_DIR", ".nvm", "versions/node", "bin"),
    ("FNM_DIR", ".local/share/fnm", "node-versions", "installation/bin"),
    ("", ".fnm", "node-versions", "installation/bin"),
    ("", "Library/Application Support/fnm", "node-versions", "installation/bin"),
    ("MISE_DATA_DIR", ".local/share/mise", "installs/node", "bin"),
];

/// How many versions of Node are looked at, for each version manager.
const MAX_VERSIONS: usize = 50;

/// All these directories that exist, in the order in which they are searched.
pub fn well_known(
    home: Option<&Path>,
    variable: impl Fn(&str) -> Option<OsString>,
) -> Vec<PathBuf> {
    let named = |name: &str| variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let mut dirs: Vec<PathBuf> = Vec::new();
    dirs.extend(NAMED_DIRS.iter().filter_map(|(name, below)| Some(named(name)?.join(below))));
    if let Some(home) = home {
        dirs.extend(HOME_DIRS.iter().map(|dir| home.join(dir)));
    }
    for (name, below_home, versions, bin) in NODE_VERSIONS {
        let root = named(name).or_else(|| Some(home?.join(below_home)));
        if let Some(root) = root {
            dirs.extend(newest_first(&root.join(versions)).map(|version| version.join(bin)));
        }
    }
    dirs.extend(SYSTEM_DIRS.iter().map(PathBuf::from));
    let mut existing: Vec<PathBuf> = Vec::new();
    for dir in dirs {
        if dir.is_dir() && !existing.contains(&dir) {
            existing.push(dir);
        }
    }
    existing
}

fn newest_first(dir: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten().take(MAX_VERSIONS);
    let mut versions: Vec<_> = entries
        .map(|entry| (Version::find(&entry.file_name().to_string_lossy()), entry.path()))
        .collect();
    versions.sort();
    versions.into_iter().rev().map(|(_, path)| path)
}
