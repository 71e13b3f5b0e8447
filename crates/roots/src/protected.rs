//! Places whose files make somebody run something later: hooks, shells, editors, agents.
//!
//! Whoever allows edits in a directory does not mean these, so each is asked about; a command in
//! a sandbox cannot change them at all, because what is written there runs outside, with all of
//! somebody's rights.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use SandboxRule::{AtHome, Closed, IfExisting, Parts};

/// The restriction of commands in a sandbox for a protected place directly below a session's
/// directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SandboxRule {
    /// It may be neither changed nor created.
    Closed,
    /// It may not be changed where it exists; creating it is harmless, or in vain until somebody
    /// agrees, but for somebody's home.
    IfExisting,
    /// It may be neither changed nor created where the directory is somebody's home.
    AtHome,
    /// These entries of it may be neither changed nor created; the rest is what programs work with.
    Parts(&'static [&'static str]),
}

/// Entries of git's own directory by which git runs things.
const GIT_PARTS: &[&str] =
    &["hooks", "config", "config.worktree", "commondir", "modules", "worktrees", "info/attributes"];

/// The protected places: anywhere in a path, as a directory or as a file, in upper or lower case.
const PROTECTED_PLACES: &[(&str, SandboxRule)] = &[
    // Version control: hooks, filters, aliases, and what leads to another configuration.
    (".git", Parts(GIT_PARTS)),
    (".hg", IfExisting),
    (".svn", IfExisting),
    (".jj", IfExisting),
    (".gitconfig", AtHome),
    (".gitmodules", IfExisting),
    (".husky", IfExisting),
    ("lefthook.yml", IfExisting),
    (".pre-commit-config.yaml", IfExisting),
    // CI services: what other machines run with their keys.
    (".github/workflows", IfExisting),
    (".github/actions", IfExisting),
    (".gitlab-ci.yml", IfExisting),
    (".circleci", IfExisting),
    (".travis.yml", IfExisting),
    (".forgejo", IfExisting),
    (".gitea", IfExisting),
    ("Jenkinsfile", IfExisting),
    (".woodpecker", IfExisting),
    (".woodpecker.yml", IfExisting),
    (".woodpecker.yaml", IfExisting),
    (".drone.yml", IfExisting),
    (".buildkite", IfExisting),
    (".cirrus.yml", IfExisting),
    ("azure-pipelines.yml", IfExisting),
    ("bitbucket-pipelines.yml", IfExisting),
    // Keys, and lists of who may log in.
    (".ssh", AtHome),
    (".gnupg", AtHome),
    (".netrc", AtHome),
    // Shells and what they read at their start.
    (".bashrc", AtHome),
    (".bash_profile", AtHome),
    (".bash_login", AtHome),
    (".bash_logout", AtHome),
    (".bash_aliases", AtHome),
    (".bash_completion", AtHome),
    (".profile", AtHome),
    (".zshrc", AtHome),
    (".zshenv", AtHome),
    (".zprofile", AtHome),
    (".zlogin", AtHome),
    (".zlogout", AtHome),
    (".kshrc", AtHome),
    (".cshrc", AtHome),
    (".tcshrc", AtHome),
    (".login", AtHome),
    (".inputrc", AtHome),
    (".pam_environment", AtHome),
    (".xprofile", AtHome),
    (".xinitrc", AtHome),
    (".xsession", AtHome),
    (".envrc", IfExisting),
    (".direnvrc", AtHome),
    ("mise.toml", IfExisting),
    (".mise.toml", IfExisting),
    // Package managers: programs and scripts that they start.
    (".cargo", IfExisting),
    (".npmrc", IfExisting),
    (".yarnrc", IfExisting),
    (".yarnrc.yml", IfExisting),
    ("bunfig.toml", IfExisting),
    (".bazelrc", IfExisting),
    (".pnpmfile.cjs", IfExisting),
    // Tools that read commands where they are started.
    (".gdbinit", IfExisting),
    (".lldbinit", IfExisting),
    (".pdbrc", IfExisting),
    (".pythonrc", AtHome),
    (".irbrc", IfExisting),
    (".Rprofile", IfExisting),
    (".tmux.conf", AtHome),
    (".screenrc", AtHome),
    // Editors: tasks and commands that they start.
    (".vimrc", IfExisting),
    (".gvimrc", IfExisting),
    (".exrc", IfExisting),
    (".nvimrc", IfExisting),
    (".nvim.lua", IfExisting),
    (".helix", IfExisting),
    (".vim", AtHome),
    (".emacs", AtHome),
    (".emacs.d", AtHome),
    (".dir-locals.el", IfExisting),
    (".vscode", Closed),
    (".idea", Closed),
    (".zed", Closed),
    (".fleet", IfExisting),
    (".devcontainer", IfExisting),
    (".devcontainer.json", IfExisting),
    // Agents: servers, hooks and commands that they start.
    (".mcp.json", Closed),
    ("mcp.json", IfExisting),
    (".claude", Closed),
    (".claude.json", IfExisting),
    (".codex", Closed),
    (".gemini", Closed),
    (".qwen", Closed),
    (".cursor", Closed),
    (".opencode", Closed),
    ("opencode.json", Closed),
    ("opencode.jsonc", Closed),
    (".kiro", IfExisting),
    (".kimi", IfExisting),
    (".hermes", IfExisting),
    (".copilot", IfExisting),
    (".windsurf", IfExisting),
    (".roo", IfExisting),
    (".continue", IfExisting),
    (".aider.conf.yml", IfExisting),
    (".goose", IfExisting),
    (".amp", IfExisting),
    (".factory", IfExisting),
    (".crush.json", IfExisting),
    ("crush.json", IfExisting),
    (".switchyard", Closed),
    ("switchyard.toml", IfExisting),
    // Places of a home, wherever it is.
    (".config/autostart", IfExisting),
    (".config/code", IfExisting),
    (".config/emacs", IfExisting),
    (".config/environment.d", IfExisting),
    (".config/fish", IfExisting),
    (".config/git", IfExisting),
    (".config/helix", IfExisting),
    (".config/nvim", IfExisting),
    (".config/opencode", IfExisting),
    (".config/switchyard", IfExisting),
    (".config/systemd", IfExisting),
    (".config/zed", IfExisting),
    (".local/bin", IfExisting),
];

