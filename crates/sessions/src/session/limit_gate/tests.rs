use bytes::Bytes;
use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::budget::BudgetLimits;

const LIMIT: Duration = Duration::from_secs(60);

#[derive(Debug, Clone)]
enum Step {
    Pass { ms: u64, runs: bool },
    Pause,
    Ask(u8),
    Answer(&'static str, DecidedBy),
    Open,
}

fn any_step() -> impl Strategy<Value = Step> {
    let option = prop::sample::select(vec![CONTINUE, CONTINUE_WITHOUT, STOP, "another"]);
    let by = prop::sample::select(vec![DecidedBy::Client, DecidedBy::Unattended]);
    prop_oneof![
        4 => (0_u64..20_000, any::<bool>()).prop_map(|(ms, runs)| Step::Pass { ms, runs }),
        2 => Just(Step::Pause),
        3 => any::<u8>().prop_map(Step::Ask),
        2 => (option, by).prop_map(|(option, by)| Step::Answer(option, by)),
        2 => Just(Step::Open),
    ]
}

fn asked(n: u8) -> DeferredMessage {
    let line = json!({ "jsonrpc": "2.0", "id": n, "method": "fs/read_text_file", "params": {} });
    DeferredMessage::Request(Message::parse(Bytes::from(line.to_string())).unwrap())
}

fn number_of(kept: &DeferredMessage) -> RpcId {
    match kept {
        DeferredMessage::Request(message) => message.id(),
        DeferredMessage::Answer(id, _) => id.clone(),
    }
}

proptest! {
    /// The time in which a turn runs and nothing is paused, and what was kept back in between.
    #[test]
    fn only_running_is_counted_and_what_was_kept_back_comes_out_once_in_order(
        steps in prop::collection::vec(any_step(), 0..80),
    ) {
        let limits = BudgetLimits { running: Some(LIMIT), ..BudgetLimits::default() };
        let (mut budget, mut gate) = (Budget::new(limits), LimitGate::default());
        let mut now = Instant::now();
        let (mut counted, mut was_running, mut kept) = (Duration::ZERO, false, None);
        for step in steps {
            match step {
                Step::Pass { ms, runs } => {
                    let time = Duration::from_millis(ms);
                    now += time;
                    if was_running && kept.is_none() {
                        counted += time;
                    }
                    gate.count(&mut budget, now, runs);
                    was_running = runs && kept.is_none();
                }
                Step::Pause if kept.is_none() => {
                    gate.pause(Limit::RunningSeconds, crate::mint::call_id());
                    (kept, was_running) = (Some(Vec::new()), false);
                }
                Step::Pause => {}
                Step::Ask(n) => {
                    let back = gate.keep_back(asked(n));
                    prop_assert_eq!(back.is_none(), kept.is_some());
                    if let Some(kept) = &mut kept {
                        kept.push(number_of(&asked(n)));
                    }
                }
                Step::Answer(option, who) => {
                    let response = json!({ "outcome": { "optionId": option } });
                    let by = Decider::new(who);
                    let raised = gate.answered(&mut budget, &Json::of(&response), &by);
                    let is_more = [CONTINUE, CONTINUE_WITHOUT].contains(&option);
                    prop_assert_eq!(raised.is_some(), kept.is_some() && is_more);
                    if let Some(raised) = raised {
                        prop_assert_eq!(Some(raised.request_id), gate.request());
                        // There is room again, and nobody has said that it is enough.
                        prop_assert!(budget.reached(Limit::RunningSeconds).is_none());
                        prop_assert!(budget.refusal().is_none());
                    }
                }
                Step::Open => {
                    let out = gate.open().map(|out| out.iter().map(number_of).collect::<Vec<_>>());
                    prop_assert_eq!(out, kept.take());
                }
            }
            prop_assert_eq!(gate.is_paused(), kept.is_some());
            prop_assert_eq!(gate.request().is_some(), kept.is_some());
            prop_assert_eq!(budget.used().running, counted);
            // While it counts, it is known when the turn will have run for long enough.
            let deadline = gate.deadline(&budget, None);
            let left = was_running.then(|| budget.running_left()).flatten();
            prop_assert_eq!(deadline, left.map(|left| now + left));
        }
    }

    #[test]
    fn the_record_is_old_every_few_seconds(steps in prop::collection::vec(0_u64..4_000, 1..60)) {
        let (mut gate, mut now) = (LimitGate::default(), Instant::now());
        prop_assert!(!gate.is_record_old(now));
        let mut since = Duration::ZERO;
        for ms in steps {
            (now, since) = (now + Duration::from_millis(ms), since + Duration::from_millis(ms));
            let is_old = since >= SAVE_TIME_EVERY;
            prop_assert_eq!(gate.is_record_old(now), is_old);
            since = if is_old { Duration::ZERO } else { since };
        }
    }
}
