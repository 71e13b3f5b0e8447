use proptest::prelude::*;

use super::*;

#[test]
fn what_was_last_is_told() {
    let mut act = LastActivity::default();
    assert_eq!(act.in_words(), "it has said nothing in this turn");
    act.hear("agent_thought_chunk");
    assert_eq!(act.in_words(), "it was thinking");
    act.hear_tool("make test", None);
    act.hear("usage_update");
    assert_eq!(act.in_words(), "it has begun “make test”");
    act.hear_tool("make test", Some("failed"));
    assert_eq!(act.in_words(), "it has done “make test”");
    act.hear("agent_message_chunk");
    assert_eq!(act.in_words(), "it was answering");
    act.hear_tool(&"x".repeat(1000), Some("in_progress"));
    assert!(act.in_words().len() < 300);
}

proptest! {
    #[test]
    fn reports_of_a_silence_come_ever_later_and_each_begins_anew_with_a_sign_of_life(
        quiet_ms in 1_u64..100_000,
        signs in prop::collection::vec((0_usize..12, 0_u64..1_000_000), 1..8),
    ) {
        let quiet = Duration::from_millis(quiet_ms);
        let mut now = Instant::now();
        let mut silence = Silence::new(now);
        for (n_reports, later_ms) in signs {
            let (since, mut between, mut last) = (silence.since(), Duration::ZERO, silence.since());
            for n in 0..u32::try_from(n_reports).unwrap() {
                let due = silence.deadline(quiet);
                // 1, 3, 7 … times the time of the first; at the end no longer twice as much.
                if n <= 5 {
                    prop_assert_eq!(due - since, quiet * (2_u32.pow(n + 1) - 1));
                    prop_assert!(due - last >= between * 2 || n == 0);
                } else {
                    prop_assert_eq!(due - last, between);
                }
                (between, last, now) = (due - last, due, due);
                let told = silence.report(now).quiet_ms;
                prop_assert_eq!(u128::from(told), (now - since).as_millis());
            }
            now += Duration::from_millis(later_ms);
            silence.begin_anew(now);
            prop_assert_eq!(silence.since(), now);
            prop_assert_eq!(silence.deadline(quiet), now + quiet);
        }
    }
}
