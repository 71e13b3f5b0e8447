use std::time::{Duration, Instant};

use bus::ExitReport;
use proptest::prelude::*;

use super::{MAX_LOGGED_BYTES, MAX_PIECE_BYTES, PACE, Piece, Told, Wanted};

const FAR: Duration = Duration::from_hours(1000);

fn text(pieces: &[Piece]) -> String {
    let texts = pieces.iter().map(|piece| match piece {
        Piece::Output(data) => {
            assert!(!data.is_empty());
            assert!(data.len() <= MAX_PIECE_BYTES, "{}", data.len());
            &**data
        }
        Piece::Exited { .. } => "",
    });
    texts.collect()
}

fn is_truncated(pieces: &[Piece]) -> bool {
    let ends: Vec<_> = pieces
        .iter()
        .filter_map(|piece| match piece {
            Piece::Exited { is_truncated, .. } => Some(*is_truncated),
            Piece::Output(_) => None,
        })
        .collect();
    let [is_truncated] = ends[..] else { panic!("it ends once: {pieces:?}") };
    assert!(matches!(pieces.last(), Some(Piece::Exited { .. })), "nothing follows the end");
    is_truncated
}

#[test]
fn the_first_piece_comes_at_once_and_the_next_at_a_pace() {
    let (mut told, now) = (Told::new(1 << 20), Instant::now());
    assert_eq!(told.due(now), None);
    assert!(told.push(b"one\n"), "somebody has to be woken");
    assert_eq!(told.take(now, Wanted::Due), [Piece::Output("one\n".into())]);

    assert!(told.push(b"two\n"));
    assert!(!told.push(b"three\n"), "nobody has to be woken twice");
    assert_eq!(told.take(now, Wanted::Due), []);
    assert_eq!(told.due(now), Some(now + PACE));
    assert_eq!(told.take(now + PACE, Wanted::Due), [Piece::Output("two\nthree\n".into())]);
    assert_eq!(told.due(now + PACE), None);
}

#[test]
fn the_end_waits_for_no_pace() {
    let (mut told, now) = (Told::new(1 << 20), Instant::now());
    told.push(b"one");
    told.take(now, Wanted::Due);
    told.push(b"two");
    let report = ExitReport { code: Some(3), ..ExitReport::default() };
    told.end(report);
    assert_eq!(told.due(now), Some(now));
    let end = Piece::Exited { report, is_truncated: false };
    assert_eq!(told.take(now, Wanted::Due), [Piece::Output("two".into()), end]);
    assert_eq!((told.due(now), told.take(now + FAR, Wanted::All)), (None, Vec::new()));
}

#[test]
fn a_turn_that_ends_is_told_all_there_is() {
    let (mut told, now) = (Told::new(1 << 20), Instant::now());
    told.push(b"one");
    told.take(now, Wanted::Due);
    told.push(b"two");
    assert_eq!(told.take(now, Wanted::All), [Piece::Output("two".into())]);
}

#[test]
fn of_a_command_that_never_stops_printing_the_last_lines_are_seen_now_and_then() {
    let (mut told, began) = (Told::new(1 << 20), Instant::now());
    let (mut n_bytes, mut n_glances, mut last_line) = (0, 0, 0);
    // A line of 64 bytes, a thousand of them a second, for a quarter of an hour.
    for second in 0..900 {
        for tenth in 0..10 {
            let lines: Vec<String> =
                (0..100).map(|n| format!("{second:>40}{tenth:>10}{n:>13}\n")).collect();
            let newest = lines.last().unwrap().clone();
            told.push(lines.concat().as_bytes());
            let now = began + Duration::from_secs(second) + PACE * tenth;
            let shown = text(&told.take(now, Wanted::Due));
            n_bytes += shown.len();
            if shown.contains("bytes left out") {
                n_glances += 1;
                assert!(shown.ends_with(&newest), "{shown}");
                last_line = second;
            }
        }
    }
    assert!((8..=12).contains(&n_glances), "{n_glances}");
    assert!(last_line > 400, "{last_line}");
    told.push(b"the very end");
    told.end(ExitReport::default());
    let end = told.take(began, Wanted::Due);
    assert!(is_truncated(&end));
    assert!(text(&end).ends_with("the very end"));
    n_bytes += text(&end).len();
    assert!(n_bytes < MAX_LOGGED_BYTES + (4 << 10), "{n_bytes}");
}

#[test]
fn a_limit_of_nothing_tells_nothing_but_that() {
    for limit in 0..70 {
        let (mut told, now) = (Told::new(limit), Instant::now());
        told.push("äöü€".repeat(100).as_bytes());
        told.take(now, Wanted::Due);
        told.end(ExitReport::default());
        let pieces = told.take(now + FAR, Wanted::Due);
        assert!(is_truncated(&pieces), "{pieces:?}");
    }
}

/// Characters of every length, escapes, and bytes that are none.
fn output() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        any::<String>().prop_map(String::into_bytes),
        "[a-zäß漢🦀\n\r\u{1b}]{0,40}".prop_map(String::into_bytes),
        prop::collection::vec(any::<u8>(), 0..12),
    ];
    prop::collection::vec(piece, 0..20).prop_map(|pieces| pieces.concat())
}

/// Gives the bytes in pieces, and takes what is due after each.
fn told_in(bytes: &[u8], cuts: &[prop::sample::Index], limit: usize, paces: &[u8]) -> Vec<Piece> {
    let mut at: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
    at.extend([0, bytes.len()]);
    at.sort_unstable();
    let (mut told, mut now) = (Told::new(limit), Instant::now());
    let mut pieces = Vec::new();
    for (index, ends) in at.windows(2).enumerate() {
        told.push(&bytes[ends[0]..ends[1]]);
        let pace = u32::from(paces[index % paces.len()]);
        let wanted = if pace == 7 { Wanted::All } else { Wanted::Due };
        now += PACE * (pace % 3);
        pieces.extend(told.take(now, wanted));
    }
    told.end(ExitReport::default());
    pieces.extend(told.take(now, Wanted::Due));
    pieces
}

proptest! {
    #[test]
    fn however_it_is_cut_all_of_it_is_told_in_order(
        bytes in output(),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..30),
        paces in prop::collection::vec(0..8_u8, 1..10),
    ) {
        let pieces = told_in(&bytes, &cuts, 1 << 20, &paces);
        prop_assert!(!is_truncated(&pieces));
        prop_assert_eq!(text(&pieces), String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn of_too_much_the_beginning_and_the_end_are_told(
        n_lines in 200..2000_usize,
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..60),
        paces in prop::collection::vec(0..8_u8, 1..10),
    ) {
        const LIMIT: usize = 1024;
        let lines: Vec<String> = (0..n_lines).map(|n| format!("line {n} ü€\n")).collect();
        let bytes = lines.concat().into_bytes();
        let pieces = told_in(&bytes, &cuts, LIMIT, &paces);
        let told = text(&pieces);
        prop_assert!(is_truncated(&pieces));
        prop_assert!(told.starts_with(&lines.concat()[..LIMIT / 2 - 4]));
        prop_assert!(told.ends_with(lines.last().unwrap()), "{told}");
        // With a line about what is missing for each glance.
        prop_assert!(told.len() <= LIMIT + 18 * 40, "{}", told.len());
        // Nothing is told twice.
        let numbers: Vec<usize> = told
            .lines()
            .filter_map(|line| line.strip_prefix("line ")?.strip_suffix(" ü€")?.parse().ok())
            .collect();
        prop_assert!(numbers.is_sorted_by(|a, b| a < b), "{told}");
    }
}
