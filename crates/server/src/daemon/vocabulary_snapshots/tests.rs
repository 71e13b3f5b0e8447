use std::path::Path;

use store::EventLog as _;
use testkit::MemoryLog;
use wire::Json;

use super::*;
use crate::events::testing;

fn key(n: u8) -> SnapshotKey {
    let session = SessionId::from_entropy(&[n; 64]);
    SnapshotKey { session, epoch: 0xe, format: SnapshotFormat::Ui }
}

/// A vocabulary in the middle of a turn, and its state.
fn vocabulary() -> (Vocabulary, Json) {
    let mut vocabulary = Vocabulary::ui();
    for event in testing::events().iter().take(40) {
        vocabulary.frames(event);
    }
    let state = vocabulary.state().unwrap();
    (vocabulary, state)
}

fn state_before(sessions: &Path, log: SnapshotKey, seq: u64) -> Option<(Seq, Json)> {
    let (seq, vocabulary) = storage::load(sessions, log, Seq(seq))?;
    Some((seq, vocabulary.state().unwrap()))
}

#[test]
fn the_last_snapshot_that_can_be_read_is_found_and_what_cannot_is_removed() {
    let home = tempfile::tempdir().unwrap();
    let (sessions, log) = (home.path(), key(1));
    let (_, state) = vocabulary();
    for seq in [100, 200, 300] {
        storage::store(sessions, log, Seq(seq), &state).unwrap();
    }
    let found = |seq| Some((Seq(seq), state.clone()));

    assert_eq!(state_before(sessions, log, 99), None);
    assert_eq!(state_before(sessions, log, 250), found(200));
    assert_eq!(state_before(sessions, log, 300), found(300));
    assert_eq!(state_before(sessions, SnapshotKey { epoch: 0xf, ..log }, 300), None);
    let other = SnapshotKey { format: SnapshotFormat::Acp, ..log };
    assert_eq!(state_before(sessions, other, 300), None);

    // A byte that is wrong, and a file that was cut.
    let file = |seq: u64| sessions.join(format!("{}/snapshots/ui-e-{seq}", log.session));
    let mut bytes = std::fs::read(file(300)).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(file(300), &bytes).unwrap();
    std::fs::write(file(200), &bytes[..middle]).unwrap();
    assert_eq!(state_before(sessions, log, 300), found(100));
    assert!(!file(300).exists() && !file(200).exists() && file(100).exists());

    storage::remove_other_epochs(sessions, log.session, 0xf);
    assert_eq!(std::fs::read_dir(file(1).parent().unwrap()).unwrap().count(), 0);
    storage::remove(sessions, log.session).unwrap();
    assert_eq!(std::fs::read_dir(sessions).unwrap().count(), 0);
}

#[test]
fn a_link_in_the_place_of_a_directory_or_file_is_not_followed() {
    let (home, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (sessions, log) = (home.path(), key(1));
    let (_, state) = vocabulary();
    storage::store(elsewhere.path(), log, Seq(100), &state).unwrap();
    let own = sessions.join(log.session.as_str());
    std::os::unix::fs::symlink(elsewhere.path().join(log.session.as_str()), &own).unwrap();

    assert_eq!(state_before(sessions, log, 100), None);
    assert!(storage::store(sessions, log, Seq(200), &state).is_err());

    std::fs::remove_file(&own).unwrap();
    storage::store(sessions, log, Seq(50), &state).unwrap();
    let name = format!("{}/snapshots/ui-e-100", log.session);
    std::os::unix::fs::symlink(elsewhere.path().join(&name), sessions.join(&name)).unwrap();
    assert_eq!(state_before(sessions, log, 100), Some((Seq(50), state)));
}

/// Waits until a condition holds.
async fn until(condition: impl Fn() -> bool) {
    let waiting = async {
        while !condition() {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(soak::PATIENCE, waiting).await.expect("it never came");
}

#[tokio::test]
async fn snapshots_are_kept_at_intervals_and_not_of_a_session_that_is_gone() {
    let home = tempfile::tempdir().unwrap();
    let log = Arc::new(MemoryLog::new());
    let (there, gone) = (key(1), key(2));
    let new = testing::new_session(there.session, wire::Millis(0));
    log.create(new).await.unwrap();
    let snapshots = VocabularySnapshots::below(home.path().to_owned(), log);
    let (vocabulary, state) = vocabulary();
    let path = |key: SnapshotKey| home.path().join(key.session.as_str());

    for seq in [SPACING - 1, SPACING, 2 * SPACING + 7, 3 * SPACING] {
        snapshots.keep(there, Seq(seq), &vocabulary);
    }
    let files = || std::fs::read_dir(path(there).join("snapshots"));
    until(|| files().is_ok_and(|files| files.count() >= 2)).await;
    assert_eq!(storage::last(home.path(), there), Seq(3 * SPACING));
    assert_eq!(snapshots.before(there, Seq(SPACING - 1)).await.0, Seq(0));
    let (seq, found) = snapshots.before(there, Seq(3 * SPACING - 1)).await;
    assert_eq!((seq, found.state()), (Seq(SPACING), Some(state)));
    // The other vocabularies have none yet.
    assert_eq!(snapshots.kept_to(there.session, there.epoch).await, Seq(0));

    // The directory is made and removed again, so that its change is awaited by another's.
    snapshots.keep(gone, Seq(SPACING), &vocabulary);
    snapshots.keep(there, Seq(4 * SPACING), &vocabulary);
    until(|| files().unwrap().count() == 3 && !path(gone).exists()).await;
}
