use super::*;

type Connection = (CancellationToken, Arc<Activity>);

fn filled(crowd: &Crowd, n: usize) -> Vec<Connection> {
    let all: Vec<Connection> = (0..n).map(|_| Default::default()).collect();
    for (cut, activity) in &all {
        crowd.add(cut.clone(), activity);
    }
    all
}

#[test]
fn the_oldest_goes_that_is_still_there_and_still_nobody() {
    let crowd = Crowd::new(20);
    let all = filled(&crowd, 4);
    all[0].0.cancel();
    all[1].1.note_client("a");
    crowd.next_to_go().unwrap().cancel();
    assert!(all[2].0.is_cancelled() && !all[1].0.is_cancelled() && !all[3].0.is_cancelled());
    crowd.next_to_go().unwrap();
    assert!(crowd.next_to_go().is_none());
}

#[test]
fn a_client_with_more_than_its_part_makes_way_with_what_it_does_not_use() {
    let crowd = Crowd::new(8);
    let all = filled(&crowd, 8);
    for (n, (_, activity)) in all.iter().enumerate() {
        activity.note_client(if n < 4 { "greedy" } else { "other" });
    }
    all[7].1.note_client("a name does not change");
    all[4].0.cancel();
    let busy = all[0].1.enter();
    crowd.next_to_go().unwrap().cancel();
    assert!(all[1].0.is_cancelled(), "the oldest that is not in use");
    // Now both have three.
    assert!(crowd.next_to_go().is_some());
    assert!(crowd.next_to_go().is_some());
    // And now two, which is their part.
    assert!(crowd.next_to_go().is_none());
    assert!(!all[0].0.is_cancelled());
    drop(busy);
}

#[test]
fn those_who_left_are_not_remembered_for_long() {
    let crowd = Crowd::new(8);
    for _ in 0..1000 {
        let (cut, activity) = (CancellationToken::new(), Arc::default());
        crowd.add(cut.clone(), &activity);
        cut.cancel();
    }
    assert!(crowd.inside.lock().unwrap().len() <= 17);
}
