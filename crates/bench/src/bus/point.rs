//! One point of the measurements: number of sessions, size of requests, transport.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Point {
    pub(super) over: BusTransport,
    pub(super) n_sessions: usize,
    pub(super) n_bytes: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum BusTransport {
    Tcp,
    Unix,
    /// All sessions over one unix connection.
    UnixMux,
}

impl BusTransport {
    pub(crate) const ALL: [Self; 3] = [Self::Tcp, Self::Unix, Self::UnixMux];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Tcp => "tcp",
            Self::Unix => "unix",
            Self::UnixMux => "unix mux",
        }
    }
}
