//! The real binary, driven as its users and its enemies would.

// A test that cannot go on says so by panicking.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod adapters;
mod adapters_turns;
mod agents;
mod attacks;
mod audit;
mod browser_attack;
mod browser_events;
mod bus;
mod bus_acp;
mod bus_clients;
mod bus_doors;
mod bus_ends;
mod bus_ids;
mod bus_lines;
mod bus_replay;
mod bus_supervision;
mod bus_workers;
mod bus_ws;
mod cli;
mod conformance;
mod faults;
mod faults_disk;
mod faults_kill;
mod faults_tree;
mod front;
mod limits;
mod limits_session;
mod limits_stage;
mod logs;
mod schema_run;
mod serve_acp;
mod serve_cli;
mod serve_crash;
mod serve_events;
mod serve_open_design;
mod serve_rest;
mod service;
mod tidy;
mod traces;
mod webhook;
