//! Random traffic for long: sessions are made, prompted, cancelled, their agents killed, deleted,
//! all at once, while readers come and go.
//!
//! In: a seed, which is printed. Out: of every session whether its log has no hole, its readers saw
//! just that, and each accepted prompt ended once; of the daemon what it keeps when all is over.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use reqwest::Method;
use serde_json::{Value, json};
use testkit::event_client::{EventClient, EventQuery, EventTransport};
use testkit::proc;
use testkit::test_home::{PATIENCE, switchyard, wait_until};

use crate::serve_rest::{Api, EXE};

/// Sessions at a time.
const N_ACTORS: usize = 8;
/// Between two looks of a reader at a session where nothing runs.
const PAUSE: Duration = Duration::from_millis(20);
/// What tells a leak from the allocator's noise, whatever the time between two measurements.
const NOISE_KIB: f64 = 2048.0;
const MAX_KIB_AN_HOUR: f64 = 1024.0;

/// Random numbers that a seed repeats (`splitmix64`).
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % n
    }
}

#[derive(Debug, Default)]
struct Counts {
    prompts: AtomicUsize,
    cancels: AtomicUsize,
    kills: AtomicUsize,
    connections: AtomicUsize,
    frames: AtomicUsize,
}

fn add(count: &AtomicUsize, n: usize) {
    count.fetch_add(n, Ordering::Relaxed);
}

/// A reader that loses its connection again and again, and goes on from its cursor.
struct Reader {
    is_last: Arc<AtomicBool>,
    thread: JoinHandle<Vec<Value>>,
}

impl Reader {
    fn follow(api: &Api, session: &str, seed: u64, counts: &Arc<Counts>) -> Self {
        let address = api.daemon.address().parse().unwrap();
        let token = api.daemon.token().map(str::to_owned);
        let carrier = match seed % 2 {
            0 => EventTransport::Sse,
            _ => EventTransport::WebSocket,
        };
        let request = EventQuery::new(carrier, session).query("until=idle");
        let is_last = Arc::new(AtomicBool::new(false));
        let (is_over, counts) = (is_last.clone(), counts.clone());
        let thread = std::thread::spawn(move || {
            let (mut random, mut seen, mut cursor) = (Random(seed), Vec::new(), None);
            loop {
                let is_last = is_over.load(Ordering::Acquire);
                let request = request.clone().after(cursor.as_deref());
                let client = EventClient::try_connect(address, token.as_deref(), &request);
                let mut client = client.expect("a stream");
                add(&counts.connections, 1);
                let n_frames = if is_last { u64::MAX } else { 1 + random.below(200) };
                for _ in 0..n_frames {
                    let Some(frame) = client.next_frame() else { break };
                    assert_ne!(frame.event, "state_resync_required", "{frame:?}");
                    if let Some(id) = &frame.id {
                        cursor = Some(id.clone());
                        seen.push(frame.json());
                    }
                }
                if is_last {
                    add(&counts.frames, seen.len());
                    return seen;
                }
                std::thread::sleep(PAUSE);
            }
        });
        Self { is_last, thread }
    }

    fn finish(self) -> Vec<Value> {
        self.is_last.store(true, Ordering::Release);
        self.thread.join().expect("a reader")
    }
}

/// The whole log.
async fn log_of(api: &Api, session: &str) -> Vec<Value> {
    let (mut events, mut after) = (Vec::new(), 0);
    loop {
        let path = format!("/v1/sessions/{session}/transcript?limit=2000&after={after}");
        let page = api.get(&path).await.is(200).body;
        events.extend(page["items"].as_array().unwrap().iter().map(|item| item["data"].clone()));
        match page["next"].as_u64() {
            Some(next) => after = next,
            None => return events,
        }
    }
}

fn worker_of(events: &[Value]) -> Option<u32> {
    let is_of_worker =
        |event: &&Value| event["kind"] == "worker_started" || event["kind"] == "worker_exited";
    let last = events.iter().rfind(is_of_worker)?;
    u32::try_from(last["payload"]["pid"].as_u64()?).ok()
}

