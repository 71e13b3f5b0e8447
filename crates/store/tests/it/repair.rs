//! Flips bits anywhere in the files of a killed log, repairs it, and looks for every session.

use std::fs;
use std::hash::{BuildHasher as _, RandomState};
use std::path::Path;

use store::maintenance::{
    CheckOptions, CheckReport, CheckedPlace, RepairReport, SessionFinding, SessionProblem, check,
    repair,
};
use store::{
    EventLog, SessionFilter, SessionOrigin, SessionRecord, SqliteLog, SqliteOptions, StoreError,
};
use tempfile::TempDir;
use wire::{Event, Seq, SessionId};

use crate::fixture::{batch, id, new, open, read_all, temp};

const DATABASE: &str = "switchyard.db";
const WAL: &str = "switchyard.db-wal";
const FILES: [&str; 3] = [DATABASE, WAL, "heads"];
const SESSIONS: usize = 20;

type Known = (SessionRecord, Option<SessionOrigin>, Vec<Event>);

/// A log of which the newer half is in the write-ahead log alone, as a killed process leaves it.
struct Killed {
    dir: TempDir,
    expected: Vec<Known>,
}

impl Killed {
    async fn make() -> Self {
        let place = temp();
        for round in 0..2 {
            let log = open(place.path());
            for n in 0..SESSIONS {
                write(&log, n, round).await;
            }
            if round == 1 {
                let dir = temp();
                copy(place.path(), dir.path());
                return Self { dir, expected: contents(&log).await };
            }
        }
        unreachable!()
    }

    fn copied(&self) -> TempDir {
        let dir = temp();
        copy(self.dir.path(), dir.path());
        dir
    }
}

async fn write(log: &SqliteLog, n: usize, round: usize) {
    let name = format!("session {n}");
    // Some are older than the write-ahead log, some are only there.
    if n.is_multiple_of(3) == (round == 1) {
        log.create(new(&name)).await.unwrap();
    } else if round == 0 || log.session(id(&name)).await.unwrap().is_none() {
        return;
    }
    for step in 0..8 {
        let text = format!("{name} {round} {step} {}", "x".repeat(step * (n + 1) * 40));
        log.append(batch(&name, &["small", &text])).await.unwrap();
    }
}

async fn contents(log: &SqliteLog) -> Vec<Known> {
    let mut all = Vec::new();
    for record in log.sessions(SessionFilter::default()).await.unwrap() {
        let (events, error) = read_all(log, record.id).await;
        assert_eq!(error, None);
        all.push((record.clone(), log.origin(record.id).await.unwrap(), events));
    }
    assert_eq!(all.len(), SESSIONS);
    all
}

fn copy(from: &Path, to: &Path) {
    for file in FILES.into_iter().filter(|file| from.join(file).exists()) {
        fs::copy(from.join(file), to.join(file)).unwrap();
    }
}

fn flip(file: &Path, bit: u64) {
    let mut bytes = fs::read(file).unwrap();
    let place = usize::try_from(bit / 8).unwrap() % bytes.len();
    bytes[place] ^= 1 << (bit % 8);
    fs::write(file, bytes).unwrap();
}

fn repaired(dir: &Path) -> RepairReport {
    repair(dir, "damaged", &mut |_| {}).unwrap()
}

fn checked(dir: &Path) -> CheckReport {
    check(CheckedPlace::Log(dir), CheckOptions::default(), &mut |_| {}).unwrap()
}

fn of(report: &RepairReport, session: SessionId) -> Option<&SessionFinding> {
    report.copied.findings.iter().find(|finding| finding.session == Some(session))
}

