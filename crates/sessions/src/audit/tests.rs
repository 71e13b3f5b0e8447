use proptest::prelude::*;
use serde_json::Value;
use serde_json::json;
use store::{Batch, NewSession};
use testkit::MemoryLog;
use wire::{CallId, Draft, Json, Kind};

use super::*;

fn session() -> SessionId {
    SessionId::derived(&[b"a"])
}

fn request(name: &[u8]) -> CallId {
    CallId::derived(&[name])
}

async fn log_with(drafts: Vec<Draft>) -> MemoryLog {
    let log = MemoryLog::new();
    let new = NewSession {
        id: session(),
        agent: "demo".into(),
        cwd: "/work".into(),
        created: Millis(1),
        details: Json::trusted("{}"),
        origin: None,
    };
    log.create(new).await.unwrap();
    log.append(Batch::new(session(), drafts)).await.unwrap();
    log
}

fn draft(at: i64, kind: Kind, payload: &Value) -> Draft {
    Draft { at: Millis(at), turn: None, kind, payload: Json::of(payload) }
}

fn allowed_by_rule() -> Value {
    json!({
        "requestId": request(b"1"),
        "by": {"who": "rule", "detail": "tests", "rule": {"file": "/etc/rules.toml", "index": 2}},
        "allowed": true,
        "outcome": {"outcome": "selected", "optionId": "o", "kind": "allow_once", "name": "Yes"},
        "question": {"title": "Run it", "kind": "execute", "command": "cargo test", "paths": ["/a"]},
    })
}

#[tokio::test]
async fn a_row_says_who_decided_what_by_which_rule() {
    let form = json!({
        "requestId": request(b"2"),
        "by": {"who": "client", "detail": "token:phone http"},
        "response": {"action": "accept"},
        "question": {"title": "Your name?"},
        "waitedMs": 1500,
    });
    let log = log_with(vec![
        draft(1_000, Kind::PermissionResolved, &allowed_by_rule()),
        draft(1_500, Kind::TurnStarted, &json!({})),
        draft(2_000, Kind::ElicitationResolved, &form),
    ])
    .await;

    let page = rows(&log, &DecisionFilter::default()).await.unwrap();

    let [first, second] = &page.rows[..] else { panic!("{page:?}") };
    assert_eq!((&*first.time, first.seq, &*first.agent), ("1970-01-01T00:00:01.000Z", 1, "demo"));
    assert_eq!((&*first.by, first.detail.as_deref()), ("rule", Some("tests")));
    assert_eq!((first.rule_file.as_deref(), first.rule_index), (Some("/etc/rules.toml"), Some(2)));
    assert_eq!((first.allowed, first.option_kind.as_deref()), (true, Some("allow_once")));
    assert_eq!((first.command.as_deref(), first.waited_ms), (Some("cargo test"), None));
    assert_eq!((&*second.asked, &*second.outcome, second.allowed), ("form", "accept", true));
    assert_eq!(
        (second.detail.as_deref(), second.waited_ms),
        (Some("token:phone http"), Some(1500))
    );
}

#[tokio::test]
async fn a_row_is_read_back_as_it_was_written() {
    let resolved = draft(1_000, Kind::PermissionResolved, &allowed_by_rule());
    let page = rows(&log_with(vec![resolved]).await, &DecisionFilter::default()).await.unwrap();
    let damaged = AuditRow { session: "s".into(), seq: 7, is_damaged: true, ..AuditRow::default() };
    for row in page.rows.into_iter().chain([damaged, AuditRow::default()]) {
        let text = Json::of(&row);
        assert_eq!(text.read::<AuditRow>().unwrap(), row, "{}", text.as_str());
    }
}

#[tokio::test]
async fn pages_follow_each_other_and_end() {
    let decided = |at| draft(at, Kind::PermissionResolved, &allowed_by_rule());
    let log = log_with((1..=5).map(decided).collect()).await;
    let mut filter = DecisionFilter { limit: 2, ..DecisionFilter::default() };
    let mut seen = Vec::new();
    loop {
        let page = rows(&log, &filter).await.unwrap();
        seen.push(page.rows.len());
        let Some(next) = page.next else { break };
        filter.after = DecisionPlace::parse(&next.to_string());
        assert_eq!(filter.after, Some(next));
    }
    assert_eq!(seen, [2, 2, 1, 0]);
}

#[tokio::test]
async fn answers_of_another_shape_are_rows_all_the_same() {
    for payload in [json!(null), json!([]), json!({"by": 5}), json!({"question": {"paths": 1}})] {
        let log = log_with(vec![draft(1, Kind::PermissionResolved, &payload)]).await;
        let page = rows(&log, &DecisionFilter::default()).await.unwrap();
        assert_eq!((page.rows.len(), page.rows[0].allowed), (1, false), "{payload}");
    }
}

#[test]
fn csv_has_a_cell_for_every_column() {
    let n_cells = |line: &str| line.matches("\",\"").count() + 1;
    let row = AuditRow { title: "a \"b\", c".into(), ..AuditRow::default() };
    assert_eq!(n_cells(&csv_header()), n_cells(&AuditRow::default().to_csv()));
    assert!(row.to_csv().contains(r#","a ""b"", c","#), "{}", row.to_csv());
}

#[test]
fn a_cell_is_never_a_formula() {
    let dangerous = ["=1+1", "+1", "-rf", "@SUM(A1)", " =1", "\t=1", "\n=1", "＝1", "|x"];
    for title in dangerous {
        let row = AuditRow { title: title.into(), kind: "k".into(), ..AuditRow::default() };
        let line = row.to_csv();
        assert!(line.contains(r#""k","'"#), "{title:?}: {line:?}");
    }
    let harmless = AuditRow { title: "Run `ls -l`".into(), ..AuditRow::default() };
    assert!(harmless.to_csv().contains(r#","Run `ls -l`","#));
}

/// Reads the line as a spreadsheet would.
fn cells(line: &str) -> Vec<String> {
    let mut cells = Vec::new();
    let mut chars = line.strip_suffix("\r\n").unwrap().chars().peekable();
    while let Some(quote) = chars.next() {
        assert_eq!(quote, '"');
        let mut cell = String::new();
        loop {
            match (chars.next().unwrap(), chars.peek()) {
                ('"', Some('"')) => {
                    chars.next();
                    cell.push('"');
                }
                ('"', Some(',')) => {
                    chars.next();
                    break;
                }
                ('"', None) => break,
                ('"', other) => panic!("{other:?} after a quote"),
                (c, _) => cell.push(c),
            }
        }
        cells.push(cell);
    }
    cells
}

proptest! {
    #[test]
    fn whatever_an_agent_calls_its_tools_stays_in_its_cell(title in any::<String>(), path in ".*") {
        let row = AuditRow { title: title.clone(), paths: vec![path], ..AuditRow::default() };
        let cells = cells(&row.to_csv());
        prop_assert_eq!(cells.len(), 22);
        prop_assert!(!cells[9].starts_with(['=', '+', '-', '@', '\t', '\r', '\n']));
        let escapes = cells.iter().any(|cell| cell.contains('\x1b'));
        prop_assert!(!escapes);
    }
}
