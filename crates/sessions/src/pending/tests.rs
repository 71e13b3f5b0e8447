use super::*;

fn question(session: &str, number: u64) -> PendingQuestion {
    PendingQuestion {
        session: SessionId::derived(&[session.as_bytes()]),
        agent: "demo".into(),
        request_id: CallId::derived(&[session.as_bytes(), &number.to_be_bytes()]),
        wants: Wants::Permission,
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
fn a_question_beyond_the_limit_is_given_back() {
    let pending = Arc::new(PendingQuestions::default());
    let mut kept = Vec::new();
    for number in 0..MAX_LISTED as u64 {
        kept.push(pending.add(question("a", number)).unwrap());
    }

    assert!(pending.add(question("b", 1)).is_err());
    kept.pop();
    assert!(pending.add(question("b", 1)).is_ok());
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
