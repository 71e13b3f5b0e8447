//! The command line of the daemon.

use std::net::SocketAddr;

use clap::Args;

#[derive(Debug, Args)]
pub(crate) struct ServeArgs {
    /// Where to listen for HTTP
    #[arg(long, value_name = "ADDR:PORT", default_value = "127.0.0.1:7433")]
    pub(crate) host: SocketAddr,
}
