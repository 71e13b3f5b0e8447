//! Tries the tools on each other: the SDK's client and agent, the tap, our demo agent, `/proc`;
//! and a plain HTTP client on the model server.
//!
//! Every conversation between well-behaved peers ends with the schema's verdict, once as the
//! client saw it and, where a tap stands between, once as the tap saw it.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on has failed")]

mod browser;
mod demo;
mod model_server;
mod processes;
mod sdk_pair;
mod stage;
mod tap;
