//! Floods, full disks, full sessions and torn logs: what the log does when it is hard to keep.
//!
//! In: more data than fits, or a log that somebody damaged. Out: everything that was acknowledged,
//! or a word about what is missing; never a silent loss and never a panic.
//! At most 1.1 GiB is written at a time, below the test's own home, which goes with it.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    reason = "helpers of tests"
)]

use crate::faults::{Live, Ran, SHORT_WAITS, configured, home, run};
use crate::faults_kill::{assert_usable, assert_whole, export};
use rustix::process::Signal;
use serde_json::Value;
use std::fs;
use std::hash::{BuildHasher, RandomState};
use std::io::{BufRead, BufReader};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use testkit::proc;
use testkit::sdk_client::{ClientBehavior, SdkClient};
use testkit::small_disk::SmallDisk;
use testkit::test_home::{PATIENCE, TestHome, wait_until};

/// A few times what one page of events and one batch of messages take, far below what a flood is.
const MOST_KIB: u64 = 150 << 10;
/// Queues count batches, so lines of 8 MiB take more; still far below what all of them are.
const MOST_KIB_OF_LARGE: u64 = 320 << 10;

/// A run whose output only this test reads.
struct Flood {
    child: Child,
    stdout: BufReader<std::process::ChildStdout>,
    peak_kib: u64,
}

