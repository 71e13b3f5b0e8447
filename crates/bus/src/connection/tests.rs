use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, duplex};

use super::*;

const LIMITS: ConnectionLimits = ConnectionLimits {
    max_line_bytes: 10_000,
    max_values: 1000,
    outbox_bytes: OUTBOX_BYTES,
    write_stall: Duration::from_millis(50),
};

/// A connection and the other end of its pipes.
fn connect(
    pipe_bytes: usize,
) -> (Connection, Inbox, tokio::io::Lines<BufReader<DuplexStream>>, DuplexStream) {
    let (ours, theirs) = duplex(pipe_bytes);
    let (their_out, our_in) = duplex(pipe_bytes);
    let (connection, inbox) = Connection::open(our_in, ours, &LIMITS);
    (connection, inbox, BufReader::new(theirs).lines(), their_out)
}

fn json(text: &str) -> Json {
    Json::parse(text).unwrap()
}

async fn one(inbox: &mut Inbox) -> IncomingMessage {
    let mut batch = inbox.next().await.unwrap();
    assert_eq!(batch.len(), 1, "{batch:?}");
    batch.remove(0)
}

#[tokio::test]
async fn an_answer_comes_after_what_was_sent_before_it() {
    let (connection, mut inbox, mut peer, mut peer_out) = connect(1 << 16);
    let call = tokio::spawn(async move { connection.call("m", &json("{}")).await });
    assert_eq!(
        peer.next_line().await.unwrap().unwrap(),
        r#"{"jsonrpc":"2.0","id":1,"method":"m","params":{}}"#
    );

    peer_out.write_all(b"{\"method\":\"n\"}\n{\"id\":1,\"result\":5}\n").await.unwrap();

    let mut batch = inbox.next().await.unwrap();
    let reply = batch.pop().unwrap();
    assert!(matches!(&batch[..], [IncomingMessage::Notification(n)] if n.method() == "n"));
    assert!(!call.is_finished());
    let IncomingMessage::Reply(reply) = reply else { panic!("{reply:?}") };
    reply.settle();
    assert_eq!(call.await.unwrap().unwrap().as_str(), "5");
}

#[tokio::test]
async fn the_peers_ids_are_a_space_of_their_own() {
    let (connection, mut inbox, mut peer, mut peer_out) = connect(1 << 16);
    let asking = connection.clone();
    let call = tokio::spawn(async move { asking.call("ours", &json("{}")).await });
    peer.next_line().await.unwrap();

    peer_out.write_all(b"{\"id\":1,\"method\":\"theirs\"}\n").await.unwrap();
    let IncomingMessage::Request(request) = one(&mut inbox).await else { panic!() };
    connection.respond(&request.id(), Ok(json("true"))).await.unwrap();
    assert_eq!(
        peer.next_line().await.unwrap().unwrap(),
        r#"{"jsonrpc":"2.0","id":1,"result":true}"#
    );

    assert!(!call.is_finished());
}

#[tokio::test]
async fn a_request_is_answered_once() {
    let (connection, mut inbox, mut peer, mut peer_out) = connect(1 << 16);
    peer_out.write_all(b"{\"id\":\"a\",\"method\":\"m\"}\n").await.unwrap();
    let IncomingMessage::Request(request) = one(&mut inbox).await else { panic!() };

    for n in ["1", "2"] {
        connection.respond(&request.id(), Ok(json(n))).await.unwrap();
    }
    connection.notify("end", &json("{}")).unwrap();

    assert_eq!(
        peer.next_line().await.unwrap().unwrap(),
        r#"{"jsonrpc":"2.0","id":"a","result":1}"#
    );
    assert!(peer.next_line().await.unwrap().unwrap().contains("end"));
}

#[tokio::test]
async fn a_second_open_request_with_the_same_id_is_refused() {
    let (_connection, mut inbox, mut peer, mut peer_out) = connect(1 << 16);

    peer_out
        .write_all(b"{\"id\":7,\"method\":\"a\"}\n{\"id\":7,\"method\":\"b\"}\n")
        .await
        .unwrap();

    assert!(matches!(one(&mut inbox).await, IncomingMessage::Request(m) if m.method() == "a"));
    assert!(peer.next_line().await.unwrap().unwrap().contains("-32600"));
}