/// Further protected places, only where a session's directory is the user's home.
const AT_HOME: &[&str] = &[".config", ".local", "bin"];

static LOWERCASE_PLACES: LazyLock<Vec<String>> =
    LazyLock::new(|| PROTECTED_PLACES.iter().map(|(place, _)| place.to_lowercase()).collect());

static HOME: LazyLock<Option<PathBuf>> =
    LazyLock::new(|| std::env::home_dir().and_then(|home| home.canonicalize().ok()));

/// Whether a file below `root` is in a protected place, also where nothing exists yet. Both paths
/// are without links; what is not below `root` is none of its places.
pub fn is_protected(root: &Path, path: &Path) -> bool {
    let Ok(below) = path.strip_prefix(root) else { return false };
    let small = |path: &Path| PathBuf::from(path.to_string_lossy().to_lowercase());
    if is_home(root) && AT_HOME.iter().any(|place| small(below).starts_with(place)) {
        return true;
    }
    // A root that is such a directory itself; not what is above it, where worktrees may be.
    let name = root.file_name().map(PathBuf::from).unwrap_or_default();
    let path = small(&name.join(below));
    let mut rest = path.components();
    while rest.clone().next().is_some() {
        if LOWERCASE_PLACES.iter().any(|place| rest.as_path().starts_with(place)) {
            return true;
        }
        rest.next();
    }
    // A repository whose directory has another name.
    path_in_git_dir(root, &root.join(below))
}

/// Whether git runs things by a file, in a directory of git's with whatever name, or the file makes
/// a directory one of git's. The other files of such a directory may still come, in any order.
fn path_in_git_dir(root: &Path, path: &Path) -> bool {
    if path.file_name().is_some_and(|name| name == HEAD) {
        return true;
    }
    let above = path.ancestors().skip(1).take_while(|dir| dir.starts_with(root));
    above.filter(|dir| has_head(dir)).any(|dir| {
        let below = path.strip_prefix(dir).unwrap_or(path);
        GIT_PARTS.iter().any(|part| below.starts_with(part))
    })
}

/// Whether a directory is one of git's, by git's own test.
fn is_git_dir(dir: &Path) -> bool {
    let has_all = || dir.join("objects").is_dir() && dir.join("refs").is_dir();
    has_head(dir) && (has_all() || dir.join(COMMON_DIR).is_file())
}

/// Whether a directory has a `HEAD`, which may be a link to a branch that is not there yet.
fn has_head(dir: &Path) -> bool {
    dir.join(HEAD).symlink_metadata().is_ok_and(|head| !head.is_dir())
}

/// Without this file no directory is one of git's.
const HEAD: &str = "HEAD";

/// In a worktree's own directory: where hooks and configuration are.
const COMMON_DIR: &str = "commondir";

/// Directories of git's with another name that belong to one session's directory, relative to it:
/// of a bare repository, here or one step down, and where files in the place of `.git` and of
/// `commondir` lead.
fn git_dirs(root: &Path) -> Vec<PathBuf> {
    let Ok(root) = root.canonicalize() else { return Vec::new() };
    let below = root.read_dir().into_iter().flatten().flatten().map(|entry| entry.path());
    let mut found: Vec<PathBuf> =
        below.chain([root.clone()]).filter(|dir| is_git_dir(dir)).collect();
    let led = std::fs::read_to_string(root.join(".git")).ok();
    let led = led.as_deref().and_then(|text| text.trim().strip_prefix("gitdir: "));
    found.extend(led.map(|dir| root.join(dir)));
    let common = |dir: &PathBuf| {
        let text = std::fs::read_to_string(dir.join(COMMON_DIR)).ok()?;
        Some(dir.join(text.trim()))
    };
    found.extend(found.iter().chain([&root.join(".git")]).filter_map(common).collect::<Vec<_>>());
    let real = found.iter().filter_map(|dir| dir.canonicalize().ok());
    let mut inside: Vec<PathBuf> =
        real.filter_map(|dir| Some(dir.strip_prefix(&root).ok()?.to_owned())).collect();
    inside.sort();
    inside.dedup();
    inside
}

