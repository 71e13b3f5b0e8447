//! Files that are removed or replaced while the log is open.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use store::{EventLog, LogHealth, StoreError, TroubleKind};

use crate::fixture::{batch, id, new, open, read_all, temp};

fn saved_copies(dir: &Path) -> Vec<PathBuf> {
    let files = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    let is_copy =
        |path: &PathBuf| path.file_name().unwrap().to_str().unwrap().contains("switchyard-saved-");
    files.filter(is_copy).collect()
}

#[tokio::test]
async fn a_log_whose_database_was_removed_takes_nothing_and_loses_nothing() {
    let dir = temp();
    let log = open(dir.path());
    log.create(new("a")).await.unwrap();
    log.append(batch("a", &["one", "two"])).await.unwrap();
    fs::remove_file(dir.path().join("switchyard.db")).unwrap();

    let at_rest = log.health().troubles;
    let refusal = log.append(batch("a", &["three"])).await.unwrap_err();
    let again = log.append(batch("a", &["three"])).await.unwrap_err();

    assert_eq!(at_rest[0].kind, TroubleKind::Files, "nobody has written yet");
    assert!(matches!(refusal, StoreError::FilesGone { .. }), "{refusal:?}");
    assert_eq!(again, refusal);
    assert_eq!(log.health().troubles[0].error, refusal);
    assert!(!log.health().is_writable());
    let copies = saved_copies(dir.path());
    assert_eq!(copies.len(), 1, "saved once: {copies:?}");
    assert!(refusal.to_string().contains(copies[0].to_str().unwrap()), "{refusal}");
    assert_eq!(fs::metadata(&copies[0]).unwrap().permissions().mode() & 0o777, 0o600);
    // What a restore comes to.
    drop(log);
    fs::rename(&copies[0], dir.path().join("switchyard.db")).unwrap();
    let _ = fs::remove_file(dir.path().join("switchyard.db-wal"));
    let log = open(dir.path());
    assert_eq!(log.session(id("a")).await.unwrap().unwrap().damage, None);
    let (events, error) = read_all(&log, id("a")).await;
    assert_eq!((events.len(), error), (2, None));
}

#[tokio::test]
async fn a_log_whose_files_come_back_goes_on() {
    let dir = temp();
    let log = open(dir.path());
    log.create(new("a")).await.unwrap();
    let (name, elsewhere) = (dir.path().join("switchyard.db"), dir.path().join("elsewhere"));
    fs::rename(&name, &elsewhere).unwrap();
    fs::write(&name, "another file").unwrap();
    log.append(batch("a", &["one"])).await.unwrap_err();

    fs::rename(&elsewhere, &name).unwrap();

    log.append(batch("a", &["one"])).await.unwrap();
    assert_eq!(log.health(), LogHealth::default());
}
