use super::*;
use crate::events::testing::{One, drafts};

/// Snapshots are written by tasks that nobody waits for.
async fn written(one: &One, at_least: Seq) {
    let record = one.record().await;
    let waiting = async {
        let snapshots = &one.daemon.vocabulary_snapshots;
        while snapshots.kept_to(record.id, record.epoch).await < at_least {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(soak::PATIENCE, waiting).await.expect("no snapshots");
}

#[tokio::test]
async fn a_log_that_nobody_has_read_has_snapshots_of_every_vocabulary() {
    let home = tempfile::tempdir().unwrap();
    let one = One::with_sessions_dir(home.path().to_owned()).await;
    let mut builder = SnapshotBuilder::default();
    builder.round(&one.daemon).await.unwrap();
    let record = one.record().await;
    assert_eq!(builder.built.len(), 0, "a short log needs none");
    while one.record().await.head.0 < MAX_UNCOVERED {
        one.append(drafts()).await;
    }

    builder.round(&one.daemon).await.unwrap();

    let head = one.record().await.head;
    assert_eq!(builder.built.get(&record.id), Some(&(record.epoch, head)));
    written(&one, Seq(2 * SPACING)).await;
    // A vocabulary that begins there goes on as one that has read everything.
    for format in SnapshotFormat::ALL {
        let key = SnapshotKey { session: record.id, epoch: record.epoch, format };
        let (after, mut early) = one.daemon.vocabulary_snapshots.before(key, head).await;
        assert_eq!(after, Seq(2 * SPACING), "{format:?}");
        let mut whole = format.vocabulary(record.id);
        let mut read_to = Seq(0);
        while read_to < head {
            for event in one.daemon.registry.log().read(record.id, read_to, PAGE).await.unwrap() {
                read_to = event.seq;
                let frames = whole.frames(&event);
                if event.seq > after {
                    assert_eq!(format!("{:?}", early.frames(&event)), format!("{frames:?}"));
                }
            }
        }
    }

    // What is new is read when there is enough of it, from where the last round ended.
    one.append(drafts()).await;
    builder.round(&one.daemon).await.unwrap();
    assert_eq!(builder.built.get(&record.id), Some(&(record.epoch, head)));
}
