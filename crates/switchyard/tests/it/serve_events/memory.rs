//! A daemon with little memory left.

use rustix::process::{Pid, Resource, Rlimit, prlimit};
use testkit::daemon::Daemon;
use testkit::event_client::{EventClient, EventQuery, EventTransport};

use super::{home, new_session, prompt};

/// What the daemon may take beside what it has.
const ROOM: u64 = 48 << 20;

/// What was said in a turn.
fn said(daemon: &Daemon, session: &str, turn: &str) -> String {
    let request = EventQuery::new(EventTransport::Sse, session).query(&format!("turn={turn}"));
    let mut client = EventClient::open(daemon, &request);
    let mut said = String::new();
    while let Some(frame) = client.next_frame() {
        said += &frame.data;
    }
    said
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_line_that_memory_has_no_room_for_ends_its_agent_and_not_the_daemon() {
    let home = home();
    let daemon = Daemon::start(&home);
    let (session, other) = (new_session(&daemon, &home).await, new_session(&daemon, &home).await);
    let turn = prompt(&daemon, &other, "echo before").await;
    assert!(said(&daemon, &other, &turn).contains("before"));

    let sizes = std::fs::read_to_string(format!("/proc/{}/statm", daemon.pid())).unwrap();
    let n_pages: u64 = sizes.split(' ').next().unwrap().parse().unwrap();
    let size = n_pages * rustix::param::page_size() as u64;
    let limit = Rlimit { current: Some(size + ROOM), maximum: None };
    let pid = Pid::from_raw(daemon.pid().cast_signed()).unwrap();
    prlimit(Some(pid), Resource::As, limit).unwrap();

    let turn = prompt(&daemon, &session, "big 66060000").await;
    let said_of_it = said(&daemon, &session, &turn);
    assert!(said_of_it.contains("there is no memory for a line of more than"), "{said_of_it}");

    let turn = prompt(&daemon, &other, "echo after").await;
    assert!(said(&daemon, &other, &turn).contains("after"), "the other session goes on");
}
