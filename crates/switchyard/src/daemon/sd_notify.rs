//! Reports the daemon's state to the service manager (systemd's `Type=notify`).
//!
//! In: `NOTIFY_SOCKET` and `WATCHDOG_USEC` of the environment. Out: one datagram a change.
//! Without a manager every call does nothing; one that does not listen is not waited for.

use std::ffi::OsStr;
use std::io;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::time::Duration;

/// The longest line of status, which is for people.
const MAX_STATUS_CHARS: usize = 200;

/// The connection to the service manager, if there is one.
#[derive(Debug, Default)]
pub(crate) struct ServiceManager {
    manager: Option<(UnixDatagram, SocketAddr)>,
    watchdog: Option<Duration>,
}

impl ServiceManager {
    /// Connects as the environment says. What cannot be used is logged and left out.
    pub(crate) fn from_env() -> Self {
        let text = |name: &str| std::env::var(name).ok();
        let watchdog = watchdog(text("WATCHDOG_USEC"), text("WATCHDOG_PID"));
        match std::env::var_os("NOTIFY_SOCKET").filter(|address| !address.is_empty()) {
            Some(address) => Self::to(&address, watchdog).unwrap_or_else(|error| {
                tracing::warn!(%error, ?address, "cannot notify the service manager");
                Self::default()
            }),
            None => Self::default(),
        }
    }

    /// `address` is a path, or `@name` for an abstract socket.
    fn to(address: &OsStr, watchdog: Option<Duration>) -> io::Result<Self> {
        let address = match address.as_bytes() {
            [b'@', name @ ..] => SocketAddr::from_abstract_name(name)?,
            [b'/', ..] => SocketAddr::from_pathname(address)?,
            _ => return Err(io::Error::other("neither a path nor an abstract socket")),
        };
        let socket = UnixDatagram::unbound()?;
        socket.set_nonblocking(true)?;
        Ok(Self { manager: Some((socket, address)), watchdog })
    }

    /// The daemon serves.
    pub(crate) fn ready(&self, status: &str) {
        self.change("READY=1", status);
    }

    /// The configuration is being read again; [`ready`](Self::ready) follows.
    pub(crate) fn reloading(&self) {
        let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
        let micros = now.tv_sec.saturating_mul(1_000_000).saturating_add(now.tv_nsec / 1000);
        self.send(&format!("RELOADING=1\nMONOTONIC_USEC={micros}\n"));
    }

    /// The daemon takes no more and ends.
    pub(crate) fn stopping(&self, status: &str) {
        self.change("STOPPING=1", status);
    }

    /// Says "alive" twice as often as is asked for, for as long as it is polled: a runtime
    /// that hangs falls silent, and the manager starts the daemon anew.
    pub(crate) async fn keep_watchdog(&self) {
        let Some(within) = self.watchdog.filter(|_| self.manager.is_some()) else {
            return std::future::pending().await;
        };
        let mut ticks = tokio::time::interval(within / 2);
        loop {
            ticks.tick().await;
            self.send("WATCHDOG=1\n");
        }
    }

    fn change(&self, state: &str, status: &str) {
        let status = projection::sanitize_line(status, MAX_STATUS_CHARS);
        self.send(&format!("{state}\nSTATUS={status}\n"));
    }

    fn send(&self, state: &str) {
        let Some((socket, address)) = &self.manager else { return };
        if let Err(error) = socket.send_to_addr(state.as_bytes(), address) {
            tracing::warn!(%error, "could not notify the service manager");
        }
    }
}

/// The watchdog interval that the manager asks for, if it means this process.
fn watchdog(micros: Option<String>, pid: Option<String>) -> Option<Duration> {
    let is_meant = pid.is_none_or(|pid| pid.trim() == std::process::id().to_string());
    let micros: u64 = micros.filter(|_| is_meant)?.trim().parse().ok()?;
    (micros > 0).then(|| Duration::from_micros(micros))
}

#[cfg(test)]
mod tests;
