use super::*;
use crate::mint;

fn halt(is_logged: bool) -> Halt {
    let (why, dropped) = ("the disk is full".to_owned(), DroppedPrompts::default());
    Halt { why, turn: None, is_logged, dropped }
}

#[test]
fn those_whose_logs_lack_something_come_in_their_order() {
    let halted = HaltedSessions::default();
    let (first, told, last) = (mint::session_id(), mint::session_id(), mint::session_id());

    halted.add(last, halt(false));
    halted.add(first, halt(false));
    halted.add(told, halt(true));
    halted.add(last, halt(false));

    assert_eq!(halted.unlogged(), [first, last]);
    halted.remove(first);
    assert_eq!((halted.unlogged(), halted.n_halted()), (vec![last], 2));
}

#[test]
fn prompts_that_somebody_gave_up_are_known() {
    let halted = HaltedSessions::default();
    let (session, turns) = (mint::session_id(), [mint::turn_id(), mint::turn_id()]);
    let has = |turn| halted.get(session).is_some_and(|halt| halt.dropped.has(turn));
    halted.add(session, halt(false));

    halted.drop_turns(session, [turns[0]]);

    assert_eq!(turns.map(has), [true, false]);
    halted.drop_all(session);
    assert_eq!(turns.map(has), [true, true]);
}

#[test]
fn of_too_many_the_last_ones_are_kept() {
    let halted = HaltedSessions::default();
    let sessions: Vec<SessionId> = (0..=MAX_HALTED).map(|_| mint::session_id()).collect();

    for session in &sessions {
        halted.add(*session, halt(false));
    }

    assert_eq!(halted.n_halted(), MAX_HALTED);
    assert_eq!((halted.get(sessions[0]), halted.unlogged().len()), (None, MAX_HALTED));
    assert_eq!(halted.get(sessions[1]), Some(halt(false)));
}
