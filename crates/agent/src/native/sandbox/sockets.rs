//! The sockets in the file system at which somebody listens.

use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};

/// The kernel's list of sockets.
const LIST: &str = "/proc/net/unix";
/// `__SO_ACCEPTCON`: somebody waits for connections.
const LISTENS: &str = "00010000";
/// Connections can be asked for without one waiting.
const DATAGRAMS: &str = "0002";
/// Most sockets that are covered: the length of a command line has a limit.
const MAX: usize = 1000;

/// The listening sockets that a command would see.
pub(super) fn listening(is_seen: impl Fn(&Path) -> bool) -> Vec<PathBuf> {
    let list = std::fs::read_to_string(LIST).unwrap_or_default();
    let mut paths: Vec<PathBuf> = list
        .lines()
        .filter_map(path_of)
        .filter_map(|path| path.canonicalize().ok())
        .filter(|path| path.metadata().is_ok_and(|found| found.file_type().is_socket()))
        .filter(|path| is_seen(path))
        .collect();
    paths.sort();
    paths.dedup();
    paths.truncate(MAX);
    paths
}

/// `address: references protocol flags type state inode path`; the path may hold blanks.
fn path_of(line: &str) -> Option<PathBuf> {
    let mut rest = line;
    let mut fields = Vec::new();
    for _ in 0..7 {
        rest = rest.trim_start();
        let (field, after) = rest.split_once(' ')?;
        fields.push(field);
        rest = after;
    }
    let is_reachable = fields.get(3) == Some(&LISTENS) || fields.get(4) == Some(&DATAGRAMS);
    (is_reachable && rest.starts_with('/')).then(|| PathBuf::from(rest))
}

#[cfg(test)]
mod tests {
    //! A socket of our own is found.

    use super::{listening, path_of};

    #[test]
    fn a_listening_socket_is_in_the_list() {
        let dir = tempfile::tempdir_in("/var/tmp").unwrap();
        let path = dir.path().canonicalize().unwrap().join("a b");
        let _socket = std::os::unix::net::UnixListener::bind(&path).unwrap();
        assert!(listening(|_| true).contains(&path));
        assert!(!listening(|seen| seen != path).contains(&path));
    }

    #[test]
    fn lines_that_say_something_else_are_passed_over() {
        for line in ["", "Num RefCount Protocol Flags Type St Inode Path", "0: 2 0 0 1 3 7"] {
            assert_eq!(path_of(line), None, "{line}");
        }
    }
}
