//! How long the switch takes for one line, without pipes around it.
//!
//! One client with many sessions on one worker; each session has one request open. Lines are
//! slices of a read buffer, as the shell hands them over, and outputs are dropped as the shell
//! does after copying them.
//!
//! `cargo run --release -p bus --example switch_speed`, or with `BYTES ROUNDS` for one size, as
//! in `valgrind --tool=callgrind …/examples/switch_speed 200 100`.

use std::io::Write as _;
use std::time::{Duration, Instant};

use bus::switch::{ClientId, Input, Limits, Millis, Output, Plan, PoolPlan, Switch, WorkerId};
use bytes::{Bytes, BytesMut};

const N_SESSIONS: usize = 256;
/// What is read at once.
const BUFFER: usize = 256 << 10;
const CLIENT: ClientId = ClientId(1);
const WORKER: WorkerId = WorkerId(1);

/// Where `sessionId` stands.
#[derive(Clone, Copy)]
enum Shape {
    /// In `params`, and not in answers.
    Acp,
    /// In `params`, and beside the method and the result too.
    Doubled,
}

fn main() {
    let numbers: Vec<usize> = std::env::args().filter_map(|arg| arg.parse().ok()).collect();
    let sizes = match numbers[..] {
        [n_bytes, n_rounds] => vec![(n_bytes, n_rounds)],
        _ => vec![(200, 4000), (2048, 4000), (16 << 10, 4000), (256 << 10, 1000)],
    };
    for (n_bytes, n_rounds) in sizes {
        for (name, shape) in [("acp", Shape::Acp), ("doubled", Shape::Doubled)] {
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
    let plan = Plan { pools: vec![PoolPlan::fixed("p", "echo", 1)], limits: Limits::default() };
    let Ok(mut switch) = Switch::new(plan, 1) else { return [Duration::ZERO; 2] };
    let mut out = Vec::new();
    switch.take(Millis(0), Input::TimePassed, &mut out);
    switch.take(Millis(0), Input::WorkerRuns { worker: WORKER }, &mut out);
    switch.take(Millis(0), Input::ClientCame { client: CLIENT, pool: None }, &mut out);

    let n_lines = (BUFFER / n_bytes).clamp(1, N_SESSIONS);
    let mut times = [Vec::new(), Vec::new()];
    for round in 0..n_rounds {
        let ids = round * n_lines..(round + 1) * n_lines;
        let lines = buffered(ids.clone().map(|id| request(id, n_bytes, shape)));
        out.clear();
        let start = Instant::now();
        for line in &lines {
            let input = Input::ClientLine { client: CLIENT, line: line.clone() };
            switch.take(Millis(0), input, &mut out);
        }
        times[0].push(start.elapsed());

        let answers = ids.zip(&out).map(|(id, output)| answer(id, output, n_bytes, shape));
        let lines = buffered(answers);
        let start = Instant::now();
        out.clear();
        for line in &lines {
            let input = Input::WorkerLine { worker: WORKER, line: line.clone() };
            switch.take(Millis(0), input, &mut out);
        }
        times[1].push(start.elapsed());
    }
    times.map(|mut times| {
        times.sort_unstable();
        let best = &times[..times.len().div_ceil(10)];
        best.iter().sum::<Duration>() / u32::try_from(best.len() * n_lines).unwrap_or(1)
    })
}

/// The lines as slices of one buffer.
fn buffered(lines: impl Iterator<Item = String>) -> Vec<Bytes> {
    let lines: Vec<String> = lines.collect();
    let mut buffer: BytesMut = lines.concat().as_str().into();
    lines.iter().map(|line| buffer.split_to(line.len()).freeze()).collect()
}

fn request(id: usize, n_bytes: usize, shape: Shape) -> String {
    let (session, text) = (id % N_SESSIONS, text(n_bytes));
    let params = format!("{{\"sessionId\":\"sess-{session}\",\"text\":\"{text}\"}}");
    let beside = beside(id, shape);
    format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":{id}{beside},\"method\":\"session/prompt\",\"params\":{params}}}"
    )
}

fn answer(asked: usize, request: &Output, n_bytes: usize, shape: Shape) -> String {
    let Output::ToWorker { line, .. } = request else { return String::new() };
    let line = String::from_utf8_lossy(line);
    let id = line.split("\"id\":").nth(1).and_then(|rest| rest.split(',').next());
    let (id, text, beside) = (id.unwrap_or_default(), text(n_bytes), beside(asked, shape));
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{id}{beside},\"result\":{{\"text\":\"{text}\"}}}}")
}

fn beside(id: usize, shape: Shape) -> String {
    match shape {
        Shape::Acp => String::new(),
        Shape::Doubled => format!(",\"sessionId\":\"sess-{}\"", id % N_SESSIONS),
    }
}

/// Some text with an escape now and then, as code has them.
fn text(n_bytes: usize) -> String {
    let mut text =
        "let sum = a + b; // the sum of both, and a little more of it\\n".repeat(n_bytes / 60 + 1);
    text.truncate((n_bytes.saturating_sub(110)).max(1));
    while text.ends_with('\\') {
        text.pop();
    }
    text
}
