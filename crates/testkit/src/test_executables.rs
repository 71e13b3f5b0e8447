//! Programs that a test makes for itself.
//!
//! In: a script, or a program that is there. Out: a file that can be run at once. It is written by
//! another process: whatever a test process writes is also open in each process that another of its
//! tests just starts, until that runs its program, and a file that is being written cannot be run.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

/// Writes an executable script; its text has the first line, `#!/bin/sh` or another.
#[track_caller]
pub fn write(path: &Path, script: &str) {
    make("cat >\"$0\" && chmod 755 \"$0\"", path, Path::new(""), script);
}

/// Copies a program with its permissions.
#[track_caller]
pub fn copy(from: &Path, to: &Path) {
    make("cp -p \"$1\" \"$0\"", to, from, "");
}

#[track_caller]
fn make(how: &str, path: &Path, from: &Path, input: &str) {
    let mut command = Command::new("sh");
    command.args(["-c", how]).arg(path).arg(from).stdin(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    assert!(child.wait().unwrap().success(), "cannot make {}", path.display());
}
