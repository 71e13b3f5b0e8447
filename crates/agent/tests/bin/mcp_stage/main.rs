//! What the tests of MCP start: a keeper, a server built with the official SDK, and one that
//! does whatever a test wants.
//!
//! In: the name of a part to play. Out: the protocol on stdout, if the part knows it.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a server for tests may fail")]

mod official;
mod played;

use std::process::ExitCode;

use rmcp::ServiceExt as _;

fn main() -> ExitCode {
    let part = std::env::args().nth(1).unwrap_or_default();
    match part.as_str() {
        "__keeper" => return bus::keeper::main(),
        "official" => serve_official(),
        part => played::play(part),
    }
    ExitCode::SUCCESS
}

fn serve_official() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let server = official::Official.serve(rmcp::transport::stdio()).await.unwrap();
        server.waiting().await.unwrap();
    });
}
