//! Checks, backups, their way back, and compacting: beside writers, and alone.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rusqlite::Connection;
use store::maintenance::{
    BackupOptions, CheckOptions, CheckReport, CheckedPlace, SessionProblem, backup, check, compact,
    restore,
};
use store::{EventLog, SessionFilter, SqliteLog, StoreError};
use wire::Seq;

use crate::fixture::{batch, id, new, open, read_all, temp};

const DATABASE: &str = "switchyard.db";

fn checked(place: CheckedPlace<'_>) -> CheckReport {
    check(place, CheckOptions::default(), &mut |_| {}).unwrap()
}

async fn filled(log: &SqliteLog, names: &[&str], n: usize) {
    let text = "x".repeat(2000);
    for name in names {
        log.create(new(name)).await.unwrap();
        for _ in 0..n {
            log.append(batch(name, &["small", &text])).await.unwrap();
        }
    }
}

/// Waits for a condition that other threads bring about.
async fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let end = std::time::Instant::now() + soak::PATIENCE;
    while !is_so() {
        assert!(std::time::Instant::now() < end, "{what}");
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn a_sound_log_is_sound_open_or_closed() {
    let dir = temp();
    let log = open(dir.path());
    filled(&log, &["a", "b"], 20).await;

    let beside = checked(CheckedPlace::Log(dir.path()));
    drop(log);
    let alone = checked(CheckedPlace::Log(dir.path()));

    assert!(beside.is_sound() && beside.is_structure_complete, "{beside:?}");
    assert_eq!((beside.n_sessions, beside.n_events), (2, 80));
    assert_eq!(alone, beside);
}

#[tokio::test]
async fn what_is_wrong_is_said_per_session() {
    let dir = temp();
    let log = open(dir.path());
    filled(&log, &["event", "record", "origin", "lost", "sound"], 5).await;
    drop(log);
    let raw = Connection::open(dir.path().join(DATABASE)).unwrap();
    let key = |name: &str| format!("(SELECT key FROM sessions WHERE id = '{}')", id(name));
    for sql in [
        format!("UPDATE events SET at = 9 WHERE key = ({} << 40) + 4", key("event")),
        format!("UPDATE sessions SET cwd = '/etc' WHERE key = {}", key("record")),
        format!("UPDATE origins SET made_by = 'x' WHERE key = {}", key("origin")),
        format!("DELETE FROM sessions WHERE key = {}", key("lost")),
    ] {
        raw.execute_batch(&sql).unwrap();
    }
    drop(raw);

    let report = checked(CheckedPlace::Log(dir.path()));

    let of = |name: &str| {
        let found = report.findings.iter().find(|one| one.session == Some(id(name)));
        found.map(|finding| finding.problems.clone())
    };
    assert_eq!(of("event"), Some(vec![SessionProblem::Event { seq: Seq(4), head: Seq(10) }]));
    assert_eq!(of("record"), Some(vec![SessionProblem::Record]));
    assert_eq!(of("origin"), Some(vec![SessionProblem::Origin]));
    assert_eq!(of("lost"), Some(vec![SessionProblem::Lost { head: Seq(10) }]));
    assert_eq!(of("sound"), None);
    assert!(!report.is_sound());
}

#[tokio::test]
async fn a_backup_beside_four_writers_is_sound_and_holds_beginnings_of_all() {
    let (dir, place) = (temp(), temp());
    let file = place.path().join("backup.db");
    let log = Arc::new(open(dir.path()));
    let names = ["w0", "w1", "w2", "w3"];
    filled(&log, &names, 50).await;
    let stop = Arc::new(AtomicBool::new(false));
    let mut writers = Vec::new();
    for name in names {
        let (log, stop) = (Arc::clone(&log), Arc::clone(&stop));
        writers.push(tokio::spawn(async move {
            let text = "y".repeat(500);
            while !stop.load(Ordering::Relaxed) {
                log.append(batch(name, &["small", &text, "small"])).await.unwrap();
            }
        }));
    }
    for round in 0..soak::size(5, 40) {
        let (from, to) = (dir.path().to_owned(), file.clone());
        let options = BackupOptions { overwrites: round > 0 };
        let made = tokio::task::spawn_blocking(move || backup(&from, &to, options, &mut |_| {}));
        let report = made.await.unwrap().unwrap();
        assert_eq!((report.findings, report.n_sessions), (Vec::new(), 4));
        let found = checked(CheckedPlace::File(&file));
        assert!(found.is_sound(), "{found:?}");
        assert_eq!((found.n_sessions, found.n_events), (4, report.n_events));
    }
    stop.store(true, Ordering::Relaxed);
    for writer in writers {
        writer.await.unwrap();
    }
    assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(place.path().read_dir().unwrap().count(), 1, "nothing is left beside it");
    assert!(checked(CheckedPlace::Log(dir.path())).is_sound());

    let other = temp();
    let (report, kept) = restore(other.path(), &file, "replaced", &mut |_| {}).unwrap();
    assert_eq!((report.n_sessions, kept), (4, None));
    let restored = open(other.path());
    assert_eq!(restored.lost_sessions(), []);
    for name in names {
        let (all, _) = read_all(&log, id(name)).await;
        let (events, error) = read_all(&restored, id(name)).await;
        assert_eq!(error, None);
        assert_eq!(events, all[..events.len()]);
        let origins = (log.origin(id(name)).await, restored.origin(id(name)).await);
        assert_eq!(origins.0, origins.1);
        restored.append(batch(name, &["it goes on"])).await.unwrap();
    }
}

#[tokio::test]
async fn a_backup_replaces_no_file_unless_told_to_and_never_the_log() {
    let (dir, place) = (temp(), temp());
    let log = open(dir.path());
    filled(&log, &["a"], 2).await;
    let file = place.path().join("backup.db");
    fs::write(&file, "mine").unwrap();
    let make = |file: &Path, overwrites| {
        backup(dir.path(), file, BackupOptions { overwrites }, &mut |_| {})
    };

    let refused = make(&file, false).unwrap_err();
    let own = make(&dir.path().join(DATABASE), true).unwrap_err();

    assert!(matches!(refused, StoreError::FileExists { .. }), "{refused:?}");
    assert_eq!(fs::read_to_string(&file).unwrap(), "mine");
    assert!(own.to_string().contains("the log itself"), "{own}");
    make(&file, true).unwrap();
    assert!(checked(CheckedPlace::File(&file)).is_sound());
}

#[tokio::test]
async fn a_restored_log_is_the_one_of_the_backup_in_new_epochs_and_the_old_one_is_kept() {
    let (dir, place) = (temp(), temp());
    let file = place.path().join("backup.db");
    let log = open(dir.path());
    filled(&log, &["a"], 5).await;
    backup(dir.path(), &file, BackupOptions::default(), &mut |_| {}).unwrap();
    let then = log.session(id("a")).await.unwrap().unwrap();
    let (events, _) = read_all(&log, id("a")).await;
    filled(&log, &["b"], 5).await;
    log.append(batch("a", &["later"])).await.unwrap();
    let refused = restore(dir.path(), &file, "replaced", &mut |_| {}).unwrap_err();
    assert!(matches!(refused, StoreError::LogInUse { .. }), "{refused:?}");
    drop(log);

    let (_, kept) = restore(dir.path(), &file, "replaced", &mut |_| {}).unwrap();

    let log = open(dir.path());
    assert_eq!(log.lost_sessions(), []);
    let now = log.session(id("a")).await.unwrap().unwrap();
    assert_ne!(now.epoch, then.epoch, "cursors of what came after the backup are old");
    assert_eq!(store::SessionRecord { epoch: then.epoch, ..now }, then);
    assert_eq!(read_all(&log, id("a")).await, (events, None));
    assert_eq!(log.session(id("b")).await.unwrap(), None);
    log.append(batch("a", &["it goes on"])).await.unwrap();
    let old = open(&kept.unwrap().dir);
    assert_eq!(old.sessions(SessionFilter::default()).await.unwrap().len(), 2);
}

#[tokio::test]
async fn a_damaged_backup_replaces_nothing() {
    let (dir, place) = (temp(), temp());
    let file = place.path().join("backup.db");
    let log = open(dir.path());
    filled(&log, &["a"], 5).await;
    backup(dir.path(), &file, BackupOptions::default(), &mut |_| {}).unwrap();
    drop(log);
    let raw = Connection::open(&file).unwrap();
    raw.execute_batch("UPDATE events SET payload = '\"forged\"' WHERE key & 255 = 3").unwrap();
    drop(raw);
    let before = fs::read(dir.path().join(DATABASE)).unwrap();

    let refused = restore(dir.path(), &file, "replaced", &mut |_| {}).unwrap_err();

    assert!(matches!(refused, StoreError::DamagedBackup { .. }), "{refused:?}");
    assert_eq!(fs::read(dir.path().join(DATABASE)).unwrap(), before);
    assert!(!checked(CheckedPlace::File(&file)).is_sound());
}

/// As logs were made before they could give pages back.
fn make_old(dir: &Path) {
    let raw = Connection::open(dir.join(DATABASE)).unwrap();
    raw.pragma_update(None, "journal_mode", "DELETE").unwrap();
    raw.execute_batch("PRAGMA auto_vacuum = NONE; VACUUM").unwrap();
}

#[tokio::test]
async fn compacting_an_old_log_gives_its_free_space_back_and_keeps_everything() {
    let dir = temp();
    let log = open(dir.path());
    filled(&log, &["a", "b", "c", "d"], 400).await;
    drop(log);
    make_old(dir.path());
    let log = open(dir.path());
    let size = || dir.path().join(DATABASE).metadata().unwrap().len();
    let before = size();
    for name in ["b", "d"] {
        log.delete(id(name)).await.unwrap();
    }
    let expected = read_all(&log, id("a")).await;
    let in_use = compact(dir.path(), &mut |_| {}).unwrap_err();
    assert!(matches!(in_use, StoreError::LogInUse { .. }), "{in_use:?}");
    drop(log);
    assert!(size() >= before, "an old one keeps its free pages");

    let report = compact(dir.path(), &mut |_| {}).unwrap();

    assert!(report.is_rebuilt && report.bytes_after < report.bytes_before, "{report:?}");
    assert!(size() < before * 6 / 10, "{} of {before}", size());
    let log = open(dir.path());
    assert_eq!(log.lost_sessions(), []);
    assert_eq!(read_all(&log, id("a")).await, expected);
    // From now on by itself.
    let before = size();
    log.delete(id("c")).await.unwrap();
    until("a deletion gives its pages back", || size() < before * 6 / 10).await;
    assert!(!compact(dir.path(), &mut |_| {}).unwrap().is_rebuilt);
}

#[tokio::test]
async fn deleting_makes_the_file_smaller() {
    let dir = temp();
    let log = open(dir.path());
    filled(&log, &["a", "b", "c", "d"], 200).await;
    drop(log);
    let size = || dir.path().join(DATABASE).metadata().unwrap().len();
    let before = size();
    let log = open(dir.path());
    for name in ["a", "c"] {
        log.delete(id(name)).await.unwrap();
    }

    until("half of the file is given back", || size() < before * 6 / 10).await;

    assert!(checked(CheckedPlace::Log(dir.path())).is_sound());
}

#[tokio::test]
async fn compacting_frees_the_slots_of_deleted_sessions() {
    let dir = temp();
    let log = open(dir.path());
    let names: Vec<String> = (0..1000).map(|n| format!("session {n}")).collect();
    for name in &names {
        log.create(store::NewSession { origin: None, ..new(name) }).await.unwrap();
    }
    for name in &names[..990] {
        log.delete(id(name)).await.unwrap();
    }
    let heads = || dir.path().join("heads").metadata().unwrap();
    let (len, blocks) = (heads().len(), heads().blocks());

    compact(dir.path(), &mut |_| {}).unwrap();

    assert_eq!(heads().len(), len, "the length says which keys were given out");
    assert!(heads().blocks() < blocks / 4, "{} of {blocks}", heads().blocks());
    log.create(new("later")).await.unwrap();
    log.append(batch("later", &["one"])).await.unwrap();
    drop(log);
    let log = open(dir.path());
    assert_eq!(log.lost_sessions(), []);
    let left = log.sessions(SessionFilter::default()).await.unwrap();
    assert_eq!(left.len(), 11);
    assert!(left.iter().all(|record| record.damage.is_none()));
}

#[tokio::test]
async fn a_log_whose_files_are_being_replaced_is_not_opened() {
    let dir = temp();
    drop(open(dir.path()));
    let alone = fs::File::open(dir.path().join("in-use.lock")).unwrap();
    alone.lock().unwrap();

    let refused = SqliteLog::open(dir.path(), store::SqliteOptions::default()).unwrap_err();

    assert!(matches!(refused, StoreError::Busy { .. }), "{refused:?}");
    drop(alone);
    open(dir.path());
}

#[tokio::test]
async fn the_database_of_a_closed_log_can_be_checked_alone_and_leaves_nothing_beside_it() {
    let (dir, place) = (temp(), temp());
    let log = open(dir.path());
    filled(&log, &["a"], 5).await;
    drop(log);
    let file = place.path().join("a copy with 100 % ?#.db");
    fs::copy(dir.path().join(DATABASE), &file).unwrap();

    let report = checked(CheckedPlace::File(&file));

    assert!(report.is_sound(), "{report:?}");
    assert_eq!((report.n_sessions, report.n_events), (1, 10));
    assert_eq!(place.path().read_dir().unwrap().count(), 1);
}
