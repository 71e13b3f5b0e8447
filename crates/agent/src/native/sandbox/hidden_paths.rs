//! Directories that a command does not see at all: our own, under every name that they have.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use roots::ForbiddenDirs;

/// The kernel's list of what is mounted where.
const MOUNTS: &str = "/proc/self/mountinfo";

/// The forbidden paths that exist, and their other names through mounts.
pub(super) fn hidden_everywhere(forbidden: &ForbiddenDirs) -> Vec<PathBuf> {
    let there: Vec<PathBuf> =
        forbidden.paths().iter().filter(|path| path.exists()).cloned().collect();
    let list = std::fs::read(MOUNTS).unwrap_or_default();
    let mounts: Vec<Mount> = list.split(|byte| *byte == b'\n').filter_map(Mount::read).collect();
    let others = there.iter().flat_map(|path| {
        let same = |other: &PathBuf| id(other).is_some_and(|found| Some(found) == id(path));
        other_names(&mounts, path).into_iter().filter(same).collect::<Vec<_>>()
    });
    let mut all: Vec<PathBuf> = others.collect();
    all.extend(there);
    all.sort();
    all.dedup();
    all
}

#[derive(Debug)]
struct Mount {
    device: OsString,
    /// The directory of the device that is mounted.
    root: PathBuf,
    /// The directory where it is mounted.
    point: PathBuf,
}

impl Mount {
    /// `id parent device root point options …`
    fn read(line: &[u8]) -> Option<Self> {
        let mut fields = line.split(|byte| *byte == b' ').skip(2);
        let mut next = || fields.next().map(|field| OsString::from_vec(unescaped(field)));
        Some(Self { device: next()?, root: next()?.into(), point: next()?.into() })
    }
}

/// Other names of `path`, which has no links in it.
fn other_names(mounts: &[Mount], path: &Path) -> Vec<PathBuf> {
    let above = mounts.iter().filter(|mount| path.starts_with(&mount.point));
    // The last of those that are mounted on the same directory is the one that is seen.
    let Some(own) = above.max_by_key(|mount| mount.point.components().count()) else {
        return Vec::new();
    };
    let Ok(below) = path.strip_prefix(&own.point) else { return Vec::new() };
    let on_device = own.root.join(below);
    let shown = mounts.iter().filter(|mount| mount.device == own.device).filter_map(|mount| {
        let below = on_device.strip_prefix(&mount.root).ok()?;
        Some(mount.point.join(below))
    });
    shown.filter(|name| name != path).collect()
}

/// Decodes escapes: blanks and the like are written as `\040`.
fn unescaped(field: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((first, after)) = rest.split_first() {
        let code = after.first_chunk::<3>().filter(|_| *first == b'\\');
        let code = code.and_then(|digits| std::str::from_utf8(digits).ok());
        match code.and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            Some(byte) => {
                plain.push(byte);
                rest = after.get(3..).unwrap_or_default();
            }
            None => {
                plain.push(*first);
                rest = after;
            }
        }
    }
    plain
}

fn id(path: &Path) -> Option<(u64, u64)> {
    path.symlink_metadata().ok().map(|found| (found.dev(), found.ino()))
}

#[cfg(test)]
mod tests {
    //! What the kernel's list says about other names of a directory.

    use super::{Mount, other_names};
    use std::path::Path;

    fn names(list: &str, path: &str) -> Vec<String> {
        let mounts: Vec<_> = list.lines().filter_map(|line| Mount::read(line.as_bytes())).collect();
        let names = other_names(&mounts, Path::new(path)).into_iter();
        names.map(|name| name.display().to_string()).collect()
    }

    const LIST: &str = "\
        21 1 8:1 / / rw - ext4 /dev/sda1 rw\n\
        22 21 8:2 / /home rw - ext4 /dev/sda2 rw\n\
        23 21 8:2 /ada /mnt/her\\040home rw - ext4 /dev/sda2 rw\n\
        24 21 8:2 /ada/state/switchyard/run /srv/run rw - ext4 /dev/sda2 rw\n\
        25 21 0:5 / /proc rw - proc proc rw\n";

    #[test]
    fn a_directory_is_found_under_every_mount_that_shows_it() {
        let found = names(LIST, "/home/ada/state/switchyard");
        assert_eq!(found, ["/mnt/her home/state/switchyard"]);
        let found = names(LIST, "/srv/run");
        assert_eq!(found, ["/home/ada/state/switchyard/run", "/mnt/her home/state/switchyard/run"]);
        assert_eq!(names(LIST, "/etc"), [""; 0]);
        assert_eq!(names("", "/etc"), [""; 0]);
    }
}
