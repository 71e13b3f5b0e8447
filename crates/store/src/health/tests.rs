use std::path::PathBuf;

use super::*;

fn full() -> StoreError {
    StoreError::DiskFull { path: PathBuf::from("switchyard.db") }
}

fn kinds(notes: &HealthNotes) -> Vec<TroubleKind> {
    notes.troubles().into_iter().map(|trouble| trouble.kind).collect()
}

#[test]
fn writes_are_well_again_with_the_first_that_succeeds() {
    let notes = HealthNotes::default();

    notes.fail(TroubleKind::Writing, full());
    notes.fail(TroubleKind::Writing, full());
    notes.note(TroubleKind::Syncing, &Ok(()));

    assert_eq!(kinds(&notes), [TroubleKind::Writing]);
    assert!(!LogHealth { troubles: notes.troubles(), lost: Vec::new() }.is_writable());
    notes.clear(TroubleKind::Writing);
    assert_eq!(kinds(&notes), []);
}

#[test]
fn a_failed_read_is_remembered_though_others_succeed() {
    let notes = HealthNotes::default();

    notes.note::<()>(TroubleKind::Reading, &Err(full()));
    notes.note(TroubleKind::Reading, &Ok(()));

    assert_eq!(kinds(&notes), [TroubleKind::Reading]);
    assert!(LogHealth { troubles: notes.troubles(), lost: Vec::new() }.is_writable());
}

#[test]
fn what_concerns_one_session_is_no_trouble_of_the_log() {
    let notes = HealthNotes::default();
    let session = mint::session_id();

    notes.note::<()>(TroubleKind::Reading, &Err(StoreError::NoSuchSession(session)));
    notes.note::<()>(TroubleKind::Reading, &Err(StoreError::Corrupt { session, seq: Seq(1) }));
    notes.fail(TroubleKind::Writing, StoreError::SessionFull { session, max_bytes: 1 });

    assert_eq!(kinds(&notes), []);
}
