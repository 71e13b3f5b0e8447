//! `switchyard serve` beside other daemons and the bare pipe, all with the same scripted agent.
//!
//! What is compared runs in turns: a noisy moment of the machine hits all alike. A way that
//! does not work here has a row that says why, and the others go on.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::Context;
use bench::chunk::ChunkRequest;

mod acpx;
mod bare_pipe;
mod body;
mod figures;
mod goals;
mod http;
mod measured_services;
mod processes;
mod rpc;
mod sandbox_agent;
mod service;
mod setup;
mod stdio_to_ws;
mod switchyard;
mod table;
mod tally;

pub(crate) use goals::{DaemonGoalKind, Goal};
pub(crate) use table::end;

use figures::Figures;
use measured_services::MeasuredService;
use processes::Program;
use service::{MeasuredSession, Service, WarmPool};
use setup::{Agent, DaemonBenchSetup};
use switchyard::{EventTransport, Switchyard};
use tally::ChunkTally;

const BURST: u64 = 100_000;
const CHUNK_BYTES: usize = 40;
const FEW: usize = 20;
const MANY: usize = 1000;
const ONE_CHUNK: ChunkRequest = ChunkRequest { n_chunks: 1, n_bytes: CHUNK_BYTES };
/// Prompts before those that are measured, while pages are mapped and code is compiled.
const WARM_UP: usize = 5;
/// The wait before the idle memory is read: start-up work goes on after a daemon listens.
const SETTLE: Duration = Duration::from_millis(500);

pub(crate) struct Options {
    pub(crate) switchyard: PathBuf,
    pub(crate) peers: Option<PathBuf>,
    pub(crate) is_quick: bool,
    pub(crate) is_json: bool,
    pub(crate) n_rounds: Option<usize>,
}

#[derive(Debug, Clone, Copy)]
struct DaemonBenchPlan {
    n_starts: usize,
    n_prompts: usize,
    /// The prompts of the services that take a second for each.
    n_slow_prompts: usize,
    n_bursts: usize,
    n_session_starts: usize,
    /// Whether twenty sessions are made where each takes seconds.
    has_time: bool,
}

impl DaemonBenchPlan {
    const USUAL: Self = Self {
        n_starts: 7,
        n_prompts: 500,
        n_slow_prompts: 10,
        n_bursts: 3,
        n_session_starts: 3,
        has_time: true,
    };
    const QUICK: Self = Self {
        n_starts: 3,
        n_prompts: 100,
        n_slow_prompts: 2,
        n_bursts: 1,
        n_session_starts: 1,
        has_time: false,
    };
}

pub(crate) fn run(options: &Options) -> anyhow::Result<()> {
    bench::peer::allow_many()?;
    let mut pace = if options.is_quick { DaemonBenchPlan::QUICK } else { DaemonBenchPlan::USUAL };
    if let Some(n_rounds) = options.n_rounds {
        (pace.n_bursts, pace.n_session_starts) = (n_rounds.max(1), n_rounds.max(1));
    }
    let stage = DaemonBenchSetup::new(options)?;
    if !options.is_json {
        table::head(pace);
    }
    let rows = MeasuredService::ALL.map(Figures::new).into();
    let mut measuring = DaemonBench { stage, pace, rows };
    measuring.starts();
    measuring.turns();
    measuring.few_sessions();
    measuring.many_sessions();
    measuring.slow_starts();
    let goals = goals::of(&measuring.rows);
    if options.is_json {
        table::json(pace, &measuring.rows, &goals);
    } else {
        table::rows(&measuring.rows);
        table::end(&goals);
    }
    Ok(())
}

struct DaemonBench {
    stage: DaemonBenchSetup,
    pace: DaemonBenchPlan,
    rows: Vec<Figures>,
}

impl DaemonBench {
    /// Does it for every row that works and `is_meant`; one that fails is left out from then on.
    fn each(
        &mut self,
        is_meant: impl Fn(MeasuredService) -> bool,
        step: impl Fn(&DaemonBenchSetup, DaemonBenchPlan, &mut Figures) -> anyhow::Result<()>,
    ) {
        for row in &mut self.rows {
            if row.failure.is_some() || !is_meant(row.through) {
                continue;
            }
            if let Err(error) = step(&self.stage, self.pace, row) {
                row.failure = Some(format!("{error:#}"));
            }
        }
    }

    /// Measures the time from starting the program to its first answer, and its memory then.
    fn starts(&mut self) {
        for _ in 0..self.pace.n_starts {
            let is_meant =
                |through: MeasuredService| through.is_daemon() && !through.is_second_row();
            self.each(is_meant, |stage, _, row| {
                let (service, took) =
                    row.through.start(stage, Agent::Quick, WarmPool::AsItComes)?;
                row.ready_ms.push(ms(took));
                std::thread::sleep(SETTLE);
                row.idle_mb.extend(service.program().map(Program::resident_mb));
                Ok(())
            });
        }
    }

