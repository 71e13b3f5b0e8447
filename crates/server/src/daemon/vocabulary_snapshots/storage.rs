//! Snapshots as files: `<session>/snapshots/<vocabulary>-<epoch>-<seq>`.
//!
//! A file is there as a whole or not at all, as long as the machine runs; nothing is synced,
//! because what a power cut takes is made again. A line at its beginning tells what is damaged, or
//! was written by a program with other states.

use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use cap_std::ambient_authority;
use cap_std::fs::{Dir, OpenOptionsExt as _};
use projection::{STATE_VERSION, Vocabulary};
use rustix::fs::OFlags;
use wire::{Json, Seq, SessionId};

use super::{MAX_BYTES, SnapshotFormat, SnapshotKey};
use crate::dir_handles::{make_dir, no_follow_options, open_dir};

const DIR: &str = "snapshots";
/// Snapshots that are tried until one can be read.
const MAX_TRIES: usize = 3;

fn name(log: SnapshotKey, seq: Seq) -> String {
    format!("{}-{:x}-{}", log.format.name(), log.epoch, seq.0)
}

/// The epoch and the event of a file's name, if that is a snapshot's in this vocabulary.
fn place(name: &str, format: SnapshotFormat) -> Option<(u64, Seq)> {
    let (epoch, seq) = name.strip_prefix(format.name())?.strip_prefix('-')?.split_once('-')?;
    Some((u64::from_str_radix(epoch, 16).ok()?, Seq(seq.parse().ok()?)))
}

fn path(sessions: &Path, session: SessionId) -> PathBuf {
    sessions.join(session.as_str()).join(DIR)
}

pub(super) fn is_kept(sessions: &Path, log: SnapshotKey, seq: Seq) -> bool {
    path(sessions, log.session).join(name(log, seq)).exists()
}

fn open(sessions: &Path, session: SessionId) -> io::Result<Dir> {
    let sessions = Dir::open_ambient_dir(sessions, ambient_authority())?;
    open_dir(&open_dir(&sessions, session.as_str())?, DIR)
}

/// The names in a session's directory; none if it has no directory.
fn names(dir: &Dir) -> Vec<String> {
    let entries = dir.entries().into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().into_string().ok()).collect()
}

/// The events of a log's snapshots.
fn kept(dir: &Dir, log: SnapshotKey) -> impl Iterator<Item = Seq> {
    let places = names(dir).into_iter().filter_map(move |name| place(&name, log.format));
    places.filter(move |(epoch, _)| *epoch == log.epoch).map(|(_, seq)| seq)
}

pub(super) fn last(sessions: &Path, log: SnapshotKey) -> Seq {
    let dir = open(sessions, log.session);
    dir.ok().and_then(|dir| kept(&dir, log).max()).unwrap_or_default()
}

/// The last snapshot that is not after `seq` and can be read. One that cannot is removed.
pub(super) fn load(sessions: &Path, log: SnapshotKey, seq: Seq) -> Option<(Seq, Vocabulary)> {
    let dir = open(sessions, log.session).ok()?;
    let mut fitting: Vec<Seq> = kept(&dir, log).filter(|kept| *kept <= seq).collect();
    fitting.sort_unstable();
    let fresh = log.format.vocabulary(log.session);
    fitting.into_iter().rev().take(MAX_TRIES).find_map(|seq| {
        let name = name(log, seq);
        let read = read(&dir, &name).ok().and_then(|state| fresh.restored(&state));
        if read.is_none() {
            let _ = dir.remove_file(&name);
        }
        Some((seq, read?))
    })
}

fn read(dir: &Dir, name: &str) -> io::Result<String> {
    let file = dir.open_with(name, no_follow_options(OFlags::empty()).read(true))?;
    let mut text = String::new();
    // The first line is short.
    file.take(MAX_BYTES as u64 + 64).read_to_string(&mut text)?;
    match text.split_once('\n') {
        Some((line, state)) if line == first_line(state) => Ok(state.to_owned()),
        _ => Err(io::ErrorKind::InvalidData.into()),
    }
}

fn first_line(state: &str) -> String {
    format!("{STATE_VERSION} {:08x}", crc32fast::hash(state.as_bytes()))
}

pub(super) fn store(sessions: &Path, log: SnapshotKey, seq: Seq, state: &Json) -> io::Result<()> {
    let sessions = Dir::open_ambient_dir(sessions, ambient_authority())?;
    let dir = make_dir(&make_dir(&sessions, log.session.as_str())?, DIR)?;
    let name = name(log, seq);
    // Whoever else writes the same snapshot has a name of its own meanwhile.
    let draft = format!(".{}", sessions::mint::turn_id());
    let written = write(&dir, &draft, state).and_then(|()| dir.rename(&draft, &dir, &name));
    if written.is_err() {
        let _ = dir.remove_file(&draft);
    }
    written
}

fn write(dir: &Dir, name: &str, state: &Json) -> io::Result<()> {
    let mut options = no_follow_options(OFlags::empty());
    options.write(true).create_new(true).mode(0o600);
    let mut file = dir.open_with(name, &options)?;
    let state = state.as_str();
    file.write_all(format!("{}\n{state}", first_line(state)).as_bytes())
}

/// Removes what no reader of this epoch can use.
pub(super) fn remove_other_epochs(sessions: &Path, session: SessionId, epoch: u64) {
    let Ok(dir) = open(sessions, session) else { return };
    for name in names(&dir) {
        let mut places = SnapshotFormat::ALL.iter().filter_map(|format| place(&name, *format));
        if places.next().is_none_or(|(other, _)| other != epoch) {
            let _ = dir.remove_file(&name);
        }
    }
}

/// Removes all snapshots of a session, and its directory if nothing else is in it.
pub(super) fn remove(sessions: &Path, session: SessionId) -> io::Result<()> {
    let sessions = Dir::open_ambient_dir(sessions, ambient_authority())?;
    open_dir(&sessions, session.as_str())?.remove_dir_all(DIR)?;
    sessions.remove_dir(session.as_str())
}
