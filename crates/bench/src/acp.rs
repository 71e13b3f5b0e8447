//! The cost of Switchyard in front of an agent, measured against the same agent alone.
//!
//! Each figure stands beside the floor that was measured in the same run: the demo agent on a
//! bare pipe, driven by the same client.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a measurement that fails has no result"
)]
#![allow(clippy::print_stdout, reason = "the table is the result")]

use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

const STARTS: usize = 15;
const PROMPTS: usize = 300;
const FLOOD: usize = 200_000;
const MILLION: usize = 1_000_000;
const CHUNK_BYTES: usize = 40;

pub(crate) fn run(exe: &Path) {
    let place = tempfile::tempdir().unwrap();
    // No session may work where Switchyard keeps its own.
    let [home, work] = ["home", "work"].map(|name| place.path().join(name));
    std::fs::create_dir(&work).unwrap();
    let bench = Bench { exe: exe.to_owned(), home, work };
    println!("{:<44} {:>12} {:>12} {:>9}  goal", "", "bare pipe", "switchyard", "");
    bench.starts();
    bench.first_events();
    bench.throughput();
    bench.memory();
}

struct Bench {
    exe: PathBuf,
    home: PathBuf,
    work: PathBuf,
}

#[derive(Clone, Copy)]
enum MeasuredPath {
    BarePipe,
    Switchyard,
}

impl Bench {
    fn client(&self, through: MeasuredPath) -> Client {
        let exe = self.exe.to_str().unwrap();
        let args: &[&str] = match through {
            MeasuredPath::BarePipe => &["demo-agent"],
            MeasuredPath::Switchyard => &["acp", "--", exe, "demo-agent"],
        };
        let mut command = Command::new(&self.exe);
        command.args(args).env("SWITCHYARD_HOME", &self.home).current_dir(&self.work);
        Client::start(command, self.work.clone())
    }

    /// From starting the process to the answer to `initialize`.
    fn starts(&self) {
        let measure = |through| {
            let started = Instant::now();
            let mut client = self.client(through);
            client.initialize();
            started.elapsed()
        };
        let (mut bare, mut switchyard) = (Vec::new(), Vec::new());
        for _ in 0..STARTS {
            bare.push(measure(MeasuredPath::BarePipe));
            switchyard.push(measure(MeasuredPath::Switchyard));
        }
        let (bare, switchyard) = (percentile(&mut bare, 50), percentile(&mut switchyard, 50));
        row_ms("start to first answer, p50", bare, switchyard, "under 50 ms added", 50.0);
    }

    /// From sending a prompt to the first chunk of its answer.
    fn first_events(&self) {
        let mut clients = [MeasuredPath::BarePipe, MeasuredPath::Switchyard].map(|through| {
            let mut client = self.client(through);
            client.initialize();
            let session = client.new_session();
            (client, session, Vec::new())
        });
        for _ in 0..PROMPTS {
            // Taking turns, so that a noisy moment hits both.
            for (client, session, times) in &mut clients {
                times.push(client.time_to_first_chunk(session));
            }
        }
        let [(_, _, mut bare), (_, _, mut switchyard)] = clients;
        for (percent, goal, limit) in
            [(50, "under 0.5 ms added", 0.5), (99, "under 5 ms added", 5.0)]
        {
            let (bare, switchyard) =
                (percentile(&mut bare, percent), percentile(&mut switchyard, percent));
            row_ms(&format!("prompt to first event, p{percent}"), bare, switchyard, goal, limit);
        }
    }

    /// Events per second from the agent to the client, with the log on.
    fn throughput(&self) {
        let [bare, switchyard] =
            [MeasuredPath::BarePipe, MeasuredPath::Switchyard].map(|through| {
                let mut client = self.client(through);
                client.initialize();
                let session = client.new_session();
                client.flood(&session, FLOOD)
            });
        row_rate("events per second, ACP client", &bare, &switchyard);
        let run = self.run_flood();
        row_rate("events per second, run --format json", &bare, &run);
    }

    fn run_flood(&self) -> BurstResult {
        let mut command = Command::new(&self.exe);
        let prompt = format!("flood {FLOOD} {CHUNK_BYTES}");
        command.args(["run", &prompt, "--format", "json", "--"]).arg(&self.exe).arg("demo-agent");
        command.env("SWITCHYARD_HOME", &self.home).current_dir(&self.work);
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let stdout = BufReader::with_capacity(1 << 20, child.stdout.take().unwrap());
        let (mut n_events, mut first, mut last) = (0, None, Instant::now());
        for line in stdout.lines() {
            if line.unwrap().contains("agent_message_chunk") {
                n_events += 1;
                first.get_or_insert_with(Instant::now);
                last = Instant::now();
            }
        }
        child.wait().unwrap();
        BurstResult { n_events, took: last - first.unwrap_or(last) }
    }