/// The places of one session's directory that a command in a sandbox must leave alone, relative
/// to it, and whether they must not be made either.
pub fn sandboxed_places(root: &Path) -> Vec<(PathBuf, bool)> {
    let is_home = is_home(root);
    let mut found = Vec::new();
    for (place, held) in PROTECTED_PLACES {
        match held {
            Closed => found.push((PathBuf::from(place), true)),
            IfExisting => found.push((PathBuf::from(place), is_home)),
            AtHome if is_home => found.push((PathBuf::from(place), true)),
            AtHome => {}
            Parts(parts) => {
                found.extend(parts.iter().map(|part| (Path::new(place).join(part), true)));
            }
        }
    }
    for dir in git_dirs(root).iter().filter(|dir| *dir != Path::new(".git")) {
        found.extend(GIT_PARTS.iter().map(|part| (dir.join(part), true)));
    }
    found.extend(AT_HOME.iter().filter(|_| is_home).map(|place| (PathBuf::from(place), true)));
    found
}

fn is_home(root: &Path) -> bool {
    HOME.as_deref() == Some(root)
}

#[cfg(test)]
mod tests {
    //! Directories of git are known by what is in them.

    use super::*;

    #[test]
    fn no_directory_becomes_a_repository_file_by_file() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let sub = root.join("sub");
        std::fs::create_dir(&sub).unwrap();
        assert!(!is_protected(&root, &sub.join("config")));
        assert!(is_protected(&root, &sub.join("HEAD")));
        assert!(!is_protected(&root, &root.join("src/head/mod.rs")));
        std::fs::write(sub.join("HEAD"), "ref: refs/heads/main").unwrap();
        assert!(is_protected(&root, &sub.join("config")));
        assert!(is_protected(&root, &sub.join("hooks/post-checkout")));
    }

    #[test]
    fn repositories_by_another_name_are_protected() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let make = |name: &str| {
            let git = root.join(name);
            std::fs::create_dir_all(git.join("objects")).unwrap();
            std::fs::create_dir_all(git.join("refs")).unwrap();
            std::fs::write(git.join("HEAD"), "ref: refs/heads/main").unwrap();
            git
        };
        let git = make("work/gitd");
        let work = root.join("work");
        std::fs::write(work.join(".git"), "gitdir: gitd\n").unwrap();
        assert!(is_protected(&work, &git.join("config")));
        assert!(is_protected(&work, &git.join("hooks/post-commit")));
        assert!(!is_protected(&work, &git.join("refs/heads/main")));
        assert!(!is_protected(&work, &work.join("src/config")));
        let places = sandboxed_places(&work);
        assert!(places.contains(&("gitd/config".into(), true)), "{places:?}");

        let bare = make("bare");
        assert!(is_protected(&bare, &bare.join("hooks/update")));
        assert!(is_protected(&root, &bare.join("config")), "further down, too");
        assert!(sandboxed_places(&bare).contains(&("hooks".into(), true)));
        assert!(sandboxed_places(&root).contains(&("bare/hooks".into(), true)), "one step down");
        std::fs::remove_file(bare.join("HEAD")).unwrap();
        std::os::unix::fs::symlink("refs/heads/none", bare.join("HEAD")).unwrap();
        assert!(is_protected(&root, &bare.join("config")), "no branch yet");

        let worktree = root.join("bare/worktrees/w");
        std::fs::create_dir_all(&worktree).unwrap();
        std::fs::write(worktree.join("HEAD"), "ref: refs/heads/w").unwrap();
        std::fs::write(worktree.join("commondir"), "../..\n").unwrap();
        assert!(is_protected(&worktree, &worktree.join("config.worktree")));
        std::fs::create_dir_all(root.join("other/.git")).unwrap();
        std::fs::create_dir_all(root.join("other/deep/down")).unwrap();
        std::fs::write(root.join("other/.git/commondir"), "../deep/down\n").unwrap();
        let places = sandboxed_places(&root.join("other"));
        assert!(places.contains(&("deep/down/hooks".into(), true)), "{places:?}");
        // What leads out of the session's directory is not its own.
        std::fs::write(work.join(".git"), "gitdir: ../bare\n").unwrap();
        assert!(!sandboxed_places(&work).iter().any(|(place, _)| place.starts_with("..")));
    }
}
