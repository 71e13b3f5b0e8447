use proptest::prelude::*;
use serde_json::json;
use tokio::sync::oneshot;

use super::*;

#[derive(Debug, Clone)]
enum Step {
    Begin,
    Linked,
    Failed,
    Release,
    Forget,
    AwaitOffer,
    AwaitAgent { gives_up: bool },
    Offer(u16),
}

fn any_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => Just(Step::Begin),
        3 => Just(Step::Linked),
        1 => Just(Step::Failed),
        2 => Just(Step::Release),
        1 => Just(Step::Forget),
        2 => Just(Step::AwaitOffer),
        6 => any::<bool>().prop_map(|gives_up| Step::AwaitAgent { gives_up }),
        2 => any::<u16>().prop_map(Step::Offer),
    ]
}

fn pass(n: u64) -> (ForwardedRequest, oneshot::Receiver<bus::connection::RpcResult>) {
    let (reply, answer) = oneshot::channel();
    (ForwardedRequest { method: n.to_string(), params: Json::trusted("{}"), reply }, answer)
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Model {
    Unlinked,
    Linking,
    Linked(u64),
}

proptest! {
    #[test]
    fn the_agent_is_started_by_one_and_who_waits_is_given_back_once_in_order(
        steps in prop::collection::vec(any_step(), 0..200),
    ) {
        let mut link = LinkState::<u64>::new(Some("first".into()), Vec::new());
        let (mut model, mut name) = (Model::Unlinked, Some("first".to_owned()));
        // Those that wait for the agent, with the answers that they listen for.
        let (mut passes, mut links) = (Vec::new(), Vec::new());
        for (n, step) in (0_u64..).zip(steps) {
            match step {
                Step::Begin => {
                    prop_assert_eq!(link.begin(), model == Model::Unlinked);
                    if model == Model::Unlinked {
                        model = Model::Linking;
                    }
                }
                Step::Linked | Step::Failed if model == Model::Linking => {
                    let waiting = match step {
                        Step::Failed => link.failed(),
                        _ => {
                            let offer = CurrentOffer::new(Json::of(&json!({ "n": n })), MemoryShare::default());
                            link.linked(n, n.to_string(), offer)
                        }
                    };
                    model = match step {
                        Step::Failed => Model::Unlinked,
                        _ => Model::Linked(n),
                    };
                    if matches!(step, Step::Linked) {
                        name = Some(n.to_string());
                    }
                    // Those that gave up meanwhile may be among them.
                    let heard: Vec<String> = waiting
                        .passes
                        .iter()
                        .filter(|pass| !pass.reply.is_closed())
                        .map(|pass| pass.method.clone())
                        .collect();
                    let expected: Vec<String> =
                        passes.drain(..).map(|(n, _): (u64, _)| n.to_string()).collect();
                    prop_assert_eq!(heard, expected);
                    prop_assert_eq!(waiting.links.len(), links.len());
                    links.clear();
                }
                Step::Linked | Step::Failed => {}
                Step::Release => {
                    let released = link.release();
                    prop_assert_eq!(released.map(Model::Linked).is_some(), matches!(model, Model::Linked(_)));
                    model = Model::Unlinked;
                }
                Step::Forget => {
                    link.forget("it said so".into());
                    name = None;
                }
                Step::AwaitOffer => {
                    let (reply, mut offer) = oneshot::channel();
                    link.await_offer(reply);
                    match model {
                        Model::Linked(_) => prop_assert!(offer.try_recv().unwrap().is_ok()),
                        _ => links.push(offer),
                    }
                }
                // As the task does: to an agent that is there it is passed on at once.
                Step::AwaitAgent { .. } if matches!(model, Model::Linked(_)) => {}
                Step::AwaitAgent { gives_up } => {
                    let (pass, answer) = pass(n);
                    match link.await_agent(pass) {
                        Ok(()) if !gives_up => passes.push((n, answer)),
                        Ok(()) => drop(answer),
                        Err(_) => prop_assert!(passes.len() >= MAX_WAITING),
                    }
                    prop_assert!(passes.len() <= MAX_WAITING);
                }
                Step::Offer(value) => {
                    let told = link.set_offer_part(&["n"], &Json::of(&value)).map(Json::as_str);
                    let expected = matches!(model, Model::Linked(_)).then(|| format!("{{\"n\":{value}}}"));
                    prop_assert_eq!(told, expected.as_deref());
                }
            }
            prop_assert_eq!(link.current().copied().map_or(model, Model::Linked), model);
            prop_assert_eq!(link.is_unlinked(), model == Model::Unlinked);
            prop_assert_eq!(link.offer().is_some(), matches!(model, Model::Linked(_)));
            prop_assert_eq!(link.agent_session(), name.as_ref());
        }
    }

    #[test]
    fn an_agent_that_forgot_is_told_all_and_another_one_the_preface_once(
        preface: Option<String>,
        recap: Option<String>,
        is_told: bool,
    ) {
        let mut link = LinkState::<()>::new(None, Vec::new());
        link.set_text_before_prompt(preface.clone(), recap.clone(), is_told);
        let told = link.take_text_before_prompt();
        prop_assert!(link.take_text_before_prompt().is_none(), "told twice");
        let expected = preface.as_ref().filter(|_| recap.is_some() || !is_told);
        let has = |text: &String| told.as_ref().is_some_and(|told| told.contains(text.as_str()));
        prop_assert!(expected.is_none_or(has) && recap.as_ref().is_none_or(has));
        prop_assert_eq!(told.is_none(), expected.is_none() && recap.is_none());
    }
}

#[test]
fn so_many_may_wait_and_those_that_gave_up_make_room() {
    let mut link = LinkState::<()>::new(None, Vec::new());
    let mut waiting: Vec<_> = (0..MAX_WAITING as u64)
        .map(|n| {
            let (pass, answer) = pass(n);
            link.await_agent(pass).unwrap();
            answer
        })
        .collect();
    assert!(link.await_agent(pass(100).0).is_err());
    waiting.pop();
    assert!(link.await_agent(pass(101).0).is_ok());
    assert!(link.is_awaited());
}

#[test]
fn an_offer_that_is_too_large_is_left_out_and_the_one_before_stays() {
    let large = Json::of(&json!({ "modes": "x".repeat(MAX_OFFER_BYTES) }));
    let mut link = LinkState::new(None, Vec::new());
    link.linked((), "1".into(), CurrentOffer::new(large.clone(), MemoryShare::default()));
    assert_eq!(link.offer().unwrap().as_str(), "{}");
    assert!(link.set_offer_part(&["modes"], &large).is_none());
    let name = json!("x".repeat(MAX_MODE_BYTES + 1));
    assert!(link.set_offer_name(&["modes"], &name).is_none());
    assert!(link.set_offer_name(&["modes"], &json!("plan")).is_some());
    assert_eq!(link.offer().unwrap().as_str(), "{\"modes\":\"plan\"}");
}
