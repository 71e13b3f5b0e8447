//! A journal outlives its process, and belongs to one at a time.

use std::path::Path;

use proptest::prelude::*;
use serde_json::json;
use store::SqliteLog;

use super::*;
use crate::native::options::ApprovalMode;

fn open(dir: &Path) -> Arc<dyn EventLog> {
    Arc::new(SqliteLog::open(dir, store::SqliteOptions::default()).unwrap())
}

fn items() -> Vec<JournalItem> {
    let call =
        ModelToolCall { id: "c".into(), name: "read".into(), arguments: "{\"path\":1}".into() };
    let image = MessagePart::Image { mime: "image/png".into(), data: "AAAA".into() };
    let edits = [PartShape::Whole, PartShape::Hidden, PartShape::Replaced { text: "less".into() }];
    let edits = edits.into_iter().map(|shape| PartEdit { part: 2, shape }).collect();
    let thread = WorkThread { name: "t".into(), about: "it".into(), parts: vec![1, 2] };
    vec![
        JournalItem::Prompt {
            blocks: vec![json!({ "type": "text", "text": "hé\u{0}\n" })],
            parts: vec![MessagePart::text("hé\u{0}\n"), image],
        },
        JournalItem::Answer {
            text: "yes".into(),
            thought: "hm".into(),
            calls: vec![call],
            is_whole: true,
            usage: Some(TokenUsage {
                input: 1,
                output: 2,
                thought: 3,
                cached: 4,
                nano_usd: Some(5),
            }),
        },
        JournalItem::Called { answer: 2, index: 0, shown: json!({ "a": 1 }), parts: vec![] },
        JournalItem::Options {
            options: SessionOptions {
                model: "m".into(),
                mode: ApprovalMode::Plan,
                effort: Some("low".into()),
                tools: Some(false),
                context_tools: Some(true),
            },
        },
        JournalItem::Edited { edits },
        JournalItem::Covered(CoveringNote {
            name: "n".into(),
            cover: CoveringKind::Parked,
            note: "later".into(),
            parts: vec![1],
        }),
        JournalItem::Uncovered { name: "n".into() },
        JournalItem::Threads { threads: vec![thread] },
        JournalItem::Objective { text: Some("win".into()) },
        JournalItem::Objective { text: None },
        JournalItem::Compacted { summary: "all".into() },
        JournalItem::Spent { nano_usd: 7 },
        JournalItem::Cleared,
    ]
}

#[tokio::test]
async fn every_item_is_there_after_the_process_is_gone() {
    let dir = tempfile::tempdir().unwrap();
    let id = {
        let journal = Journal::create(&open(dir.path()), "/p", Json::trusted("{}")).await.unwrap();
        for item in items() {
            journal.add(item).await.unwrap();
        }
        journal.id()
    };

    let (journal, record) = Journal::open(&open(dir.path()), id).await.unwrap().unwrap();

    let read: Vec<JournalItem> = journal.all().iter().map(|entry| (*entry.item).clone()).collect();
    assert_eq!(read, items());
    let places: Vec<u64> = journal.all().iter().map(|entry| entry.seq).collect();
    assert!(places.is_sorted() && places.windows(2).all(|two| two[0] != two[1]), "{places:?}");
    assert_eq!(record.cwd, "/p");
    let next = journal.add(JournalItem::Cleared).await.unwrap();
    assert!(Some(&next) > places.last());
}

#[tokio::test]
async fn what_a_later_version_wrote_is_skipped_and_kept() {
    let dir = tempfile::tempdir().unwrap();
    let log = open(dir.path());
    let journal = Journal::create(&log, "/p", Json::trusted("{}")).await.unwrap();
    let id = journal.id();
    journal.add(JournalItem::Cleared).await.unwrap();
    for payload in [json!({ "item": "dreamt", "of": 1 }), json!([1]), json!({ "item": "answer" })] {
        let kind = Kind::update("native_dreamt");
        let draft = Draft { at: mint::now(), turn: None, kind, payload: Json::of(&payload) };
        log.append(Batch::new(id, vec![draft])).await.unwrap();
    }
    drop(journal);

    let (journal, _) = Journal::open(&log, id).await.unwrap().unwrap();

    let n_in_log = log.read(id, Seq(0), 100).await.unwrap().len();
    assert_eq!((journal.all().len(), n_in_log), (1, 4));
    let added = journal.add(JournalItem::Cleared).await.unwrap();
    assert_eq!(journal.all().last().unwrap().seq, added);
}

