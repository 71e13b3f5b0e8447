//! Real commands, held in by each enforcer that this machine has.

use std::ffi::OsString;
use std::net::TcpListener;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use roots::ForbiddenDirs;

use super::bubblewrap::Bubblewrap;
use super::launcher::{self, LandlockPolicy};
use super::protected_places::ProtectedPlaces;
use super::{Sandbox, SandboxError, SandboxMode};
use crate::native::client::ClientAbilities;
use crate::native::commands::{CommandEnd, CommandRequest, FinishedCommand, bash_tool, run};
use crate::native::testing::rehearsal::{Rehearsal, until};

const HELD: SandboxMode = SandboxMode::Workspace { network: false };

/// One sandbox for each enforcer. One that is missing is said, so that a log shows what was not
/// tried.
async fn enforcers(mode: SandboxMode) -> Vec<(&'static str, Sandbox)> {
    let mut all = Vec::new();
    match Bubblewrap::find().await {
        Ok(found) => {
            all.push(("bubblewrap", Sandbox::with(mode, Ok(found), Err("left out".into()))));
        }
        Err(why) => println!("SKIPPED: bubblewrap: {why}"),
    }
    match launcher::is_available() {
        Ok(()) => all.push(("Landlock", Sandbox::with(mode, Err("left out".into()), Ok(())))),
        Err(why) => println!("SKIPPED: Landlock: {why}"),
    }
    all
}

/// A workspace with a repository and a directory of sources in it. Not in `/tmp`, of which a
/// command sees its own.
fn workspace(sandbox: &Sandbox) -> Rehearsal {
    workspace_in(tempfile::tempdir_in("/var/tmp").unwrap(), sandbox)
}

fn workspace_in(dir: tempfile::TempDir, sandbox: &Sandbox) -> Rehearsal {
    let stage = Rehearsal::in_directory(dir, ClientAbilities::default(), |settings| {
        settings.sandbox = sandbox.for_session();
    });
    for dir in [".git/hooks", "src", ".vscode"] {
        std::fs::create_dir_all(stage.cwd().join(dir)).unwrap();
    }
    std::fs::write(stage.cwd().join(".git/config"), "[core]\n").unwrap();
    std::fs::write(stage.cwd().join("src/main.rs"), "fn main() {}\n").unwrap();
    std::fs::write(stage.dir.path().join("outside"), "untouched\n").unwrap();
    stage
}

async fn run_line(stage: &Rehearsal, line: &str) -> FinishedCommand {
    let _none_ends = services::SERVICES.read().await;
    let order = CommandRequest {
        line: line.into(),
        cwd: stage.cwd().to_path_buf(),
        timeout: soak::PATIENCE,
    };
    run(&stage.context, order).await.unwrap()
}

/// Everything in a directory, with what is in it.
fn files_and_contents(dir: &Path) -> Vec<(PathBuf, Option<Vec<u8>>)> {
    let mut found = Vec::new();
    let mut to_visit = vec![dir.to_path_buf()];
    while let Some(path) = to_visit.pop() {
        for entry in path.read_dir().unwrap().flatten() {
            let path = entry.path();
            match path.symlink_metadata().unwrap().is_dir() {
                true => {
                    found.push((path.clone(), None));
                    to_visit.push(path);
                }
                false => found.push((path.clone(), std::fs::read(&path).ok())),
            }
        }
    }
    found.sort();
    found
}

#[tokio::test]
async fn the_workspace_and_a_private_tmp_can_be_written() {
    for (name, sandbox) in enforcers(HELD).await {
        let stage = workspace(&sandbox);
        let line = "set -e; echo x > src/new; mkdir src/dir; mv src/new src/dir/; \
                    echo y >> src/main.rs; echo z > \"$TMPDIR/t\"; cat \"$TMPDIR/t\"; \
                    echo > /dev/null; ls / > src/dir/list";
        let finished = run_line(&stage, line).await;
        assert_eq!((finished.end, &*finished.text), (CommandEnd::Code(0), "z\n"), "{name}");
        assert!(stage.cwd().join("src/dir/new").exists(), "{name}");
        // The next command of the session finds what this one left.
        assert_eq!(run_line(&stage, "cat \"$TMPDIR/t\"").await.text, "z\n", "{name}");
        let other = workspace(&sandbox);
        assert_ne!(run_line(&other, "cat \"$TMPDIR/t\"").await.end, CommandEnd::Code(0), "{name}");
    }
}

