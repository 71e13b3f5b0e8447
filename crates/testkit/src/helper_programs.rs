//! The paths of this crate's programs, which are built when needed.
//!
//! In: the binary under test and a name. Out: the path of a program that is up to date.
//! Cargo builds the programs of a dependency for nobody, so the tests of other crates ask here:
//! what is missing or older than our sources is built beside the binary under test.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;

/// The directory in which cargo was started for the tests, so that relative paths in its variables
/// stay valid.
const WORKSPACE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// `acp-tap` or `sdk-agent`, beside `exe`.
pub fn find(exe: &Path, name: &str) -> PathBuf {
    let directory = exe.parent().expect("a binary stands in a directory");
    let path = directory.join(name);
    let built = path.metadata().and_then(|file| file.modified()).ok();
    if built.is_none_or(|built| built < newest(&sources())) {
        build(directory, name);
    }
    path
}

fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

fn newest(directory: &Path) -> SystemTime {
    let entries = std::fs::read_dir(directory).unwrap().flatten();
    let times = entries.map(|entry| {
        let about = entry.metadata().unwrap();
        if about.is_dir() { newest(&entry.path()) } else { about.modified().unwrap() }
    });
    times.max().unwrap_or(SystemTime::UNIX_EPOCH)
}

// Tests may run at the same time; cargo's own lock lets one of them build and the others wait.
fn build(directory: &Path, name: &str) {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(["build", "--quiet", "--package", "testkit", "--bin", name]);
    command.arg("--target-dir").arg(directory.parent().expect("a profile has a target directory"));
    if directory.ends_with("release") {
        command.arg("--release");
    }
    let status = command.current_dir(WORKSPACE).status().unwrap();
    assert!(status.success(), "cannot build {name}: {status}");
}
