//! Plain ACP through the bus: the demo agent behind sockets and stdio, with many sessions.
//!
//! In: clients that know nothing of the bus, one of them made with the official SDK. Out: every
//! update of every session, at its own client, in order.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "helpers of tests")]

use crate::bus::{Bus, Stage};
use crate::faults::EXE;
use serde_json::{Value, json};
use std::collections::HashMap;
use testkit::Validator;
use testkit::line_client::LineClient;
use testkit::sdk_client::{ClientBehavior, PermissionReply, SdkClient};
use testkit::test_home::PATIENCE;

fn demo(n_workers: usize) -> Stage {
    Stage::new(&format!(
        "[[pool]]\nname = \"demo\"\ncommand = {EXE:?}\nargs = [\"demo-agent\", \"--list\"]\n\
         workers = {n_workers}\n"
    ))
}

/// One client with one session of the demo agent.
struct Guest {
    client: LineClient,
    session: Value,
}

/// As many clients as sessions, all of them initialised at the same time.
fn guests(bus: &Bus, n: usize) -> Vec<Guest> {
    let mut clients: Vec<LineClient> = (0..n).map(|_| bus.tcp_client()).collect();
    // As a real client would: ids from 0.
    for client in &mut clients {
        client.request("0", "initialize", &json!({ "protocolVersion": 1 }));
    }
    for client in &mut clients {
        let answer = client.answer_to(&json!(0));
        assert_eq!(answer["result"]["protocolVersion"], 1, "{answer}");
        let cwd = bus.home().work();
        client.request("1", "session/new", &json!({ "cwd": cwd, "mcpServers": [] }));
    }
    let open = |mut client: LineClient| {
        let answer = client.answer_to(&json!(1));
        let session = answer["result"]["sessionId"].clone();
        assert!(session.is_string(), "{answer}");
        Guest { client, session }
    };
    clients.into_iter().map(open).collect()
}

impl Guest {
    fn prompt(&mut self, id: usize, script: &str) {
        let prompt = json!([{ "type": "text", "text": script }]);
        let params = json!({ "sessionId": self.session, "prompt": prompt });
        self.client.request(&id.to_string(), "session/prompt", &params);
    }

    /// What the agent said until it answered.
    #[track_caller]
    fn hear(&mut self, id: usize) -> String {
        let mut text = String::new();
        loop {
            let message = self.client.next_message();
            if message.get("method").is_none() {
                assert_eq!(message["id"], id, "{message}");
                assert_eq!(message["result"]["stopReason"], "end_turn", "{message}");
                return text;
            }
            assert_eq!(message["params"]["sessionId"], self.session, "another's update");
            let update = &message["params"]["update"];
            if update["sessionUpdate"] == "agent_message_chunk" {
                text.push_str(update["content"]["text"].as_str().unwrap());
            }
        }
    }
}

/// Several turns of all sessions at once.
#[track_caller]
fn all_updates_arrive(n_sessions: usize, n_workers: usize, n_chunks: usize) {
    const N_TURNS: usize = 2;
    let bus = demo(n_workers).with_sockets().start().ready();
    let mut guests = guests(&bus, n_sessions);
    let mut names = HashMap::new();
    for guest in &guests {
        *names.entry(guest.session.to_string()).or_insert(0) += 1;
    }
    assert_eq!(names.len(), n_sessions, "sessions with one name");
    for turn in 2..2 + N_TURNS {
        for (n, guest) in guests.iter_mut().enumerate() {
            guest.prompt(turn, &format!("echo session {n} turn {turn}: ; text {n_chunks} 40"));
        }
        let chunks = (1..=n_chunks).map(|n| format!("{:.<39}\n", format!("chunk {n}")));
        let chunks: Vec<String> = chunks.collect();
        for (n, guest) in guests.iter_mut().enumerate() {
            let said = guest.hear(turn);
            assert_eq!(said, format!("session {n} turn {turn}:{}", chunks.concat()));
        }
    }
    bus.finish(guests.into_iter().map(|guest| guest.client));
}

#[test]
fn every_update_of_one_session_arrives() {
    all_updates_arrive(1, 1, 2_000);
}

#[test]
fn every_update_of_16_sessions_arrives() {
    all_updates_arrive(16, 2, 200);
}

#[test]
fn every_update_of_256_sessions_arrives() {
    all_updates_arrive(256, 3, 20);
}

#[test]
fn every_update_of_1000_sessions_arrives() {
    all_updates_arrive(1_000, 4, 5);
}

/// A whole visit of a client that somebody else made.
async fn visit(bus_command: tokio::process::Command, cwd: std::path::PathBuf) {
    let behavior = ClientBehavior::default().permission(PermissionReply::Allow).files(&cwd);
    let client = SdkClient::ready(bus_command, behavior).await.unwrap();
    let mut sessions = Vec::new();
    for _ in 0..4 {
        sessions.push(client.new_session(&cwd).await.unwrap().session_id);
    }
    let running: Vec<_> = sessions
        .iter()
        .enumerate()
        .map(|(n, session)| {
            let script = format!("echo {n}: ; text 100 50 ; permission execute ls ; echo ; plan");
            client.start_prompt(session, &script)
        })
        .collect();
    for (n, turn) in running.into_iter().enumerate() {
        let turn = turn.finish().await.unwrap();
        let said = turn.text();
        assert!(said.starts_with(&format!("{n}:chunk 1.")), "{said}");
        assert_eq!(said.matches("chunk ").count(), 100, "{said}");
    }
    assert_eq!(client.permissions_asked().len(), sessions.len());
    let listed = client.list_sessions().await.unwrap();
    for session in &sessions {
        assert_eq!(listed.iter().filter(|info| info.session_id == *session).count(), 1);
    }
    let hanging = client.start_prompt(&sessions[0], "echo here ; hang");
    client.wait_for(&sessions[0], |update| format!("{update:?}").contains("\"here\"")).await;
    client.cancel(&sessions[0]).unwrap();
    let ended = tokio::time::timeout(PATIENCE, hanging.finish()).await.unwrap().unwrap();
    assert_eq!(format!("{:?}", ended.stop_reason), "Cancelled");
    let (status, transcript) = client.stop().await;
    assert!(status.success(), "{status}");
    let violations = Validator::v1_unstable().check(&transcript);
    assert!(violations.is_empty(), "{violations:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_of_the_official_sdk_talks_to_agents_through_stdio() {
    let stage = demo(2);
    let cwd = stage.path().join("work");
    visit(stage.command().into(), cwd).await;
    stage.home().assert_empty_within(PATIENCE);
}

#[tokio::test(flavor = "multi_thread")]
async fn clients_of_the_official_sdk_talk_to_agents_through_sockets() {
    let bus = demo(2).with_sockets().start().ready();
    let relay = bus.home().tool("socket-relay");
    let cwd = bus.home().work();
    let socket = bus.home().path().join("bus.sock");
    let places = [("tcp", bus.tcp().to_string()), ("unix", socket.to_str().unwrap().to_owned())];
    for (kind, place) in places {
        let command = bus.home().other(&relay, [kind, &place]);
        visit(command.into(), cwd.clone()).await;
    }
    bus.finish([]);
}
