//! The listeners of a bus: `[[listen]]` of its file, and the addresses of the command line.

use std::fmt;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::cli::bus::{BusServeArgs, parse_address};

/// The mode of a socket that is for the user who runs the bus alone.
pub(crate) const PRIVATE_SOCKET_MODE: u32 = 0o600;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BusListener {
    pub(crate) at: BusAddress,
    /// Which pool its clients get.
    pub(crate) pool: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum BusAddress {
    Tcp(SocketAddr),
    Ws(SocketAddr),
    /// A unix socket, with the mode of its file.
    Unix(PathBuf, u32),
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ListenTable {
    tcp: Option<String>,
    ws: Option<String>,
    unix: Option<PathBuf>,
    mode: Option<String>,
    pool: Option<String>,
}

impl BusListener {
    /// The listeners of the command line.
    pub(super) fn all_of(args: &BusServeArgs) -> impl Iterator<Item = Self> {
        let tcp = args.tcp.iter().map(|address| BusAddress::Tcp(*address));
        let ws = args.ws.iter().map(|address| BusAddress::Ws(*address));
        let unix = args.unix.iter().map(|path| BusAddress::Unix(path.clone(), PRIVATE_SOCKET_MODE));
        tcp.chain(unix).chain(ws).map(|at| Self { at, pool: args.pool.clone() })
    }

    /// Relative paths are below `base`.
    pub(super) fn below(mut self, base: &Path) -> Self {
        if let BusAddress::Unix(path, _) = &mut self.at {
            *path = base.join(&*path);
        }
        self
    }
}

impl BusAddress {
    pub(crate) fn needs_token(&self) -> bool {
        matches!(self, Self::Tcp(_) | Self::Ws(_))
    }

    /// Whether nobody but this machine can reach it.
    pub(crate) fn is_local(&self) -> bool {
        match self {
            Self::Tcp(address) | Self::Ws(address) => address.ip().is_loopback(),
            Self::Unix(..) => true,
        }
    }
}

impl fmt::Display for BusAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => write!(f, "tcp {address}"),
            Self::Ws(address) => write!(f, "ws {address}"),
            Self::Unix(path, _) => write!(f, "unix {}", path.display()),
        }
    }
}

impl TryFrom<ListenTable> for BusListener {
    type Error = String;

    fn try_from(table: ListenTable) -> Result<Self, String> {
        let ListenTable { tcp, ws, unix, mode, pool } = table;
        let at = match (tcp, ws, unix) {
            (Some(tcp), None, None) => BusAddress::Tcp(parse_address(&tcp)?),
            (None, Some(ws), None) => BusAddress::Ws(parse_address(&ws)?),
            (None, None, Some(path)) => {
                let mode = mode.as_deref().map_or(Ok(PRIVATE_SOCKET_MODE), parse_mode)?;
                return Ok(Self { at: BusAddress::Unix(path, mode), pool });
            }
            _ => return Err("a listener has exactly one of `tcp`, `unix` and `ws`".to_owned()),
        };
        match mode {
            Some(_) => Err("`mode` is for unix sockets".to_owned()),
            None => Ok(Self { at, pool }),
        }
    }
}

fn parse_mode(text: &str) -> Result<u32, String> {
    let mode = u32::from_str_radix(text, 8).ok().filter(|mode| *mode <= 0o777);
    // Without read and write permission of the user nobody could connect.
    mode.filter(|mode| mode & PRIVATE_SOCKET_MODE == PRIVATE_SOCKET_MODE)
        .ok_or_else(|| format!("{text:?} is no mode for a socket; write it like \"0600\""))
}

#[cfg(test)]
mod tests;