#[tokio::test]
async fn a_request_given_up_is_withdrawn_and_its_answer_is_unasked() {
    let (connection, mut inbox, mut peer, mut peer_out) = connect(1 << 16);

    let given_up = connection.call_within(Duration::from_millis(5), "m", &json("{}")).await;

    assert!(matches!(given_up, Err(CallError::TimedOut { .. })));
    peer.next_line().await.unwrap();
    assert_eq!(
        peer.next_line().await.unwrap().unwrap(),
        r#"{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":1}}"#
    );
    peer_out.write_all(b"{\"id\":1,\"result\":5}\n").await.unwrap();
    assert!(matches!(one(&mut inbox).await, IncomingMessage::Unmatched(_)));
}

#[tokio::test]
async fn a_peer_that_never_reads_is_declared_stalled_and_senders_are_released() {
    let (connection, _inbox, _peer, _peer_out) = connect(16);
    let big = Json::of(&"x".repeat(1000));

    connection.notify_in_turn("m", &big).await.unwrap();
    connection.stalled().await;

    let mut last = Ok(());
    while last.is_ok() {
        last = connection.notify_in_turn("m", &big).await;
    }
    assert!(matches!(last, Err(CallError::Closed)));
}

#[tokio::test]
async fn a_peer_that_was_stopped_is_waited_for_and_nothing_is_lost() {
    let (patient, _inbox, mut peer, _peer_out) = connect(16);
    let (impatient, _other_inbox, _other_peer, _other_peer_out) = connect(16);
    let big = Json::of(&"x".repeat(1000));
    patient.set_patient(true);

    patient.notify_in_turn("m", &big).await.unwrap();
    impatient.notify_in_turn("m", &big).await.unwrap();
    // Its wait began later and is as long.
    impatient.stalled().await;

    assert!(!patient.shared.stalled.is_cancelled());
    patient.set_patient(false);
    let line = peer.next_line().await.unwrap().unwrap();
    assert!(line.contains(&"x".repeat(1000)), "{line}");
}

#[tokio::test]
async fn what_a_peer_does_not_read_is_bounded_while_it_is_being_written() {
    let (connection, _inbox, mut peer, _peer_out) = connect(1 << 16);
    connection.set_patient(true);
    let part = Json::of(&"x".repeat(OUTBOX_BYTES / 8));
    let large = Json::of(&"x".repeat(2 * OUTBOX_BYTES));

    let mut n_parts = 0;
    while connection.notify("m", &part).is_ok() {
        n_parts += 1;
        tokio::task::yield_now().await;
    }
    assert!(n_parts < 8, "{n_parts}");
    connection.notify("large", &large).unwrap();
    tokio::task::yield_now().await;
    assert!(matches!(connection.notify("m", &large), Err(CallError::Full)));

    for _ in 0..n_parts {
        assert!(peer.next_line().await.unwrap().unwrap().contains("\"m\""));
    }
    assert!(peer.next_line().await.unwrap().unwrap().contains("\"large\""));
    connection.notify_in_turn("m", &large).await.unwrap();
    assert!(peer.next_line().await.unwrap().is_some());
}

#[tokio::test]
async fn answers_that_the_peer_does_not_take_count_as_open_requests() {
    let (connection, mut inbox, mut peer, mut peer_out) = connect(1 << 16);
    connection.set_patient(true);
    let large = Json::of(&"x".repeat(2 * OUTBOX_BYTES));
    let mut answering = Vec::new();
    for n in 0..3 {
        peer_out.write_all(format!("{{\"id\":{n},\"method\":\"m\"}}\n").as_bytes()).await.unwrap();
        let IncomingMessage::Request(request) = one(&mut inbox).await else { panic!() };
        let (connection, large) = (connection.clone(), large.clone());
        answering.push(tokio::spawn(async move {
            connection.respond(&request.id(), Ok(large)).await.unwrap();
        }));
    }
    while connection.shared.calls().open.n_unread < 2 {
        tokio::task::yield_now().await;
    }
    for answer in answering {
        peer.next_line().await.unwrap();
        answer.await.unwrap();
    }
    assert_eq!(connection.shared.calls().open.n_unread, 0);
}

