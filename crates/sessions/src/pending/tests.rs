use super::*;

fn question(session: &str, number: u64) -> PendingQuestion {
    PendingQuestion {
        session: SessionId::derived(&[session.as_bytes()]),
        made_by: Some(session.to_owned()),
        agent: "demo".into(),
        request_id: CallId::derived(&[session.as_bytes(), &number.to_be_bytes()]),
        wants: ExpectedAnswer::Permission,
        title: "Run `ls`".into(),
        kind: "execute".into(),
        options: Vec::new(),
        request: None,
        seq: Seq(number),
        turn: None,
        since: Millis(i64::try_from(number).unwrap()),
        until: Some(Millis(0)),
        deadline: Some(Instant::now()),
    }
}

#[test]
fn questions_are_listed_by_age_and_by_session_until_their_guard_goes() {
    let pending = Arc::new(PendingQuestions::default());
    let second = pending.add(question("b", 2)).unwrap();
    let first = pending.add(question("a", 1)).unwrap();
    let third = pending.add(question("a", 3)).unwrap();
    let ages = |list: Vec<Arc<PendingQuestion>>| list.iter().map(|q| q.seq.0).collect::<Vec<_>>();
    let a = SessionId::derived(&[b"a"]);

    assert_eq!(ages(pending.list()), [1, 2, 3]);
    assert_eq!(ages(pending.of(a)), [1, 3]);
    drop(first);
    assert_eq!(ages(pending.list()), [2, 3]);
    assert!(pending.get(a, question("a", 1).request_id).is_none());
    drop((second, third));
    assert!(pending.is_empty());
}

#[test]
fn a_question_beyond_the_limit_is_given_back_and_nobody_takes_the_share_of_others() {
    let pending = Arc::new(PendingQuestions::default());
    let mut kept = Vec::new();
    for maker in ["a", "b", "c", "d"] {
        for number in 0..(MAX_LISTED / N_SHARES) as u64 {
            kept.push(pending.add(question(maker, number)).unwrap());
        }
        assert!(pending.add(question(maker, 5000)).is_err());
    }

    assert_eq!(pending.len(), MAX_LISTED);
    assert!(pending.add(question("e", 1)).is_err());
    kept.pop();
    assert!(pending.add(question("e", 1)).is_ok());
    drop(kept);
    let table = lock(&pending.table);
    assert!(table.questions.is_empty() && table.shares.is_empty());
    assert_eq!((table.all.n, table.all.n_bytes), (0, 0));
}

#[test]
fn requests_are_held_up_to_so_many_bytes_of_each_maker() {
    let pending = Arc::new(PendingQuestions::default());
    let request = Arc::new(Json::of(&"x".repeat(MAX_REQUEST_BYTES - 2)));
    let large = |maker: &str, number| PendingQuestion {
        request: Some(request.clone()),
        ..question(maker, number)
    };
    let n_held = MAX_BYTES / N_SHARES / MAX_REQUEST_BYTES;

    let add = |maker: &str| -> Vec<QuestionListing> {
        (0..100).map(|number| pending.add(large(maker, number)).unwrap()).collect()
    };
    let a = add("a");
    let _b = add("b");

    let held = |maker: &str| {
        let own = pending.of(SessionId::derived(&[maker.as_bytes()]));
        own.iter().filter(|question| question.request.is_some()).count()
    };
    assert_eq!((held("a"), held("b")), (n_held, n_held));
    assert_eq!(pending.count(SessionId::derived(&[b"a"])), 100);
    drop(a);
    let _again = add("a");
    assert_eq!(held("a"), n_held);
}

#[test]
fn a_panicking_owner_takes_its_questions_with_it() {
    let pending = Arc::new(PendingQuestions::default());
    let copy = pending.clone();
    let owner = std::thread::spawn(move || {
        let _listed = copy.add(question("a", 1)).unwrap();
        panic!("on purpose");
    });

    assert!(owner.join().is_err());
    assert!(pending.is_empty());
}

#[tokio::test]
async fn every_change_after_a_list_wakes_its_reader() {
    let pending = Arc::new(PendingQuestions::default());
    let writer = {
        let pending = pending.clone();
        tokio::spawn(async move {
            for number in 0..500 {
                let listed = pending.add(question("a", number)).unwrap();
                tokio::task::yield_now().await;
                drop(listed);
            }
            pending.add(question("last", 1)).unwrap()
        })
    };
    loop {
        let version = pending.version();
        if pending.list().iter().any(|q| q.session == SessionId::derived(&[b"last"])) {
            break;
        }
        pending.changed(version).await;
    }
    drop(writer.await.unwrap());
}
