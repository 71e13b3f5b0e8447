use super::*;

fn token(name: &str) -> Principal {
    Principal { name: name.to_owned(), is_local: false, ..Principal::local() }
}

fn take(shares: &Arc<StreamShares>, principal: &Principal) -> Result<Arc<StreamShare>, Problem> {
    shares.take(&ConnectionShare::default(), Some(principal), false)
}

#[test]
fn one_token_has_its_share_and_all_together_leave_some_places() {
    let shares = Arc::new(StreamShares::new(100));
    let mut held = Vec::new();
    for name in ["a", "b", "c"] {
        held.extend((0..25).map(|_| take(&shares, &token(name)).unwrap()));
        let problem = take(&shares, &token(name)).unwrap_err();
        assert_eq!((problem.status, problem.retry_after), (429, Some(5)));
        assert!(problem.detail.unwrap().contains("25"));
    }
    held.extend((0..13).map(|_| take(&shares, &token("d")).unwrap()));
    assert!(take(&shares, &token("d")).unwrap_err().detail.unwrap().contains("88"));
    drop(held);
    assert!(take(&shares, &token("a")).is_ok());
    assert!(shares.taken.locked().by_name.is_empty(), "nothing is left of those who went");
}

#[test]
fn streams_of_one_connection_take_one_place_until_the_last_has_gone() {
    let shares = Arc::new(StreamShares::new(16));
    let (one, connection) = (token("a"), ConnectionShare::default());
    let first = shares.take(&connection, Some(&one), false).unwrap();
    let second = shares.take(&connection, Some(&one), false).unwrap();
    drop(first);
    assert_eq!(shares.taken.locked().n_all, 1);
    drop(second);
    assert_eq!(shares.taken.locked().n_all, 0);
}

#[test]
fn the_daemons_own_user_has_no_share_and_what_has_begun_is_counted() {
    let shares = Arc::new(StreamShares::new(40));
    let own: Vec<_> = (0..35).map(|_| take(&shares, &Principal::local()).unwrap()).collect();
    assert!(take(&shares, &Principal::local()).is_err());
    let begun = shares.take(&ConnectionShare::default(), Some(&token("a")), true).unwrap();
    drop(own);
    assert_eq!(shares.taken.locked().n_all, 1);
    drop(begun);
}

#[test]
fn a_stream_whose_reader_was_evicted_makes_way_once() {
    let shares = Arc::new(StreamShares::new(16));
    let (one, connection) = (token("a"), ConnectionShare::default());
    let evicted = shares.take(&connection, Some(&one), false).unwrap();
    let beside = shares.take(&connection, Some(&one), false).unwrap();
    StreamShare::give_back_last(&connection);
    assert_eq!(shares.taken.locked().n_all, 1, "another stream of it goes on");
    drop(beside);

    StreamShare::give_back_last(&connection);
    StreamShare::give_back_last(&connection);

    assert_eq!(shares.taken.locked().n_all, 0);
    let next = shares.take(&connection, Some(&one), false).unwrap();
    drop(evicted);
    assert_eq!(shares.taken.locked().n_all, 1, "what comes later on it is counted");
    drop(next);
    assert_eq!(shares.taken.locked().n_all, 0);
}
