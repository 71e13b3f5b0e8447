//! Damages the files in many places. Whatever is lost must be told.

use std::fs;
use std::path::Path;

use store::{
    Damage, EventLog, LogHealth, RecordChanges, SessionFilter, SessionOrigin, SessionRecord,
    SqliteLog, SqliteOptions, StoreError,
};
use tempfile::TempDir;
use wire::{Event, Seq};

use crate::fixture::{batch, id, new, open, read_all, temp};

const NAMES: [&str; 3] = ["a", "b", "c"];
const DATABASE: &str = "switchyard.db";
const WAL: &str = "switchyard.db-wal";
/// Damaged places per test: each costs an open, a full read and a close.
fn n_places() -> usize {
    soak::size(100, 2_000)
}

/// All that is known of a session.
type Known = (SessionRecord, Option<SessionOrigin>, Vec<Event>);

struct Template {
    dir: TempDir,
    expected: Vec<Known>,
}

/// A log whose newest half is in the WAL only, as a killed process leaves it.
async fn killed() -> Template {
    let place = temp();
    write_half(&open(place.path()), true).await;
    let log = open(place.path());
    write_half(&log, false).await;
    let copy = temp();
    copy_log(place.path(), copy.path());
    Template { dir: copy, expected: contents(&log).await }
}

/// A log that was closed in order: everything is in the database.
async fn closed() -> Template {
    let place = temp();
    write_half(&open(place.path()), true).await;
    let expected = contents(&open(place.path())).await;
    assert!(!place.path().join(WAL).exists(), "a WAL would hide what happens to the database");
    Template { dir: place, expected }
}

async fn write_half(log: &SqliteLog, is_first: bool) {
    for name in NAMES {
        let title = format!("title of {name}, first: {is_first}");
        if is_first || name == "c" {
            let name = if is_first { name } else { "late" };
            log.create(new(name)).await.unwrap();
        }
        for n in 0..6 {
            let text = format!("{name} {n} {}", "x".repeat(n * 300));
            log.append(batch(name, &["small", &text])).await.unwrap();
        }
        let changes = RecordChanges { title: Some(Some(title)), ..RecordChanges::default() };
        log.update(id(name), changes).await.unwrap();
    }
}

async fn contents(log: &SqliteLog) -> Vec<Known> {
    let mut all = Vec::new();
    for record in log.sessions(SessionFilter::default()).await.unwrap() {
        let (events, error) = read_all(log, record.id).await;
        assert_eq!(error, None);
        let origin = log.origin(record.id).await.unwrap();
        assert!(origin.is_some());
        all.push((record, origin, events));
    }
    all
}

fn copy_log(from: &Path, to: &Path) {
    for file in [DATABASE, WAL, "heads"] {
        if from.join(file).exists() {
            fs::copy(from.join(file), to.join(file)).unwrap();
        }
    }
}

/// Opens the damaged copy and returns what was told about it. Panics when something is
/// missing or different that nothing was told about.
async fn audit(dir: &Path, expected: &[Known], what: &str) -> Vec<String> {
    let log = match SqliteLog::open(dir, SqliteOptions::default()) {
        Ok(log) => log,
        Err(error) => return vec![error.to_string()],
    };
    let mut told: Vec<String> = log.lost_sessions().iter().map(|l| format!("{l:?}")).collect();
    let listed = match log.sessions(SessionFilter::default()).await {
        Ok(listed) => listed,
        Err(error) => return vec![error.to_string()],
    };
    for (record, origin, events) in expected {
        match log.session(record.id).await {
            Err(error) => told.push(error.to_string()),
            Ok(None) => {
                let is_told = log.lost_sessions().iter().any(|lost| lost.id == record.id);
                assert!(is_told, "{what}: a session is silently gone");
            }
            Ok(Some(found)) => {
                assert!(listed.contains(&found), "{what}: a session is not listed");
                told.extend(found.damage.map(|damage| format!("{damage:?}")));
                if found.damage.is_none() {
                    assert_eq!(found, *record, "{what}: a record is silently different");
                }
                match log.origin(record.id).await {
                    Err(error) => told.push(error.to_string()),
                    Ok(None) if found.damage.is_some() => told.push("an origin is lost".into()),
                    Ok(found) => assert_eq!(found, *origin, "{what}: an origin is different"),
                }
                let (found_events, error) = read_all(&log, record.id).await;
                assert_eq!(found_events, events[..found_events.len()], "{what}");
                let is_short = found_events.len() < events.len();
                let is_told = error.is_some() || found.damage.is_some();
                assert!(!is_short || is_told, "{what}: events are silently gone");
                told.extend(error.map(|error| error.to_string()));
            }
        }
    }
    told
}

