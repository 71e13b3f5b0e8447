//! How long the switch takes for one line, without pipes around it.
//!
//! One client with many sessions on one worker; each session has one request open. Outputs are
//! gathered after every line, as around a real switch.
//!
//! `cargo run --release -p bus --example switch_speed`, or with `BYTES ROUNDS` for one size, as
//! in `valgrind --tool=callgrind …/examples/switch_speed 200 100`.

use std::io::Write as _;
use std::time::{Duration, Instant};

use bus::switch::{
    ClientId, MonotonicMillis, PoolPlan, Switch, SwitchInput, SwitchLimits, SwitchOutput,
    SwitchPlan, WorkerId,
};
use bytes::Bytes;

const N_SESSIONS: usize = 256;
/// What is read at once.
const BUFFER: usize = 256 << 10;
/// Lines that are shorter are copied to be written together.
const SMALL: usize = 8 << 10;
const CLIENT: ClientId = ClientId(1);
const WORKER: WorkerId = WorkerId(1);

/// What the lines look like.
#[derive(Clone, Copy, PartialEq)]
enum Shape {
    /// `sessionId` is in `params`, and not in answers; the text has an escape now and then.
    Acp,
    /// The same without escapes.
    Plain,
    /// `sessionId` also stands beside the method and the result.
    Doubled,
}

fn main() {
    let numbers: Vec<usize> = std::env::args().filter_map(|arg| arg.parse().ok()).collect();
    let sizes = match numbers[..] {
        [n_bytes, n_rounds] => vec![(n_bytes, n_rounds)],
        _ => vec![(200, 4000), (2048, 4000), (16 << 10, 4000), (256 << 10, 1000)],
    };
    for (n_bytes, n_rounds) in sizes {
        for (name, shape) in
            [("acp", Shape::Acp), ("plain", Shape::Plain), ("doubled", Shape::Doubled)]
        {
            let [asks, answers] = measure(n_bytes, n_rounds, shape);
            let (ask, answer) = (asks.as_nanos(), answers.as_nanos());
            let _ = writeln!(
                std::io::stdout(),
                "{n_bytes:>7} bytes, {name:<8} request {ask:>6} ns   answer {answer:>6} ns"
            );
        }
    }
}

/// The time for one request and for one answer; of the best tenth of the rounds, so that
/// whatever else runs on the machine counts less.
fn measure(n_bytes: usize, n_rounds: usize, shape: Shape) -> [Duration; 2] {
    let plan = SwitchPlan {
        pools: vec![PoolPlan::fixed("p", "echo", 1)],
        limits: SwitchLimits::default(),
    };
    let Ok(mut switch) = Switch::new(plan, 1) else { return [Duration::ZERO; 2] };
    let mut out = Vec::new();
    switch.take(MonotonicMillis(0), SwitchInput::TimePassed, &mut out);
    switch.take(MonotonicMillis(0), SwitchInput::WorkerRuns { worker: WORKER }, &mut out);
    switch.take(
        MonotonicMillis(0),
        SwitchInput::ClientCame { client: CLIENT, pool: None },
        &mut out,
    );

    let n_lines = (BUFFER / n_bytes).clamp(1, N_SESSIONS);
    let mut outbox = Outbox::default();
    let mut times = [Vec::new(), Vec::new()];
    for round in 0..n_rounds {
        let ids = round * n_lines..(round + 1) * n_lines;
        let requests: Vec<_> = ids.clone().map(|id| request(id, n_bytes, shape)).collect();
        let start = Instant::now();
        for line in &requests {
            switch.take_client_line(MonotonicMillis(0), CLIENT, line.as_bytes(), &mut out);
            outbox.fill(&mut out);
        }
        times[0].push(start.elapsed());
        outbox.check(n_lines, n_bytes);

        let answers: Vec<_> = ids.map(|id| answer(id, n_bytes, shape)).collect();
        let start = Instant::now();
        for line in &answers {
            switch.take_worker_line(MonotonicMillis(0), WORKER, line.as_bytes(), &mut out);
            outbox.fill(&mut out);
        }
        times[1].push(start.elapsed());
        outbox.check(n_lines, n_bytes);
    }
    times.map(|mut times| {
        times.sort_unstable();
        let best = &times[..times.len().div_ceil(10)];
        best.iter().sum::<Duration>() / u32::try_from(best.len() * n_lines).unwrap_or(1)
    })
}

/// What waits to be written: small lines in one buffer, large ones as they are.
#[derive(Default)]
struct Outbox {
    small: Vec<u8>,
    large: Vec<Bytes>,
}

impl Outbox {
    fn fill(&mut self, out: &mut Vec<SwitchOutput>) {
        for output in out.drain(..) {
            match output {
                SwitchOutput::ToClient { line, .. } | SwitchOutput::ToWorker { line, .. } => {
                    if line.len() < SMALL {
                        self.small.extend_from_slice(&line);
                    } else {
                        self.large.push(line);
                    }
                }
                _ => {}
            }
        }
    }

    /// Whether everything came through; empties it.
    fn check(&mut self, n_lines: usize, n_bytes: usize) {
        let n_large: usize = self.large.iter().map(Bytes::len).sum();
        let n_found = self.small.len() + n_large;
        assert!(n_found > n_lines * n_bytes / 2, "{n_found} bytes of {n_lines} lines");
        self.small.clear();
        self.large.clear();
    }
}

fn request(id: usize, n_bytes: usize, shape: Shape) -> String {
    let (session, text) = (id % N_SESSIONS, text(n_bytes, shape));
    let params = format!("{{\"sessionId\":\"sess-{session}\",\"text\":\"{text}\"}}");
    let beside = beside(id, shape);
    format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":{id}{beside},\"method\":\"session/prompt\",\"params\":{params}}}"
    )
}

/// The worker sees requests counted from 1.
fn answer(asked: usize, n_bytes: usize, shape: Shape) -> String {
    let (id, text, beside) = (asked + 1, text(n_bytes, shape), beside(asked, shape));
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{id}{beside},\"result\":{{\"text\":\"{text}\"}}}}")
}

fn beside(id: usize, shape: Shape) -> String {
    match shape {
        Shape::Acp | Shape::Plain => String::new(),
        Shape::Doubled => format!(",\"sessionId\":\"sess-{}\"", id % N_SESSIONS),
    }
}

/// Some text, as code is.
fn text(n_bytes: usize, shape: Shape) -> String {
    let end = if shape == Shape::Plain { "; " } else { "\\n" };
    let line = format!("let sum = a + b; // the sum of both, and a little more of it{end}");
    let mut text = line.repeat(n_bytes / line.len() + 1);
    text.truncate(n_bytes.saturating_sub(110).max(1));
    while text.ends_with('\\') {
        text.pop();
    }
    text
}
