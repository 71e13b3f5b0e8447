//! The measuring programs as they are run: what they count must be there to be counted.

#![allow(clippy::unwrap_used, reason = "tests")]

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use bench::report::Report;

mod agent;

const LOAD: &str = env!("CARGO_BIN_EXE_bus-load");
const ECHO: &str = env!("CARGO_BIN_EXE_bus-echo");
const REFERENCE: &str = env!("CARGO_BIN_EXE_bus-reference");
/// Whoever has answered nothing in this time will not.
const LONGEST_MS: u64 = 10_000;

/// Measures for as long as it takes until something is answered.
fn load(arguments: &[&str]) -> Report {
    let mut measure_ms = 100;
    loop {
        let mut command = Command::new(LOAD);
        command.args(["--warm-ms", "10", "--measure-ms", &measure_ms.to_string()]).args(arguments);
        let output = command.stderr(Stdio::inherit()).output().unwrap();
        assert!(output.status.success());
        let report: Report = serde_json::from_slice(&output.stdout).unwrap();
        if report.n_answers + report.n_wrong > 0 || measure_ms >= LONGEST_MS {
            return report;
        }
        measure_ms *= 10;
    }
}

#[track_caller]
fn assert_all_is_well(report: &Report) {
    assert!(report.n_answers > 0, "{report:?}");
    assert!(report.p50_us > 0.0 && report.p99_us >= report.p50_us, "{report:?}");
    let faults = (report.n_errors, report.n_wrong, report.n_lost, report.n_lost_connections);
    assert_eq!(faults, (0, 0, 0, 0), "{report:?}");
}

/// A worker that is a line of shell.
fn script(directory: &Path, line: &str) -> PathBuf {
    let path = directory.join("worker");
    testkit::test_executables::write(&path, &format!("#!/bin/sh\n{line}\n"));
    path
}

struct Router(Child);

impl Router {
    fn start(arguments: &[&str]) -> Self {
        let mut command = Command::new(REFERENCE);
        command.args(arguments).args(["--", ECHO]);
        Self(command.spawn().unwrap())
    }

    fn wait_until(&mut self, listens: impl Fn() -> bool) {
        while !listens() {
            assert_eq!(self.0.try_wait().unwrap(), None);
            std::thread::yield_now();
        }
    }
}

impl Drop for Router {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_bare_worker_answers_every_session() {
    for (sessions, bytes) in [("1", "200"), ("40", "16384")] {
        let report = load(&["--worker", ECHO, "--sessions", sessions, "--bytes", bytes]);
        assert_all_is_well(&report);
        assert_eq!(report.n_connections, 1);
        assert!(report.bus.is_none());
    }
}

#[test]
fn the_reference_router_serves_many_and_one_unix_connection() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("socket");
    let path = path.to_str().unwrap();
    let mut router = Router::start(&["--unix", path]);
    router.wait_until(|| std::os::unix::net::UnixStream::connect(path).is_ok());
    let pid = router.0.id().to_string();

    let each = ["--unix", path, "--sessions", "20", "--bytes", "16384", "--bus", &pid];
    let report = load(&each);
    assert_all_is_well(&report);
    assert_eq!(report.n_connections, 20);
    let bus = report.bus.unwrap();
    assert!(bus.cpu_us_per_answer > 0.0 && bus.resident_kib > 0, "{bus:?}");

    let report = load(&[&each[..], &["--mux"]].concat());
    assert_all_is_well(&report);
    assert_eq!(report.n_connections, 1);
}

#[test]
fn the_reference_router_serves_tcp() {
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = free.local_addr().unwrap().to_string();
    drop(free);
    let mut router = Router::start(&["--tcp", &address]);
    router.wait_until(|| std::net::TcpStream::connect(&address).is_ok());

    assert_all_is_well(&load(&["--tcp", &address, "--sessions", "20"]));
}

#[test]
fn sessions_that_are_never_answered_are_lost() {
    let directory = tempfile::tempdir().unwrap();
    // Two of four sessions are served.
    let line = format!("grep --line-buffered -v -E 's00000[13]-' | {ECHO}");
    let worker = script(directory.path(), &line);

    let report = load(&["--worker", worker.to_str().unwrap(), "--sessions", "4"]);

    assert!(report.n_answers > 0);
    assert_eq!((report.n_lost, report.n_wrong), (2, 0));
}

#[test]
fn answers_with_a_wrong_length_or_id_are_wrong() {
    let directory = tempfile::tempdir().unwrap();
    let spoil = ["s/\"echo\"/\"ech\"/", "s/s000001-/s000000-/"];
    for (spoil, n_lost) in spoil.iter().zip([0, 1]) {
        let worker = script(directory.path(), &format!("{ECHO} | sed -u -e '{spoil}'"));

        let report = load(&["--worker", worker.to_str().unwrap(), "--sessions", "2"]);

        assert!(report.n_wrong > 0, "{report:?}");
        assert_eq!(report.n_lost, n_lost, "{report:?}");
    }
}

#[test]
fn a_worker_that_ends_loses_the_connection() {
    let directory = tempfile::tempdir().unwrap();
    let worker = script(directory.path(), "exit 0");
    let mut command = Command::new(LOAD);

    let output = command.arg("--worker").arg(worker).output().unwrap();

    assert!(!output.status.success());
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("no connection is left"), "{said}");
}