/// Panics if a session is neither whole, nor named and a beginning of what it was.
async fn audit(log: &SqliteLog, report: &RepairReport, expected: &[Known], what: &str) {
    for (record, origin, events) in expected {
        let finding = of(report, record.id);
        let found = log.session(record.id).await.unwrap();
        let Some(finding) = finding else {
            assert_eq!(found.as_ref(), Some(record), "{what}: a record is silently different");
            assert_eq!(log.origin(record.id).await.unwrap(), *origin, "{what}");
            assert_eq!(read_all(log, record.id).await, (events.clone(), None), "{what}");
            continue;
        };
        let Some(found) = found else {
            let is_lost = |problem: &SessionProblem| matches!(problem, SessionProblem::Lost { .. });
            assert!(finding.problems.iter().any(is_lost), "{what}: {finding:?}");
            continue;
        };
        let (left, error) = read_all(log, record.id).await;
        assert_eq!(error, None, "{what}: what is left can be read");
        assert_eq!(left, events[..left.len()], "{what}: wrong data");
        assert_eq!(finding.intact_to, Some(Seq(left.len() as u64)), "{what}");
        assert!(found.damage.is_some(), "{what}: the loss is told when the session is used");
        log.recover(record.id).await.unwrap().expect("there is a loss to accept");
        let next = log.append(batch_of(record.id)).await.unwrap();
        assert_eq!(next.first.0, left.len() as u64 + 1, "{what}");
    }
}

fn batch_of(session: SessionId) -> store::Batch {
    store::Batch::new(session, vec![crate::fixture::draft("it goes on")])
}

/// Flips one bit per trial; how many sessions each trial has cost.
async fn trials(file: &str, n: u64) -> Vec<usize> {
    let killed = Killed::make().await;
    let seed = RandomState::new().hash_one("seed");
    let mut costs = Vec::new();
    for trial in 0..n {
        let dir = killed.copied();
        let bit = seed.wrapping_add(trial.wrapping_mul(0x9e37_79b9_7f4a_7c15)) >> 8;
        let what = format!("{file}, seed {seed:#x}, trial {trial}, bit {bit}");
        flip(&dir.path().join(file), bit);

        let told = (file == WAL).then(|| checked(dir.path()));
        let report = repaired(dir.path());

        if let Some(told) = told {
            let repaired = (&report.copied.findings, report.wal);
            assert_eq!((&told.findings, told.wal), repaired, "{what}: a check says what is saved");
        }
        let is_kept = report.kept.is_some();
        assert_eq!(is_kept, dir.path().join("damaged").join(DATABASE).exists(), "{what}");
        let nameless = report.copied.findings.iter().filter(|one| one.session.is_none()).count();
        assert_eq!(nameless, 0, "{what}: the second copy names them");
        let log = open(dir.path());
        let lost: Vec<_> = report.copied.findings.iter().filter(|one| one.is_lost()).collect();
        let named: Vec<_> = log.lost_sessions().iter().map(|one| Some(one.id)).collect();
        assert_eq!(lost.iter().map(|one| one.session).collect::<Vec<_>>(), named, "{what}");
        audit(&log, &report, &killed.expected, &what).await;
        drop(log);
        let again = checked(dir.path());
        assert!(again.structure.is_empty() && again.wal.is_none(), "{what}: {again:?}");
        assert_eq!(again.findings.iter().collect::<Vec<_>>(), lost, "{what}");
        costs.push(report.copied.findings.len());
    }
    println!("{file}: sessions that one bit has cost: {costs:?}");
    costs
}

#[tokio::test]
async fn a_flipped_bit_of_the_database_costs_what_it_hit() {
    let costs = trials(DATABASE, soak::size(30, 1000)).await;
    let n_many = costs.iter().filter(|cost| **cost > 1).count();
    // Where a page leads to others, these are cut off from it.
    assert!(n_many * 10 <= costs.len(), "{costs:?}");
}

#[tokio::test]
async fn a_flipped_bit_of_the_write_ahead_log_costs_what_shared_its_page() {
    let costs = trials(WAL, soak::size(30, 1000)).await;
    let n_many = costs.iter().filter(|cost| **cost > 1).count();
    assert!(n_many * 10 <= costs.len(), "{costs:?}");
}