/// Runs `damage` on a fresh copy for many places in `file` and audits each. Returns how
/// often something was told.
async fn damage_everywhere(
    template: &Template,
    file: &str,
    damage: impl Fn(&mut Vec<u8>, usize),
) -> usize {
    let len = fs::read(template.dir.path().join(file)).unwrap().len();
    // An odd step meets every position within a page sooner or later.
    let step = (len / n_places()).max(1) | 1;
    let mut n_told = 0;
    for place in (0..len).step_by(step) {
        let copy = temp();
        copy_log(template.dir.path(), copy.path());
        let mut bytes = fs::read(copy.path().join(file)).unwrap();
        damage(&mut bytes, place);
        fs::write(copy.path().join(file), bytes).unwrap();
        let told = audit(copy.path(), &template.expected, &format!("{file} at {place}")).await;
        n_told += usize::from(!told.is_empty());
    }
    n_told
}

// Truncation needs the vector, so every kind of damage gets it.
#[allow(clippy::ptr_arg)]
fn flip(bytes: &mut Vec<u8>, place: usize) {
    bytes[place] ^= 1 << (place % 8);
}

#[tokio::test]
async fn the_templates_themselves_are_sound() {
    for template in [killed().await, closed().await] {
        let copy = temp();
        copy_log(template.dir.path(), copy.path());
        assert_eq!(audit(copy.path(), &template.expected, "sound").await, Vec::<String>::new());
    }
}

#[tokio::test]
async fn a_flipped_bit_in_the_wal_is_told_or_costs_nothing() {
    let n_told = damage_everywhere(&killed().await, WAL, flip).await;

    assert!(n_told < n_places() / 4, "{n_told} flips have cost something");
}

#[tokio::test]
async fn a_cut_wal_is_told() {
    let n_told = damage_everywhere(&killed().await, WAL, Vec::truncate).await;

    assert!(n_told > n_places() / 2, "only {n_told} cuts were noticed at all");
}

#[tokio::test]
async fn a_flipped_bit_in_the_database_is_told() {
    let n_told = damage_everywhere(&closed().await, DATABASE, flip).await;

    // Much of the file is unused space, where a flipped bit changes nothing.
    assert!(n_told > n_places() / 10, "only {n_told} flips were noticed at all");
}

#[tokio::test]
async fn a_zeroed_sector_of_the_database_is_told() {
    let zero = |bytes: &mut Vec<u8>, place: usize| {
        let start = place / 512 * 512;
        let end = (start + 512).min(bytes.len());
        bytes[start..end].fill(0);
    };

    damage_everywhere(&closed().await, DATABASE, zero).await;
}

#[tokio::test]
async fn a_damaged_second_copy_harms_nobody() {
    let template = killed().await;

    assert_eq!(damage_everywhere(&template, "heads", flip).await, 0);
    assert_eq!(damage_everywhere(&template, "heads", Vec::truncate).await, 0);
    fs::remove_file(template.dir.path().join("heads")).unwrap();
    assert!(audit(template.dir.path(), &template.expected, "no heads").await.is_empty());
}

#[tokio::test]
async fn a_log_that_lost_its_tail_goes_on_after_recovery_in_a_new_epoch() {
    let place = temp();
    let log = open(place.path());
    log.create(new("a")).await.unwrap();
    log.append(batch("a", &["1", "2", "3"])).await.unwrap();
    let copy = temp();
    copy_log(place.path(), copy.path());
    log.append(batch("a", &["4", "5"])).await.unwrap();
    let before = log.session(id("a")).await.unwrap().unwrap();
    // The database of earlier with the heads of later is a database that lost its tail.
    fs::copy(place.path().join("heads"), copy.path().join("heads")).unwrap();
    drop(log);

    let log = open(copy.path());
    let damage = Damage { lost_from: Seq(4), lost_to: Seq(5) };
    let record = log.session(id("a")).await.unwrap().unwrap();
    assert_eq!((record.damage, record.head), (Some(damage), Seq(3)));
    let refused = log.append(batch("a", &["other"])).await;
    assert_eq!(refused, Err(StoreError::Damaged { session: id("a"), damage }));

    assert_eq!(log.recover(id("a")).await, Ok(Some(damage)));
    assert_eq!(log.recover(id("a")).await, Ok(None));
    assert_eq!(log.append(batch("a", &["other"])).await.unwrap().first, Seq(4));
    let record = log.session(id("a")).await.unwrap().unwrap();
    assert_eq!(record.damage, None);
    assert_ne!(record.epoch, before.epoch);
}

