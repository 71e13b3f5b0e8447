//! Everything the integration tests start: keepers, workers that do not want to end, and parents
//! that are killed. The first argument says which.
#![allow(clippy::unwrap_used, clippy::zombie_processes, reason = "a program that misbehaves")]

use std::fs;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::thread;
use std::time::Duration;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args.as_slice() {
        ["__keeper"] => return bus::keeper::main(),
        ["hostile", dir, how] => return hostile(Path::new(dir), how),
        ["escape", dir] => escape(dir),
        ["linger", dir] => linger(Path::new(dir)),
        ["parent", program_dir, records, cgroups] => {
            parent(program_dir, Path::new(records), *cgroups == "cgroups");
        }
        ["adopter", dir, worker] => adopter(dir, worker),
        ["threads", dir] => threads(dir),
        ["exhausted", dir] => exhausted(dir),
        ["fds"] => fds(),
        ["noisy", n_bytes] => noisy(n_bytes.parse().unwrap()),
        ["forker", dir, limit] => forker(Path::new(dir), limit.parse().unwrap()),
        ["with-stray-fd", rest @ ..] => with_stray_fd(rest),
        ["hang"] => hang(),
        _ => return ExitCode::from(64),
    }
    ExitCode::SUCCESS
}

const N_HOSTILE: usize = 5;

