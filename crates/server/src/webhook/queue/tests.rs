use proptest::prelude::*;

use super::*;

fn session(n: usize) -> SessionId {
    SessionId::derived(&[&n.to_be_bytes()])
}

fn queue() -> AnnouncementQueue<usize> {
    AnnouncementQueue::new(DeliveryPace { max_tries: 3, ..DeliveryPace::default() })
}

fn sent(queue: &mut AnnouncementQueue<usize>, now: Instant) -> Vec<(u64, usize)> {
    let mut sent = Vec::new();
    while let NextAnnouncement::Send { number, subject, .. } = queue.next(now) {
        sent.push((number, subject));
    }
    sent
}

#[test]
fn one_of_a_session_and_a_few_in_all_are_on_their_way() {
    let (mut queue, now) = (queue(), Instant::now());
    for n in [0, 0, 1, 2, 3, 4] {
        assert!(queue.push(session(n), n));
    }

    let first = sent(&mut queue, now);
    assert_eq!(first.iter().map(|(_, n)| *n).collect::<Vec<_>>(), [0, 1, 2, 3]);
    assert_eq!(queue.next(now), NextAnnouncement::Nothing);
    queue.done(first[0].0);
    queue.done(first[1].0);

    assert_eq!(sent(&mut queue, now).iter().map(|(_, n)| *n).collect::<Vec<_>>(), [0, 4]);
}

#[test]
fn a_full_queue_takes_no_more_until_something_is_done() {
    let (mut queue, now) = (queue(), Instant::now());
    for n in 0..MAX_QUEUED {
        assert!(queue.push(session(n), n));
    }
    assert!(!queue.push(session(0), 0));
    let on_the_way = sent(&mut queue, now);
    queue.done(on_the_way[0].0);
    assert!(queue.push(session(0), 0));
    assert_eq!(queue.len(), MAX_QUEUED);
}

#[test]
fn a_failure_waits_longer_each_time_and_ends() {
    let (mut queue, mut now) = (queue(), Instant::now());
    queue.push(session(0), 7);
    let mut waits = Vec::new();
    loop {
        let NextAnnouncement::Send { number, n_tries, .. } = queue.next(now) else {
            panic!("not sent")
        };
        let Some(wait) = queue.failed(number, now, None) else {
            assert_eq!(n_tries, 3);
            break;
        };
        assert_eq!(queue.next(now), NextAnnouncement::At(now + wait));
        now += wait;
        waits.push(wait);
    }
    assert_eq!((waits.len(), queue.len()), (2, 0));
}

#[test]
fn ten_tries_take_about_ten_minutes() {
    let pace = DeliveryPace::default();
    let total = |spread| -> Duration { (1..10).map(|n| pace.wait_after(n, spread)).sum() };
    assert!(total(0.0) > Duration::from_secs(5 * 60), "{:?}", total(0.0));
    assert!(total(1.0) < Duration::from_secs(12 * 60), "{:?}", total(1.0));
}

#[test]
fn a_receiver_may_ask_for_patience_but_not_for_eternity() {
    for (asked_for, expected) in [(60, 60), (1_000_000, 300)] {
        let (mut queue, now) = (queue(), Instant::now());
        queue.push(session(0), 0);
        let NextAnnouncement::Send { number, .. } = queue.next(now) else { panic!("not sent") };
        let wait = queue.failed(number, now, Some(Duration::from_secs(asked_for)));
        assert_eq!(wait, Some(Duration::from_secs(expected)));
    }
}

#[test]
fn what_is_not_wanted_is_forgotten_unless_it_is_on_its_way() {
    let (mut queue, now) = (queue(), Instant::now());
    queue.push(session(0), 0);
    queue.push(session(0), 1);
    let on_the_way = sent(&mut queue, now);

    queue.retain(|_| false);

    assert_eq!((on_the_way.len(), queue.len()), (1, 1));
}

proptest! {
    /// Whatever fails: everything that was taken is tried, no more often than it may be,
    /// and the queue gets empty.
    #[test]
    fn everything_is_tried_and_nothing_for_ever(
        jobs in proptest::collection::vec(0..6_usize, 1..40),
        fails in proptest::collection::vec(any::<bool>(), 200),
    ) {
        let (mut queue, mut now) = (queue(), Instant::now());
        for (n, of) in jobs.iter().enumerate() {
            prop_assert!(queue.push(session(*of), n));
        }
        let mut n_tries = vec![0; jobs.len()];
        let mut fails = fails.into_iter().chain(std::iter::repeat(false));
        let mut on_the_way: Vec<u64> = Vec::new();
        while queue.len() > 0 {
            match queue.next(now) {
                NextAnnouncement::Send { number, subject, .. } => {
                    n_tries[subject] += 1;
                    on_the_way.push(number);
                    prop_assert!(on_the_way.len() <= MAX_AT_ONCE);
                }
                NextAnnouncement::At(due) if on_the_way.is_empty() => now = due,
                NextAnnouncement::At(_) | NextAnnouncement::Nothing => {
                    let number = on_the_way.remove(0);
                    match fails.next() {
                        Some(true) => _ = queue.failed(number, now, None),
                        _ => queue.done(number),
                    }
                }
            }
        }
        prop_assert!(n_tries.iter().all(|n| (1..=3).contains(n)), "{n_tries:?}");
    }
}
