use proptest::prelude::*;

use super::*;

fn now() -> Timestamp {
    "1994-11-06T08:49:07Z".parse().unwrap()
}

#[test]
fn seconds_and_dates_are_understood() {
    assert_eq!(asked("30", now()), Some(Duration::from_secs(30)));
    assert_eq!(asked(" 0.5 ", now()), Some(Duration::from_millis(500)));
    assert_eq!(asked("Sun, 06 Nov 1994 08:49:37 GMT", now()), Some(Duration::from_secs(30)));
    assert_eq!(asked("Sun, 06 Nov 1994 08:00:00 GMT", now()), Some(Duration::ZERO));
    for nonsense in ["", "soon", "-5", "NaN", "inf"] {
        assert_eq!(asked(nonsense, now()), None, "{nonsense}");
    }
}

#[test]
fn nobody_makes_us_wait_for_ever() {
    for value in
        ["1000000000", "1e9", "Fri, 31 Dec 9999 23:59:59 GMT", "99999999999999999999999999"]
    {
        let wait = wait(Duration::from_millis(500), 1, asked(value, now()));
        assert!(wait <= MAX_WAIT, "{value}: {wait:?}");
    }
}

proptest! {
    #[test]
    fn waits_grow_and_are_bounded(attempt in 0..100u32, value in ".{0,30}") {
        let first = Duration::from_millis(500);
        prop_assert!(wait(first, attempt, None) <= MAX_BACKOFF.mul_f64(1.25));
        prop_assert!(wait(first, attempt, None) >= first.mul_f64(0.74));
        prop_assert!(wait(first, attempt, asked(&value, now())) <= MAX_WAIT);
    }
}
