use proptest::prelude::*;

use super::*;

#[derive(Debug, Clone)]
enum Step {
    Begin,
    Send,
    Hear,
    Lost,
    End,
}

fn any_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        2 => Just(Step::Begin),
        4 => Just(Step::Send),
        2 => Just(Step::Hear),
        3 => Just(Step::Lost),
        1 => Just(Step::End),
    ]
}

proptest! {
    #[test]
    fn a_prompt_is_sent_again_once_and_only_if_nothing_was_said(
        steps in prop::collection::vec(any_step(), 0..60),
    ) {
        let mut progress = TurnProgress::default();
        let (mut n_sent, mut n_again, mut is_heard, mut last) = (0_u32, 0_u32, false, None);
        for (tag, step) in (0_u64..).zip(steps) {
            match step {
                Step::Begin => {
                    progress.begin(WatchGuards::default());
                    (n_sent, n_again, is_heard, last) = (0, 0, false, None);
                }
                // As the task does: once, and again when it waits.
                Step::Send if n_sent == 0 || progress.waiting().is_some() => {
                    let prompt = format!("{{\"prompt\":{n_again}}}");
                    progress.sent(tag, &Json::trusted(prompt));
                    (n_sent, last) = (n_sent + 1, Some(tag));
                }
                Step::Send => {}
                Step::Hear => {
                    progress.note_activity();
                    is_heard |= n_sent > 0 && progress.waiting().is_none();
                }
                Step::Lost => {
                    let can_go_on = n_sent == 1 && n_again == 0 && !is_heard;
                    prop_assert_eq!(progress.wait_for_link(), can_go_on);
                    if can_go_on {
                        (n_again, last) = (1, None);
                        prop_assert_eq!(progress.waiting().unwrap().as_str(), "{\"prompt\":0}");
                    }
                }
                Step::End => {
                    progress.end();
                    (n_sent, n_again, is_heard, last) = (0, 0, false, None);
                }
            }
            prop_assert!(n_sent <= 2);
            for answered in 0..=tag {
                prop_assert_eq!(progress.is_answer(answered), last == Some(answered));
            }
        }
    }

    #[test]
    fn lines_that_are_no_messages_are_told_a_few_times_in_each_turn(
        turns in prop::collection::vec(0_u32..100, 1..5),
    ) {
        let mut progress = TurnProgress::default();
        for n_lines in turns {
            progress.begin(WatchGuards::default());
            let told = (0..n_lines).filter_map(|n| progress.garbage(&n.to_string())).count();
            prop_assert_eq!(told, n_lines.min(MAX_GARBAGE) as usize);
        }
    }
}
