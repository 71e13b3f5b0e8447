//! What a worker does to itself and to its surroundings when a test asks for it.

use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::process::{Signal, getpid, kill_process};
use serde_json::{Value, json};

/// Dies as `kill -9` would have it.
pub(crate) fn abort() -> ! {
    let _ = kill_process(getpid(), Signal::KILL);
    unreachable!("SIGKILL cannot be survived")
}

/// Lives, and takes nothing any more.
pub(crate) fn hang() -> ! {
    loop {
        std::thread::park();
    }
}

/// Until the test makes the file; it cannot tell us in any other way while we are drained.
pub(crate) fn await_file(path: &Path) {
    while !path.exists() {
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Much on stderr, for which nobody may wait.
pub(crate) fn complain(n_bytes: usize) {
    let mut stderr = std::io::stderr().lock();
    for n in 0..n_bytes / 100 {
        let _ = stderr.write_all(format!("{n:099}\n").as_bytes());
    }
}

/// Lives, and can say nothing any more.
pub(crate) fn close_stdout() {
    rustix::stdio::dup2_stdout(File::options().write(true).open("/dev/null").expect("/dev/null"))
        .expect("another stdout");
}

/// Lives, and can hear nothing any more; what was read before may still come.
pub(crate) fn close_stdin() {
    // Its other end stays open, so that reading it waits for ever.
    let (reader, writer) = rustix::pipe::pipe().expect("a pipe");
    rustix::stdio::dup2_stdin(reader).expect("another stdin");
    std::mem::forget(writer);
}

/// The other side has gone; that is no failure of ours.
pub(crate) fn nobody_listens() -> ! {
    std::process::exit(0)
}

/// Everything that is open here: the number and what it is.
pub(crate) fn descriptors() -> Vec<Value> {
    let entries = std::fs::read_dir("/proc/self/fd").expect("/proc").flatten();
    let own = std::fs::canonicalize("/proc/self/fd").expect("/proc");
    let mut found: Vec<(u32, String)> = entries
        .filter_map(|entry| {
            let target = std::fs::read_link(entry.path()).ok()?;
            // What the directory itself is read through.
            let number = entry.file_name().to_str()?.parse().ok()?;
            (target != own).then(|| (number, target.to_string_lossy().into_owned()))
        })
        .collect();
    found.sort_unstable();
    found.into_iter().map(|(number, target)| json!({ "fd": number, "is": target })).collect()
}

/// A process that outlives us if nobody ends it, also by our pipes if it keeps them.
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
