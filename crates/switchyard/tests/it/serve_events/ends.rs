//! What streams say when something ends them.

use serde_json::{Value, json};
use testkit::daemon::Daemon;
use testkit::event_client::{EventClient, EventQuery, EventTransport};

use super::{home, new_session};

const CARRIERS: [EventTransport; 2] = [EventTransport::Sse, EventTransport::WebSocket];

/// A stream on each carrier that has begun.
fn streams(daemon: &Daemon, session: &str, token: Option<&str>) -> Vec<EventClient> {
    let address = daemon.address().parse().unwrap();
    let open = |carrier| {
        let request = EventQuery::new(carrier, session);
        let mut client = EventClient::try_connect(address, token, &request).unwrap();
        client.frame_named("stream").expect("an opening");
        client
    };
    CARRIERS.map(open).into()
}

#[track_caller]
fn end_with(clients: &mut [EventClient], name: &str) {
    for client in clients {
        client.frame_named(name).unwrap_or_else(|| panic!("it ended without `{name}`"));
        assert!(client.next_frame().is_none());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_daemon_that_stops_says_so() {
    let home = home();
    let daemon = Daemon::start(&home);
    let session = new_session(&daemon, &home).await;
    let mut clients = streams(&daemon, &session, daemon.token());

    assert!(daemon.stop().success());

    end_with(&mut clients, "daemon_stopping");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_deleted_session_says_so() {
    let home = home();
    let daemon = Daemon::start(&home);
    let session = new_session(&daemon, &home).await;
    let mut clients = streams(&daemon, &session, daemon.token());

    let url = daemon.url(&format!("/v1/sessions/{session}"));
    let deleted = daemon.client().delete(url).send().await.unwrap();
    assert!(deleted.status().is_success(), "{deleted:?}");

    end_with(&mut clients, "session_deleted");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_that_cannot_go_on_says_why_and_its_streams_stay() {
    let home = home();
    let config = "[store]\nmax_session_bytes = 100000\n";
    std::fs::write(home.path().join("switchyard.toml"), config).unwrap();
    let daemon = Daemon::start(&home);
    let session = new_session(&daemon, &home).await;
    let mut clients = streams(&daemon, &session, daemon.token());
    let queries = ["format=conversation", "format=ui", "format=envelopes"];
    clients.extend(queries.map(|query| {
        EventClient::open(
            &daemon,
            &EventQuery::new(EventTransport::WebSocket, &session).query(query),
        )
    }));

    super::prompt(&daemon, &session, "slow 5000 1").await;

    let url = daemon.url(&format!("/v1/sessions/{session}"));
    let mut last_ids = Vec::new();
    for client in &mut clients {
        let mut last_id = None;
        let halted = loop {
            let frame = client.next_frame().expect("a stream that stays");
            match &*frame.event {
                "session_halted" => break frame.json(),
                _ => last_id = frame.id.or(last_id),
            }
        };
        let detail = halted["detail"].as_str().unwrap();
        assert!(detail.contains("reached its limit of 100000 bytes"), "{halted}");
        last_ids.push(last_id.expect("events before it"));
    }
    // All events were told before.
    let now: Value = daemon.client().get(&url).send().await.unwrap().json().await.unwrap();
    for id in last_ids {
        assert_eq!(id.split('-').next(), Some(&*now["head"].to_string()), "{now}");
    }
    // Whoever comes later is told, too, and what they wait for ends their streams all the same.
    let request = EventQuery::new(EventTransport::Sse, &session).query("until=idle");
    let mut late = EventClient::open(&daemon, &request);
    late.frame_named("session_halted").expect("why nothing follows");
    late.frame_named("stream_end").expect("an end");
    // The others hear of its end.
    assert!(daemon.client().delete(&url).send().await.unwrap().status().is_success());
    end_with(&mut clients, "session_deleted");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_revoked_token_ends_its_own_streams_and_no_others() {
    let home = home();
    let daemon = Daemon::start(&home);
    let session = new_session(&daemon, &home).await;
    let body = json!({ "name": "phone", "role": "observer" });
    let made = daemon.client().post(daemon.url("/v1/tokens")).json(&body).send().await.unwrap();
    let made: Value = made.json().await.unwrap();
    let token = made["token"].as_str().expect("a token");
    let mut of_phone = streams(&daemon, &session, Some(token));
    let mut of_admin = streams(&daemon, &session, daemon.token());

    let url = daemon.url("/v1/tokens/phone");
    assert!(daemon.client().delete(url).send().await.unwrap().status().is_success());

    end_with(&mut of_phone, "revoked");
    super::prompt(&daemon, &session, "echo still here").await;
    for client in &mut of_admin {
        let said = std::iter::from_fn(|| client.next_frame());
        let mut said = said.map(|frame| frame.data);
        assert!(said.any(|data| data.contains("still here")));
    }
}