/// Five descendants that fork twice, have their own session and ignore polite signals. Then
/// `stay`: ignores the end of its input. `exit`: leaves them behind.
fn hostile(dir: &Path, how: &str) -> ExitCode {
    for _ in 0..N_HOSTILE {
        Command::new("sh")
            .args(["-c", r#"trap "" TERM HUP INT QUIT; exec "$0" escape "$1""#])
            .arg(own_exe())
            .arg(dir)
            .spawn()
            .unwrap();
    }
    while fs::read_dir(dir).unwrap().count() < N_HOSTILE {
        thread::sleep(Duration::from_millis(2));
    }
    say("ready");
    if how == "exit" {
        return ExitCode::from(7);
    }
    std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
    hang()
}

fn escape(dir: &str) {
    rustix::process::setsid().unwrap();
    Command::new(own_exe()).args(["linger", dir]).spawn().unwrap();
}

/// Writes its pid and start time, whole or not at all, and stays.
fn linger(dir: &Path) {
    rustix::process::setsid().unwrap();
    mark(dir);
    hang();
}

fn mark(dir: &Path) {
    let stat = fs::read_to_string("/proc/self/stat").unwrap();
    let start = stat.rsplit_once(')').unwrap().1.split_whitespace().nth(19).unwrap();
    let pid = std::process::id();
    let unfinished = dir.with_extension(format!("{pid}"));
    fs::write(&unfinished, start).unwrap();
    fs::rename(unfinished, dir.join(pid.to_string())).unwrap();
}

/// A Switchyard in small: one hostile worker, then waits to be killed.
fn parent(dir: &str, records: &Path, cgroups: bool) {
    on_runtime(async {
        let worker = start_hostile(dir, Some(records), cgroups).await;
        say(&format!("{} {}", worker.handle.keeper_pid(), worker.handle.id()));
        std::future::pending::<()>().await;
    });
}

/// A Switchyard in small that has a child of its own, beside a worker that is `hostile` or has a
/// descendant that shed its marker; it waits for that child when it is told to.
fn adopter(dir: &str, worker: &str) {
    on_runtime(async {
        let worker = match worker {
            "hostile" => start_hostile(dir, None, false).await,
            _ => start_shedding(dir).await,
        };
        let mut own = Command::new("sh").args(["-c", "exit 7"]).spawn().unwrap();
        say(&worker.handle.keeper_pid().to_string());
        tokio::io::AsyncReadExt::read_u8(&mut tokio::io::stdin()).await.unwrap();
        say(&own.wait().unwrap().to_string());
        std::future::pending::<()>().await;
    });
}

/// Each of its threads starts a descendant, and stays.
fn threads(dir: &str) {
    thread::scope(|scope| {
        for _ in 0..N_HOSTILE {
            scope.spawn(|| {
                Command::new(own_exe()).args(["linger", dir]).spawn().unwrap();
                hang()
            });
        }
    });
}

/// A Switchyard that loses a keeper when it can have no more threads.
fn exhausted(dir: &str) {
    on_runtime(async {
        let worker = start_hostile(dir, None, false).await;
        let none = rustix::process::Rlimit { current: Some(1), maximum: Some(1) };
        rustix::process::setrlimit(rustix::process::Resource::Nproc, none).unwrap();
        assert!(thread::Builder::new().spawn(|| {}).is_err(), "root has no such limit");
        let keeper = worker.handle.keeper_pid().cast_signed();
        let keeper = rustix::process::Pid::from_raw(keeper).unwrap();
        rustix::process::kill_process(keeper, rustix::process::Signal::KILL).unwrap();
        say(&worker.handle.ended().await.to_string());
    });
}

async fn start_hostile(dir: &str, records: Option<&Path>, cgroups: bool) -> bus::Worker {
    let mut launch = bus::Launch::new(own_exe(), "/");
    launch.args = ["hostile", dir, "stay"].map(Into::into).to_vec();
    launch.records_dir = records.map(Path::to_path_buf);
    launch.cgroups = cgroups;
    let mut worker = launch.spawn().await.unwrap();
    let mut ready = [0; 6];
    tokio::io::AsyncReadExt::read_exact(&mut worker.stdout, &mut ready).await.unwrap();
    worker
}

async fn start_shedding(dir: &str) -> bus::Worker {
    let mut launch = bus::Launch::new("sh", "/");
    let script = r#"(env -i "$0" linger "$1" &); exec cat"#;
    launch.args = vec!["-c".into(), script.into(), own_exe().into(), dir.into()];
    launch.cgroups = false;
    launch.spawn().await.unwrap()
}

fn on_runtime(story: impl Future<Output = ()>) {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(story);
}

fn fds() {
    let open: Vec<String> = fs::read_dir("/proc/self/fd")
        .unwrap()
        .map(|entry| entry.unwrap())
        // The listing's own descriptor is closed when we look at what it is.
        .filter_map(|entry| fs::read_link(entry.path()).ok().map(|target| (entry, target)))
        .filter(|(_, target)| !target.starts_with("/proc"))
        .map(|(entry, _)| entry.file_name().into_string().unwrap())
        .collect();
    say(&open.join(" "));
}

fn noisy(n_bytes: usize) {
    let line = [b"x".repeat(99), vec![b'\n']].concat();
    let mut stderr = std::io::stderr().lock();
    for _ in 0..n_bytes / line.len() {
        stderr.write_all(&line).unwrap();
    }
    stderr.write_all(b"the last line\n").unwrap();
    say("done");
}

/// Every process starts others until `limit` have been started in all.
fn forker(dir: &Path, limit: usize) {
    mark(&dir.join("marks"));
    while reserve_slot(&dir.join("slots"), limit) {
        let limit = limit.to_string();
        let child = Command::new(own_exe()).arg("forker").arg(dir).arg(limit).spawn();
        drop(child);
    }
    hang();
}

/// The bound must be taken before the fork, by one atomic step: counting what already runs lets a
/// starved machine overshoot without end.
fn reserve_slot(dir: &Path, limit: usize) -> bool {
    (0..limit).any(|n| fs::File::create_new(dir.join(n.to_string())).is_ok())
}

/// Runs a test program with a descriptor open that is not closed on exec.
fn with_stray_fd(rest: &[&str]) {
    let stray = fs::File::open("/etc/passwd").unwrap();
    rustix::io::fcntl_setfd(&stray, rustix::io::FdFlags::empty()).unwrap();
    let [dir] = rest else { return };
    on_runtime(async {
        let mut launch = bus::Launch::new(own_exe(), dir);
        launch.args = vec!["fds".into()];
        let mut worker = launch.spawn().await.unwrap();
        let mut out = String::new();
        tokio::io::AsyncReadExt::read_to_string(&mut worker.stdout, &mut out).await.unwrap();
        say(out.trim_end());
    });
}

fn hang() -> ! {
    loop {
        thread::park();
    }
}

fn say(line: &str) {
    let mut stdout = std::io::stdout().lock();
    writeln!(stdout, "{line}").unwrap();
    stdout.flush().unwrap();
}

fn own_exe() -> PathBuf {
    std::env::current_exe().unwrap()
}
