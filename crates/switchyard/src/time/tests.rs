use super::*;

#[test]
fn times_are_told_in_three_ways() {
    assert_eq!(parse_time("1970-01-01T00:00:02.5Z").unwrap(), Millis(2500));
    let day = parse_time("2026-11-03").unwrap().0;
    let utc = parse_time("2026-11-03T00:00:00Z").unwrap().0;
    assert!((day - utc).abs() <= 14 * 3_600_000, "the day begins somewhere on earth");
    for (ago, ms) in [("90m", 5_400_000), ("2h30m", 9_000_000), ("7d", 604_800_000), ("10", 10_000)]
    {
        let (before, told) = (mint::now().0, parse_time(ago).unwrap().0);
        assert!(told >= before - ms && told <= mint::now().0 - ms, "{ago}");
    }
    for bad in ["", "yesterday", "-5m", "2026-13-01", "5x"] {
        assert!(parse_time(bad).is_err(), "{bad}");
    }
}
