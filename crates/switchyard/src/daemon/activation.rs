//! Listeners that the service manager opened for us (systemd's socket activation).
//!
//! In: `LISTEN_FDS`, `LISTEN_PID` and `LISTEN_FDNAMES`. Out: the sockets, by what they are
//! for. A socket with a name that we do not know is an error: a listener that nobody
//! accepts on would look open and be dead.

use std::io;
use std::net::TcpListener;
use std::os::fd::AsFd;
use std::os::unix::net::UnixListener;

use listenfd::ListenFd;

/// Inherited listeners; all are non-blocking and closed in children.
#[derive(Debug, Default)]
pub(crate) struct InheritedListeners {
    /// `FileDescriptorName=http`: the HTTP API.
    pub(crate) http: Vec<TcpListener>,
    /// `acp-tcp`: lines of ACP.
    pub(crate) acp_tcp: Vec<TcpListener>,
    /// `acp-unix`: the same on a unix socket.
    pub(crate) acp_unix: Vec<UnixListener>,
    /// `private`: the HTTP API for the same user.
    pub(crate) private: Vec<UnixListener>,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum ActivationError {
    #[error(
        "the service manager passed a socket named `{name}`; \
         known are http, acp-tcp, acp-unix and private (FileDescriptorName=)"
    )]
    UnknownName { name: String },
    #[error("the service manager passed {n_fds} sockets and {n_names} names for them")]
    Unnamed { n_fds: usize, n_names: usize },
    #[error("the socket `{name}` cannot be used: {error}")]
    Unusable { name: String, error: std::io::Error },
}

/// Takes the inherited listeners. To be called once, while the process has one thread: it
/// removes the variables from the environment, so that no child takes them for its own.
pub(crate) fn inherited() -> Result<InheritedListeners, ActivationError> {
    let names = std::env::var("LISTEN_FDNAMES").unwrap_or_default();
    sort(ListenFd::from_env(), &names)
}

fn sort(mut fds: ListenFd, names: &str) -> Result<InheritedListeners, ActivationError> {
    let mut inherited = InheritedListeners::default();
    if fds.len() == 0 {
        return Ok(inherited);
    }
    let names: Vec<&str> = names.split(':').collect();
    // `systemd-socket-activate` and others without names pass the one that matters.
    let names = match (names.as_slice(), fds.len()) {
        (["" | "unknown"], 1) => vec!["http"],
        (names, n_fds) if names.len() == n_fds => names.to_vec(),
        (names, n_fds) => {
            let n_names = names.iter().filter(|name| !name.is_empty()).count();
            return Err(ActivationError::Unnamed { n_fds, n_names });
        }
    };
    for (index, name) in names.into_iter().enumerate() {
        let unusable = |error| ActivationError::Unusable { name: name.to_owned(), error };
        match name {
            "http" => keep(fds.take_tcp_listener(index), &mut inherited.http),
            "acp-tcp" => keep(fds.take_tcp_listener(index), &mut inherited.acp_tcp),
            "acp-unix" => keep(fds.take_unix_listener(index), &mut inherited.acp_unix),
            "private" => keep(fds.take_unix_listener(index), &mut inherited.private),
            name => return Err(ActivationError::UnknownName { name: name.to_owned() }),
        }
        .map_err(unusable)?;
    }
    Ok(inherited)
}

fn keep<L: AsFd>(taken: io::Result<Option<L>>, kept: &mut Vec<L>) -> io::Result<()> {
    let Some(listener) = taken? else { return Ok(()) };
    rustix::io::ioctl_fionbio(&listener, true)?;
    kept.push(listener);
    Ok(())
}

#[cfg(test)]
mod tests;
