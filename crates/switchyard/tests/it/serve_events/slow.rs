//! Readers that take little or nothing: they lose their connection, and nobody notices.

use std::io::Read as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use testkit::daemon::Daemon;
use testkit::event_client::{ConnectionEnds, EventClient, EventQuery, EventTransport};
use testkit::proc;
use testkit::test_home::{PATIENCE, TestHome, until, wait_until};

use super::{Tally, exported, home, new_session, prompt};

const CARRIERS: [EventTransport; 2] = [EventTransport::Sse, EventTransport::WebSocket];

/// A daemon with little patience, and a session whose log no socket's buffer holds.
async fn stage() -> (TestHome, Daemon, String) {
    let home = home();
    let waits = "[waits]\nclient_warning = \"300ms\"\nclient_eviction = \"1500ms\"\n";
    let path = home.command(["config", "path"]).output().unwrap();
    let path = String::from_utf8(path.stdout).unwrap();
    let path = path.lines().next().unwrap().split_whitespace().last().unwrap().to_owned();
    std::fs::write(path, waits).unwrap();
    let daemon = Daemon::start(&home);
    let session = new_session(&daemon, &home).await;
    let turn = prompt(&daemon, &session, "flood 6000 3000").await;
    let request = EventQuery::new(EventTransport::Sse, &session).query(&format!("turn={turn}"));
    EventClient::open(&daemon, &request).frame_named("stream_end").expect("the end of the flood");
    (home, daemon, session)
}

async fn until_evicted(daemon: &Daemon, n_evicted: usize) {
    let counted = format!("switchyard_slow_clients_total{{what=\"evicted\"}} {n_evicted}");
    let give_up_at = std::time::Instant::now() + PATIENCE;
    loop {
        let metrics = daemon.client().get(daemon.url("/metrics")).send().await.unwrap();
        let metrics = metrics.text().await.unwrap();
        if metrics.lines().any(|line| line == counted) {
            return;
        }
        assert!(std::time::Instant::now() < give_up_at, "it was not evicted:\n{metrics}");
        testkit::test_home::pause_between_polls().await;
    }
}

/// Reads to the end of the log from wherever it was left, and what the stream said by the way.
fn read_on(
    client: &mut EventClient,
    tally: &mut Tally,
    last_id: &mut Option<String>,
) -> Vec<String> {
    let mut said = Vec::new();
    while let Some(frame) = client.next_frame() {
        match frame.id {
            Some(id) => {
                tally.add(&frame.data);
                *last_id = Some(id);
            }
            None => said.push(frame.event),
        }
    }
    said
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reader_that_takes_nothing_is_given_up_hears_so_later_and_loses_not_one_event() {
    let (home, daemon, session) = stage().await;
    let log = exported(&home, &session);
    let mut n_evicted = 0;
    for carrier in CARRIERS {
        let request = EventQuery::new(carrier, &session).query("until=idle");
        let mut client = EventClient::open(&daemon, &request);
        let ends = client.ends();
        assert!(ends.is_open_remotely());

        // It has been given up before it begins to read, and then hears so.
        n_evicted += 1;
        until_evicted(&daemon, n_evicted).await;

        let (mut tally, mut last_id) = (Tally::default(), None);
        let said = read_on(&mut client, &mut tally, &mut last_id);
        assert!(tally.n_events < log.n_events, "nothing was held back from it");
        assert_eq!(said.last().map(String::as_str), Some("client_evicted"), "{carrier:?}");
        drop(client);
        assert!(until(PATIENCE, || !ends.is_open_remotely()).await, "its connection stays");
        let request = request.after(last_id.as_deref());
        let said = read_on(&mut EventClient::open(&daemon, &request), &mut tally, &mut last_id);
        assert_eq!(said.last().map(String::as_str), Some("stream_end"));
        assert_eq!(tally, log, "{carrier:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_hundred_readers_that_take_nothing_cost_little_and_hold_nobody_up() {
    const N_READERS: usize = 200;
    let (home, daemon, session) = stage().await;
    let log = exported(&home, &session);
    let request = EventQuery::new(EventTransport::Sse, &session).query("until=idle");
    let (mut tally, mut last_id) = (Tally::default(), None);
    read_on(&mut EventClient::open(&daemon, &request), &mut tally, &mut last_id);
    let peak_kib = || proc::memory(daemon.pid()).unwrap().peak_kib;
    let with_one = peak_kib();

    let mut stuck: Vec<EventClient> = (0..N_READERS)
        .map(|n| EventClient::open(&daemon, &EventQuery::new(CARRIERS[n % 2], &session)))
        .collect();

    for carrier in CARRIERS {
        let (mut tally, mut last_id) = (Tally::default(), None);
        let request = EventQuery::new(carrier, &session).query("until=idle");
        let said = read_on(&mut EventClient::open(&daemon, &request), &mut tally, &mut last_id);
        assert_eq!(tally, log, "{said:?}");
    }
    let ends: Vec<ConnectionEnds> = stuck.iter_mut().map(EventClient::ends).collect();
    let is_held = |ends: &ConnectionEnds| ends.is_open_remotely();
    assert!(until(PATIENCE, || !ends.iter().any(is_held)).await, "they were not evicted");
    let with_all = peak_kib();
    eprintln!("peak {with_one} KiB with one reader, {with_all} KiB with {N_READERS} stuck ones");
    // The log has some 20 MiB; each reader costs a chunk and its connection.
    let allowed = 256 * N_READERS as u64;
    assert!(with_all < with_one + allowed, "grew from {with_one} to {with_all} KiB");
    drop(stuck);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reader_of_single_bytes_is_evicted_too() {
    let (home, daemon, session) = stage().await;
    let mut client = EventClient::open(&daemon, &EventQuery::new(EventTransport::Sse, &session));
    let ends = client.ends();
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let mut byte = [0];
            while !is_over.load(Ordering::Relaxed) {
                assert_eq!(client.socket().read(&mut byte).unwrap(), 1);
                // This is how slow it is, not how long something takes.
                std::thread::sleep(Duration::from_millis(20));
            }
        });
        let is_evicted = wait_until(PATIENCE, || !ends.is_open_remotely());
        is_over.store(true, Ordering::Relaxed);
        reader.join().unwrap();
        assert!(is_evicted, "one byte now and then keeps the connection");
    });
    drop(home);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reader_that_comes_back_to_itself_is_warned_and_reads_on() {
    let (home, daemon, session) = stage().await;
    let log = exported(&home, &session);
    for carrier in CARRIERS {
        // Slow enough for a warning now and then, never for an eviction.
        let request = EventQuery::new(carrier, &session).query("until=idle");
        let mut client = EventClient::open(&daemon, &request);
        let (mut tally, mut was_warned) = (Tally::default(), false);
        while let Some(frame) = client.next_frame() {
            if frame.id.is_some() {
                tally.add(&frame.data);
            }
            was_warned |= frame.event == "slow_client_warning";
            if !was_warned && tally.n_events % 1000 == 999 {
                std::thread::sleep(Duration::from_millis(700));
            }
        }
        assert!(was_warned, "{carrier:?} was not warned");
        assert_eq!(tally, log);
    }
}