#[tokio::test]
async fn a_peer_that_is_gone_answers_nothing() {
    let (connection, mut inbox, mut peer, peer_out) = connect(1 << 16);
    let asking = connection.clone();
    let call = tokio::spawn(async move { asking.call("m", &json("{}")).await });
    peer.next_line().await.unwrap();

    drop(peer_out);

    assert!(inbox.next().await.is_none());
    assert!(matches!(call.await.unwrap(), Err(CallError::Closed)));
    assert!(matches!(connection.call("m", &json("{}")).await, Err(CallError::Closed)));
}

#[tokio::test]
async fn bad_lines_are_reported_between_good_ones() {
    let (_connection, mut inbox, _peer, mut peer_out) = connect(1 << 16);
    let mut lines = b"garbage\n{\"method\":\"a\"}\n\xff\n".to_vec();
    lines.extend(vec![b'x'; 20_000]);
    lines.extend(b"\n{\"method\":\"b\"}");

    peer_out.write_all(&lines).await.unwrap();
    drop(peer_out);

    let mut seen = Vec::new();
    while let Some(batch) = inbox.next().await {
        seen.extend(batch.into_iter().map(|incoming| match incoming {
            IncomingMessage::Notification(message) => message.method().to_owned(),
            IncomingMessage::BadMessage { .. } => "bad message".into(),
            IncomingMessage::BadLine(LineError::TooLong { .. }) => "too long".into(),
            IncomingMessage::BadLine(LineError::NotUtf8 { .. }) => "not utf-8".into(),
            other => panic!("{other:?}"),
        }));
    }
    assert_eq!(seen, ["bad message", "a", "not utf-8", "too long", "b"]);
}

#[tokio::test]
async fn a_message_of_too_many_values_is_not_read_and_whoever_waits_is_told() {
    let (connection, mut inbox, mut peer, mut peer_out) = connect(1 << 16);
    let values = format!("[{}1]", "1,".repeat(LIMITS.max_values));
    let call = tokio::spawn(async move { connection.call("m", &json("{}")).await });
    peer.next_line().await.unwrap();

    let request = format!(r#"{{"id":"a","method":"m","params":{values}}}"#);
    peer_out.write_all(format!("{request}\n").as_bytes()).await.unwrap();
    let refused = one(&mut inbox).await;
    assert!(
        matches!(refused, IncomingMessage::BadMessage { is_answered: true, .. }),
        "{refused:?}"
    );
    let refusal = peer.next_line().await.unwrap().unwrap();
    assert!(refusal.contains(r#""id":"a""#) && refusal.contains("-32602"), "{refusal}");

    let told = format!(r#"{{"method":"n","params":{values}}}"#);
    peer_out.write_all(format!("{told}\n").as_bytes()).await.unwrap();
    let IncomingMessage::BadMessage { error, line, is_answered: false } = one(&mut inbox).await
    else {
        panic!()
    };
    assert_eq!(error, MessageError::TooManyValues);
    assert!(line.len() < 1000, "{}", line.len());

    let answer = format!(r#"{{"id":1,"result":{values}}}"#);
    peer_out.write_all(format!("{answer}\n").as_bytes()).await.unwrap();
    let mut batch = inbox.next().await.unwrap();
    assert!(matches!(batch.pop(), Some(IncomingMessage::BadMessage { is_answered: true, .. })));
    let Some(IncomingMessage::Reply(reply)) = batch.pop() else { panic!("{batch:?}") };
    reply.settle();
    let failed = call.await.unwrap().unwrap_err();
    assert!(failed.to_string().contains("too many values"), "{failed}");
}
