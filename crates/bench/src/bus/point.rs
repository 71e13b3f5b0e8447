//! One point of the measurements: how many sessions, how large, over what.

use super::Pace;
use super::router::{Stage, Through};
use super::series::Series;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Point {
    pub(super) over: Over,
    pub(super) n_sessions: usize,
    pub(super) n_bytes: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Over {
    Tcp,
    Unix,
    /// All sessions over one unix connection.
    UnixMux,
}

impl Over {
    pub(crate) const ALL: [Self; 3] = [Self::Tcp, Self::Unix, Self::UnixMux];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Tcp => "tcp",
            Self::Unix => "unix",
            Self::UnixMux => "unix mux",
        }
    }
}

impl Point {
    pub(super) fn measure(
        self,
        stage: &Stage,
        pace: Pace,
        routers: &[Through],
    ) -> anyhow::Result<Vec<(Through, Series)>> {
        // A socket pair is the same whatever it is compared with.
        let floor = (self.over == Over::Tcp).then_some(Through::Floor);
        let mut all: Vec<_> =
            floor.iter().chain(routers).map(|through| (*through, Series::default())).collect();
        for round in 0..pace.n_rounds {
            // Nobody always comes after the same neighbour.
            let n_all = all.len();
            for turn in 0..n_all {
                if let Some((through, series)) = all.get_mut((turn + round) % n_all) {
                    series.add(stage.run(*through, self, pace)?);
                }
            }
        }
        Ok(all)
    }
}