#[tokio::test]
async fn a_workspace_may_lie_in_tmp() {
    for (name, sandbox) in enforcers(HELD).await {
        let stage = Rehearsal::new(ClientAbilities::default(), |settings| {
            settings.sandbox = sandbox.for_session();
        });
        std::fs::create_dir(stage.cwd().join("src")).unwrap();
        let beside = stage.dir.path().join("beside");
        let line = format!("echo x > src/new; echo y > {}; echo z > src/last", beside.display());
        let finished = run_line(&stage, &line).await;
        assert_eq!(finished.end, CommandEnd::Code(0), "{name}: {}", finished.text);
        assert!(stage.cwd().join("src/new").exists(), "{name}");
        assert!(!beside.exists(), "{name}: what is written beside it is not the real place");
    }
}

#[tokio::test]
async fn nothing_outside_can_be_changed() {
    for (name, sandbox) in enforcers(HELD).await {
        let stage = workspace(&sandbox);
        let outside = stage.dir.path().join("outside");
        symlink(&outside, stage.cwd().join("src/link")).unwrap();
        symlink(stage.dir.path(), stage.cwd().join("src/dirlink")).unwrap();
        let outside = outside.to_str().unwrap();
        let tries = [
            format!("echo x > {outside}"),
            format!("echo x >> {outside}"),
            format!(": > {outside}"),
            format!("truncate -s 0 {outside}"),
            format!("rm {outside}"),
            format!("mv {outside} src/taken"),
            format!("ln {outside} src/hard && echo x > src/hard"),
            format!("mv src/main.rs {outside}"),
            "echo x > ../outside".into(),
            "echo x > src/link".into(),
            "echo x > src/dirlink/outside".into(),
            "touch src/dirlink/new".into(),
            "mkdir ../new".into(),
            "touch /etc/switchyard-test".into(),
            "touch \"$HOME/switchyard-test\"".into(),
            "touch /dev/shm/../../var/switchyard-test".into(),
            // Their own values: a sandbox that lets this through must not change the machine.
            "cd /proc/sys/kernel && old=$(cat core_pattern) && echo \"$old\" > core_pattern".into(),
            "cd /proc/sys/vm && old=$(cat swappiness) && echo $old > swappiness".into(),
            format!("python3 -c 'import os; os.truncate(\"{outside}\", 0)'"),
        ];
        for line in &tries {
            let finished = run_line(&stage, line).await;
            assert_ne!(finished.end, CommandEnd::Code(0), "{name}: {line}: {}", finished.text);
            let left = std::fs::read_to_string(outside).unwrap();
            assert_eq!(left, "untouched\n", "{name}: {line}");
        }
        assert!(!stage.dir.path().join("new").exists(), "{name}");
        assert!(!Path::new("/etc/switchyard-test").exists(), "{name}");
    }
}

#[tokio::test]
async fn what_makes_others_run_things_cannot_be_changed_or_made() {
    for (name, sandbox) in enforcers(HELD).await {
        let stage = workspace(&sandbox);
        std::fs::create_dir_all(stage.cwd().join(".git/worktrees/one")).unwrap();
        std::fs::write(stage.cwd().join(".git/worktrees/one/commondir"), "../..\n").unwrap();
        let before = files_and_contents(stage.cwd());
        let tries = [
            "echo evil > .git/hooks/pre-commit",
            "mkdir .git/hooks/x",
            "echo evil >> .git/config",
            "git config core.fsmonitor evil",
            "rm -f .git/config",
            "echo evil > .git/config.worktree",
            "rm -rf .git/config.worktree && echo evil > .git/config.worktree",
            "echo ../../src > .git/worktrees/one/commondir",
            "mkdir -p .git/worktrees/two && echo ../../src > .git/worktrees/two/commondir",
            "mv .git/worktrees .git/old",
            "echo ../src > .git/commondir",
            "rm -f .git/commondir && echo ../src > .git/commondir",
            "mv src/main.rs .git/commondir",
            "mv .git/config .git/old",
            "mv .git/hooks .git/old",
            "mv .git .old && mkdir -p .git/hooks && echo evil > .git/hooks/pre-commit",
            "ln .git/config src/c && echo evil > src/c",
            "ln -s ../.git/hooks src/h; echo evil > src/h/x; code=$?; rm src/h; exit $code",
            "echo evil > .mcp.json",
            "rm -rf .mcp.json; echo evil > .mcp.json",
            "mkdir -p .claude && echo evil > .claude/settings.json",
            "mv src .claude",
            "echo evil > .vscode/tasks.json",
            "mv .vscode .old",
            "cp -r src .codex/",
            "rmdir .claude; mkdir .claude; echo evil > .claude/x",
            "cd .git && mv hooks x",
            "umount .git/hooks && echo evil > .git/hooks/x",
            "mount -o remount,rw /proc",
            "mount -t tmpfs none src",
            "unshare -m true",
        ];
        for line in tries {
            let finished = run_line(&stage, line).await;
            assert_ne!(finished.end, CommandEnd::Code(0), "{name}: {line}: {}", finished.text);
            // What stood in for absent places is gone again, too.
            assert_eq!(files_and_contents(stage.cwd()), before, "{name}: {line}");
        }
    }
}

