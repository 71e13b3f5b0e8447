use std::os::unix::fs::symlink;
use std::sync::atomic::{AtomicBool, Ordering};

use roots::ForbiddenDirs;

use super::*;
use crate::native::client::ClientAbilities;
use crate::native::testing::TestSession;

fn files(stage: &TestSession) -> &Files {
    &stage.context.workspace.files
}

async fn read(stage: &TestSession, path: &str) -> Result<Option<String>, ToolError> {
    let place = files(stage).resolve(path).await?;
    Ok(files(stage).read(&place).await?.map(|text| text.as_str().to_owned()))
}

fn change(place: &ResolvedPath, old: Option<&str>, new: Option<&str>) -> PlannedFileChange {
    let text = |text: &str| FileText::new(text.into());
    PlannedFileChange {
        place: place.clone(),
        old: old.map(text),
        new: new.map(text),
        mode: None,
        is_moved: false,
    }
}

async fn apply(stage: &TestSession, changes: &[PlannedFileChange]) -> Result<(), ToolError> {
    let files = files(stage);
    files.change(&files.lock_changes().await, changes).await
}

#[tokio::test]
async fn what_the_editor_holds_comes_before_the_disk() {
    let stage = TestSession::of_editor();
    stage.put("a", "saved");
    stage.put("b", "on disk");
    stage.client.hold(&stage.path("a"), "unsaved");
    stage.client.hold(&stage.path("new"), "never saved");
    stage.client.refuse(&stage.path("b"));

    assert_eq!(read(&stage, "a").await.unwrap().unwrap(), "unsaved");
    assert_eq!(read(&stage, "b").await.unwrap().unwrap(), "on disk");
    assert_eq!(read(&stage, "new").await.unwrap().unwrap(), "never saved");
    assert_eq!(read(&stage, "missing").await.unwrap(), None);
}

#[tokio::test]
async fn a_name_that_does_not_exist_is_answered_with_names_like_it() {
    let stage = TestSession::of_editor();
    for name in ["main.rs", "configuration.yml", "LICENSE"] {
        stage.put(name, "");
    }
    for (wanted, like) in [
        ("mian.rs", Some("main.rs")),
        ("config.yml", Some("configuration.yml")),
        ("license", Some("LICENSE")),
        ("quite-another-thing", None),
    ] {
        let place = files(&stage).resolve(wanted).await.unwrap();
        let told = files(&stage).missing(&place).await.0;
        assert_eq!(told.contains("did you mean"), like.is_some(), "{told}");
        assert!(told.contains(like.unwrap_or(wanted)), "{told}");
    }
}

#[tokio::test]
async fn what_a_rule_of_the_client_denies_is_not_read_from_the_disk_instead() {
    let checks = true;
    let stage = TestSession::with(ClientAbilities {
        reads_files: true,
        checks,
        ..ClientAbilities::default()
    });
    stage.put("a", "fine");
    stage.put("secret", "s3cret");
    stage.put("secret.bin", [0, 159, 146, 150]);
    for name in ["secret", "secret.bin"] {
        stage.client.deny(&stage.path(name));
        let error = read(&stage, name).await.unwrap_err().to_string();
        assert_eq!(error, format!("`{name}` may not be read: denied by rule secrets"));
    }
    assert_eq!(read(&stage, "a").await.unwrap().unwrap(), "fine");
}

#[tokio::test]
async fn a_client_is_asked_only_for_what_it_offers() {
    let stage = TestSession::new();
    stage.put("a", "saved");
    stage.client.hold(&stage.path("a"), "unsaved");
    assert_eq!(read(&stage, "a").await.unwrap().unwrap(), "saved");
    let place = files(&stage).resolve("a").await.unwrap();
    apply(&stage, &[change(&place, Some("saved"), Some("new"))]).await.unwrap();
    assert_eq!(stage.get("a"), "new");
    assert!(stage.client.calls().is_empty());

    let stage =
        TestSession::with(ClientAbilities { reads_files: true, ..ClientAbilities::default() });
    stage.put("a", "saved");
    let place = files(&stage).resolve("a").await.unwrap();
    apply(&stage, &[change(&place, Some("saved"), Some("new"))]).await.unwrap();
    assert_eq!(stage.get("a"), "new");
    assert_eq!(stage.client.calls(), ["fs/read_text_file"]);
}

