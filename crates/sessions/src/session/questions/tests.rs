use std::time::Duration;

use proptest::prelude::*;
use serde_json::Value;

use super::*;
use crate::mint;

fn permission_question() -> QuestionKind {
    let request = json!({
        "toolCall": { "toolCallId": "1", "title": "rm x", "kind": "execute" },
        "options": [
            { "optionId": "yes", "name": "Yes", "kind": "allow_once" },
            { "optionId": "no", "name": "No", "kind": "reject_once" },
        ],
    });
    QuestionKind::Permission(PolicyQuestion::read(&request.to_string(), None, "an agent", &[]))
}

#[derive(Debug, Clone)]
enum Step {
    Ask { is_permission: bool, within: Option<u64> },
    Answer(prop::sample::Index, u8),
    Pass(u64),
    TakeAll,
}

fn any_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (any::<bool>(), prop::option::of(0_u64..5_000))
            .prop_map(|(is_permission, within)| Step::Ask { is_permission, within }),
        4 => (any::<prop::sample::Index>(), 0_u8..5).prop_map(|(which, how)| Step::Answer(which, how)),
        3 => (0_u64..3_000).prop_map(Step::Pass),
        1 => Just(Step::TakeAll),
    ]
}

fn answer(how: u8) -> SubmittedAnswer {
    match how {
        0 => SubmittedAnswer::Permission(Some("yes".into())),
        1 => SubmittedAnswer::Permission(Some("nothing of the kind".into())),
        2 => SubmittedAnswer::Permission(None),
        3 => SubmittedAnswer::Elicitation(Json::of(&json!({ "action": "accept" }))),
        _ => SubmittedAnswer::Reject,
    }
}

fn is_allowed(settled: &Settlement) -> bool {
    let response: Value = settled.response.read().unwrap();
    response["outcome"]["optionId"] == "yes"
}

proptest! {
    #[test]
    fn a_question_is_answered_once_and_never_allowed_but_by_who_allows_it(
        steps in prop::collection::vec(any_step(), 0..120),
    ) {
        let mut now = Instant::now();
        let mut questions = Questions::default();
        let mut open: Vec<(CallId, bool, Option<Instant>)> = Vec::new();
        for step in steps {
            match step {
                Step::Ask { is_permission, within } => {
                    let asks = if is_permission { permission_question() } else { QuestionKind::Elicitation };
                    let decided = questions.decide(&asks, None, false, false);
                    prop_assert_eq!(decided.is_some(), open.len() >= MAX_PENDING);
                    if let Some((settled, _)) = decided {
                        prop_assert!(settled.is_rejection);
                        continue;
                    }
                    let (id, summary) = (mint::call_id(), QuestionSummary::default());
                    let deadline = within.map(|ms| now + Duration::from_millis(ms));
                    questions.add(WaitingQuestion::new(id, None, asks.judged(), summary, deadline));
                    open.push((id, is_permission, deadline));
                }
                Step::Answer(which, how) if !open.is_empty() => {
                    let at = which.index(open.len());
                    let (id, is_permission, _) = open[at];
                    let fits = match how {
                        0 | 2 => is_permission,
                        1 => false,
                        3 => !is_permission,
                        _ => true,
                    };
                    let taken = questions.take(id, &answer(how));
                    prop_assert_eq!(taken.is_some(), fits);
                    if let Some((pending, settled)) = taken {
                        prop_assert_eq!(pending.id, id);
                        prop_assert_eq!(is_allowed(&settled), how == 0);
                        prop_assert_eq!(settled.is_rejection, ![0, 3].contains(&how));
                        open.remove(at);
                        prop_assert!(questions.take(id, &answer(how)).is_none(), "answered twice");
                    }
                }
                Step::Answer(..) => {}
                Step::Pass(ms) => {
                    now += Duration::from_millis(ms);
                    let is_late = |deadline: &Option<Instant>| deadline.is_some_and(|at| at <= now);
                    let late: Vec<CallId> = questions.take_overdue(now).iter().map(|p| p.id).collect();
                    let (expected, rest): (Vec<_>, Vec<_>) =
                        open.into_iter().partition(|(_, _, deadline)| is_late(deadline));
                    prop_assert_eq!(late, expected.iter().map(|one| one.0).collect::<Vec<_>>());
                    open = rest;
                }
                Step::TakeAll => {
                    let all: Vec<CallId> = questions.take_all().iter().map(|p| p.id).collect();
                    prop_assert_eq!(all, open.drain(..).map(|one| one.0).collect::<Vec<_>>());
                }
            }
            prop_assert_eq!(questions.is_empty(), open.is_empty());
            prop_assert_eq!(
                questions.next_deadline(),
                open.iter().filter_map(|(_, _, deadline)| *deadline).min()
            );
        }
    }

    #[test]
    fn what_nobody_allows_is_not_allowed(is_cancelling: bool, is_unattended: bool) {
        let (questions, asks) = (Questions::default(), permission_question());
        let allowed = || {
            let outcome = PermissionOutcome::Selected { option_id: "yes".into() };
            Some((permission(&outcome, false), Decider::new(DecidedBy::Rule)))
        };
        let decided = questions.decide(&asks, None, is_cancelling, is_unattended);
        prop_assert_eq!(decided.is_some(), is_cancelling || is_unattended);
        prop_assert!(decided.is_none_or(|(settled, _)| !is_allowed(&settled)));
        // A rule decides also where nobody is; a turn that is cancelled is allowed nothing.
        let (settled, by) = questions.decide(&asks, allowed(), is_cancelling, is_unattended).unwrap();
        prop_assert_eq!(is_allowed(&settled), !is_cancelling);
        prop_assert_eq!(by.who == DecidedBy::Rule, !is_cancelling);
    }
}