#[tokio::test]
async fn there_is_no_network_unless_it_is_asked_for() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let connect = format!("exec 3<>/dev/tcp/127.0.0.1/{port} && echo connected");
    for (name, sandbox) in enforcers(HELD).await {
        let stage = workspace(&sandbox);
        let finished = run_line(&stage, &connect).await;
        assert_ne!(finished.end, CommandEnd::Code(0), "{name}: {}", finished.text);
        let udp = format!("echo x > /dev/udp/127.0.0.1/{port}");
        let finished = run_line(&stage, &format!("{udp} && cat /proc/net/dev")).await;
        // Bubblewrap leaves a network that ends at the sandbox.
        assert!(!finished.text.contains("eth"), "{name}: {}", finished.text);
    }
    for (name, sandbox) in enforcers(SandboxMode::Workspace { network: true }).await {
        let stage = workspace(&sandbox);
        assert_eq!(run_line(&stage, &connect).await.text, "connected\n", "{name}");
    }
}

#[tokio::test]
async fn the_directory_that_a_model_chose_widens_nothing() {
    for (name, sandbox) in enforcers(HELD).await {
        let stage = workspace(&sandbox);
        let order = CommandRequest {
            line: "echo x > new".into(),
            cwd: stage.dir.path().to_path_buf(),
            timeout: soak::PATIENCE,
        };
        // Wherever it ends up: there is nothing of it outside.
        let _ = run(&stage.context, order).await;
        assert!(!stage.dir.path().join("new").exists(), "{name}");
    }
}

#[tokio::test]
async fn a_protected_link_is_not_a_way_in() {
    for (name, sandbox) in enforcers(HELD).await {
        let stage = workspace(&sandbox);
        std::fs::remove_dir(stage.cwd().join(".git/hooks")).unwrap();
        std::fs::create_dir(stage.cwd().join("src/hooks")).unwrap();
        symlink("../src/hooks", stage.cwd().join(".git/hooks")).unwrap();
        let before = files_and_contents(stage.cwd());
        let tries = [
            "echo evil > src/hooks/pre-commit",
            "rm .git/hooks && mkdir .git/hooks && echo evil > .git/hooks/pre-commit",
        ];
        for line in tries {
            let order = CommandRequest {
                line: line.into(),
                cwd: stage.cwd().to_path_buf(),
                timeout: soak::PATIENCE,
            };
            match run(&stage.context, order).await {
                Ok(finished) => assert_ne!(finished.end, CommandEnd::Code(0), "{name}: {line}"),
                Err(refused) => assert!(refused.to_string().contains("symbolic link"), "{refused}"),
            }
            assert_eq!(files_and_contents(stage.cwd()), before, "{name}: {line}");
        }
    }
}

#[tokio::test]
async fn a_command_that_is_held_in_ends_with_its_children_too() {
    for (name, sandbox) in enforcers(HELD).await {
        let stage = workspace(&sandbox);
        let before = files_and_contents(stage.cwd());
        let mark = stage.cwd().join("src/mark");
        let running = tokio::spawn({
            let line = "setsid sh -c 'while :; do date +%s%N > src/mark; sleep 0.02; done' & wait";
            let order = CommandRequest {
                line: line.into(),
                cwd: stage.cwd().to_path_buf(),
                timeout: soak::PATIENCE,
            };
            let context = stage.context.clone();
            async move { run(&context, order).await.map(drop) }
        });
        until("begun", || mark.exists()).await;
        running.abort();
        let id = stage.cwd().to_str().unwrap().to_owned();
        until("ended", || !is_worked_in(&id)).await;
        std::fs::remove_file(&mark).unwrap();
        until("cleared", || files_and_contents(stage.cwd()) == before).await;
        assert!(!mark.exists(), "{name}");
    }
}

