//! The page's own host name, for browsers of this machine: `k3v9qw72hpxm.localhost`.
//!
//! A browser knows a page by its address alone. Every user of a machine can listen at an address
//! while nobody else does, and what a browser loads from there is the same page to it: it reads
//! what ours has kept, stays in a tab or a service worker, and comes in from the user's own browser
//! once the daemon is back. So an address at which somebody else may have listened is not used
//! again. Browsers take every name below `localhost` for this machine without asking anybody, and
//! each is an origin of its own.
//!
//! In: the sockets that listen. Out: the name. Always true: it is the same for as long as the very
//! same sockets are open, across daemons that hand them on, and a new one otherwise, which nobody
//! could have guessed.

use std::fmt;
use std::fs::File;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use serde::{Deserialize, Serialize};

const FILE: &str = "page-name.json";
const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";
const BELOW: &str = ".localhost";
/// 32 letters, each five bits, and none that is read as another.
const LETTERS: &[u8; 32] = b"abcdefghijkmnpqrstuvwxyz23456789";
/// 60 bits: a page that guesses names, while its author has the port, guesses in vain.
const LENGTH: usize = 12;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PageName(String);

/// The file's content, kept from one daemon to the next.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct StoredPageName {
    name: PageName,
    boot: String,
    /// The kernel's numbers of the sockets, which it gives to no other until it starts again.
    sockets: Vec<u64>,
}

impl PageName {
    /// The name for what listens on `sockets`; none if the kernel does not tell them apart.
    pub fn choose(state_dir: &Path, sockets: &[u64]) -> Result<Self, getrandom::Error> {
        let path = state_dir.join(FILE);
        let boot = std::fs::read_to_string(BOOT_ID).unwrap_or_default().trim().to_owned();
        let kept = std::fs::read(&path).ok();
        let kept = kept.and_then(|bytes| serde_json::from_slice::<StoredPageName>(&bytes).ok());
        let kept = kept.filter(|kept| Self::read(&kept.name.0).is_some());
        let is_known = !boot.is_empty() && !sockets.is_empty();
        let kept = match kept {
            Some(kept) if is_known && kept.boot == boot && kept.sockets == sockets => kept,
            _ => StoredPageName { name: Self::new()?, boot, sockets: sockets.to_vec() },
        };
        // Without the file the next daemon has another name, which is safe.
        if let Err(error) = put(&path, &kept) {
            tracing::warn!(path = %path.display(), %error, "cannot keep the page's name");
        }
        Ok(kept.name)
    }

    fn new() -> Result<Self, getrandom::Error> {
        let mut bytes = [0_u8; LENGTH];
        getrandom::fill(&mut bytes)?;
        let letter = |byte: &u8| LETTERS.get(usize::from(byte % 32)).copied().map(char::from);
        let label: String = bytes.iter().filter_map(letter).collect();
        Ok(Self(label + BELOW))
    }

    /// The name in a request's `Host`, if it has the form of a page's name, current or earlier.
    pub(crate) fn in_host(host: &str) -> Option<Self> {
        Self::read(host.split_once(':').map_or(host, |(name, _)| name))
    }

    fn read(name: &str) -> Option<Self> {
        let label = name.strip_suffix(BELOW)?;
        let is_ours = label.len() == LENGTH && label.bytes().all(|one| LETTERS.contains(&one));
        is_ours.then(|| Self(name.to_owned()))
    }

    /// `host` under this name: with the same port.
    pub(crate) fn in_place_of(&self, host: &str) -> String {
        let port = host.rsplit_once(':').filter(|(_, port)| !port.ends_with(']'));
        port.map_or_else(|| self.0.clone(), |(_, port)| format!("{self}:{port}"))
    }
}

impl fmt::Display for PageName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Replaces the file atomically: either the old or the new one is there.
fn put(path: &Path, kept: &StoredPageName) -> std::io::Result<()> {
    let unfinished = path.with_extension("new");
    let mut options = File::options();
    let mut file = options.create(true).truncate(true).write(true).mode(0o600).open(&unfinished)?;
    file.write_all(&serde_json::to_vec(kept)?)?;
    std::fs::rename(&unfinished, path)
}

#[cfg(test)]
mod tests {
    //! A name lasts as long as the sockets, and no longer.

    use super::*;

    #[test]
    fn a_name_is_kept_for_the_same_sockets_only() {
        let dir = tempfile::tempdir().unwrap();
        let choose = |sockets: &[u64]| PageName::choose(dir.path(), sockets).unwrap();
        let mut names = vec![choose(&[1, 2])];
        assert_eq!(choose(&[1, 2]), names[0]);
        for sockets in [&[1, 3][..], &[1], &[1, 2], &[], &[]] {
            let next = choose(sockets);
            assert!(!names.contains(&next), "{sockets:?}");
            names.push(next);
        }
    }

    #[test]
    fn a_name_of_another_start_of_the_machine_or_of_somebody_else_is_not_taken() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(FILE);
        let first = PageName::choose(dir.path(), &[1]).unwrap();
        let mut kept: StoredPageName =
            serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
        kept.boot = "another".into();
        put(&path, &kept).unwrap();
        assert_ne!(PageName::choose(dir.path(), &[1]).unwrap(), first);
        kept.boot = std::fs::read_to_string(BOOT_ID).unwrap().trim().to_owned();
        put(&path, &kept).unwrap();
        assert_eq!(PageName::choose(dir.path(), &[1]).unwrap(), first);
        kept.name = PageName("evil.localhost".into());
        put(&path, &kept).unwrap();
        assert_ne!(PageName::choose(dir.path(), &[1]).unwrap(), kept.name);
    }

    #[test]
    fn names_are_read_from_hosts() {
        let name = PageName::new().unwrap();
        assert_eq!(PageName::in_host(&name.to_string()), Some(name.clone()));
        assert_eq!(PageName::in_host(&format!("{name}:7433")), Some(name.clone()));
        for other in ["localhost:7433", "evil.localhost", "127.0.0.1:7433", "[::1]:7433", ""] {
            assert_eq!(PageName::in_host(other), None, "{other}");
        }
        assert_eq!(PageName::in_host(&format!("x.{name}:7433")), None);
        assert_eq!(PageName::in_host(&format!("{name}.")), None);
        assert_eq!(name.in_place_of("127.0.0.1:7433"), format!("{name}:7433"));
        assert_eq!(name.in_place_of("[::1]:7433"), format!("{name}:7433"));
        assert_eq!(name.in_place_of("[::1]"), name.to_string());
        assert_eq!(name.in_place_of("localhost"), name.to_string());
    }
}
