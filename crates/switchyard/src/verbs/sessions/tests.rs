use super::*;

#[test]
fn a_line_says_what_was_decided_by_whom_and_after_how_long() {
    let row = AuditRow {
        time: "2026-11-03T09:00:00.000Z".into(),
        session: "abcdefghijklmnopqrstuvwxyz".into(),
        agent: "demo".into(),
        title: "Run it".into(),
        command: Some("ls\u{1b}[2J -l".into()),
        allowed: true,
        by: "client".into(),
        detail: Some("terminal".into()),
        waited_ms: Some(3_450),
        ..AuditRow::default()
    };
    let line = text_line(&row);
    assert!(!line.contains('\u{1b}'), "{line:?}");
    assert!(line.contains("allowed  Run it: ls"), "{line}");
    assert!(line.ends_with("by client terminal, after 3.4 s\n"), "{line}");
}
