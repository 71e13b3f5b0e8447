//! The command line of the daemon.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;
use sessions::permission::PermissionMode;

use crate::cli::session::permission_modes;

#[derive(Debug, Args, Default)]
#[command(
    after_help = "Sessions live in the daemon: clients come and go, the session stays. Most options
are also in [serve] of the configuration; the command line takes precedence.

Examples:
  switchyard serve                                    HTTP and the web page on 127.0.0.1:7433
  switchyard serve --open                             and open the page in the browser
  switchyard serve --tcp 127.0.0.1:7434               and ACP as lines over TCP
  switchyard serve --host 0.0.0.0:7433 --tls-cert c.pem --tls-key k.pem
  curl -H \"Authorization: Bearer $(switchyard token show)\" http://127.0.0.1:7433/v1/sessions

SIGTERM lets turns finish (a second one does not), SIGHUP reloads the configuration"
)]
pub(crate) struct ServeArgs {
    /// Listen address for HTTP: the API and the web page [default: 127.0.0.1:7433]
    #[arg(long, value_name = "ADDR:PORT")]
    pub(crate) host: Option<SocketAddr>,
    /// Also serve ACP over TCP, one message a line; clients send their token first (repeatable)
    #[arg(long, value_name = "ADDR:PORT")]
    pub(crate) tcp: Vec<SocketAddr>,
    /// Also serve ACP on a unix socket, one message a line, to processes of this user (repeatable)
    #[arg(long, value_name = "PATH")]
    pub(crate) unix: Vec<PathBuf>,
    /// TLS certificate chain, PEM; with it HTTP and TCP use TLS
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    pub(crate) tls_cert: Option<PathBuf>,
    /// Private key of the certificate, PEM
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub(crate) tls_key: Option<PathBuf>,
    /// Origin whose web pages may call the API, e.g. `https://design.example` (repeatable)
    #[arg(long, value_name = "ORIGIN")]
    pub(crate) allow_origin: Vec<String>,
    /// Further host name by which the daemon is reached and browsers may log in (repeatable)
    #[arg(long, value_name = "NAME")]
    pub(crate) allow_host: Vec<String>,
    /// Allow listen addresses beyond this machine without TLS
    #[arg(long)]
    pub(crate) insecure: bool,
    /// Default agent, for clients that name none
    #[arg(long, value_name = "AGENT", env = "SWITCHYARD_AGENT")]
    pub(crate) agent: Option<String>,
    /// Permission mode of runs under `/api` whose client names none [default: auto]
    #[arg(long, value_name = "MODE", value_parser = permission_modes())]
    pub(crate) open_design_permissions: Option<PermissionMode>,
    /// Open the web page in the browser, logged in
    #[arg(long)]
    pub(crate) open: bool,
    /// Detach from the terminal that it was started from
    #[arg(long, hide = true)]
    pub(crate) detached: bool,
}