/// `SQLite` ends its reading of the write-ahead log at such a frame, though no page is damaged.
#[tokio::test]
async fn a_damaged_checksum_in_the_write_ahead_log_costs_nothing() {
    const HEADER: usize = 32;
    const FRAME: usize = 24 + 4096;
    const SUM: std::ops::Range<usize> = 16..24;
    let killed = Killed::make().await;
    let n_frames = (fs::read(killed.copied().path().join(WAL)).unwrap().len() - HEADER) / FRAME;
    assert!(n_frames > 20, "{n_frames}");
    // That of the last frame is proven by none.
    for frame in (0..n_frames - 1).step_by(n_frames / 10) {
        let dir = killed.copied();
        let byte = HEADER + frame * FRAME + SUM.start + frame % SUM.len();
        flip(&dir.path().join(WAL), byte as u64 * 8 + 3);
        let what = format!("frame {frame} of {n_frames}");

        let told = checked(dir.path());
        assert_eq!(told.findings, [], "{what}");
        let damage = told.wal.expect("damage");
        assert_eq!((damage.n_damaged, damage.n_behind), (1, (n_frames - frame) as u64), "{what}");

        let log = open(dir.path());
        assert_eq!(log.lost_sessions(), [], "{what}");
        for (record, _, events) in &killed.expected {
            assert_eq!(read_all(&log, record.id).await, (events.clone(), None), "{what}");
        }
    }
}

#[tokio::test]
async fn what_is_not_damaged_is_left_as_it_is() {
    let killed = Killed::make().await;
    let dir = killed.copied();
    let before = fs::read(dir.path().join(DATABASE)).unwrap();

    let report = repaired(dir.path());

    assert_eq!((report.kept, report.copied.findings, report.wal), (None, Vec::new(), None));
    assert_eq!(fs::read(dir.path().join(DATABASE)).unwrap(), before);
    let mut names: Vec<_> =
        dir.path().read_dir().unwrap().map(|one| one.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["heads", "in-use.lock", DATABASE, WAL]);
}

#[tokio::test]
async fn a_log_that_is_open_is_not_repaired() {
    let dir = temp();
    let log = open(dir.path());
    log.create(new("a")).await.unwrap();

    let refused = repair(dir.path(), "damaged", &mut |_| {}).unwrap_err();

    assert!(matches!(refused, StoreError::LogInUse { .. }), "{refused:?}");
}

#[tokio::test]
async fn without_its_first_page_a_database_is_still_read() {
    let dir = Killed::make().await.copied();
    drop(open(dir.path()));
    let expected = contents(&open(dir.path())).await;
    let file = dir.path().join(DATABASE);
    let mut bytes = fs::read(&file).unwrap();
    bytes[..4096].fill(0x5a);
    fs::write(&file, bytes).unwrap();

    let report = repaired(dir.path());

    assert_eq!(report.copied.findings, []);
    audit(&open(dir.path()), &report, &expected, "first page").await;
}

#[tokio::test]
async fn a_database_of_which_nothing_is_left_names_what_is_lost() {
    let dir = Killed::make().await.copied();
    drop(open(dir.path()));
    let file = dir.path().join(DATABASE);
    let bytes = vec![0x5a; fs::read(&file).unwrap().len()];
    fs::write(&file, bytes).unwrap();

    let report = repaired(dir.path());

    assert_eq!(report.copied.findings.len(), SESSIONS);
    assert!(report.copied.findings.iter().all(|finding| finding.session.is_some()));
    remembers(dir.path(), &report).await;
}

