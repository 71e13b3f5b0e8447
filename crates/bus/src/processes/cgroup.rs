//! A cgroup per worker, where we may have one.
//!
//! In: our own place in the cgroup v2 tree. Out: a child group that holds exactly one worker's
//! processes, which one write kills all at once, however they forked, and which may be held to
//! limits. It is a second belt beside the keeper: every function here may fail, and then the worker
//! runs without it.
//!
//! Where the workers of a session have limits together, their groups are inside one of the session.
//! A process that hands on controllers is itself in a group beside them:
//!
//! ```text
//! switchyard.service/
//!   switchyard-daemon/            Switchyard and the keepers
//!   switchyard-MARKER/            a worker of no session, or of one without limits
//!   switchyard-session-ID/
//!     switchyard-MARKER/          a worker of a session
//! ```

mod controllers;
mod limit_hit;
mod limits;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::marker::Marker;
pub use limit_hit::LimitHit;
pub use limits::{GroupLimits, MOST_CPU_WEIGHT, MissingLimit, WorkerLimits};

const NAME_PREFIX: &str = "switchyard-";
const SESSION_PREFIX: &str = "switchyard-session-";
/// The group of a process that makes groups which have limits; the systemd unit names it, too.
const DAEMON_GROUP: &str = "switchyard-daemon";
/// A session's group is removed when its last worker is gone, which may be between our making it and
/// using it. Not each time.
const ATTEMPTS: usize = 10;
// A worker that runs as root may make groups below its own; deeper than this is not by accident,
// and the kernel would have to walk it too.
const MAX_NESTED: usize = 8;

/// A directory in the cgroup file system. Nothing happens on drop: the keeper, its owner and the
/// sweep may all hold one for the same worker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Cgroup {
    dir: PathBuf,
}

impl Cgroup {
    /// Makes the group of a worker.
    pub(crate) fn create(marker: &Marker, limits: &WorkerLimits) -> Option<Self> {
        let group = Self::create_below(&base_dir()?, marker, limits)?;
        // Older than Linux 5.14: without `cgroup.kill` the group is of no use to us.
        if !group.dir.join("cgroup.kill").exists() {
            group.remove();
            return None;
        }
        Some(group)
    }

    fn create_below(base: &Path, marker: &Marker, limits: &WorkerLimits) -> Option<Self> {
        let name = format!("{NAME_PREFIX}{marker}");
        let mut dir = None;
        if let Some(session) = limits.limited_session() {
            let around = base.join(format!("{SESSION_PREFIX}{session}"));
            for _ in 0..ATTEMPTS {
                if !make_session_group(&around, limits) {
                    break;
                }
                match fs::create_dir(around.join(&name)) {
                    Ok(()) => {
                        dir = Some(around.join(&name));
                        break;
                    }
                    Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                    Err(_) => break,
                }
            }
        }
        let dir = match dir {
            Some(dir) => dir,
            None => {
                fs::create_dir(base.join(&name)).ok()?;
                base.join(&name)
            }
        };
        limits.write_worker(&dir);
        Some(Self { dir })
    }

    /// The group that this process is in.
    pub(crate) fn own() -> Option<Self> {
        Some(Self { dir: mounted_dir()? })
    }

    /// A group that was made earlier. The name must fit, so that a forged path makes us write
    /// nowhere else.
    pub(crate) fn existing(dir: PathBuf, marker: &Marker) -> Option<Self> {
        let expected = format!("{NAME_PREFIX}{marker}");
        (dir.file_name()? == expected.as_str() && dir.is_absolute()).then_some(Self { dir })
    }

    pub(crate) fn dir(&self) -> &Path {
        &self.dir
    }

    /// Moves the calling process in, so that what it starts is born inside.
    pub(crate) fn enter(&self) -> io::Result<()> {
        fs::write(self.dir.join("cgroup.procs"), "0")
    }

    /// The limit that explains the end of the worker whose group it is, if it has hit one.
    pub(crate) fn limit_hit(&self, was_killed: bool) -> Option<LimitHit> {
        match was_killed {
            true => LimitHit::why_killed(&self.dir, self.session_dir()),
            false => LimitHit::why_failed(&self.dir, self.session_dir()),
        }
    }