impl Flood {
    fn start(home: &TestHome, n_chunks: usize, n_bytes: usize) -> Self {
        let script = format!("flood {n_chunks} {n_bytes}");
        let mut command = home.command(["run", "demo", &script, "--format", "json"]);
        command.stdin(Stdio::null()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let stdout = BufReader::with_capacity(1 << 20, child.stdout.take().unwrap());
        Self { child, stdout, peak_kib: 0 }
    }

    fn measure(&mut self) {
        let peak_kib = proc::memory(self.child.id()).map_or(0, |memory| memory.peak_kib);
        self.peak_kib = self.peak_kib.max(peak_kib);
    }

    /// Reads to the end, and checks that every event and every chunk came once and in order.
    #[track_caller]
    fn assert_complete(&mut self, n_chunks: usize, n_bytes: usize) {
        let (mut line, mut seq, mut chunk) = (Vec::new(), 0, 0);
        while self.stdout.read_until(b'\n', &mut line).unwrap() > 0 {
            seq += 1;
            assert!(line.starts_with(format!("{{\"seq\":{seq},").as_bytes()), "event {seq}");
            if line.len() > n_bytes {
                chunk += 1;
                let wanted = format!("\"text\":\"chunk {chunk}.");
                let head = String::from_utf8_lossy(&line[..300]);
                assert!(head.contains(&wanted), "chunk {chunk} of event {seq}: {head}");
            }
            if seq % 16 == 0 {
                self.measure();
            }
            line.clear();
        }
        assert_eq!(chunk, n_chunks);
        assert_eq!(self.child.wait().unwrap().code(), Some(0));
        println!("peak memory {} KiB for {} MiB", self.peak_kib, (n_chunks * n_bytes) >> 20);
        let most_kib = if n_bytes > 1 << 20 { MOST_KIB_OF_LARGE } else { MOST_KIB };
        assert!(self.peak_kib < most_kib, "{} KiB", self.peak_kib);
    }
}

impl Drop for Flood {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_flood_passes_in_order_and_in_little_memory() {
    let n_chunks = soak::size(3_500, 16_384);
    let home = home();
    Flood::start(&home, n_chunks, 65536).assert_complete(n_chunks, 65536);
    home.assert_empty_within(PATIENCE);
}

#[test]
fn large_events_are_not_gathered_in_memory() {
    let n_chunks = soak::size(48, 80);
    let home = home();
    Flood::start(&home, n_chunks, 8 << 20).assert_complete(n_chunks, 8 << 20);
    home.assert_empty_within(PATIENCE);
}

#[test]
fn a_reader_that_stops_reading_costs_no_memory_and_gets_everything_later() {
    let (n_chunks, n_bytes) = (soak::size(3_000, 4_096), 65536);
    let home = home();
    let mut flood = Flood::start(&home, n_chunks, n_bytes);
    // The log takes what the reader does not: the turn ends although nobody looks.
    let is_over = wait_until(PATIENCE * 3, || {
        let shown = home.command(["sessions", "show", "last", "--json"]).output().unwrap();
        let shown: Value = serde_json::from_slice(&shown.stdout).unwrap_or_default();
        flood.measure();
        shown["status"] == "idle" && shown["events"].as_u64() > Some(n_chunks as u64)
    });
    assert!(is_over, "the agent waits for the reader");
    flood.assert_complete(n_chunks, n_bytes);
    home.assert_empty_within(PATIENCE);
}

/// A small file system of its own as the home; nothing when this user may not mount one.
pub(crate) fn small_disk(home: &TestHome, size: &str) -> Option<SmallDisk> {
    let config = fs::read(home.path().join("switchyard.toml")).unwrap_or_default();
    let disk = SmallDisk::mount(home.path(), size);
    if disk.is_none() {
        println!("skipped: a file system of {size} could not be mounted");
    }
    fs::write(home.path().join("switchyard.toml"), config).unwrap();
    disk
}

/// What a command says that tells no events.
fn output(home: &TestHome, args: &[&str]) -> crate::cli::Ran {
    home.command(args).output().unwrap().into()
}

#[test]
fn a_full_disk_is_named_and_costs_nothing_that_was_acknowledged() {
    check_full_disk(&["text 1 500000 ; sleep 20"; 20].join(" ; "));
}

#[test]
fn a_full_disk_stops_an_agent_that_floods() {
    check_full_disk("flood 4096 4096");
}

#[test]
fn a_daemon_that_finds_no_space_names_the_file() {
    let home = home();
    let Some(disk) = small_disk(&home, "4m") else { return };
    // Everything is there but for what is written anew with each start.
    assert_eq!(output(&home, &["run", "demo", "say hello"]).code, 0);
    assert_eq!(output(&home, &["token", "show"]).code, 0);
    disk.fill();
    let refused = output(&home, &["serve", "--host", "127.0.0.1:0"]);
    assert_eq!(refused.code, 1, "{refused:?}");
    assert!(refused.err.contains(disk.path().to_str().unwrap()), "{refused:?}");
    assert!(refused.err.contains("free some"), "{refused:?}");
    assert!(refused.err.contains("SWITCHYARD_HOME=DIR"), "{refused:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_is_told_of_a_full_disk() {
    let home = home();
    let Some(_disk) = small_disk(&home, "4m") else { return };
    let command = home.tokio_command(["acp", "demo"]);
    let client = SdkClient::ready(command, ClientBehavior::default()).await.unwrap();
    let session = client.new_session(home.work()).await.unwrap().session_id;
    let told = client.prompt(&session, &["text 1 500000 ; sleep 20"; 20].join(" ; ")).await;
    assert!(format!("{told:?}").contains("no space left"), "{told:?}");
    client.stop().await;
    home.assert_empty_within(PATIENCE);
}

/// The script says more than fits.
#[track_caller]
fn check_full_disk(script: &str) {
    let home = home();
    let Some(disk) = small_disk(&home, "8m") else { return };
    disk.fill_but(4 << 20);
    let full = run(&home, ["run", "demo", script, "--format", "json"]);
    assert_eq!(full.code, Some(1), "{}", full.stderr);
    assert!(
        full.stderr.contains("no space left") && full.stderr.contains("free some"),
        "{}",
        full.stderr
    );
    assert!(full.text().len() > 2 << 20, "not even what there was room for");
    home.assert_empty_within(PATIENCE);

    let log = run(&home, ["sessions", "export", "last"]);
    assert_eq!(log.code, Some(0), "the log is not readable: {}", log.stderr);
    assert_whole(&log, &full.lines);
    let shown = home.command(["sessions", "show", "last"]).output();
    assert!(shown.unwrap().status.success());

    let refused = run(&home, ["run", "-s", "last", script, "--format", "json"]);
    assert_eq!(refused.code, Some(1), "{}", refused.stderr);
    assert!(refused.stderr.to_lowercase().contains("no space left"), "{}", refused.stderr);

    // What could not even keep its first words is not made.
    let fresh = output(&home, &["run", "demo", "say hello"]);
    assert_eq!(fresh.code, 1, "{fresh:?}");
    assert!(fresh.err.to_lowercase().contains("no space left"), "{fresh:?}");
    assert!(fresh.err.contains("SWITCHYARD_HOME"), "{fresh:?}");
    let listed: Value =
        serde_json::from_str(&output(&home, &["sessions", "list", "--json"]).out).unwrap();
    assert_eq!(listed.as_array().map(Vec::len), Some(1), "{listed}");

    disk.free();
    let next = run(&home, ["run", "-s", "last", "echo once more", "--format", "json"]);
    assert_eq!(next.code, Some(0), "{}", next.stderr);
    let log = run(&home, ["sessions", "export", "last"]);
    assert_whole(&log, &full.lines);
    assert_whole(&log, &next.lines);
    let n_started = log.of_kind("turn_started").len();
    assert_eq!(log.of_kind("turn_ended").len(), n_started, "a turn has no end");
    home.assert_empty_within(PATIENCE);
}

#[test]
fn a_session_at_its_limit_is_named_and_does_not_stop_the_others() {
    let config = format!("{SHORT_WAITS}[store]\nmax_session_bytes = 100000\n");
    // Small events fill the session to the brim, large ones come faster than they are refused.
    for script in ["slow 5000 1", "text 1000 5000"] {
        let home = configured(&config);
        let full = Live::demo(&home, script).finish();
        assert_eq!(full.code, Some(1), "{}", full.stderr);
        assert!(full.stderr.contains("reached its limit of 100000 bytes"), "{}", full.stderr);
        home.assert_empty_within(PATIENCE);
        let other = Live::demo(&home, "echo hi").finish();
        assert_eq!((other.code, &*other.text()), (Some(0), "hi"), "{}", other.stderr);
    }
}

/// A log with its write-ahead file, as a kill leaves it, and what was acknowledged.
fn killed_log(home: &TestHome) -> (PathBuf, Vec<String>) {
    let mut live = Live::demo(home, "text 100 500 ; slow 1000 20");
    while live.lines.len() < 60 {
        live.next().expect("the script is longer");
    }
    live.signal(Signal::KILL);
    let killed = live.finish();
    home.assert_empty_within(PATIENCE);
    let wal = home.path().join("switchyard.db-wal");
    assert!(wal.exists(), "no write-ahead file to damage");
    (wal, killed.lines)
}

/// Whether every acknowledged line is still there or named as lost.
#[track_caller]
fn assert_no_silent_loss(log: &Ran, acknowledged: &[String]) {
    let recovered = log.of_kind("log_recovered");
    for line in acknowledged {
        let event: Value = serde_json::from_str(line).unwrap();
        let seq = event["seq"].as_u64().unwrap();
        let is_named = recovered.iter().any(|lost| {
            lost["lostFrom"].as_u64() <= Some(seq) && Some(seq) <= lost["lostTo"].as_u64()
        });
        assert!(log.lines.contains(line) || is_named, "silently lost: {line}");
    }
}

#[test]
fn a_damaged_tail_is_reported_or_repaired_and_never_silent() {
    let base = RandomState::new().hash_one("seed");
    let mut n_recovered = 0;
    let n_rounds = soak::size(4_u64, 16);
    for round in 0..n_rounds {
        let home = home();
        let (wal, acknowledged) = killed_log(&home);
        let at = base.wrapping_add(round.wrapping_mul(0x9e37_79b9_7f4a_7c15)) % size(&wal);
        println!("round {round}: seed {base:#x}, byte {at} of {}", size(&wal));
        damage(&wal, at, round % 2 == 0);

        let shown = run(&home, ["sessions", "export", "last"]);
        let next = run(&home, ["run", "-s", "last", "echo once more", "--format", "json"]);
        if next.code != Some(0) {
            let is_clear = ["missing", "damaged", "lost", "no session"];
            let said = format!("{}{}", shown.stderr, next.stderr);
            assert!(is_clear.iter().any(|word| said.contains(word)), "{said}");
            continue;
        }
        let log = export(&home);
        n_recovered += log.of_kind("log_recovered").len();
        assert_no_silent_loss(&log, &acknowledged);
        assert_usable(&home);
    }
    println!("{n_recovered} of {n_rounds} logs lost something and said so");
}

fn size(path: &Path) -> u64 {
    fs::metadata(path).unwrap().len()
}

/// Cuts the file at a byte, or flips that byte.
fn damage(path: &Path, at: u64, cuts: bool) {
    let file = fs::OpenOptions::new().read(true).write(true).open(path).unwrap();
    if cuts {
        return file.set_len(at).unwrap();
    }
    let mut byte = [0];
    file.read_exact_at(&mut byte, at).unwrap();
    file.write_all_at(&[!byte[0]], at).unwrap();
}
