//! A real full disk: a small tmpfs, where that is permitted.

use std::fs;

use store::{EventLog, LogHealth, StoreError, TroubleKind};
use tempfile::TempDir;
use testkit::small_disk::SmallDisk;

use crate::fixture::{batch, id, new, open, read_all, temp};

/// Where this user may mount one.
pub(crate) fn small_disk(dir: &TempDir, size: &str) -> Option<SmallDisk> {
    let disk = SmallDisk::mount(&dir.path().join("disk"), size);
    if disk.is_none() {
        eprintln!("skipped: mounting a tmpfs is not permitted here");
    }
    disk
}

#[tokio::test]
async fn a_full_disk_refuses_appends_until_there_is_space_again() {
    let dir = temp();
    let Some(disk) = small_disk(&dir, "2m") else { return };
    let ballast = disk.path().join("ballast");
    fs::write(&ballast, vec![0; 512 * 1024]).unwrap();
    let log = open(disk.path());
    log.create(new("a")).await.unwrap();

    let text = "x".repeat(5000);
    let mut n_acknowledged = 0;
    let refusal = loop {
        match log.append(batch("a", &[&text, &text])).await {
            Ok(_) => n_acknowledged += 2,
            Err(error) => break error,
        }
    };

    assert!(matches!(refusal, StoreError::DiskFull { .. }), "{refusal:?}");
    assert!(n_acknowledged > 0);
    assert_eq!(read_all(&log, id("a")).await.0.len(), n_acknowledged);
    let troubles = log.health().troubles;
    assert_eq!(troubles.len(), 1, "{troubles:?}");
    assert_eq!((troubles[0].kind, &troubles[0].error), (TroubleKind::Writing, &refusal));
    assert_eq!(log.probe().await, Err(refusal));
    fs::remove_file(&ballast).unwrap();
    log.probe().await.unwrap();
    assert_eq!(log.health(), LogHealth::default());
    log.append(batch("a", &["there is space again"])).await.unwrap();
    drop(log);
    let log = open(disk.path());
    assert_eq!(log.session(id("a")).await.unwrap().unwrap().damage, None);
    let (events, error) = read_all(&log, id("a")).await;
    assert_eq!((events.len(), error), (n_acknowledged + 1, None));
}

#[tokio::test]
async fn what_has_no_room_for_its_first_words_is_not_made() {
    let dir = temp();
    let Some(disk) = small_disk(&dir, "2m") else { return };
    let log = open(disk.path());
    log.create(new("a")).await.unwrap();
    // There is some, but hardly any.
    disk.fill_but(128 << 10);

    let refusal = log.create(new("b")).await.unwrap_err();

    assert!(matches!(refusal, StoreError::DiskFull { .. }), "{refusal:?}");
    assert_eq!(log.session(id("b")).await.unwrap(), None);
    log.append(batch("a", &["there is room for this"])).await.unwrap();
}
