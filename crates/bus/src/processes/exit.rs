//! How a worker ended, in a form for logs and people.

use std::fmt;

use super::cgroup::LimitHit;

/// The end of the direct worker process.
///
/// At most one of `code` and `signal` is there; neither when the keeper was lost before it
/// could tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ExitReport {
    pub code: Option<i32>,
    pub signal: Option<i32>,
    /// The limit that explains it, where one is known to.
    pub limit: Option<LimitHit>,
    /// The keeper died before the tree was gone, so we ended the tree without it.
    pub keeper_lost: bool,
    /// Processes that could not be ended (another user's after sudo, or stuck in the kernel).
    /// Only known after `ended` or `stop`.
    pub n_left: u32,
}

impl ExitReport {
    pub fn is_success(&self) -> bool {
        self.code == Some(0)
    }

    pub(crate) fn lost() -> Self {
        Self { keeper_lost: true, ..Self::default() }
    }
}

impl fmt::Display for ExitReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.code, self.signal) {
            (Some(code), _) => write!(f, "exit code {code}")?,
            (None, Some(signal)) => match signal_name(signal) {
                Some(name) => write!(f, "killed by {name} ({signal})")?,
                None => write!(f, "killed by signal {signal}")?,
            },
            (None, None) => write!(f, "exit status unknown")?,
        }
        if let Some(limit) = self.limit {
            write!(f, ", {limit}")?;
        }
        if self.keeper_lost {
            write!(f, ", keeper lost")?;
        }
        if self.n_left > 0 {
            write!(f, ", {} processes could not be ended", self.n_left)?;
        }
        Ok(())
    }
}

fn signal_name(signal: i32) -> Option<&'static str> {
    // The numbers that are the same on every Linux architecture we build for.
    Some(match signal {
        1 => "SIGHUP",
        2 => "SIGINT",
        3 => "SIGQUIT",
        4 => "SIGILL",
        5 => "SIGTRAP",
        6 => "SIGABRT",
        7 => "SIGBUS",
        8 => "SIGFPE",
        9 => "SIGKILL",
        10 => "SIGUSR1",
        11 => "SIGSEGV",
        12 => "SIGUSR2",
        13 => "SIGPIPE",
        14 => "SIGALRM",
        15 => "SIGTERM",
        24 => "SIGXCPU",
        25 => "SIGXFSZ",
        31 => "SIGSYS",
        _ => return None,
    })
}

#[cfg(test)]
mod tests;
