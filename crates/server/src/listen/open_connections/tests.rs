use super::*;

type Connection = (CancellationToken, Arc<ConnectionActivity>);

fn filled(open: &OpenConnections, n: usize) -> Vec<Connection> {
    let all: Vec<Connection> = (0..n).map(|_| Default::default()).collect();
    for (cut, activity) in &all {
        open.add(cut.clone(), activity);
    }
    all
}

#[test]
fn the_oldest_goes_that_is_still_there_and_still_nobody() {
    let open = OpenConnections::new(20);
    let all = filled(&open, 4);
    all[0].0.cancel();
    all[1].1.note_client("a");
    open.to_evict().unwrap().cancel();
    assert!(all[2].0.is_cancelled() && !all[1].0.is_cancelled() && !all[3].0.is_cancelled());
    open.to_evict().unwrap();
    assert!(open.to_evict().is_none());
}

#[test]
fn a_reader_that_was_given_up_makes_way_also_while_it_is_told_so() {
    let open = OpenConnections::new(4);
    let all = filled(&open, 4);
    for (_, activity) in &all {
        activity.note_client("a");
    }
    let _busy: Vec<_> = all.iter().map(|(_, activity)| activity.enter()).collect();
    assert!(open.to_evict().is_none());
    let _told = all[2].1.last_words.wait(std::time::Duration::from_secs(1));
    open.to_evict().unwrap().cancel();
    assert!(all[2].0.is_cancelled());
}

#[test]
fn a_client_with_more_than_its_part_makes_way_with_what_it_does_not_use() {
    let open = OpenConnections::new(8);
    let all = filled(&open, 8);
    for (n, (_, activity)) in all.iter().enumerate() {
        activity.note_client(if n < 4 { "largest" } else { "other" });
    }
    all[7].1.note_client("a name does not change");
    all[4].0.cancel();
    let busy = all[0].1.enter();
    open.to_evict().unwrap().cancel();
    assert!(all[1].0.is_cancelled(), "the oldest that is not in use");
    // Now both have three.
    assert!(open.to_evict().is_some());
    assert!(open.to_evict().is_some());
    // And now two, which is their part.
    assert!(open.to_evict().is_none());
    assert!(!all[0].0.is_cancelled());
    drop(busy);
}

#[test]
fn those_who_left_are_not_remembered_for_long() {
    let open = OpenConnections::new(8);
    for _ in 0..1000 {
        let (cut, activity) = (CancellationToken::new(), Arc::default());
        open.add(cut.clone(), &activity);
        cut.cancel();
    }
    assert!(open.open.lock().unwrap().len() <= 17);
}
