//! What streams say when something ends them.

use serde_json::{Value, json};
use testkit::daemon::Daemon;
use testkit::event_client::{Carrier, EventClient, Request};

use super::{new_session, yard};

const CARRIERS: [Carrier; 2] = [Carrier::Sse, Carrier::WebSocket];

/// A stream on each carrier that has begun.
fn streams(daemon: &Daemon, session: &str, token: Option<&str>) -> Vec<EventClient> {
    let address = daemon.address().parse().unwrap();
    let open = |carrier| {
        let request = Request::new(carrier, session);
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
    let yard = yard();
    let daemon = Daemon::start(&yard);
    let session = new_session(&daemon, &yard).await;
    let mut clients = streams(&daemon, &session, daemon.token());

    assert!(daemon.stop().success());

    end_with(&mut clients, "daemon_stopping");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_deleted_session_says_so() {
    let yard = yard();
    let daemon = Daemon::start(&yard);
    let session = new_session(&daemon, &yard).await;
    let mut clients = streams(&daemon, &session, daemon.token());

    let url = daemon.url(&format!("/v1/sessions/{session}"));
    let deleted = daemon.client().delete(url).send().await.unwrap();
    assert!(deleted.status().is_success(), "{deleted:?}");

    end_with(&mut clients, "session_deleted");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_revoked_token_ends_its_own_streams_and_no_others() {
    let yard = yard();
    let daemon = Daemon::start(&yard);
    let session = new_session(&daemon, &yard).await;
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
