use roots::{ForbiddenDirs, Roots};

use super::*;

#[test]
fn what_runs_later_is_protected_also_when_it_does_not_exist() {
    let dir = tempfile::tempdir().unwrap();
    let roots = Roots::open(&[dir.path().to_owned()], &ForbiddenDirs::default()).unwrap();
    let check = |path: &str| is_protected(&roots.resolve(dir.path(), path).unwrap());
    for path in [
        ".git/hooks/pre-commit",
        ".git/config",
        "sub/.git/config",
        ".GIT/config",
        ".git",
        ".mcp.json",
        ".claude/settings.json",
        ".codex/config.toml",
        ".gemini/settings.json",
        ".vscode/tasks.json",
        ".idea/workspace.xml",
        ".ssh/authorized_keys",
        ".bashrc",
        ".zshenv",
        "home/.profile",
        ".envrc",
        ".config/fish/config.fish",
        ".config/switchyard/x.toml",
        "a/../.git/hooks/x/../y",
        "switchyard.toml",
        ".github/workflows/ci.yml",
        "Jenkinsfile",
        "jenkinsfile",
        ".pre-commit-config.yaml",
        ".cargo/config.toml",
        ".npmrc",
        ".vimrc",
        ".tmux.conf",
        ".config/nvim/init.lua",
        ".config/zed/tasks.json",
        ".config/Code/User/settings.json",
        ".config/environment.d/x.conf",
        ".local/bin/ls",
        ".gdbinit",
        ".windsurf/x",
        ".roo/mcp.json",
        ".continue/config.yaml",
        ".aider.conf.yml",
        ".kimi/config.toml",
        ".copilot/mcp-config.json",
    ] {
        // Names that have to exist for `..` to mean something.
        std::fs::create_dir_all(dir.path().join("a")).unwrap();
        std::fs::create_dir_all(dir.path().join(".git/hooks/x")).unwrap();
        assert!(check(path), "{path}");
    }
    for path in [
        "AGENTS.md",
        ".gitignore",
        ".github/dependabot.yml",
        "src/git/x.rs",
        "claude/x",
        ".env",
        "x.mcp.json",
        ".config/other/fish",
        "git",
        ".gitattributes",
    ] {
        assert!(!check(path), "{path}");
    }
}

#[test]
fn a_root_that_is_such_a_directory_is_protected_and_one_inside_is_not() {
    let dir = tempfile::tempdir().unwrap();
    let inside = dir.path().join(".claude/worktrees/x");
    std::fs::create_dir_all(&inside).unwrap();
    for (root, expected) in [(dir.path().join(".claude"), true), (inside, false)] {
        let roots = Roots::open(std::slice::from_ref(&root), &ForbiddenDirs::default()).unwrap();
        assert_eq!(is_protected(&roots.resolve(&root, "a.txt").unwrap()), expected);
    }
}
