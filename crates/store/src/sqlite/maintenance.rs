//! Looking after a log as files: check, back up, restore, repair, compact.
//!
//! In: the log's directory, whether or not somebody has it open. Out: reports that name each
//! session with something wrong. All of it blocks on the disk. What reads does so in portions
//! beside whoever writes; what replaces files needs the log for itself.

mod backup;
mod check;
mod compact;
mod copying;
mod reading_place;
mod salvage;
mod swap;
mod wal_frames;

use std::fmt;

use wire::{Seq, SessionId};

use crate::Damage;
pub use backup::{BackupOptions, backup, restore};
pub use check::{CheckOptions, CheckReport, CheckedPlace, check};
pub use compact::{CompactReport, compact};
pub use copying::CopyReport;
pub(super) use salvage::repair_before_open;
pub use salvage::{RepairReport, repair};
pub use wal_frames::WalDamage;

/// Progress of a long task, in bytes of events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    pub done: u64,
    pub total: u64,
}

pub type OnProgress<'a> = &'a mut dyn FnMut(Progress);

/// A session with something wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionFinding {
    /// `None` when not even its id is left.
    pub session: Option<SessionId>,
    pub problems: Vec<SessionProblem>,
    /// Its last event that can be read and is the one that was written, if it is there at all.
    pub intact_to: Option<Seq>,
}

impl SessionFinding {
    /// Whether nothing of it is left but that it was there.
    pub fn is_lost(&self) -> bool {
        self.problems.iter().any(|problem| matches!(problem, SessionProblem::Lost { .. }))
    }
}

/// What is wrong with a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionProblem {
    /// The second copy of the heads knows it, the database does not.
    Lost { head: Seq },
    /// Its record does not match its checksum.
    Record,
    /// This event does not match its checksum or is missing, so that it and those behind it, up to
    /// the head, cannot be relied on.
    Event { seq: Seq, head: Seq },
    /// Acknowledged events that are missing at the end.
    Missing(Damage),
    /// What it was made from does not match its checksum.
    Origin,
    /// There are events of a session that nothing names.
    Nameless,
}

impl fmt::Display for SessionProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Lost { head } => write!(f, "is lost with its {} events", head.0),
            Self::Record => f.write_str("its record does not match its checksum"),
            Self::Event { seq, head } => {
                write!(f, "event {} of {} does not match its checksum or is missing", seq.0, head.0)
            }
            Self::Missing(Damage { lost_from, lost_to }) if lost_from > lost_to => {
                f.write_str("a later change of its record is missing")
            }
            Self::Missing(Damage { lost_from, lost_to }) => {
                write!(f, "acknowledged events {} to {} are missing", lost_from.0, lost_to.0)
            }
            Self::Origin => f.write_str("what it was made from does not match its checksum"),
            Self::Nameless => f.write_str("there are events of a session that nothing names"),
        }
    }
}

/// The files that were replaced, kept beside the new ones.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptFiles {
    pub dir: std::path::PathBuf,
}
