//! The built-in agent between a model server and an ACP client, beside a plain reader of the
//! same stream and beside other agents.
//!
//! The server and the client are in this process and share a clock: what is measured is the
//! way of a token from one socket write to one read. What is compared runs in turns.

#![allow(clippy::print_stdout, reason = "the table is the result")]

use std::path::PathBuf;
use std::time::Duration;

mod bare;
mod client;
mod figures;
mod measured_agents;
mod model_server;
mod stream;

use bare::Bare;
use client::Client;
use figures::Figures;
use measured_agents::{MeasuredAgent, NativeBenchSetup};
use model_server::ModelServer;
use stream::TokenSource;

const FEW: usize = 20;
const MANY: usize = 100;
/// The pause between tokens, that of a quick model.
const PACE: Duration = Duration::from_millis(2);
const FLOOD: u64 = 50_000;
/// The wait before the idle memory is read: work goes on after an agent's first answer.
const SETTLE: Duration = Duration::from_millis(500);

pub(crate) struct Options {
    pub(crate) switchyard: PathBuf,
    pub(crate) peers: Option<PathBuf>,
    pub(crate) is_quick: bool,
    pub(crate) is_json: bool,
}

#[derive(Debug, Clone, Copy)]
struct NativeBenchPlan {
    starts: usize,
    rounds: usize,
    /// In each round.
    tokens: u64,
    floods: usize,
}

impl NativeBenchPlan {
    const USUAL: Self = Self { starts: 9, rounds: 5, tokens: 500, floods: 3 };
    const QUICK: Self = Self { starts: 3, rounds: 2, tokens: 200, floods: 1 };
}

pub(crate) fn run(options: &Options) -> anyhow::Result<()> {
    let pace = if options.is_quick { NativeBenchPlan::QUICK } else { NativeBenchPlan::USUAL };
    let model = ModelServer::start()?;
    let stage =
        NativeBenchSetup::new(options.switchyard.clone(), options.peers.clone(), model.base_url())?;
    if !options.is_json {
        println!();
        println!(
            "The built-in agent with a scripted model: {} tokens every {} ms, {} floods of {FLOOD} \
             tokens, in turns; memory of all processes, and more for each session with a short \
             turn.",
            u64::try_from(pace.rounds)? * pace.tokens,
            PACE.as_millis(),
            pace.floods,
        );
    }
    let rows = MeasuredAgent::ALL.map(Figures::new).into();
    let mut measuring = NativeBench { stage, model, pace, rows };
    measuring.starts();
    measuring.streams();
    measuring.sessions();
    let goals = figures::goals(&measuring.rows);
    if options.is_json {
        figures::json(&measuring.rows, &goals);
    } else {
        figures::table(&measuring.rows);
        crate::daemon::end(&goals);
    }
    Ok(())
}

struct NativeBench {
    stage: NativeBenchSetup,
    model: ModelServer,
    pace: NativeBenchPlan,
    rows: Vec<Figures>,
}

impl NativeBench {
    /// Measures the time from starting the program to its first answer, and its memory then.
    fn starts(&mut self) {
        for _ in 0..self.pace.starts {
            for row in self.rows.iter_mut().filter(|row| row.through != MeasuredAgent::Bare) {
                let started = match row.failure {
                    Some(_) => continue,
                    None => start(&self.stage, row.through),
                };
                match started {
                    Ok((client, took)) => {
                        row.ready_ms.push(took.as_secs_f64() * 1e3);
                        std::thread::sleep(SETTLE);
                        let (mb, n_processes) = client.memory();
                        row.idle_mb.push(mb);
                        row.n_processes = n_processes;
                    }
                    Err(error) => row.failure = Some(format!("{error:#}")),
                }
            }
        }
    }

    /// Tokens one by one, then as fast as they go, each in one session that goes on.
    fn streams(&mut self) {
        let mut running: Vec<(Box<dyn TokenSource>, &mut Figures)> = Vec::new();
        for row in &mut self.rows {
            if row.failure.is_some() {
                continue;
            }
            match open(&self.stage, &self.model, row.through) {
                Ok(stream) => running.push((stream, row)),
                Err(error) => row.failure = Some(format!("no session: {error:#}")),
            }
        }
        let clock = self.model.clock();
        clock.set_pace(PACE);
        for _ in 0..self.pace.rounds {
            for (stream, row) in running.iter_mut().filter(|(_, row)| row.failure.is_none()) {
                let n_tokens = self.pace.tokens;
                let told = stream::delays(stream.as_mut(), clock, n_tokens, &mut row.delays);
                row.failure = told.err().map(|error| format!("tokens: {error:#}"));
            }
        }
        clock.set_pace(Duration::ZERO);
        for _ in 0..self.pace.floods {
            for (stream, row) in running.iter_mut().filter(|(_, row)| row.failure.is_none()) {
                match stream::rate(stream.as_mut(), clock, FLOOD) {
                    Ok(rate) => row.rates.push(rate),
                    Err(error) => row.failure = Some(format!("flood: {error:#}")),
                }
            }
        }
    }

    /// Measures the memory of each further session.
    fn sessions(&mut self) {
        for row in self.rows.iter_mut().filter(|row| row.through != MeasuredAgent::Bare) {
            if row.failure.is_some() {
                continue;
            }
            if let Err(error) = hold_sessions(&self.stage, row) {
                row.failure = Some(format!("sessions: {error:#}"));
            }
        }
    }
}

fn start(stage: &NativeBenchSetup, through: MeasuredAgent) -> anyhow::Result<(Client, Duration)> {
    Client::start(&mut through.command(stage)?, stage.cwd())
}

fn open(
    stage: &NativeBenchSetup,
    model: &ModelServer,
    through: MeasuredAgent,
) -> anyhow::Result<Box<dyn TokenSource>> {
    let mut stream: Box<dyn TokenSource> = match through {
        MeasuredAgent::Bare => Box::new(Bare::connect(model)?),
        _ => {
            let (mut client, _) = start(stage, through)?;
            client.open()?;
            Box::new(client)
        }
    };
    // A warm-up, while pages are mapped and code is compiled.
    stream::short(stream.as_mut())?;
    Ok(stream)
}

fn hold_sessions(stage: &NativeBenchSetup, row: &mut Figures) -> anyhow::Result<()> {
    let (mut client, _) = start(stage, row.through)?;
    std::thread::sleep(SETTLE);
    let (idle, _) = client.memory();
    // Others take long, or a process each.
    let n_sessions = if row.through.is_ours() { MANY } else { FEW };
    for n in 1..=n_sessions {
        client.open()?;
        stream::short(&mut client)?;
        if n == FEW || n == MANY {
            std::thread::sleep(SETTLE);
            #[allow(clippy::cast_precision_loss, reason = "far below 2^52")]
            let each = (client.memory().0 - idle) / n as f64;
            let slot = if n == FEW { &mut row.few_mb } else { &mut row.many_mb };
            *slot = Some(each);
        }
    }
    Ok(())
}