/// Panics unless the log in `dir` is empty, and names all sessions of the report until each is deleted.
async fn remembers(dir: &Path, report: &RepairReport) {
    assert_eq!(checked(dir).findings, report.copied.findings);
    let again = repair(dir, "damaged again", &mut |_| {}).unwrap();
    assert_eq!((again.kept, &again.copied.findings), (None, &report.copied.findings));
    let log = open(dir);
    assert_eq!(log.sessions(SessionFilter::default()).await.unwrap(), []);
    assert_eq!(log.lost_sessions().len(), SESSIONS);
    for lost in log.lost_sessions() {
        assert!(log.delete(lost.id).await.unwrap());
    }
    drop(log);
    assert!(checked(dir).is_sound());
}

#[tokio::test]
async fn a_log_whose_database_is_gone_begins_anew_and_names_what_is_lost() {
    for left in [None, Some(0), Some(100), Some(4096)] {
        let dir = Killed::make().await.copied();
        drop(open(dir.path()));
        let file = dir.path().join(DATABASE);
        match left {
            Some(left) => fs::write(&file, vec![0x5a; left]).unwrap(),
            None => fs::remove_file(&file).unwrap(),
        }
        let refused = SqliteLog::open(dir.path(), SqliteOptions::default()).unwrap_err();
        let is_told = refused.to_string().contains("switchyard store repair");
        assert!(is_told || matches!(refused, StoreError::NotALog { .. }), "{refused}");

        let told = if left.is_none_or(|left| left == 0) { Some(checked(dir.path())) } else { None };
        // Another repair of the same second has used the name.
        fs::create_dir(dir.path().join("damaged")).unwrap();
        let report = repair(dir.path(), "damaged", &mut |_| {}).unwrap();
        assert_eq!(report.kept.as_ref().unwrap().dir, dir.path().join("damaged-2"));

        assert_eq!(report.copied.findings.len(), SESSIONS);
        if let Some(told) = told {
            assert_eq!(
                (told.findings, told.structure),
                (report.copied.findings.clone(), report.structure.clone())
            );
        }
        remembers(dir.path(), &report).await;
    }
}

#[tokio::test]
async fn a_write_ahead_log_without_its_database_is_read() {
    let place = temp();
    let log = open(place.path());
    log.create(new("a")).await.unwrap();
    log.append(batch("a", &["one", "two"])).await.unwrap();
    let dir = temp();
    copy(place.path(), dir.path());
    fs::remove_file(dir.path().join(DATABASE)).unwrap();

    let report = repaired(dir.path());

    assert_eq!(report.copied.findings, []);
    assert_eq!(read_all(&open(dir.path()), id("a")).await.0.len(), 2);
}

#[tokio::test]
async fn opening_a_log_whose_write_ahead_log_is_damaged_saves_what_lies_behind() {
    let killed = Killed::make().await;
    let mut n_whole = 0;
    let n = soak::size(10, 200);
    for trial in 0..n {
        let dir = killed.copied();
        let len = dir.path().join(WAL).metadata().unwrap().len();
        // Near the beginning, so that nearly everything lies behind it.
        flip(&dir.path().join(WAL), (len / 50 + trial * 4567) * 8 + trial % 8);

        let log = open(dir.path());

        for (record, _, events) in &killed.expected {
            let Some(found) = log.session(record.id).await.unwrap() else {
                let is_lost = log.lost_sessions().iter().any(|lost| lost.id == record.id);
                assert!(is_lost, "trial {trial}: a session is silently gone");
                continue;
            };
            let (left, _) = read_all(&log, record.id).await;
            assert_eq!(left, events[..left.len()], "trial {trial}: wrong data");
            assert!(left.len() == events.len() || found.damage.is_some(), "trial {trial}");
            n_whole += u64::from(left.len() == events.len());
        }
        let is_kept = dir.path().read_dir().unwrap().flatten().any(|entry| {
            entry.file_name().to_string_lossy().starts_with("damaged-") && entry.path().is_dir()
        });
        assert!(is_kept, "trial {trial}");
    }
    let n_all = n * SESSIONS as u64;
    assert!(n_whole * 20 >= n_all * 19, "{n_whole} of {n_all} sessions are whole");
}