#[tokio::test]
async fn the_client_is_not_asked_about_what_is_outside() {
    let stage = TestSession::of_editor();
    let outside = stage.root.with_file_name("outside");
    std::fs::write(&outside, "secret").unwrap();
    stage.client.hold(&outside, "secret");
    symlink(&outside, stage.path("link")).unwrap();
    for path in ["../outside", "link", outside.to_str().unwrap(), "~/x"] {
        assert!(read(&stage, path).await.is_err(), "{path}");
    }
    assert!(stage.client.calls().is_empty());
}

#[tokio::test]
async fn a_link_inside_reaches_the_client_under_its_real_name() {
    let stage = TestSession::of_editor();
    stage.put("real", "text");
    stage.client.hold(&stage.path("real"), "unsaved");
    symlink("real", stage.path("link")).unwrap();
    assert_eq!(read(&stage, "link").await.unwrap().unwrap(), "unsaved");
}

#[tokio::test]
async fn what_is_no_text_is_refused_with_a_reason() {
    let stage = TestSession::of_editor();
    stage.put("binary", b"a\0b");
    stage.put("latin", b"caf\xe9");
    stage.client.hold(&stage.path("binary"), "the editor's guess");
    stage.client.refuse(&stage.path("latin"));
    std::fs::create_dir(stage.path("dir")).unwrap();
    std::fs::File::create(stage.path("huge")).unwrap().set_len(1 << 40).unwrap();
    std::process::Command::new("mkfifo").arg(stage.path("fifo")).status().unwrap();
    for (path, why) in [
        ("binary", "binary"),
        ("latin", "UTF-8"),
        ("dir", "`list`"),
        ("huge", "larger than 10 MiB"),
        ("fifo", "regular"),
    ] {
        let error = read(&stage, path).await.unwrap_err().0;
        assert!(error.contains(why) && error.contains(path), "{error}");
    }
}

#[tokio::test]
async fn only_what_was_seen_is_changed() {
    let stage = TestSession::new();
    stage.put("a", "one");
    let place = files(&stage).resolve("a").await.unwrap();
    let error = files(&stage).read_seen(&place).await.unwrap_err().0;
    assert!(error.contains("not read") && error.contains("read it first"), "{error}");

    let text = files(&stage).read_existing(&place).await.unwrap();
    files(&stage).note(&place, &text);
    assert!(files(&stage).read_seen(&place).await.is_ok());

    stage.put("a", "two");
    let error = files(&stage).read_seen(&place).await.unwrap_err().0;
    assert!(error.contains("changed since") && error.contains("again"), "{error}");
}

#[tokio::test]
async fn what_changed_while_somebody_thought_is_not_overwritten() {
    let stage = TestSession::new();
    stage.put("a", "someone's");
    stage.put("new", "someone's");
    let a = files(&stage).resolve("a").await.unwrap();
    let new = files(&stage).resolve("new").await.unwrap();
    let gone = files(&stage).resolve("gone").await.unwrap();
    for changes in [
        [change(&a, Some("old"), Some("ours"))],
        [change(&new, None, Some("ours"))],
        [change(&gone, Some("old"), Some("ours"))],
        [change(&a, Some("old"), None)],
    ] {
        let error = apply(&stage, &changes).await.unwrap_err().0;
        assert!(error.contains("meantime"), "{error}");
    }
    assert_eq!(stage.get("a") + &stage.get("new"), "someone'ssomeone's");
    assert!(!stage.path("gone").exists());
}

#[tokio::test]
async fn several_files_are_changed_together_or_not_at_all() {
    for stage in [TestSession::new(), TestSession::of_editor()] {
        let is_editor = stage.context.workspace.client.can.writes_files;
        for name in ["a", "b", "c"] {
            stage.put(name, "old");
        }
        stage.put("d/file", "");
        let place = async |path: &str| files(&stage).resolve(path).await.unwrap();
        let changes = [
            change(&place("a").await, Some("old"), Some("new")),
            change(&place("b").await, Some("old"), None),
            change(&place("made").await, None, Some("new")),
            // Fails on its way: its directory is none.
            change(&place("d/x").await, None, Some("new")),
        ];
        std::fs::remove_dir_all(stage.path("d")).unwrap();
        std::fs::write(stage.path("d"), "").unwrap();
        // An editor is refused where the disk would be: looking again finds out first.
        let error = apply(&stage, &changes).await.unwrap_err().0;
        assert!(error.contains("d/x") || error.contains("nothing was changed"), "{error}");
        assert_eq!(stage.get("a") + &stage.get("b"), "oldold");
        assert!(!stage.path("made").exists());
        assert!(!is_editor || stage.client.held(&stage.path("a")).is_none());
    }
}

