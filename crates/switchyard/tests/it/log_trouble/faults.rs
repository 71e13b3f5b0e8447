//! Any single fault of the disk, in the middle of turns.

use super::*;

const WAL: [&str; 2] = [".db-wal", "-"];
const DATABASE: [&str; 2] = [".db", "-"];
const HEADS: [&str; 2] = ["/heads", "-"];
const ALL: [&str; 2] = [".db", ".db-wal"];

/// Faults that keep something from being written or read.
fn faults() -> Vec<DiskFault> {
    let one = |calls, error, every, files| DiskFault { calls, error, every, files };
    let few = vec![
        one(FaultyCalls::WRITES, ENOSPC, 1, WAL),
        one(FaultyCalls::WRITES, EIO, 3, WAL),
        one(FaultyCalls::SHORT_WRITES, ENOSPC, 2, WAL),
        one(FaultyCalls::SYNCS, EIO, 1, ALL),
        one(FaultyCalls::READS, EIO, 1, ALL),
        one(FaultyCalls::WRITES, EIO, 1, HEADS),
    ];
    let more = [WAL, DATABASE, HEADS, ALL].into_iter().flat_map(|files| {
        [EIO, ENOSPC].into_iter().flat_map(move |error| {
            [1, 2, 5, 17].into_iter().flat_map(move |every| {
                let calls = [
                    FaultyCalls::READS,
                    FaultyCalls::WRITES,
                    FaultyCalls::SHORT_WRITES,
                    FaultyCalls::SYNCS,
                    FaultyCalls::OPENS,
                ];
                calls.into_iter().map(move |calls| one(calls, error, every, files))
            })
        })
    });
    soak::size(few, more.collect())
}

trait HitsAppends {
    /// Whether a session that goes on cannot miss it.
    fn hits_appends(&self) -> bool;
}

impl HitsAppends for DiskFault {
    fn hits_appends(&self) -> bool {
        let is_write = matches!(self.calls, FaultyCalls::WRITES | FaultyCalls::SHORT_WRITES);
        is_write && self.files != DATABASE
    }
}

/// What a reader has seen, in order.
struct Seen {
    session: String,
    events: Vec<Value>,
    client: EventClient,
}

impl Seen {
    fn of(api: &Api, session: String) -> Self {
        let client = stream(api, EventTransport::Sse, &session, "");
        Self { session, events: Vec::new(), client }
    }

    /// Reads until the session halts, its turn ends, or `n` more events came.
    fn read(mut self, n: usize) -> Self {
        let until = self.events.len() + n;
        while self.events.len() < until {
            let frame = self.client.next_frame().expect("a stream that stays");
            match &*frame.event {
                "session_halted" | "stream_error" => return self,
                _ if frame.id.is_some() => self.events.push(frame.json()),
                _ => {}
            }
            if self.events.last().is_some_and(|event| event["kind"] == "turn_ended") {
                return self;
            }
        }
        self
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_any_single_fault_nothing_acknowledged_is_gone_and_all_goes_on() {
    let (api, disk) = on_faulty_disk().await;
    for fault in faults() {
        println!("{fault:?}");
        let mut readers = Vec::new();
        for _ in 0..3 {
            readers.push(Seen::of(&api, talking(&api).await));
        }

        disk.fail(&fault);
        // Either all goes on as if nothing was, or everybody is told.
        let reading = readers.into_iter().map(|seen| std::thread::spawn(move || seen.read(100)));
        let reading: Vec<_> = reading.collect();
        let readers: Vec<Seen> = reading.into_iter().map(|one| one.join().unwrap()).collect();
        let has_hit = wait_until(PATIENCE, || disk.n_failed() > 0 || !fault.hits_appends());
        assert!(has_hit, "{fault:?} has hit nothing");
        disk.heal();

        until_health(&api, |health| {
            let troubles = health["store"]["troubles"].as_array();
            let others = troubles.into_iter().flatten().filter(|it| it["kind"] != "read_failed");
            others.count() == 0
        })
        .await;
        for Seen { session, events, .. } in readers {
            let path = format!("/v1/sessions/{session}");
            api.post(&format!("{path}/cancel"), &json!({})).await.is(200);
            api.until_idle(&session).await;
            api.prompt(&session, "echo and on it goes").await;
            api.until_said(&session, "and on it goes").await;
            let log = api.events(&session).await;
            for (n, event) in (1..).zip(&log) {
                assert_eq!(event["seq"], n, "{fault:?}: a hole in the log of {session}");
            }
            let kept = &log[..events.len()];
            assert_eq!(kept, events, "{fault:?}: what was told is not what is there");
            let (started, ended) = (of_kind(&log, "turn_started"), of_kind(&log, "turn_ended"));
            assert!(started.len() - ended.len() <= 1, "{fault:?}: a turn has no end");
            api.delete(&path).await.is(204);
        }
    }
    // Nobody was hit so hard that the next start has something to repair.
    let api = api.restart().await;
    let health = api.get("/v1/health").await.is(200).body;
    assert_eq!(health["store"].get("lostSessions"), None, "{health}");
}
