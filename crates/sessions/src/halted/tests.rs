use super::*;
use crate::mint;

fn halt(may_pass: bool) -> Halt {
    Halt::new("the disk is full".to_owned(), None, may_pass, Vec::new())
}

#[test]
fn those_that_can_go_on_come_in_their_order() {
    let halted = HaltedSessions::default();
    let (first, full, last) = (mint::session_id(), mint::session_id(), mint::session_id());

    halted.add(last, halt(true));
    halted.add(first, halt(true));
    halted.add(full, halt(false));
    halted.add(last, halt(true));

    assert_eq!(halted.to_mend(), [first, last]);
    halted.remove(first);
    assert_eq!((halted.to_mend(), halted.n_halted()), (vec![last], 2));
}

#[test]
fn prompts_that_somebody_gave_up_are_known() {
    let halted = HaltedSessions::default();
    let (session, turns) = (mint::session_id(), [mint::turn_id(), mint::turn_id()]);
    let has = |turn| halted.get(session).is_some_and(|halt| halt.dropped.has(turn));
    halted.add(session, halt(true));

    halted.drop_turns(session, [turns[0]]);

    assert_eq!(turns.map(has), [true, false]);
    halted.drop_all(session);
    assert_eq!(turns.map(has), [true, true]);
}

#[test]
fn prompts_that_wait_are_known_until_they_are_given_up() {
    let halted = HaltedSessions::default();
    let (session, turns) = (mint::session_id(), [mint::turn_id(), mint::turn_id()]);
    let prompt = |turn| QueuedPrompt { turn, text: "ä".repeat(MAX_TEXT_BYTES) };
    let waiting = turns.map(prompt).to_vec();
    halted.add(session, Halt::new("the disk is full".to_owned(), None, true, waiting));

    halted.drop_turns(session, [turns[0]]);

    let halt = halted.get(session).unwrap();
    let left: Vec<_> = halt.waiting().map(|prompt| (prompt.turn, prompt.text.len())).collect();
    assert_eq!(left, [(turns[1], MAX_TEXT_BYTES)]);
}

#[test]
fn of_too_many_the_last_ones_are_kept() {
    let halted = HaltedSessions::default();
    let sessions: Vec<SessionId> = (0..=MAX_HALTED).map(|_| mint::session_id()).collect();

    for session in &sessions {
        halted.add(*session, halt(true));
    }

    assert_eq!(halted.n_halted(), MAX_HALTED);
    assert_eq!((halted.get(sessions[0]), halted.to_mend().len()), (None, MAX_HALTED));
    assert_eq!(halted.get(sessions[1]), Some(halt(true)));
}