#[tokio::test]
async fn what_was_done_is_undone_when_the_rest_fails() {
    let stage = TestSession::of_editor();
    stage.put("a", "old");
    stage.put("b", "old");
    stage.put("c", "old");
    // The client reads it from the disk but does not write it.
    stage.client.refuse(&stage.path("c"));
    let place = async |path: &str| files(&stage).resolve(path).await.unwrap();
    let changes = [
        change(&place("a").await, Some("old"), Some("new")),
        change(&place("b").await, Some("old"), None),
        change(&place("c").await, Some("old"), Some("new")),
    ];
    let error = apply(&stage, &changes).await.unwrap_err().0;
    assert!(error.contains("`c`") && error.contains("nothing was changed"), "{error}");
    assert_eq!(stage.client.held(&stage.path("a")).unwrap(), "old");
    assert!(read(&stage, "b").await.unwrap().is_some());
}

#[tokio::test]
async fn a_path_that_leads_elsewhere_by_now_is_not_written_through_the_client() {
    let stage = TestSession::of_editor();
    stage.put("dir/a", "text");
    stage.put("other/a", "text");
    let place = files(&stage).resolve("dir/a").await.unwrap();
    std::fs::rename(stage.path("dir"), stage.path("moved")).unwrap();
    symlink("other", stage.path("dir")).unwrap();
    assert!(apply(&stage, &[change(&place, Some("text"), Some("new"))]).await.is_err());
    assert!(!stage.client.calls().contains(&"fs/write_text_file".into()));
}

#[tokio::test]
async fn a_missing_file_names_others_like_it() {
    let stage = TestSession::new();
    for name in ["src/Main.rs", "src/lib.rs", "docs/deep/guide.md"] {
        stage.put(name, "");
    }
    for (path, like) in [
        ("src/main.rs", "src/Main.rs"),
        ("src/lib.rc", "src/lib.rs"),
        ("guide.md", "docs/deep/guide.md"),
        ("wrong/guide.md", "docs/deep/guide.md"),
    ] {
        let place = files(&stage).resolve(path).await.unwrap();
        let error = files(&stage).read_existing(&place).await.unwrap_err().0;
        assert!(error.contains(path) && error.contains(&format!("`{like}`")), "{error}");
    }
    let place = files(&stage).resolve("nothing-like-it").await.unwrap();
    let error = files(&stage).read_existing(&place).await.unwrap_err().0;
    assert!(error.ends_with("does not exist"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_link_that_comes_and_goes_never_leads_out() {
    let stage = TestSession::new();
    let outside = stage.root.with_file_name("outside");
    std::fs::write(&outside, "secret").unwrap();
    let stop = std::sync::Arc::new(AtomicBool::new(false));
    let flip = stage.path("flip");
    let swapping = {
        let (stop, outside) = (stop.clone(), outside.clone());
        std::thread::spawn(move || {
            while !stop.load(Ordering::Relaxed) {
                let _ = std::fs::remove_file(&flip);
                let _ = std::fs::write(&flip, "inside");
                let _ = std::fs::remove_file(&flip);
                let _ = symlink(&outside, &flip);
            }
        })
    };
    for _ in 0..2_000 {
        let Ok(place) = files(&stage).resolve("flip").await else { continue };
        if let Ok(Some(text)) = files(&stage).read(&place).await {
            assert!(!text.as_str().contains("secret"));
        }
        let _ = apply(&stage, &[change(&place, Some("inside"), Some("inside, again"))]).await;
    }
    stop.store(true, Ordering::Relaxed);
    swapping.join().unwrap();
    assert_eq!(std::fs::read_to_string(outside).unwrap(), "secret");
}

#[test]
fn the_oldest_is_forgotten_first() {
    let mut seen = SeenFiles::default();
    let path = |n: usize| PathBuf::from(format!("/{n}"));
    for n in 0..MAX_SEEN {
        seen.note(&path(n), [1; 32]);
    }
    seen.note(&path(0), [2; 32]);
    seen.note(&path(MAX_SEEN), [3; 32]);
    assert_eq!(seen.files.len(), MAX_SEEN);
    assert_eq!(seen.of(&path(0)), Some([2; 32]));
    assert_eq!(seen.of(&path(1)), None);
    seen.forget(&path(0));
    assert_eq!(seen.of(&path(0)), None);
}

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
