//! The event log from the outside: real files, real processes, real kills.

mod basics;
mod corrupt;
mod disk_full;
mod fixture;
mod kill;
mod model;
mod processes;
