use super::*;

fn session() -> SessionId {
    SessionId::derived(&[b"one"])
}

#[tokio::test]
async fn a_waiter_sees_what_is_published_after_it_registered() {
    let wakes = Arc::new(WakeUps::default());
    let waiter = wakes.register(session());

    wakes.publish(session(), LogReach::To(Seq(3)));

    assert_eq!(waiter.reached(Seq(2)).await, Ok(()));
}

#[tokio::test]
async fn late_news_does_not_take_the_reach_back() {
    let wakes = Arc::new(WakeUps::default());
    let waiter = wakes.register(session());

    wakes.publish(session(), LogReach::To(Seq(3)));
    wakes.publish(session(), LogReach::To(Seq(2)));

    assert_eq!(waiter.reached(Seq(2)).await, Ok(()));
}

#[tokio::test]
async fn a_deleted_session_ends_the_wait() {
    let wakes = Arc::new(WakeUps::default());
    let waiter = wakes.register(session());

    wakes.publish(session(), LogReach::Deleted);

    assert_eq!(waiter.reached(Seq(0)).await, Err(StoreError::NoSuchSession(session())));
}

#[test]
fn an_entry_lives_as_long_as_somebody_waits() {
    let wakes = Arc::new(WakeUps::default());
    let first = wakes.register(session());
    let second = wakes.register(session());

    drop(first);
    assert_eq!(wakes.waited_for(), [session()]);
    drop(second);
    assert_eq!(wakes.waited_for(), []);
}
