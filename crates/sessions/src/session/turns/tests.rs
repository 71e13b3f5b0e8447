use std::collections::HashSet;

use proptest::prelude::*;

use super::*;

fn turn(n: u8) -> TurnId {
    TurnId::derived(&[&[n]])
}

#[derive(Debug, Clone)]
enum Step {
    Enqueue(u8),
    StartNext,
    Cancel,
    End(u8),
    DropQueued(u8),
    DropAll,
    Hold,
}

fn any_step() -> impl Strategy<Value = Step> {
    let id = 0u8..12;
    prop_oneof![
        4 => id.clone().prop_map(Step::Enqueue),
        4 => Just(Step::StartNext),
        1 => Just(Step::Cancel),
        4 => id.clone().prop_map(Step::End),
        1 => id.prop_map(Step::DropQueued),
        1 => Just(Step::DropAll),
        1 => Just(Step::Hold),
    ]
}

/// The whole truth about turns in the simplest form: a list of what waits and what runs.
#[derive(Default)]
struct Model {
    waiting: Vec<u8>,
    running: Option<u8>,
    ended: Vec<u8>,
    started: Vec<u8>,
    is_held: bool,
}

proptest! {
    #[test]
    fn turns_start_in_order_run_alone_and_end_once(
        steps in prop::collection::vec(any_step(), 0..200),
    ) {
        const MAX: usize = 3;
        let mut turns = Turns::new(MAX);
        let mut model = Model::default();
        for step in steps {
            match step {
                Step::Enqueue(n) => {
                    let is_known = model.waiting.contains(&n) || model.running == Some(n);
                    let has_room = model.waiting.len() + usize::from(model.running.is_some()) <= MAX;
                    prop_assert_eq!(turns.enqueue(turn(n), n).is_ok(), !is_known && has_room);
                    if !is_known && has_room {
                        model.waiting.push(n);
                    }
                }
                Step::StartNext => {
                    let expected = match model.running {
                        None if !model.is_held && !model.waiting.is_empty() => Some(model.waiting.remove(0)),
                        _ => None,
                    };
                    prop_assert_eq!(turns.start_next(), expected.map(|n| (turn(n), n)));
                    if let Some(n) = expected {
                        model.running = Some(n);
                        model.started.push(n);
                    }
                }
                Step::Cancel => {
                    let was_cancelling = turns.running().is_some_and(|r| r.is_cancelling);
                    let cancelled = turns.cancel();
                    prop_assert_eq!(
                        cancelled,
                        model.running.filter(|_| !was_cancelling).map(turn)
                    );
                }
                Step::End(n) => {
                    let ends = model.running == Some(n);
                    prop_assert_eq!(turns.end(turn(n)), ends);
                    prop_assert!(!turns.end(turn(n)), "a turn ends once");
                    if ends {
                        model.running = None;
                        model.ended.push(n);
                    }
                }
                Step::DropQueued(n) => {
                    let was_waiting = model.waiting.contains(&n);
                    prop_assert_eq!(turns.drop_queued(turn(n)), was_waiting);
                    model.waiting.retain(|waiting| *waiting != n);
                }
                Step::DropAll => {
                    let dropped: Vec<_> = model.waiting.drain(..).map(turn).collect();
                    prop_assert_eq!(turns.drop_all_queued(), dropped);
                }
                Step::Hold => {
                    turns.hold();
                    model.is_held = true;
                }
            }
            prop_assert_eq!(turns.running().map(|r| r.turn), model.running.map(turn));
            let queued: Vec<_> = turns.queued().collect();
            prop_assert_eq!(&queued, &model.waiting.iter().copied().map(turn).collect::<Vec<_>>());
            prop_assert_eq!(turns.has_next(), !model.is_held && !model.waiting.is_empty());
            let distinct: HashSet<_> = queued.iter().collect();
            prop_assert_eq!(distinct.len(), queued.len());
        }
        let n_open = usize::from(model.running.is_some());
        prop_assert_eq!(model.started.len(), model.ended.len() + n_open);
    }
}