    /// Resident memory, idle and over a million events.
    fn memory(&self) {
        let mut client = self.client(MeasuredPath::Switchyard);
        client.initialize();
        let session = client.new_session();
        let pid = client.child.id();
        let idle = memory_of(pid).resident_kib;
        println!(
            "{:<44} {:>12} {:>9.1} MB {:>9}  under 15 MB {}",
            "resident memory, idle",
            "",
            mb(idle),
            "",
            mark(mb(idle) < 15.0)
        );
        client.flood(&session, MILLION / 10);
        let warm = memory_of(pid).resident_kib;
        let flood = client.flood(&session, MILLION);
        let after = memory_of(pid);
        let growth = mb(after.resident_kib) - mb(warm);
        println!(
            "{:<44} {:>9.1} MB {:>9.1} MB {:>+8.1}M  flat {} (peak {:.1} MB, {} events)",
            "resident memory, after 100k and 1.1M events",
            mb(warm),
            mb(after.resident_kib),
            growth,
            mark(growth < 16.0),
            mb(after.peak_kib),
            flood.n_events,
        );
    }
}

struct Memory {
    resident_kib: u64,
    peak_kib: u64,
}

fn memory_of(pid: u32) -> Memory {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let read = |name: &str| {
        let line = status.lines().find(|line| line.starts_with(name)).unwrap();
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    };
    Memory { resident_kib: read("VmRSS:"), peak_kib: read("VmHWM:") }
}

struct BurstResult {
    n_events: usize,
    took: Duration,
}

/// A small ACP client that costs as little as possible.
struct Client {
    child: Child,
    cwd: PathBuf,
    stdin: BufWriter<ChildStdin>,
    stdout: BufReader<ChildStdout>,
    last_id: u64,
    line: String,
}

impl Client {
    fn start(mut command: Command, cwd: PathBuf) -> Self {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let stdin = BufWriter::new(child.stdin.take().unwrap());
        let stdout = BufReader::with_capacity(1 << 20, child.stdout.take().unwrap());
        Self { child, cwd, stdin, stdout, last_id: 0, line: String::new() }
    }

    fn initialize(&mut self) {
        self.send("initialize", &json!({ "protocolVersion": 1, "clientCapabilities": {} }));
        self.answer();
    }

    fn new_session(&mut self) -> String {
        let params = json!({ "cwd": self.cwd, "mcpServers": [] });
        self.send("session/new", &params);
        self.answer()["sessionId"].as_str().unwrap().to_owned()
    }

    fn time_to_first_chunk(&mut self, session: &str) -> Duration {
        self.prompt(session, "echo x");
        let sent = Instant::now();
        while !self.next().contains("agent_message_chunk") {}
        let took = sent.elapsed();
        self.answer();
        took
    }

    fn flood(&mut self, session: &str, n: usize) -> BurstResult {
        self.prompt(session, &format!("flood {n} {CHUNK_BYTES}"));
        let started = Instant::now();
        let mut n_events = 0;
        let end = format!("\"id\":{}", self.last_id);
        loop {
            let line = self.next();
            if line.contains("agent_message_chunk") {
                n_events += 1;
            } else if line.contains(&end) {
                return BurstResult { n_events, took: started.elapsed() };
            }
        }
    }

    fn prompt(&mut self, session: &str, text: &str) {
        let block = json!({ "type": "text", "text": text });
        self.send("session/prompt", &json!({ "sessionId": session, "prompt": [block] }));
    }

    fn send(&mut self, method: &str, params: &Value) {
        self.last_id += 1;
        let message =
            json!({ "jsonrpc": "2.0", "id": self.last_id, "method": method, "params": params });
        writeln!(self.stdin, "{message}").unwrap();
        self.stdin.flush().unwrap();
    }

    /// The result of the last request.
    fn answer(&mut self) -> Value {
        loop {
            let line = self.next();
            if line.contains("\"method\"") {
                continue;
            }
            let mut message: Value = serde_json::from_str(line).unwrap();
            assert!(message["error"].is_null(), "{message}");
            return message["result"].take();
        }
    }

    fn next(&mut self) -> &str {
        self.line.clear();
        let n_bytes = self.stdout.read_line(&mut self.line).unwrap();
        assert!(n_bytes > 0, "the agent ended");
        &self.line
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn percentile(times: &mut [Duration], percent: usize) -> Duration {
    times.sort_unstable();
    times[(times.len() - 1) * percent / 100]
}

fn row_ms(what: &str, bare: Duration, switchyard: Duration, goal: &str, limit: f64) {
    let ms = |time: Duration| time.as_secs_f64() * 1e3;
    let added = ms(switchyard) - ms(bare);
    println!(
        "{what:<44} {:>9.3} ms {:>9.3} ms {added:>+8.3}m  {goal} {}",
        ms(bare),
        ms(switchyard),
        mark(added < limit)
    );
}

fn row_rate(what: &str, bare: &BurstResult, switchyard: &BurstResult) {
    let rate = |flood: &BurstResult| {
        #[allow(clippy::cast_precision_loss, reason = "far below 2^52")]
        let n_events = flood.n_events as f64;
        n_events / flood.took.as_secs_f64()
    };
    println!(
        "{what:<44} {:>9.0}/s  {:>9.0}/s  {:>8.2}x  at least 50000 {}, {} of {} delivered {}",
        rate(bare),
        rate(switchyard),
        rate(switchyard) / rate(bare),
        mark(rate(switchyard) >= 50_000.0),
        switchyard.n_events,
        bare.n_events,
        mark(switchyard.n_events == bare.n_events),
    );
}

fn mb(kib: u64) -> f64 {
    #[allow(clippy::cast_precision_loss, reason = "far below 2^52")]
    let kib = kib as f64;
    kib / 1024.0
}

fn mark(is_met: bool) -> &'static str {
    if is_met { "(met)" } else { "(MISSED)" }
}
