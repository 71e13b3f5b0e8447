//! `kill -9` of the daemon while many sessions run, and its next life.
//!
//! Nothing that a reader has seen is gone or changed, every turn has its end, nothing is left
//! running, and readers that come back get every event once.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "helpers of tests")]

use std::sync::mpsc;

use futures_util::StreamExt as _;
use serde_json::Value;
use testkit::daemon::Daemon;
use testkit::event_client::{EventClient, EventFrame, EventQuery, EventTransport};
use testkit::test_home::{PATIENCE, TestHome, wait_until};

use crate::serve_events::{home, new_session, prompt};

/// Events that each reader has seen before the daemon is killed.
const N_SEEN: usize = 40;

/// A session, and what its reader has seen of it.
struct Watched {
    session: String,
    turn: String,
    carrier: EventTransport,
    seen: Vec<EventFrame>,
}

impl Watched {
    fn last_id(&self) -> Option<&str> {
        self.seen.last().and_then(|frame| frame.id.as_deref())
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_running_sessions_survive_the_death_of_the_daemon() {
    let home = home();
    let daemon = Daemon::start(&home);
    let making = (0..soak::size(30, 100)).map(|_| new_session(&daemon, &home));
    let sessions = few_at_a_time(making).await;
    // These turns never end by themselves.
    let prompting =
        sessions.iter().map(|session| prompt(&daemon, session, "flood 200 ; slow 1000000 100"));
    let turns = few_at_a_time(prompting).await;
    let carriers = [EventTransport::Sse, EventTransport::WebSocket].into_iter().cycle();
    let watched: Vec<Watched> = sessions
        .into_iter()
        .zip(turns)
        .zip(carriers)
        .map(|((session, turn), carrier)| Watched { session, turn, carrier, seen: Vec::new() })
        .collect();

    let watched = kill_while_read(daemon, watched);

    // The keepers end what the daemon had started.
    home.assert_empty_within(PATIENCE);
    let daemon = Daemon::start(&home);
    let prompting = watched.iter().map(|one| prompt(&daemon, &one.session, "echo back again"));
    let next_turns = few_at_a_time(prompting).await;
    let readers: Vec<_> = watched
        .into_iter()
        .zip(next_turns)
        .map(|(one, next)| {
            let request = EventQuery::new(one.carrier, &one.session)
                .query(&format!("turn={next}"))
                .after(one.last_id());
            let mut client = EventClient::open(&daemon, &request);
            std::thread::spawn(move || (read_on(&mut client, one), next))
        })
        .collect();
    for reader in readers {
        let (one, next) = reader.join().unwrap();
        check(&home, &one, &next);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn commands_that_ran_when_the_daemon_was_killed_are_lost_once_at_the_next_start() {
    let home = home();
    let daemon = Daemon::start(&home);
    let (idle, done) = (new_session(&daemon, &home).await, new_session(&daemon, &home).await);
    let left = "terminal-leave sh -c 'echo begun; exec sleep 1000' ; terminal-leave sleep 1000";
    prompt(&daemon, &idle, left).await;
    prompt(&daemon, &done, "terminal-leave sh -c 'echo begun'").await;
    let in_turn = new_session(&daemon, &home).await;
    prompt(&daemon, &in_turn, "terminal-leave sleep 1000 ; slow 20 20 ; hang").await;
    let has = |session: &str, words: &str| export(&home, session).contains(words);
    let is_begun = |session: &str| has(session, "turn_ended") && has(session, "begun\\n");
    assert!(wait_until(PATIENCE, || is_begun(&idle) && has(&done, "terminal_exited")));
    assert!(!has(&idle, "terminal_exited"));
    assert!(wait_until(PATIENCE, || has(&in_turn, "chunk 19")));
    daemon.kill9();
    home.assert_empty_within(PATIENCE);

    let daemon = Daemon::start(&home);

    let lost = ends_of_commands(&home, &idle);
    assert_eq!(lost.len(), 2, "{lost:?}");
    assert!(lost.iter().all(|end| end["lost"] == true && end["exitCode"].is_null()), "{lost:?}");
    let lost_in_turn = ends_of_commands(&home, &in_turn);
    assert!(matches!(&lost_in_turn[..], [end] if end["lost"] == true), "{lost_in_turn:?}");
    let ended = ends_of_commands(&home, &done);
    assert!(matches!(&ended[..], [end] if end["exitCode"] == 0), "{ended:?}");
    let words = [("text", "a command was lost"), ("ui", "command_lost")];
    for (vocabulary, said) in words {
        let url = daemon.url(&format!("/v1/sessions/{idle}/transcript?format={vocabulary}"));
        let told = daemon.client().get(url).send().await.unwrap().text().await.unwrap();
        assert_eq!(told.matches(said).count(), 2, "{told}");
    }
    let size = export(&home, &idle).len();
    daemon.kill9();
    let _daemon = Daemon::start(&home);
    assert_eq!(export(&home, &idle).len(), size, "it is told once");
}

fn export(home: &TestHome, session: &str) -> String {
    let exported = home.command(["sessions", "export", session]).output().unwrap();
    String::from_utf8(exported.stdout).unwrap()
}

/// The payloads of `terminal_exited`.
fn ends_of_commands(home: &TestHome, session: &str) -> Vec<Value> {
    let exported = export(home, session);
    let events = exported.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let ends = events.filter(|event| event["kind"] == "terminal_exited");
    ends.map(|event| event["payload"].clone()).collect()
}

/// In order; all at once would only wait for each other.
async fn few_at_a_time<T>(work: impl Iterator<Item = impl Future<Output = T>>) -> Vec<T> {
    futures_util::stream::iter(work).buffered(8).collect().await
}

/// Kills the daemon when every reader has seen enough; readers read until nothing comes.
fn kill_while_read(daemon: Daemon, watched: Vec<Watched>) -> Vec<Watched> {
    let n_readers = watched.len();
    let (seen_enough, have_seen) = mpsc::sync_channel(n_readers);
    let readers: Vec<_> = watched
        .into_iter()
        .map(|mut one| {
            let mut client =
                EventClient::open(&daemon, &EventQuery::new(one.carrier, &one.session));
            let seen_enough = seen_enough.clone();
            std::thread::spawn(move || {
                while let Some(frame) = client.next_frame() {
                    if frame.id.is_none() {
                        continue;
                    }
                    one.seen.push(frame);
                    if one.seen.len() == N_SEEN {
                        seen_enough.send(()).unwrap();
                    }
                }
                one
            })
        })
        .collect();
    for _ in 0..n_readers {
        have_seen.recv_timeout(PATIENCE).expect("all readers see something");
    }
    daemon.kill9();
    readers.into_iter().map(|reader| reader.join().unwrap()).collect()
}

/// Goes on with what came before; the stream ends with the turn.
fn read_on(client: &mut EventClient, mut one: Watched) -> Watched {
    while let Some(frame) = client.next_frame() {
        if frame.id.is_some() {
            one.seen.push(frame);
        } else {
            assert!(matches!(&*frame.event, "stream" | "stream_end"), "unexpected: {frame:?}");
        }
    }
    one
}

fn check(home: &TestHome, one: &Watched, next: &str) {
    let exported = export(home, &one.session);
    let log: Vec<&str> = exported.lines().collect();
    let seen: Vec<&str> = one.seen.iter().map(|frame| &*frame.data).collect();
    assert_eq!(seen, log[..seen.len()], "session {}", one.session);

    let epoch =
        |frame: &EventFrame| frame.id.as_deref().unwrap().split_once('-').unwrap().1.to_owned();
    let epochs: std::collections::BTreeSet<String> = one.seen.iter().map(epoch).collect();
    assert_eq!(epochs.len(), 1, "the epoch changed: {epochs:?}");

    let events: Vec<Value> = seen.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    let ends_of = |turn: &str| -> Vec<&Value> {
        let is_end = |event: &&Value| event["kind"] == "turn_ended" && event["turn"] == turn;
        events.iter().filter(is_end).collect()
    };
    let interrupted = ends_of(&one.turn);
    assert_eq!(interrupted.len(), 1);
    assert_eq!(interrupted[0]["payload"]["error"]["category"], "interrupted");
    let answered = ends_of(next);
    assert_eq!(answered.len(), 1);
    assert_eq!(answered[0]["payload"]["stopReason"], "end_turn");
    assert!(exported.contains("back again"));
}
