//! Faults that a test can ask the worker for: dying, hanging, closing its pipes, leaving processes.

use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::process::{Signal, getpid, kill_process};
use serde_json::{Value, json};

/// Kills itself as `kill -9` would.
pub(crate) fn abort() -> ! {
    let _ = kill_process(getpid(), Signal::KILL);
    unreachable!("SIGKILL cannot be survived")
}

/// Hangs: stays alive and reads nothing any more.
pub(crate) fn hang() -> ! {
    loop {
        std::thread::park();
    }
}

/// Waits until the test makes the file; no message can reach us while the bus drains us.
pub(crate) fn await_file(path: &Path) {
    while !path.exists() {
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Writes much to stderr, which must block nobody.
pub(crate) fn flood_stderr(n_bytes: usize) {
    let mut stderr = std::io::stderr().lock();
    for n in 0..n_bytes / 100 {
        let _ = stderr.write_all(format!("{n:099}\n").as_bytes());
    }
}

/// Closes stdout, and stays alive.
pub(crate) fn close_stdout() {
    rustix::stdio::dup2_stdout(File::options().write(true).open("/dev/null").expect("/dev/null"))
        .expect("another stdout");
}

/// Closes stdin, and stays alive; lines that were read before are still handled.
pub(crate) fn close_stdin() {
    // Its other end stays open, so that reading it waits for ever.
    let (reader, writer) = rustix::pipe::pipe().expect("a pipe");
    rustix::stdio::dup2_stdin(reader).expect("another stdin");
    std::mem::forget(writer);
}

/// Exits well because the other side has gone.
pub(crate) fn exit_disconnected() -> ! {
    std::process::exit(0)
}

/// The open file descriptors: number and target.
pub(crate) fn descriptors() -> Vec<Value> {
    let entries = std::fs::read_dir("/proc/self/fd").expect("/proc").flatten();
    let own = std::fs::canonicalize("/proc/self/fd").expect("/proc");
    let mut found: Vec<(u32, String)> = entries
        .filter_map(|entry| {
            let target = std::fs::read_link(entry.path()).ok()?;
            // Without the descriptor that reads the directory itself.
            let number = entry.file_name().to_str()?.parse().ok()?;
            (target != own).then(|| (number, target.to_string_lossy().into_owned()))
        })
        .collect();
    found.sort_unstable();
    found.into_iter().map(|(number, target)| json!({ "fd": number, "is": target })).collect()
}

/// Starts a process that outlives us if nobody ends it, and may keep our pipes open.
pub(crate) fn leave_process(keeps_pipes: bool) -> u32 {
    let mut command = Command::new("setsid");
    command.args(["sleep", "600"]);
    if !keeps_pipes {
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    }
    let child = command.spawn().expect("setsid");
    let pid = child.id();
    std::mem::forget(child);
    pid
}
