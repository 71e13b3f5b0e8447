//! A fixed piece of work for the switch, whose instructions are counted.
//!
//! One client with 256 sessions and one worker, as in the mux rows of the bus measurements.
//! All lines are made before, twice as many as may be played, so that the difference between
//! two runs of different length is the switch and nothing else.

use std::fmt::Write;

use anyhow::Context;
use bus::switch::{
    ClientId, MonotonicMillis, PoolPlan, Switch, SwitchInput, SwitchLimits, SwitchOutput,
    SwitchPlan, WorkerId,
};
use bytes::Bytes;

use crate::request::Request;

const N_SESSIONS: usize = 256;
/// Every history is the same: this is no input.
const SEED: u64 = 1;
const CLIENT: ClientId = ClientId(1);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A request of a client and the worker's answer.
    RoundTrips,
    /// Notifications of the worker, as an agent streams its answer.
    Updates,
}

/// One batch is one message of every session.
#[derive(Debug)]
pub struct SwitchLoad {
    switch: Switch,
    worker: WorkerId,
    batches: Vec<Batch>,
}

#[derive(Debug)]
struct Batch {
    from_client: Vec<Bytes>,
    from_worker: Vec<Bytes>,
}

impl SwitchLoad {
    pub fn new(kind: Kind, n_bytes: usize, n_batches: usize) -> anyhow::Result<Self> {
        let pools = vec![PoolPlan::fixed("bench", "worker", 1)];
        let mut switch = Switch::new(SwitchPlan { pools, limits: SwitchLimits::default() }, SEED)?;
        let mut out = Vec::new();
        switch.take(MonotonicMillis(0), SwitchInput::TimePassed, &mut out);
        let worker = out.iter().find_map(|output| match output {
            SwitchOutput::StartWorker { worker, .. } => Some(*worker),
            _ => None,
        });
        let worker = worker.context("the switch starts no worker")?;
        switch.take(MonotonicMillis(0), SwitchInput::WorkerRuns { worker }, &mut out);
        switch.take(
            MonotonicMillis(0),
            SwitchInput::ClientCame { client: CLIENT, pool: None },
            &mut out,
        );

        let mut lines = Lines::new(n_bytes);
        let opening = lines.round_trips();
        let batches = (0..n_batches).map(|_| match kind {
            Kind::RoundTrips => lines.round_trips(),
            Kind::Updates => lines.updates(n_bytes),
        });
        let batches = batches.collect();
        let mut load = Self { switch, worker, batches };
        // Binds every session to the worker.
        load.play(MonotonicMillis(1), &opening, &mut out);
        Ok(load)
    }

    /// Plays the first batches; returns what came out of the last one.
    pub fn run(&mut self, n_batches: usize) -> Vec<SwitchOutput> {
        let mut out = Vec::new();
        let batches = std::mem::take(&mut self.batches);
        for (now, batch) in (2..).zip(batches.iter().take(n_batches)) {
            self.play(MonotonicMillis(now), batch, &mut out);
        }
        self.batches = batches;
        out
    }

    /// Messages in a batch, of both directions.
    pub fn n_messages(&self) -> usize {
        self.batches.first().map_or(0, |batch| batch.from_client.len() + batch.from_worker.len())
    }

    fn play(&mut self, now: MonotonicMillis, batch: &Batch, out: &mut Vec<SwitchOutput>) {
        out.clear();
        for line in &batch.from_client {
            let input = SwitchInput::ClientLine { client: CLIENT, line: line.clone() };
            self.switch.take(now, input, out);
        }
        for line in &batch.from_worker {
            let input = SwitchInput::WorkerLine { worker: self.worker, line: line.clone() };
            self.switch.take(now, input, out);
        }
    }
}

/// Makes the lines of client and worker, as they come out of one read each.
struct Lines {
    requests: Vec<Request>,
    /// The switch numbers the requests that a worker sees.
    n_asked: u64,
}

impl Lines {
    fn new(n_bytes: usize) -> Self {
        let requests = (0..N_SESSIONS).map(|session| Request::new(session, n_bytes)).collect();
        Self { requests, n_asked: 0 }
    }

    fn round_trips(&mut self) -> Batch {
        let (mut asked, mut answered) = (String::new(), String::new());
        for (session, request) in self.requests.iter_mut().enumerate() {
            let line = String::from_utf8_lossy(request.next_line()).into_owned();
            let params = line.split_once("\"params\":").map_or("{}", |(_, rest)| rest);
            let params = params.trim_end().strip_suffix('}').unwrap_or_default();
            self.n_asked += 1;
            let _ = writeln!(
                answered,
                "{{\"jsonrpc\":\"2.0\",\"id\":{},\"sessionId\":\"sess-{session:06}\",\
                 \"result\":{{\"echo\":{params}}}}}",
                self.n_asked
            );
            asked += &line;
        }
        Batch { from_client: cut(asked), from_worker: cut(answered) }
    }

    fn updates(&self, n_bytes: usize) -> Batch {
        let mut said = String::new();
        for session in 0..self.requests.len() {
            let start = format!(
                "{{\"jsonrpc\":\"2.0\",\"method\":\"session/update\",\"params\":{{\
                 \"sessionId\":\"sess-{session:06}\",\"text\":\""
            );
            let end = "\"}}";
            let n_filling = n_bytes.saturating_sub(start.len() + end.len() + 1);
            let _ = writeln!(said, "{start}{}{end}", "x".repeat(n_filling));
        }
        Batch { from_client: Vec::new(), from_worker: cut(said) }
    }
}

/// Lines without their newlines that share one buffer, as a reader hands them over.
fn cut(text: String) -> Vec<Bytes> {
    let text = Bytes::from(text);
    text.split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty())
        .map(|line| text.slice_ref(line))
        .collect()
}

#[cfg(test)]
mod tests;