/// Whether any process stands in the directory.
fn is_worked_in(dir: &str) -> bool {
    std::fs::read_dir("/proc").unwrap().flatten().any(|process| {
        std::fs::read_link(process.path().join("cwd")).is_ok_and(|cwd| cwd.starts_with(dir))
    })
}

#[tokio::test]
async fn without_an_enforcer_nothing_runs() {
    let sandbox = Sandbox::with(HELD, Err("not installed".into()), Err("too old".into()));
    let stage = workspace(&sandbox);
    let order = CommandRequest {
        line: "touch src/ran".into(),
        cwd: stage.cwd().to_path_buf(),
        timeout: soak::PATIENCE,
    };
    let refused = run(&stage.context, order).await.unwrap_err().to_string();
    assert!(refused.contains("bubblewrap: not installed; Landlock: too old"), "{refused}");
    assert!(!stage.cwd().join("src/ran").exists());
    let asked = bash_tool().prepare(serde_json::json!({ "command": "true" }), &stage.context).await;
    assert_eq!(asked.unwrap_err().to_string(), refused);
    assert_eq!(sandbox.check().unwrap_err().to_string(), refused);
}

#[tokio::test]
async fn the_whole_file_system_is_no_workspace() {
    for (name, sandbox) in enforcers(HELD).await {
        let held =
            sandbox.wrap(vec!["true".into()], Path::new("/"), &["/".into()], Path::new("/x"));
        assert!(matches!(held, Err(SandboxError::NotPrepared(_))), "{name}");
    }
}

#[tokio::test]
async fn a_sandbox_says_whether_it_holds() {
    assert!(!Sandbox::off().is_on());
    assert!(!Sandbox::detect(SandboxMode::Off).await.is_on());
    for (name, sandbox) in enforcers(HELD).await {
        assert!(sandbox.is_on() && sandbox.check().is_ok(), "{name}");
    }
}

#[test]
fn a_policy_survives_being_an_argument() {
    use std::os::unix::ffi::OsStringExt as _;
    let strange = PathBuf::from(OsString::from_vec(b"/w/a;b,c \xff\n".to_vec()));
    let places =
        ProtectedPlaces { sealed: vec![strange.join(".git")], ..ProtectedPlaces::default() };
    let hidden = vec![strange.join("hidden")];
    let policy = LandlockPolicy::new(&[strange], places, hidden, Path::new("/t"), true);
    assert_eq!(LandlockPolicy::from_argument(&policy.to_argument()), Some(policy));
    for bad in ["", "x;;", "alone", "alone;zz;", "alone;6;", "alone;;;;", "alone;;;zz"] {
        assert_eq!(LandlockPolicy::from_argument(&bad.into()), None, "{bad}");
    }
}

#[test]
fn a_launcher_without_a_policy_runs_nothing() {
    let stage = crate::native::testing::rehearsal::stage_program();
    for arguments in [&["__sandbox"][..], &["__sandbox", "alone;;;"], &["__sandbox", "x", "true"]] {
        let output = std::process::Command::new(&stage).args(arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(126), "{arguments:?}");
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(said.contains("the command was not run"), "{said}");
    }
}

#[tokio::test]
async fn git_works_beside_what_is_held_in() {
    for (name, sandbox) in enforcers(HELD).await {
        let stage = workspace(&sandbox);
        std::fs::remove_dir_all(stage.cwd().join(".git")).unwrap();
        let made = std::process::Command::new("git")
            .args(["init", "--quiet"])
            .current_dir(stage.cwd())
            .status();
        if !made.is_ok_and(|made| made.success()) {
            println!("SKIPPED: no git");
            return;
        }
        let finished = run_line(&stage, "git status --short && git rev-parse --git-dir").await;
        assert_eq!(finished.end, CommandEnd::Code(0), "{name}: {}", finished.text);
        assert!(finished.text.contains("?? src/"), "{name}: {}", finished.text);
    }
}

#[tokio::test]
async fn root_keeps_only_what_it_needs_for_files() {
    for (name, sandbox) in enforcers(HELD).await {
        let stage = workspace(&sandbox);
        let line = "grep -E 'CapEff|CapPrm' /proc/self/status";
        let finished = run_line(&stage, line).await;
        let held = finished.text.lines().filter_map(|line| line.split_whitespace().last());
        for set in held {
            let set = u64::from_str_radix(set, 16).unwrap();
            // CAP_CHOWN, CAP_DAC_OVERRIDE and CAP_FOWNER.
            assert_eq!(set & !0b1011, 0, "{name}: {}", finished.text);
        }
    }
}

mod hidden;
mod services;
