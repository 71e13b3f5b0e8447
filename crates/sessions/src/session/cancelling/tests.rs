use proptest::prelude::*;
use tokio::sync::oneshot;
use wire::Category;
use wire::event::StopReason;

use super::*;

#[derive(Debug, Clone)]
enum Step {
    Wait,
    Asked(u64),
    Pass(u64),
    GiveUp,
    End,
}

fn any_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        2 => Just(Step::Wait),
        2 => (0_u64..5_000).prop_map(Step::Asked),
        3 => (0_u64..5_000).prop_map(Step::Pass),
        1 => Just(Step::GiveUp),
        2 => Just(Step::End),
    ]
}

proptest! {
    #[test]
    fn asking_is_over_once_and_whoever_waits_is_told_once(
        steps in prop::collection::vec(any_step(), 0..80),
    ) {
        let mut now = Instant::now();
        let mut cancelling = Cancelling::default();
        let (mut deadline, mut gave_up, mut waiting) = (None, false, Vec::new());
        for step in steps {
            match step {
                Step::Wait => {
                    let (done, told) = oneshot::channel();
                    cancelling.wait(done);
                    waiting.push(told);
                }
                Step::Asked(ms) => {
                    deadline = Some(now + std::time::Duration::from_millis(ms));
                    cancelling.asked(now + std::time::Duration::from_millis(ms));
                }
                Step::Pass(ms) => {
                    now += std::time::Duration::from_millis(ms);
                    prop_assert_eq!(
                        cancelling.is_due(now),
                        deadline.take_if(|deadline| *deadline <= now).is_some()
                    );
                    prop_assert!(!cancelling.is_due(now), "asking is over once");
                }
                Step::GiveUp => {
                    cancelling.give_up(Fault::new(Category::Timeout, "silent"));
                    gave_up = true;
                }
                Step::End => {
                    let ended = cancelling.end_of(TurnEnded::of(StopReason::Cancelled));
                    prop_assert_eq!(ended.error.is_some(), gave_up);
                    let told = cancelling.finish();
                    prop_assert_eq!(told.waiting.len(), waiting.len());
                    for done in told.waiting {
                        let _ = done.send(7);
                    }
                    for mut told in waiting.drain(..) {
                        prop_assert_eq!(told.try_recv().ok(), Some(7));
                    }
                    (deadline, gave_up) = (None, false);
                    prop_assert!(cancelling.finish().waiting.is_empty());
                }
            }
            prop_assert_eq!(cancelling.deadline(), deadline);
            for told in &mut waiting {
                prop_assert!(told.try_recv().is_err(), "told before the turn has ended");
            }
        }
    }
}