#[tokio::test]
async fn events_around_a_damaged_one_stay_readable() {
    let place = temp();
    let log = open(place.path());
    log.create(new("a")).await.unwrap();
    log.append(batch("a", &["one", "two", "three"])).await.unwrap();
    drop(log);
    let path = place.path().join(DATABASE);
    let mut bytes = fs::read(&path).unwrap();
    let at = bytes.windows(5).position(|window| window == b"\"two\"").unwrap();
    bytes[at + 1] ^= 1;
    fs::write(&path, bytes).unwrap();

    let log = open(place.path());

    let corrupt = StoreError::Corrupt { session: id("a"), seq: Seq(2) };
    assert_eq!(log.read(id("a"), Seq(0), 9).await.unwrap().len(), 1);
    assert_eq!(log.read(id("a"), Seq(1), 9).await, Err(corrupt));
    assert_eq!(log.read(id("a"), Seq(2), 9).await.unwrap().len(), 1);
}

/// A log with a damaged event in the middle of session `a`, beside `b`.
async fn damaged_in_its_middle(dir: &Path) {
    let log = open(dir);
    for name in ["a", "b"] {
        log.create(new(name)).await.unwrap();
    }
    log.append(batch("a", &["one", "two", "three"])).await.unwrap();
    drop(log);
    let path = dir.join(DATABASE);
    let mut bytes = fs::read(&path).unwrap();
    let at = bytes.windows(5).position(|window| window == b"\"two\"").unwrap();
    bytes[at + 1] ^= 1;
    fs::write(&path, bytes).unwrap();
}

#[tokio::test]
async fn nothing_is_appended_behind_damage_that_was_met() {
    let place = temp();
    damaged_in_its_middle(place.path()).await;
    let corrupt = StoreError::Corrupt { session: id("a"), seq: Seq(2) };
    let is_damaged = async |log: &SqliteLog| log.session(id("a")).await.unwrap().unwrap().damage;

    // Met by whoever reads, and by whoever looks before going on.
    for is_read in [true, false] {
        let log = open(place.path());
        assert_eq!(is_damaged(&log).await, None, "nobody has looked");
        if is_read {
            assert_eq!(log.read(id("a"), Seq(1), 9).await, Err(corrupt.clone()));
        } else {
            assert_eq!(log.check_end(id("a")).await, Err(corrupt.clone()));
        }

        assert_eq!(log.append(batch("a", &["four"])).await, Err(corrupt.clone()));
        assert_eq!(log.recover(id("a")).await, Err(corrupt.clone()));
        let damage = Damage { lost_from: Seq(2), lost_to: Seq(3) };
        assert_eq!(is_damaged(&log).await, Some(damage));
        assert_eq!(log.check_end(id("a")).await, Err(corrupt.clone()));
        assert_eq!(log.read(id("a"), Seq(0), 1).await.unwrap().len(), 1, "what is before it");
        log.check_end(id("b")).await.unwrap();
        log.append(batch("b", &["the others go on"])).await.unwrap();
        assert_eq!(log.health(), LogHealth::default());
        if !is_read {
            assert!(log.delete(id("a")).await.unwrap());
        }
    }
}

#[tokio::test]
async fn a_session_of_any_length_is_checked_at_its_end() {
    let place = temp();
    let log = open(place.path());
    log.create(new("a")).await.unwrap();
    log.check_end(id("a")).await.unwrap();
    let large = "x".repeat(700_000);
    for text in ["small", &large, "small", &large, "small"] {
        log.append(batch("a", &[text])).await.unwrap();
        log.check_end(id("a")).await.unwrap();
    }
    let many = vec!["small"; 1500];
    log.append(batch("a", &many)).await.unwrap();
    log.check_end(id("a")).await.unwrap();
    let missing = log.check_end(id("b")).await;
    assert_eq!(missing, Err(StoreError::NoSuchSession(id("b"))));
}

#[tokio::test]
async fn a_damaged_record_can_be_recovered_and_the_others_are_listed() {
    let place = temp();
    let log = open(place.path());
    for name in ["a", "b"] {
        log.create(new(name)).await.unwrap();
        log.append(batch(name, &["one", "two"])).await.unwrap();
    }
    let changes =
        RecordChanges { title: Some(Some("my title".into())), ..RecordChanges::default() };
    log.update(id("a"), changes).await.unwrap();
    drop(log);
    let path = place.path().join(DATABASE);
    let mut bytes = fs::read(&path).unwrap();
    let at = bytes.windows(8).rposition(|window| window == b"my title").unwrap();
    bytes[at] ^= 1;
    fs::write(&path, bytes).unwrap();

    let log = open(place.path());
    let corrupt = StoreError::CorruptRecord { session: id("a") };
    assert_eq!(log.session(id("a")).await, Err(corrupt.clone()));
    assert_eq!(log.append(batch("a", &["three"])).await, Err(corrupt));
    assert_eq!(log.sessions(SessionFilter::default()).await.unwrap().len(), 1);

    assert!(log.recover(id("a")).await.unwrap().is_some());
    assert_eq!(log.append(batch("a", &["three"])).await.unwrap().first, Seq(3));
    assert_eq!(log.sessions(SessionFilter::default()).await.unwrap().len(), 2);
}
