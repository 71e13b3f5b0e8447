//! `switchyard store …`: the log checked, backed up, restored, repaired and compacted as a user
//! would.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Output, Stdio};

use serde_json::Value;
use testkit::daemon::Daemon;
use testkit::test_home::{PATIENCE, TestHome, wait_until};

use crate::front::home;

fn run(home: &TestHome, words: &[&str]) -> Output {
    home.command(words).stdin(Stdio::null()).output().unwrap()
}

fn text(output: &Output) -> String {
    let (out, err) = (&output.stdout, &output.stderr);
    format!("{}{}", String::from_utf8_lossy(out), String::from_utf8_lossy(err))
}

#[track_caller]
fn well(home: &TestHome, words: &[&str]) -> String {
    let output = run(home, words);
    assert_eq!(output.status.code(), Some(0), "{words:?}: {}", text(&output));
    text(&output)
}

#[track_caller]
fn json(home: &TestHome, words: &[&str], code: i32) -> Value {
    let output = run(home, words);
    assert_eq!(output.status.code(), Some(code), "{words:?}: {}", text(&output));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn n_sessions(home: &TestHome) -> usize {
    json(home, &["sessions", "list", "--json"], 0).as_array().unwrap().len()
}

/// Flips one bit inside of what the agent said.
fn damage(home: &TestHome, said: &str) {
    let file = home.path().join("switchyard.db");
    let mut bytes = fs::read(&file).unwrap();
    let at = bytes.windows(said.len()).rposition(|one| one == said.as_bytes()).unwrap();
    bytes[at] ^= 1;
    fs::write(&file, bytes).unwrap();
}

#[test]
fn a_backup_beside_a_daemon_brings_its_sessions_back() {
    let home = home();
    let file = home.work().join("backup.db");
    let name = file.to_str().unwrap();
    let daemon = Daemon::start(&home);
    well(&home, &["run", "demo", "say first"]);
    assert!(well(&home, &["store", "check"]).contains("all is well"));

    let made = well(&home, &["store", "backup", name]);

    assert!(made.contains("backup of 1 sessions"), "{made}");
    assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(json(&home, &["store", "check", "--file", name, "--json"], 0)["sound"], true);
    let again = run(&home, &["store", "backup", name]);
    assert_eq!(again.status.code(), Some(1));
    assert!(text(&again).contains("hint: --force"), "{}", text(&again));
    well(&home, &["store", "backup", name, "--force", "--json"]);
    well(&home, &["run", "demo", "say second"]);
    for words in [&["store", "repair"][..], &["store", "restore", name, "--yes"]] {
        let refused = run(&home, words);
        assert_eq!(refused.status.code(), Some(1), "{}", text(&refused));
        assert!(text(&refused).contains("hint: `switchyard daemon stop`"), "{}", text(&refused));
    }
    assert_eq!(n_sessions(&home), 2);
    daemon.stop();
    let asked = run(&home, &["store", "restore", name]);
    assert_eq!(asked.status.code(), Some(2), "{}", text(&asked));

    let restored = json(&home, &["store", "restore", name, "--yes", "--json"], 0);

    assert_eq!(restored["sessions"], 1);
    assert!(Path::new(restored["keptIn"].as_str().unwrap()).join("switchyard.db").exists());
    assert_eq!(n_sessions(&home), 1);
    let daemon = Daemon::start(&home);
    let said = well(&home, &["run", "-s", "last", "say it goes on", "--format", "quiet"]);
    assert!(said.contains("it goes on"), "{said}");
    daemon.stop();
    well(&home, &["store", "compact"]);
    assert!(well(&home, &["store", "check"]).contains("all is well"));
}

#[test]
fn a_damaged_session_is_named_cut_and_says_so_in_its_log() {
    let home = home();
    well(&home, &["run", "demo", "say untouched"]);
    well(&home, &["run", "demo", "say the-marked-word"]);
    // Into the database, out of the write-ahead log.
    well(&home, &["store", "compact"]);
    damage(&home, "the-marked-word");

    let found = run(&home, &["store", "check"]);
    assert_eq!(found.status.code(), Some(6), "{}", text(&found));
    assert!(text(&found).contains("does not match its checksum"), "{}", text(&found));
    assert!(text(&found).contains("hint: "), "{}", text(&found));
    let report = json(&home, &["store", "repair", "--json"], 6);

    assert_eq!((&report["repaired"], &report["sessions"]), (&true.into(), &2.into()), "{report}");
    let named = report["damaged"].as_array().unwrap();
    assert_eq!(named.len(), 1, "{report}");
    let kept = Path::new(report["keptIn"].as_str().unwrap());
    assert!(kept.join("switchyard.db").exists() && kept.join("heads").exists());
    well(&home, &["store", "check"]);
    let session = named[0]["session"].as_str().unwrap();
    let log = well(&home, &["sessions", "export", session]);
    assert!(log.contains("log_recovered"), "{log}");
    well(&home, &["run", "-s", session, "say it goes on"]);
    assert!(well(&home, &["store", "repair"]).contains("nothing was wrong"));
}

#[test]
fn scheduled_backups_are_made_and_old_ones_removed() {
    let home = home();
    let dir = home.work().join("kept");
    let config = format!(
        "[store]\nbackup_every = \"1s\"\nbackup_dir = {:?}\nbackup_keep = 2\n",
        dir.to_str().unwrap()
    );
    fs::write(home.path().join("switchyard.toml"), config).unwrap();
    fs::create_dir(&dir).unwrap();
    fs::write(dir.join("switchyard-mine.db"), "not made by schedule").unwrap();
    let names = || {
        let entries = dir.read_dir().unwrap().flatten();
        let mut names: Vec<String> =
            entries.map(|entry| entry.file_name().into_string().unwrap()).collect();
        names.retain(|name| name.starts_with("switchyard-2") && !name.contains(".draft"));
        names.sort();
        names
    };
    let daemon = Daemon::start(&home);
    well(&home, &["run", "demo", "say hello"]);
    assert!(wait_until(PATIENCE, || names().len() == 2));
    let first = names();

    assert!(wait_until(PATIENCE, || {
        let now = names();
        now.len() == 2 && !now.contains(&first[0]) && !now.contains(&first[1])
    }));

    daemon.stop();
    assert!(dir.join("switchyard-mine.db").exists());
    let newest = dir.join(names().pop().unwrap());
    let newest = newest.to_str().unwrap();
    assert_eq!(json(&home, &["store", "check", "--file", newest, "--json"], 0)["sessions"], 1);
}

#[test]
fn a_daemon_that_was_stopped_leaves_all_in_its_database() {
    let home = home();
    for _ in 0..3 {
        let daemon = Daemon::start(&home);
        well(&home, &["run", "demo", "say hello"]);
        assert!(daemon.stop().success());

        let wal = fs::metadata(home.path().join("switchyard.db-wal"));
        assert_eq!(wal.map_or(0, |wal| wal.len()), 0, "what is left in the write-ahead log");
    }
}

#[test]
fn what_cannot_be_a_backup_is_told_before_anything_is_done() {
    let home = home();
    well(&home, &["run", "demo", "say hello"]);
    let dir = home.work().join("dir");
    fs::create_dir(&dir).unwrap();
    let (dir, log) = (dir.to_str().unwrap(), home.path().join("switchyard.db"));
    let refused: [(&[&str], &str); 5] = [
        (&["store", "backup", dir], "it is a directory"),
        (&["store", "backup", "--force", dir], "it is a directory"),
        (&["store", "check", "--file", dir], "it is a directory"),
        (&["store", "restore", "--yes", dir], "it is a directory"),
        (&["store", "restore", "--yes", log.to_str().unwrap()], "a file of the log itself"),
    ];
    for (words, why) in refused {
        let output = run(&home, words);
        assert_eq!(output.status.code(), Some(1), "{words:?}: {}", text(&output));
        assert!(text(&output).contains(why), "{words:?}: {}", text(&output));
    }
    let elsewhere = home.work().join("not-there/backup.db");
    let output = run(&home, &["store", "backup", elsewhere.to_str().unwrap()]);
    let said = text(&output);
    assert!(said.contains("not-there/backup.db`") && !said.contains(".draft"), "{said}");
    assert_eq!(n_sessions(&home), 1, "nothing was replaced");
}

#[test]
fn what_is_no_log_is_told() {
    let home = home();
    let missing = run(&home, &["store", "check"]);
    assert_eq!(missing.status.code(), Some(1), "{}", text(&missing));
    let file = home.work().join("notes.txt");
    fs::write(&file, "not a database, but long enough to be looked at").unwrap();
    let other = run(&home, &["store", "check", "--file", file.to_str().unwrap()]);
    assert_eq!(other.status.code(), Some(1), "{}", text(&other));
    assert_eq!(fs::read_dir(home.work()).unwrap().count(), 1, "nothing is made beside it");
}
