//! A cgroup per worker, where we may have one.
//!
//! In: our own place in the cgroup v2 tree. Out: a child group that holds exactly one worker's
//! processes, which one write kills all at once, however they forked. It is a second belt beside
//! the keeper: every function here may fail, and then the worker runs without it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::marker::Marker;

const NAME_PREFIX: &str = "switchyard-";
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
    /// Makes the group below the one we are in.
    pub(crate) fn create(marker: &Marker) -> Option<Self> {
        let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
        let own = fs::read_to_string("/proc/self/cgroup").ok()?;
        let dir = own_dir(&mounts, &own)?.join(format!("{NAME_PREFIX}{marker}"));
        fs::create_dir(&dir).ok()?;
        let group = Self { dir };
        // Older than Linux 5.14: without `cgroup.kill` the group is of no use to us.
        if !group.dir.join("cgroup.kill").exists() {
            group.remove();
            return None;
        }
        Some(group)
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

    /// Moves the calling process back to where the group was made.
    pub(crate) fn leave(&self) -> io::Result<()> {
        let outside = self.dir.parent().ok_or(io::ErrorKind::NotFound)?;
        fs::write(outside.join("cgroup.procs"), "0")
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
        !self.dir.exists()
    }
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