    /// First events and bursts, each in one session that goes on.
    fn turns(&mut self) {
        let mut running = Vec::new();
        for row in &mut self.rows {
            if row.failure.is_some() {
                continue;
            }
            match RunningSession::start(&self.stage, row.through, self.pace) {
                Ok(one) => running.push((one, row)),
                Err(error) => row.failure = Some(format!("{error:#}")),
            }
        }
        for turn in 0..self.pace.n_prompts {
            for (one, row) in &mut running {
                // The few of a slow one are spread over the time of the others.
                let is_due = turn.is_multiple_of(self.pace.n_prompts / one.n_prompts);
                if row.failure.is_none() && is_due {
                    let nanos = one.first_event().map(|took| took.as_nanos());
                    match nanos {
                        Ok(nanos) => row.first.add(u64::try_from(nanos).unwrap_or(u64::MAX)),
                        Err(error) => row.failure = Some(format!("first event: {error:#}")),
                    }
                }
            }
        }
        for _ in 0..self.pace.n_bursts {
            for (one, row) in running.iter_mut().filter(|(_, row)| row.failure.is_none()) {
                match one.burst() {
                    Ok(tally) => row.bursts.push(tally.burst()),
                    Err(error) => row.failure = Some(format!("burst: {error:#}")),
                }
            }
        }
    }

    fn few_sessions(&mut self) {
        let has_time = self.pace.has_time;
        let is_meant = |through: MeasuredService| {
            through != MeasuredService::BarePipe
                && !through.is_second_row()
                && (has_time || !through.is_slow())
        };
        self.each(is_meant, |stage, _, row| {
            let (mut service, _) = row.through.start(stage, Agent::Quick, WarmPool::AsItComes)?;
            let mut conversations = Vec::new();
            for _ in 0..FEW {
                let mut conversation = service.open()?;
                first_event(conversation.as_mut())?;
                conversations.push(conversation);
            }
            std::thread::sleep(SETTLE);
            row.few_mb = service::memory_of(stage, service.as_ref());
            Ok(())
        });
    }

    /// Measures the memory of many sessions without an agent, which only Switchyard has.
    fn many_sessions(&mut self) {
        let is_meant = |through| through == MeasuredService::Switchyard(EventTransport::Sse);
        self.each(is_meant, |stage, _, row| {
            let (service, _) =
                Switchyard::start(stage, Agent::Quick, WarmPool::AsItComes, EventTransport::Sse)?;
            service.create_idle(MANY).context("idle sessions")?;
            std::thread::sleep(SETTLE);
            row.many_mb = service.program().map(Program::resident_mb);
            Ok(())
        });
    }

    fn slow_starts(&mut self) {
        self.each(
            |through| !through.is_second_row(),
            |stage, pace, row| {
                let (mut service, _) = row.through.start(stage, Agent::Slow, WarmPool::Off)?;
                for _ in 0..pace.n_session_starts {
                    row.cold_ms.push(ms(session_start(service.as_mut())?));
                }
                Ok(())
            },
        );
        let is_meant = |through| through == MeasuredService::Switchyard(EventTransport::Sse);
        self.each(is_meant, |stage, pace, row| {
            let started =
                Switchyard::start(stage, Agent::Slow, WarmPool::AsItComes, EventTransport::Sse);
            let (mut service, _) = started.context("warm pool")?;
            // The first is cold, and tells the pool what is wanted.
            session_start(&mut service).context("warm pool")?;
            for _ in 0..pace.n_session_starts {
                service.wait_until_warm()?;
                row.warm_ms.push(ms(session_start(&mut service)?));
            }
            Ok(())
        });
    }
}

/// A session that goes on, and the service that it is in.
struct RunningSession {
    conversation: Box<dyn MeasuredSession>,
    _service: Box<dyn Service>,
    n_prompts: usize,
}

impl RunningSession {
    fn start(
        stage: &DaemonBenchSetup,
        through: MeasuredService,
        pace: DaemonBenchPlan,
    ) -> anyhow::Result<Self> {
        let (mut service, _) = through.start(stage, Agent::Quick, WarmPool::AsItComes)?;
        let mut conversation = service.open().context("no session")?;
        let n_warm_up = if through.is_slow() { 1 } else { WARM_UP };
        for _ in 0..n_warm_up {
            first_event(conversation.as_mut())?;
        }
        let n_prompts = if through.is_slow() { pace.n_slow_prompts } else { pace.n_prompts };
        Ok(Self { conversation, _service: service, n_prompts })
    }

    fn first_event(&mut self) -> anyhow::Result<Duration> {
        first_event(self.conversation.as_mut())
    }

    fn burst(&mut self) -> anyhow::Result<ChunkTally> {
        let request = ChunkRequest { n_chunks: BURST, n_bytes: CHUNK_BYTES };
        let mut tally = ChunkTally::new(BURST);
        self.conversation.prompt(&request.prompt())?;
        while let Some(number) = self.conversation.next()? {
            tally.add(number);
        }
        Ok(tally)
    }
}

/// From sending a prompt to its first event.
fn first_event(conversation: &mut dyn MeasuredSession) -> anyhow::Result<Duration> {
    let started = Instant::now();
    conversation.prompt(&ONE_CHUNK.prompt())?;
    conversation.next()?.context("the turn had no event")?;
    let took = started.elapsed();
    conversation.finish()?;
    Ok(took)
}

/// From asking for a session to the first event of its first turn.
fn session_start(service: &mut dyn Service) -> anyhow::Result<Duration> {
    let started = Instant::now();
    let mut conversation = service.open()?;
    conversation.prompt(&ONE_CHUNK.prompt())?;
    conversation.next()?.context("the turn had no event")?;
    let took = started.elapsed();
    conversation.finish()?;
    Ok(took)
}

fn ms(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}
