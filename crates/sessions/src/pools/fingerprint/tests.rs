//! Tests of `fingerprint`.

use std::fs;

use super::*;
use crate::host::AgentQuirks;

fn setup() -> WorkerSetup {
    WorkerSetup {
        keeper_exe: "/proc/self/exe".into(),
        keeper_args: Vec::new(),
        records_dir: None,
        cgroups: false,
        limits: bus::WorkerLimits::default(),
        hurry: tokio_util::sync::CancellationToken::new(),
    }
}

/// Whether the fingerprint changes when `change` is done.
fn changes(change: impl FnOnce(&Path)) -> bool {
    let home = tempfile::tempdir().unwrap();
    let at = |name: &str| home.path().join(name);
    fs::create_dir(at("work")).unwrap();
    for name in ["program", "script.js", "config.toml"] {
        fs::write(at(name), name).unwrap();
    }
    let mut config = std::ffi::OsString::from("--config=");
    config.push(at("config.toml"));
    let command = AgentCommand {
        name: "some".into(),
        program: at("program").into(),
        args: vec![at("script.js").into(), "acp".into(), config],
        cwd: at("work"),
        env: bus::Environment::default(),
        is_named: true,
        quirks: AgentQuirks::default(),
    };
    let watched = [PathBuf::from("AGENTS.md")];
    let before = Fingerprint::take(&command, &setup(), &watched);
    assert_eq!(before, Fingerprint::take(&command, &setup(), &watched));
    change(home.path());
    before != Fingerprint::take(&command, &setup(), &watched)
}

#[test]
fn another_file_in_any_part_of_the_command_is_seen() {
    for name in ["program", "script.js", "config.toml"] {
        // An upgrade renames a new file over the old one, here even of the same size.
        assert!(
            changes(|home| {
                fs::write(home.join("new"), name).unwrap();
                fs::rename(home.join("new"), home.join(name)).unwrap();
            }),
            "{name}"
        );
        assert!(changes(|home| fs::remove_file(home.join(name)).unwrap()), "{name}");
    }
}

#[test]
fn another_directory_of_the_same_name_is_seen_and_work_in_it_is_not() {
    assert!(changes(|home| {
        fs::rename(home.join("work"), home.join("old")).unwrap();
        fs::create_dir(home.join("work")).unwrap();
    }));
    assert!(!changes(|home| fs::write(home.join("work/result.txt"), "x").unwrap()));
}

#[test]
fn instructions_that_come_later_are_seen() {
    assert!(changes(|home| fs::write(home.join("work/AGENTS.md"), "be brief").unwrap()));
}
