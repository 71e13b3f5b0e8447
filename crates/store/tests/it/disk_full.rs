//! A real full disk: a small tmpfs, where that is permitted.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use store::{EventLog, StoreError};

use crate::fixture::{batch, id, new, open, read_all, temp};

pub(crate) struct SmallDisk(pub(crate) PathBuf);

impl SmallDisk {
    pub(crate) fn mount(at: PathBuf, size: &str) -> Option<Self> {
        fs::create_dir(&at).unwrap();
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &format!("size={size}"), "tmpfs"])
            .arg(&at)
            .output()
            .is_ok_and(|output| output.status.success());
        mounted.then_some(Self(at))
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

#[tokio::test]
async fn a_full_disk_refuses_appends_until_there_is_space_again() {
    let dir = temp();
    let Some(disk) = SmallDisk::mount(dir.path().join("disk"), "2m") else {
        eprintln!("skipped: mounting a tmpfs is not permitted here");
        return;
    };
    let ballast = disk.0.join("ballast");
    fs::write(&ballast, vec![0; 512 * 1024]).unwrap();
    let log = open(&disk.0);
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
    fs::remove_file(&ballast).unwrap();
    log.append(batch("a", &["there is space again"])).await.unwrap();
    drop(log);
    let log = open(&disk.0);
    assert_eq!(log.session(id("a")).await.unwrap().unwrap().damage, None);
    let (events, error) = read_all(&log, id("a")).await;
    assert_eq!((events.len(), error), (n_acknowledged + 1, None));
}

#[tokio::test]
async fn what_has_no_room_for_its_first_words_is_not_made() {
    let dir = temp();
    let Some(disk) = SmallDisk::mount(dir.path().join("disk"), "2m") else {
        eprintln!("skipped: mounting a tmpfs is not permitted here");
        return;
    };
    let log = open(&disk.0);
    log.create(new("a")).await.unwrap();
    // There is some, but hardly any.
    let ballast = fs::File::create(disk.0.join("ballast")).unwrap();
    std::io::copy(&mut std::io::repeat(0), &mut &ballast).unwrap_err();
    ballast.set_len(ballast.metadata().unwrap().len() - (128 << 10)).unwrap();

    let refusal = log.create(new("b")).await.unwrap_err();

    assert!(matches!(refusal, StoreError::DiskFull { .. }), "{refusal:?}");
    assert_eq!(log.session(id("b")).await.unwrap(), None);
    log.append(batch("a", &["there is room for this"])).await.unwrap();
}
