use proptest::prelude::*;

use super::*;

fn fragment(index: usize, id: Option<&str>, name: Option<&str>, arguments: &str) -> Delta {
    Delta::Call {
        index,
        id: id.map(str::to_owned),
        name: name.map(str::to_owned),
        arguments: arguments.to_owned(),
    }
}

fn assemble(deltas: &[Delta]) -> AssembledAnswer {
    let mut assembly = Assembly::default();
    for delta in deltas {
        assembly.push(delta);
    }
    assembly.end()
}

#[test]
fn what_was_said_is_put_together_and_retries_leave_no_trace() {
    let retrying =
        Delta::Retrying { attempt: 1, wait: std::time::Duration::ZERO, why: "why".to_owned() };
    let usage = TokenUsage { input: 1, ..TokenUsage::default() };
    let whole = assemble(&[
        retrying,
        Delta::Thought("h".to_owned()),
        Delta::Text("a".to_owned()),
        Delta::Thought("m".to_owned()),
        Delta::Text("b".to_owned()),
        Delta::Usage(usage),
        Delta::Finish(FinishReason::Length),
    ]);
    assert_eq!((whole.text.as_str(), whole.thought.as_str()), ("ab", "hm"));
    assert_eq!((whole.usage, whole.finish), (Some(usage), Some(FinishReason::Length)));
}

#[test]
fn ids_are_made_up_where_they_are_missing_or_taken() {
    let whole = assemble(&[
        fragment(0, Some("a"), Some("x"), ""),
        fragment(1, Some("a"), Some("x"), ""),
        fragment(2, None, Some("x"), ""),
        fragment(3, Some(""), None, "{}"),
        fragment(4, None, None, ""),
    ]);
    let ids: HashSet<_> = whole.calls.iter().map(|call| call.id.as_str()).collect();
    assert_eq!((whole.calls.len(), ids.len()), (4, 4));
    assert!(ids.contains("a") && !ids.contains(""));
    assert_eq!(whole.calls[3].name, NAMELESS);
}

#[test]
fn the_reason_fits_the_calls() {
    let call = fragment(0, None, Some("x"), "");
    let finish = |deltas: &[Delta]| assemble(deltas).finish;
    assert_eq!(
        finish(&[call.clone(), Delta::Finish(FinishReason::Stop)]),
        Some(FinishReason::Calls)
    );
    assert_eq!(finish(&[Delta::Finish(FinishReason::Calls)]), Some(FinishReason::Stop));
    assert_eq!(
        finish(&[call.clone(), Delta::Finish(FinishReason::Length)]),
        Some(FinishReason::Length)
    );
    assert_eq!(finish(&[call]), None);
}

proptest! {
    #[test]
    fn any_fragmentation_and_order_gives_the_same_calls(
        calls in prop::collection::vec(("[a-z]{1,4}", "\\PC{0,20}"), 1..5),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..20),
        order in any::<u64>(),
    ) {
        let whole: Vec<Delta> = calls
            .iter()
            .enumerate()
            .map(|(at, (name, arguments))| {
                fragment(at, Some(&format!("id{at}")), Some(name), arguments)
            })
            .collect();
        // Each call's fragments in their order, mixed with those of the others.
        let mut queues: Vec<Vec<Delta>> = calls
            .iter()
            .enumerate()
            .map(|(at, (name, arguments))| {
                let chars: Vec<char> = arguments.chars().collect();
                let mut places: Vec<_> =
                    cuts.iter().map(|cut| cut.index(chars.len() + 1)).collect();
                places.extend([0, chars.len()]);
                places.sort_unstable();
                let mut queue = vec![fragment(at, Some(&format!("id{at}")), Some(name), "")];
                queue.extend(places.windows(2).map(|pair| {
                    fragment(at, None, None, &chars[pair[0]..pair[1]].iter().collect::<String>())
                }));
                queue.reverse();
                queue
            })
            .collect();
        let mut mixed = Vec::new();
        let mut choice = order;
        while queues.iter().any(|queue| !queue.is_empty()) {
            let open: Vec<_> = (0..queues.len()).filter(|at| !queues[*at].is_empty()).collect();
            let at = open[usize::try_from(choice % open.len() as u64).unwrap()];
            choice = choice.rotate_right(7).wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            mixed.extend(queues[at].pop());
        }
        prop_assert_eq!(assemble(&mixed).calls, assemble(&whole).calls);
    }
}
