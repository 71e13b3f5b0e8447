//! The command line of the daemon.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;

use crate::cli::session::PermissionMode;

#[derive(Debug, Args, Default)]
#[command(
    after_help = "Sessions live here: clients come and go, the session stays. Everything is also in
[serve] of the configuration; the command line wins.

Examples:
  switchyard serve                                    HTTP and the page on 127.0.0.1:7433
  switchyard serve --open                             and the page in the browser
  switchyard serve --tcp 127.0.0.1:7434               and ACP as lines over TCP
  switchyard serve --host 0.0.0.0:7433 --tls-cert c.pem --tls-key k.pem
  curl -H \"Authorization: Bearer $(switchyard token show)\" http://127.0.0.1:7433/v1/sessions

SIGTERM lets turns finish (a second one does not), SIGHUP reads the configuration again"
)]
pub(crate) struct ServeArgs {
    /// Where to listen for HTTP [default: 127.0.0.1:7433]
    #[arg(long, value_name = "ADDR:PORT")]
    pub(crate) host: Option<SocketAddr>,
    /// Also speak ACP as lines over TCP; clients show their token first (repeatable)
    #[arg(long, value_name = "ADDR:PORT")]
    pub(crate) tcp: Vec<SocketAddr>,
    /// Also speak ACP as lines on a unix socket, with processes of this user (repeatable)
    #[arg(long, value_name = "PATH")]
    pub(crate) unix: Vec<PathBuf>,
    /// Certificate chain, PEM; with it HTTP and TCP are TLS
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    pub(crate) tls_cert: Option<PathBuf>,
    /// Its key, PEM
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub(crate) tls_key: Option<PathBuf>,
    /// A web page's origin that may call, e.g. `https://design.example` (repeatable)
    #[arg(long, value_name = "ORIGIN")]
    pub(crate) allow_origin: Vec<String>,
    /// A further name under which the daemon is reached and browsers may log in (repeatable)
    #[arg(long, value_name = "NAME")]
    pub(crate) allow_host: Vec<String>,
    /// Listen beyond this machine without TLS
    #[arg(long)]
    pub(crate) insecure: bool,
    /// The agent of clients that name none
    #[arg(long, value_name = "AGENT", env = "SWITCHYARD_AGENT")]
    pub(crate) agent: Option<String>,
    /// What runs under `/api` may do when their client does not say it [default: auto]
    #[arg(long, value_enum, value_name = "MODE")]
    pub(crate) open_design_permissions: Option<PermissionMode>,
    /// Open the page in the browser, logged in
    #[arg(long)]
    pub(crate) open: bool,
    /// Leave the terminal that it was started from
    #[arg(long, hide = true)]
    pub(crate) detached: bool,
}
