//! Tests of all projections together: over recordings of real agents, and over nonsense.

pub(crate) mod log;
mod properties;
mod recording;
mod snapshots;