    /// The group around it, if that is a session's.
    fn session_dir(&self) -> Option<&Path> {
        let around = self.dir.parent()?;
        around.file_name()?.to_str()?.starts_with(SESSION_PREFIX).then_some(around)
    }

    pub(crate) fn kill(&self) {
        let _gone = fs::write(self.dir.join("cgroup.kill"), "1");
    }

    /// Lets nothing inside run, or lets it run again; false where that cannot be had.
    pub(crate) fn freeze(&self, is_wanted: bool) -> bool {
        let wanted = if is_wanted { "1" } else { "0" };
        fs::write(self.dir.join("cgroup.freeze"), wanted).is_ok()
    }

    /// Whether nothing inside runs any more, which takes a moment.
    pub(crate) fn is_frozen(&self) -> bool {
        let events = fs::read_to_string(self.dir.join("cgroup.events")).unwrap_or_default();
        events.lines().any(|line| line == "frozen 1")
    }

    /// The processes inside, also in groups that they made below.
    pub(crate) fn pids(&self) -> Vec<i32> {
        let mut pids = Vec::new();
        for_each_dir(&self.dir, 0, &mut |dir| {
            let text = fs::read_to_string(dir.join("cgroup.procs")).unwrap_or_default();
            pids.extend(text.lines().filter_map(|line| line.parse::<i32>().ok()));
        });
        pids
    }

    /// Removes the group if it is empty; whether it is gone now.
    pub(crate) fn remove(&self) -> bool {
        for_each_dir(&self.dir, 0, &mut |dir| {
            let _not_empty_or_gone = fs::remove_dir(dir);
        });
        if let Some(session) = self.session_dir() {
            let _has_other_workers = fs::remove_dir(session);
        }
        !self.dir.exists()
    }
}

/// Makes the group of a session, or takes the one that is there; whether it can be used.
fn make_session_group(dir: &Path, limits: &WorkerLimits) -> bool {
    match fs::create_dir(dir) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return true,
        Err(_) => return false,
    }
    limits.write_session(dir);
    limits.worker_controllers().all(|controller| match controllers::hand_on(dir, controller) {
        Ok(()) => true,
        Err(why) => {
            tracing::warn!(why, "the limits of a session do not hold");
            let _another_has_used_it = fs::remove_dir(dir);
            false
        }
    })
}

/// The directory below which groups are made: our own, unless that is the one of a process which
/// has made room for them.
fn base_dir() -> Option<PathBuf> {
    let own = mounted_dir()?;
    match own.file_name() {
        Some(name) if name == DAEMON_GROUP => own.parent().map(Path::to_path_buf),
        _ => Some(own),
    }
}

fn mounted_dir() -> Option<PathBuf> {
    let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
    own_dir(&mounts, &fs::read_to_string("/proc/self/cgroup").ok()?)
}

/// The directory of our own cgroup: where cgroup2 is mounted, plus our path below that mount.
fn own_dir(mountinfo: &str, own_cgroup: &str) -> Option<PathBuf> {
    let own_path = own_cgroup.lines().find_map(|line| line.strip_prefix("0::"))?;
    mountinfo.lines().find_map(|line| {
        let (mount, filesystem) = line.split_once(" - ")?;
        if filesystem.split(' ').next()? != "cgroup2" {
            return None;
        }
        let mut fields = mount.split(' ').skip(3);
        let (root, mount_point) = (fields.next()?, fields.next()?);
        // In a container the mount may show only a part of the tree, and we may be outside it.
        let below = Path::new(own_path).strip_prefix(root).ok()?;
        Some(Path::new(mount_point).join(below))
    })
}

/// `dir` and the directories below it, the deepest first.
fn for_each_dir(dir: &Path, depth: usize, visit: &mut impl FnMut(&Path)) {
    if depth < MAX_NESTED {
        let nested = fs::read_dir(dir).into_iter().flatten().flatten();
        for entry in nested.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())) {
            for_each_dir(&entry.path(), depth + 1, visit);
        }
    }
    visit(dir);
}

#[cfg(test)]
mod tests;