#[tokio::test]
async fn a_journal_is_of_one_owner_at_a_time() {
    let dir = tempfile::tempdir().unwrap();
    let log = open(dir.path());
    let journal = Journal::create(&log, "/p", Json::trusted("{}")).await.unwrap();
    let id = journal.id();
    assert!(Journal::open(&log, id).await.is_err());
    drop(journal);
    assert!(Journal::open(&log, id).await.unwrap().is_some());
}

#[tokio::test]
async fn a_session_that_is_not_there_is_none() {
    let dir = tempfile::tempdir().unwrap();
    let log = open(dir.path());
    assert!(Journal::open(&log, mint::session_id()).await.unwrap().is_none());
}

#[tokio::test]
async fn more_items_than_one_page_come_back_in_order() {
    let dir = tempfile::tempdir().unwrap();
    let log = open(dir.path());
    let journal = Journal::create(&log, "/p", Json::trusted("{}")).await.unwrap();
    let id = journal.id();
    for n in 0..PAGE + 10 {
        journal.add(JournalItem::Uncovered { name: n.to_string() }).await.unwrap();
    }
    drop(journal);
    let (journal, _) = Journal::open(&log, id).await.unwrap().unwrap();
    for (n, entry) in journal.all().iter().enumerate() {
        assert_eq!(*entry.item, JournalItem::Uncovered { name: n.to_string() });
    }
    assert_eq!(journal.all().len(), PAGE + 10);
}

#[test]
fn an_item_that_moves_speaks_of_the_new_places() {
    let places = HashMap::from([(1, 11), (2, 12)]);
    let moved = |item: JournalItem| item.renumbered(&places);
    let called =
        |answer| JournalItem::Called { answer, index: 0, shown: json!(null), parts: vec![] };
    assert_eq!(moved(called(2)), Some(called(12)));
    assert_eq!(moved(called(7)), None);
    let edit = |part| PartEdit { part, shape: PartShape::Hidden };
    assert_eq!(
        moved(JournalItem::Edited { edits: vec![edit(1), edit(9)] }),
        Some(JournalItem::Edited { edits: vec![edit(11)] })
    );
    let covered = |parts: &[u64]| {
        JournalItem::Covered(CoveringNote {
            name: "n".into(),
            cover: CoveringKind::Distilled,
            note: "x".into(),
            parts: parts.to_vec(),
        })
    };
    assert_eq!(moved(covered(&[1, 2, 3])), Some(covered(&[11, 12])));
    assert_eq!(moved(JournalItem::Cleared), Some(JournalItem::Cleared));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Sessions never share an id, and what was said is told in the order in which it was said.
    #[test]
    fn sessions_are_apart_and_keep_their_order(
        said in prop::collection::vec((0..3_usize, ".{0,20}"), 0..30),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let log: Arc<dyn EventLog> = Arc::new(testkit::MemoryLog::new());
            let mut journals = Vec::new();
            for _ in 0..3 {
                journals.push(Journal::create(&log, "/p", Json::trusted("{}")).await.unwrap());
            }
            let ids: std::collections::BTreeSet<_> = journals.iter().map(Journal::id).collect();
            assert_eq!(ids.len(), journals.len());
            for (at, text) in &said {
                let item = JournalItem::Failed { message: text.clone() };
                journals[*at].add(item).await.unwrap();
            }
            for (at, journal) in journals.iter().enumerate() {
                let expected: Vec<_> = said.iter().filter(|(of, _)| *of == at).collect();
                let before = journal.all();
                journal.release();
                let (again, _) = Journal::open(&log, journal.id()).await.unwrap().unwrap();
                for entries in [before, again.all()] {
                    assert!(entries.windows(2).all(|two| two[0].seq < two[1].seq));
                    let told: Vec<String> = entries
                        .iter()
                        .map(|entry| match &*entry.item {
                            JournalItem::Failed { message } => message.clone(),
                            other => panic!("{other:?}"),
                        })
                        .collect();
                    let expected: Vec<String> = expected.iter().map(|(_, t)| t.clone()).collect();
                    assert_eq!(told, expected);
                }
            }
        });
    }
}
