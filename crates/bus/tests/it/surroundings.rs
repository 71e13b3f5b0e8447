//! What a worker sees of us: three descriptors, the environment it was given, no terminal.

use std::fs;
use std::process::Command;

use bus::Environment;

use crate::stage::{launch, launch_testbin, read_all, read_line, testbin};

#[tokio::test]
async fn a_worker_sees_three_descriptors() {
    let mut worker = launch_testbin(["fds"]).spawn().await.unwrap();

    assert_eq!(read_all(&mut worker).await, "0 1 2\n");
}

#[test]
fn a_descriptor_that_we_inherited_ourselves_does_not_reach_the_worker() {
    let output = Command::new(testbin()).args(["with-stray-fd", "/"]).output().unwrap();

    assert_eq!(String::from_utf8(output.stdout).unwrap(), "0 1 2\n");
}

#[tokio::test]
async fn the_environment_is_what_was_asked_for() {
    let mut launch = launch("/usr/bin/env", []);
    launch.env = Environment::empty();
    launch.env.set.insert("GIVEN".into(), "1".into());
    launch.env.set.insert("SWITCHYARD_TOKEN".into(), "secret".into());
    let mut worker = launch.spawn().await.unwrap();

    let out = read_all(&mut worker).await;

    let mut lines: Vec<&str> = out.lines().collect();
    lines.sort_unstable();
    let marker = format!("SWITCHYARD_WORKER={}", worker.handle.id());
    assert_eq!(lines, ["GIVEN=1", marker.as_str()]);
}

#[tokio::test]
async fn what_is_stripped_is_not_inherited() {
    let mut launch = launch("/usr/bin/env", []);
    launch.env.strip.insert("PATH".into());
    let mut worker = launch.spawn().await.unwrap();

    let out = read_all(&mut worker).await;

    assert!(!out.lines().any(|line| line.starts_with("PATH=")), "{out}");
    assert!(out.lines().count() > 1, "the rest is inherited: {out}");
}

#[tokio::test]
async fn a_keeper_holds_no_secret_and_is_recognisable() {
    let worker = launch_testbin(["hang"]).spawn().await.unwrap();
    let proc = format!("/proc/{}", worker.handle.keeper_pid());

    assert_eq!(fs::read(format!("{proc}/environ")).unwrap(), b"");
    assert_eq!(fs::read_to_string(format!("{proc}/comm")).unwrap(), "sy-keeper\n");
    let children = Command::new("ps").args(["-o", "pid=", "--ppid"]).arg(&proc[6..]).output();
    let children = String::from_utf8(children.unwrap().stdout).unwrap();
    assert_eq!(children.trim(), worker.handle.pid().to_string());
}

#[tokio::test]
async fn a_worker_leads_its_own_group_and_gets_default_signals() {
    let mut worker = launch("sh", ["-c", "cat /proc/$$/stat; grep SigIgn /proc/$$/status"])
        .spawn()
        .await
        .unwrap();
    let out = read_all(&mut worker).await;

    let (stat, ignored) = out.split_once('\n').unwrap();
    let fields: Vec<&str> = stat.rsplit_once(')').unwrap().1.split_whitespace().collect();
    assert_eq!(fields[2], worker.handle.pid().to_string(), "process group");
    assert_eq!(fields[3], worker.handle.keeper_pid().to_string(), "session");
    assert_eq!(fields[4], "0", "no terminal");
    // The real-time signals are the C library's business, and may come from our own starter.
    let mask = u64::from_str_radix(ignored.trim().rsplit('\t').next().unwrap(), 16).unwrap();
    assert_eq!(mask & 0x7fff_ffff, 0, "{ignored}");
}

fn oom_score(pid: u32) -> i32 {
    fs::read_to_string(format!("/proc/{pid}/oom_score_adj")).unwrap().trim().parse().unwrap()
}

#[tokio::test]
async fn a_worker_dies_before_its_keeper_and_both_before_us_when_memory_runs_out() {
    let mut launch = launch("sh", ["-c", "cat /proc/self/oom_score_adj; exec cat"]);
    launch.cgroups = false;
    let mut worker = launch.spawn().await.unwrap();

    // What it was born with; nothing is changed when it runs already.
    let own: i32 = read_line(&mut worker.stdout).await.parse().unwrap();

    assert_eq!(oom_score(worker.handle.pid()), own);
    let keeper = oom_score(worker.handle.keeper_pid());
    let ours = oom_score(std::process::id());
    assert!(ours < keeper && keeper < own, "{ours} {keeper} {own}");
}
