//! Round trips through `switchyard bus`, beside a bare socket pair (the floor), the cheapest
//! router there can be, and stdio Bus where it can be had.
//!
//! Everything that is compared runs in turns, in short rounds, each with fresh processes: a
//! noisy moment of the machine hits all alike. Figures are medians over the rounds; ratios are
//! medians of the rounds' own ratios.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use anyhow::Context;

mod goals;
mod point;
mod router;
mod series;
mod table;

pub(crate) use point::BusTransport;
use point::Point;
use router::{BusBenchSetup, MeasuredRouter};
use series::Series;

pub(crate) const SESSIONS: [usize; 4] = [1, 16, 256, 1000];
pub(crate) const BYTES: [usize; 2] = [SMALL, LARGE];
const SMALL: usize = 200;
const LARGE: usize = 16 << 10;

pub(crate) struct Options {
    pub(crate) switchyard: PathBuf,
    pub(crate) stdio_bus: Option<PathBuf>,
    pub(crate) is_quick: bool,
    pub(crate) is_json: bool,
    pub(crate) is_fifo: bool,
    pub(crate) n_rounds: Option<usize>,
    pub(crate) n_sessions: Vec<usize>,
    pub(crate) n_bytes: Vec<usize>,
    pub(crate) over: Vec<BusTransport>,
}

/// The duration of one run, and the number of rounds. All points together take less than
/// six minutes, and less than one when it is to be quick.
#[derive(Debug, Clone, Copy)]
struct BusBenchPlan {
    warm: Duration,
    measure: Duration,
    n_rounds: usize,
}

impl BusBenchPlan {
    const USUAL: Self =
        Self { warm: Duration::from_millis(100), measure: Duration::from_millis(350), n_rounds: 5 };
    const QUICK: Self =
        Self { warm: Duration::from_millis(50), measure: Duration::from_millis(150), n_rounds: 1 };
}

pub(crate) fn run(options: &Options) -> anyhow::Result<()> {
    bench::peer::allow_many()?;
    let mut pace = if options.is_quick { BusBenchPlan::QUICK } else { BusBenchPlan::USUAL };
    pace.n_rounds = options.n_rounds.unwrap_or(pace.n_rounds).max(1);
    let (routers, notes) = routers(options)?;
    let stage = BusBenchSetup::new(options)?;
    let mut all = Vec::new();
    if !options.is_json {
        table::head(pace, &notes);
    }
    for n_bytes in options.n_bytes.iter().copied() {
        for n_sessions in options.n_sessions.iter().copied() {
            for over in options.over.iter().copied() {
                let point = Point { over, n_sessions, n_bytes };
                let series = stage.measure(point, pace, &routers)?;
                if !options.is_json {
                    table::rows(point, &series);
                }
                all.push((point, series));
            }
        }
    }
    let goals = goals::of(&all);
    if options.is_json {
        table::json(pace, &notes, &all, &goals)
    } else {
        table::end(&all, &goals, options.is_fifo);
        Ok(())
    }
}

/// The routers that can be measured here, and the reasons why others cannot.
fn routers(options: &Options) -> anyhow::Result<(Vec<MeasuredRouter>, Vec<String>)> {
    let (mut routers, mut notes) = (vec![MeasuredRouter::Reference], Vec::new());
    match options.stdio_bus {
        Some(_) => routers.push(MeasuredRouter::StdioBus),
        None => notes.push("stdio Bus is not here to be compared with".to_owned()),
    }
    let mut help = Command::new(&options.switchyard);
    let help = help.args(["bus", "--help"]).output().context("cannot run switchyard")?;
    if help.status.success() {
        routers.push(MeasuredRouter::Switchyard);
    } else {
        notes.push("this switchyard has no `bus`".to_owned());
    }
    Ok((routers, notes))
}

type MeasuredPoint = (Point, Vec<(MeasuredRouter, Series)>);