/// One session from its beginning to its end.
async fn live_once(api: &Api, seed: u64, counts: &Arc<Counts>) {
    let mut random = Random(seed);
    let session = api.session().await;
    let reader = Reader::follow(api, &session, random.below(u64::MAX), counts);
    let path = format!("/v1/sessions/{session}");
    let mut accepted = Vec::new();
    for _ in 0..3 + random.below(8) {
        match random.below(20) {
            0..12 => {
                let scripts = [
                    "echo short",
                    "text 40 4000",
                    "tool execute",
                    "slow 60 5",
                    "flood 2000 100",
                    "tool edit ; echo after it",
                    "terminal-leave sleep 0.05",
                ];
                let script = scripts[usize::try_from(random.below(7)).unwrap()];
                let prompt = json!({ "prompt": script });
                let answer = api.post(&format!("{path}/prompt"), &prompt).await.is(202);
                accepted.push(answer.body["turnId"].as_str().unwrap().to_owned());
                add(&counts.prompts, 1);
            }
            12..15 => {
                api.send(api.request(Method::POST, &format!("{path}/cancel"))).await.is(200);
                add(&counts.cancels, 1);
            }
            15 => {
                if let Some(pid) = worker_of(&log_of(api, &session).await) {
                    proc::kill9(pid);
                    add(&counts.kills, 1);
                }
            }
            16 => _ = api.until_idle(&session).await,
            _ => tokio::time::sleep(Duration::from_millis(random.below(50))).await,
        }
    }
    // Whoever is asked something is asked for ever.
    api.until(&session, |now| {
        ["idle", "requires_action"].contains(&now["status"].as_str().unwrap())
    })
    .await;
    api.send(api.request(Method::POST, &format!("{path}/cancel"))).await.is(200);
    api.until_idle(&session).await;
    let seen = tokio::task::spawn_blocking(move || reader.finish()).await.unwrap();
    let log = log_of(api, &session).await;

    for (event, seq) in log.iter().zip(1_u64..) {
        assert_eq!(event["seq"], seq, "seed {seed:#x}: a hole");
    }
    // An agent that was killed may be noticed after the reader has left.
    assert_eq!(seen[..], log[..seen.len()], "seed {seed:#x}: not what is in the log");
    for turn in accepted {
        let is_end = |event: &&Value| {
            event["turn"] == *turn
                && (event["kind"] == "turn_ended" || event["kind"] == "prompt_dropped")
        };
        assert_eq!(log.iter().filter(is_end).count(), 1, "seed {seed:#x}: the ends of {turn}");
        let has_been_read = seen.iter().any(|event| is_end(&event));
        assert!(has_been_read, "seed {seed:#x}: a reader has not seen the end of {turn}");
    }
    api.delete(&path).await.is(204);
}

fn count_files(dir: &std::path::Path) -> usize {
    std::fs::read_dir(dir).map_or(0, Iterator::count)
}

/// Memory of its own.
fn anonymous_kib(pid: u32) -> f64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

/// How much a value grows in an hour: the slope of the line through the measurements.
fn slope_an_hour(measured: &[(f64, f64)]) -> f64 {
    #[expect(clippy::cast_precision_loss)]
    let n = measured.len() as f64;
    let mean = |of: fn(&(f64, f64)) -> f64| measured.iter().map(of).sum::<f64>() / n;
    let (hours, kib) = (mean(|one| one.0), mean(|one| one.1));
    let over: f64 = measured.iter().map(|one| (one.0 - hours) * (one.1 - kib)).sum();
    let under: f64 = measured.iter().map(|one| (one.0 - hours).powi(2)).sum();
    if under > 0.0 { over / under } else { 0.0 }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn random_traffic_leaves_nothing_wrong_and_nothing_behind() {
    let home = switchyard(EXE);
    // Deaths are not the agent's fault here, and questions are answered.
    let config = "[permissions]\nmode = 'auto'\n[limits]\nsessions_per_token = 100000\n";
    std::fs::write(home.path().join("switchyard.toml"), config).unwrap();
    let api = Arc::new(Api::start_in(home).await);
    let (n_periods, n_lives) = soak::size((1, 3), (12, 60));
    let seed = std::hash::BuildHasher::hash_one(&std::hash::RandomState::new(), "seed");
    println!("seed {seed:#x}");
    let counts = Arc::new(Counts::default());
    let pid = api.daemon.pid();
    let began = Instant::now();
    let mut measured = Vec::new();
    for period in 0..n_periods {
        let actors = (0..N_ACTORS).map(|actor| {
            let (api, counts) = (api.clone(), counts.clone());
            tokio::spawn(async move {
                for life in 0..n_lives {
                    let number = (period * N_ACTORS + actor) * n_lives + life;
                    let own = Random(seed.wrapping_add(number as u64)).below(u64::MAX);
                    live_once(&api, own, &counts).await;
                }
            })
        });
        for actor in actors.collect::<Vec<_>>() {
            actor.await.unwrap();
        }
        // One may be kept warm for the next session.
        let is_quiet = || {
            let below = proc::descendants(pid);
            below.len() <= 2 && count_files(&api.home.path().join("sessions")) == 0
        };
        assert!(wait_until(PATIENCE, is_quiet), "left: {:?}", proc::descendants(pid));
        // Memory is given back a moment after it was freed.
        tokio::time::sleep(soak::size(Duration::ZERO, Duration::from_secs(20))).await;
        let kib = anonymous_kib(pid);
        measured.push((began.elapsed().as_secs_f64() / 3600.0, kib));
        let n_fds = count_files(std::path::Path::new(&format!("/proc/{pid}/fd")));
        println!("{:.0} s: {kib} KiB, {n_fds} descriptors, {counts:?}", began.elapsed().as_secs());
    }

    let listed = api.get("/v1/sessions").await.is(200).body;
    assert_eq!(listed["sessions"], json!([]));
    let health = api.get("/v1/health").await.is(200).body;
    assert_eq!(health["store"].get("lostSessions"), None, "{health}");
    let claims = count_files(&api.home.path().join("claims"));
    assert_eq!(claims, 0, "sessions that nobody has are claimed");
    // The first periods fill caches and pools.
    let settled = &measured[measured.len() / 3..];
    if let [(first, _), .., (last, _)] = settled {
        let slope = slope_an_hour(settled);
        let allowed = MAX_KIB_AN_HOUR + NOISE_KIB / (last - first);
        println!("{slope:.0} KiB an hour, of {allowed:.0} allowed");
        assert!(slope <= allowed, "memory grows by {slope:.0} KiB an hour: {measured:?}");
    }
}
