use std::time::{Duration, Instant};

use bus::ExitReport;
use proptest::prelude::*;

use super::{
    EVENT_COST, LogPiece, MAX_LOGGED_BYTES, MAX_PIECE_BYTES, OutputSampler, PACE, TakeScope,
};

const FAR: Duration = Duration::from_hours(1000);

fn text(pieces: &[LogPiece]) -> String {
    let texts = pieces.iter().map(|piece| match piece {
        LogPiece::Output(data) => {
            assert!(!data.is_empty());
            assert!(data.len() <= MAX_PIECE_BYTES, "{}", data.len());
            &**data
        }
        LogPiece::Exited { .. } => "",
    });
    texts.collect()
}

/// What the log takes for them.
fn logged(pieces: &[LogPiece]) -> usize {
    let costs = pieces.iter().map(|piece| match piece {
        LogPiece::Output(data) => EVENT_COST + serde_json::to_string(data).unwrap().len(),
        LogPiece::Exited { .. } => EVENT_COST,
    });
    costs.sum()
}

fn is_truncated(pieces: &[LogPiece]) -> bool {
    let ends: Vec<_> = pieces
        .iter()
        .filter_map(|piece| match piece {
            LogPiece::Exited { is_truncated, .. } => Some(*is_truncated),
            LogPiece::Output(_) => None,
        })
        .collect();
    let [is_truncated] = ends[..] else { panic!("it ends once: {pieces:?}") };
    assert!(matches!(pieces.last(), Some(LogPiece::Exited { .. })), "nothing follows the end");
    is_truncated
}

#[test]
fn the_first_piece_comes_at_once_and_the_next_at_a_pace() {
    let (mut told, now) = (OutputSampler::new(1 << 20), Instant::now());
    assert_eq!(told.due(now), None);
    assert!(told.push(b"one\n"), "somebody has to be woken");
    assert_eq!(told.take(now, TakeScope::Due), [LogPiece::Output("one\n".into())]);

    assert!(told.push(b"two\n"));
    assert!(!told.push(b"three\n"), "nobody has to be woken twice");
    assert_eq!(told.take(now, TakeScope::Due), []);
    assert_eq!(told.due(now), Some(now + PACE));
    assert_eq!(told.take(now + PACE, TakeScope::Due), [LogPiece::Output("two\nthree\n".into())]);
    assert_eq!(told.due(now + PACE), None);
}

#[test]
fn the_end_waits_for_no_pace() {
    let (mut told, now) = (OutputSampler::new(1 << 20), Instant::now());
    told.push(b"one");
    told.take(now, TakeScope::Due);
    told.push(b"two");
    let report = ExitReport { code: Some(3), ..ExitReport::default() };
    told.end(report);
    assert_eq!(told.due(now), Some(now));
    let end = LogPiece::Exited { report, is_truncated: false };
    assert_eq!(told.take(now, TakeScope::Due), [LogPiece::Output("two".into()), end]);
    assert_eq!((told.due(now), told.take(now + FAR, TakeScope::All)), (None, Vec::new()));
}

#[test]
fn a_turn_that_ends_is_told_all_there_is() {
    let (mut told, now) = (OutputSampler::new(1 << 20), Instant::now());
    told.push(b"one");
    told.take(now, TakeScope::Due);
    told.push(b"two");
    assert_eq!(told.take(now, TakeScope::All), [LogPiece::Output("two".into())]);
}

