use super::*;

fn record() -> SessionRecord {
    SessionRecord {
        id: SessionId::derived(&[b"one"]),
        epoch: 1,
        agent: "claude".into(),
        cwd: "/a".into(),
        title: Some("t".into()),
        created: Millis(1),
        updated: Millis(5),
        head: Seq(0),
        bytes: 0,
        active_turn: None,
        agent_session: None,
        is_closed: false,
        details: Json::trusted("{}"),
        damage: None,
    }
}

#[test]
fn no_changes_change_nothing() {
    let mut changed = record();

    RecordChanges::default().apply(&mut changed);

    assert_eq!(changed, record());
}

#[test]
fn a_change_can_clear_a_field() {
    let mut changed = record();

    RecordChanges { title: Some(None), ..RecordChanges::default() }.apply(&mut changed);

    assert_eq!(changed.title, None);
}

#[test]
fn a_page_starts_after_the_last_record_of_the_one_before() {
    let record = record();
    let at = |updated| PageStart { updated: Millis(updated), id: record.id };

    let admits =
        |before| SessionFilter { before, ..SessionFilter::default() }.admits(&record, None);

    assert!(admits(None));
    assert!(admits(Some(at(6))));
    assert!(!admits(Some(at(5))));
}
