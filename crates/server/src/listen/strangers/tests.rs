use super::*;

#[test]
fn the_oldest_goes_that_is_still_there_and_still_nobody() {
    let strangers = Strangers::new(2);
    let all: Vec<(CancellationToken, Arc<Activity>)> = (0..4).map(|_| Default::default()).collect();
    for (cut, activity) in &all {
        strangers.add(cut.clone(), activity);
    }
    all[0].0.cancel();
    all[1].1.note_known();
    strangers.oldest().unwrap().cancel();
    assert!(all[2].0.is_cancelled() && !all[1].0.is_cancelled() && !all[3].0.is_cancelled());
    strangers.oldest().unwrap();
    assert!(strangers.oldest().is_none());
}

#[test]
fn those_who_left_are_not_remembered_for_long() {
    let strangers = Strangers::new(8);
    for _ in 0..1000 {
        let (cut, activity) = (CancellationToken::new(), Arc::default());
        strangers.add(cut.clone(), &activity);
        cut.cancel();
    }
    assert!(strangers.waiting.lock().unwrap().len() <= 17);
}