#[test]
fn of_a_command_that_never_stops_printing_the_last_lines_are_seen_now_and_then() {
    let (mut told, began) = (OutputSampler::new(1 << 20), Instant::now());
    let (mut n_bytes, mut n_glances, mut last_line) = (0, 0, 0);
    // A line of 64 bytes, a thousand of them a second, for a quarter of an hour.
    for second in 0..900 {
        for tenth in 0..10 {
            let lines: Vec<String> =
                (0..100).map(|n| format!("{second:>40}{tenth:>10}{n:>13}\n")).collect();
            let newest = lines.last().unwrap().clone();
            told.push(lines.concat().as_bytes());
            let now = began + Duration::from_secs(second) + PACE * tenth;
            let pieces = told.take(now, TakeScope::Due);
            let shown = text(&pieces);
            n_bytes += logged(&pieces);
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
    let end = told.take(began, TakeScope::Due);
    assert!(is_truncated(&end));
    assert!(text(&end).ends_with("the very end"));
    n_bytes += logged(&end);
    assert!(n_bytes < MAX_LOGGED_BYTES + (4 << 10), "{n_bytes}");
}

#[test]
fn a_limit_of_nothing_tells_nothing_but_that() {
    for limit in 0..70 {
        let (mut told, now) = (OutputSampler::new(limit), Instant::now());
        told.push("äöü€".repeat(100).as_bytes());
        told.take(now, TakeScope::Due);
        told.end(ExitReport::default());
        let pieces = told.take(now + FAR, TakeScope::Due);
        assert!(is_truncated(&pieces), "{pieces:?}");
    }
}

#[test]
fn a_command_that_prints_a_little_all_day_is_told_of_more_and_more_rarely() {
    let (mut told, began) = (OutputSampler::new(1 << 20), Instant::now());
    let (mut n_bytes, mut n_pieces, mut last_at) = (0, 0, Duration::ZERO);
    // A dot ten times a second, for six hours.
    for tenth in 0..6 * 36_000 {
        told.push(b".");
        let pieces = told.take(began + PACE * tenth, TakeScope::Due);
        if !pieces.is_empty() {
            (n_pieces, last_at) = (n_pieces + pieces.len(), PACE * tenth);
        }
        n_bytes += logged(&pieces);
    }
    assert!(n_bytes < MAX_LOGGED_BYTES, "{n_bytes}");
    assert!(n_pieces < 1000, "{n_pieces}");
    assert!(last_at > Duration::from_hours(2), "people still see that it lives: {last_at:?}");
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
fn told_in(
    bytes: &[u8],
    cuts: &[prop::sample::Index],
    limit: usize,
    paces: &[u8],
) -> Vec<LogPiece> {
    let mut at: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
    at.extend([0, bytes.len()]);
    at.sort_unstable();
    let (mut told, mut now) = (OutputSampler::new(limit), Instant::now());
    let mut pieces = Vec::new();
    for (index, ends) in at.windows(2).enumerate() {
        told.push(&bytes[ends[0]..ends[1]]);
        let pace = u32::from(paces[index % paces.len()]);
        let wanted = if pace == 7 { TakeScope::All } else { TakeScope::Due };
        now += PACE * (pace % 3);
        pieces.extend(told.take(now, wanted));
    }
    told.end(ExitReport::default());
    pieces.extend(told.take(now, TakeScope::Due));
    pieces
}

/// A limit that is met by small pieces is overdrawn by a few of them at most.
const SLACK: usize = 4 << 10;

proptest! {
    #[test]
    fn the_log_never_takes_more_than_the_limit(
        limit in prop_oneof![0..2_000_usize, 0..600_000_usize],
        steps in prop::collection::vec(
            (
                prop::sample::select(vec!["a", "\u{1b}[0m", "\0", "\n", "\"\\", "漢🦀", "line\n"]),
                prop_oneof![1..4_usize, 1..30_000_usize],
                prop_oneof![0..3_u32, 0..36_000_u32],
                // How often it is done.
                prop_oneof![1..3_usize, 1..1_500_usize],
                any::<bool>(),
            ),
            1..6,
        ),
    ) {
        let (mut told, mut now, mut n_bytes) = (OutputSampler::new(limit), Instant::now(), 0);
        for (text, n, tenths, times, is_flood) in steps {
            let printed = text.repeat(if is_flood { n } else { n.min(3) });
            for _ in 0..if is_flood { times.min(20) } else { times } {
                told.push(printed.as_bytes());
                now += PACE * tenths;
                n_bytes += logged(&told.take(now, TakeScope::Due));
            }
            n_bytes += logged(&told.take(now, TakeScope::All));
        }
        told.end(ExitReport::default());
        n_bytes += logged(&told.take(now, TakeScope::Due));
        let limit = limit.min(MAX_LOGGED_BYTES);
        prop_assert!(n_bytes <= limit + SLACK, "{n_bytes} of {limit}");
    }

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
        n_lines in 1000..4000_usize,
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..60),
        paces in prop::collection::vec(0..8_u8, 1..10),
    ) {
        const LIMIT: usize = 8 << 10;
        let lines: Vec<String> = (0..n_lines).map(|n| format!("line {n} ü€\n")).collect();
        let bytes = lines.concat().into_bytes();
        let pieces = told_in(&bytes, &cuts, LIMIT, &paces);
        let told = text(&pieces);
        prop_assert!(is_truncated(&pieces));
        prop_assert!(told.starts_with(&lines[0]));
        prop_assert!(told.ends_with(lines.last().unwrap()), "{told}");
        prop_assert!(logged(&pieces) <= LIMIT + SLACK, "{}", logged(&pieces));
        // Nothing is told twice.
        let numbers: Vec<usize> = told
            .lines()
            .filter_map(|line| line.strip_prefix("line ")?.strip_suffix(" ü€")?.parse().ok())
            .collect();
        prop_assert!(numbers.is_sorted_by(|a, b| a < b), "{told}");
    }
}
