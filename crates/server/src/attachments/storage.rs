//! A session's files on disk: `<session>/attachments/<id>/<name>`, and beside each a note with its
//! metadata, `<id>.json`.
//!
//! All names are made here. Everything is reached from a directory handle, one name at a
//! time, and a name that is a link is not followed.

use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use cap_std::ambient_authority;
use cap_std::fs::{Dir, OpenOptionsExt as _};
use rustix::fs::OFlags;
use wire::{CallId, SessionId};

use super::{Attachment, AttachmentError, MAX_FILES, name};
use crate::dir_handles::{is_no_dir, make_dir, no_follow_options, open_dir};

const DIR: &str = "attachments";
/// Limit of a note's size; it has a few hundred bytes.
const MAX_NOTE_BYTES: u64 = 64 << 10;

pub(super) fn path(root: &Path, session: SessionId) -> PathBuf {
    root.join(session.as_str()).join(DIR)
}

/// The directory of a session's files, made if there is none.
pub(super) fn make(root: &Path, session: SessionId) -> Result<Dir, AttachmentError> {
    let make = || {
        use std::os::unix::fs::DirBuilderExt as _;
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(root)?;
        let root = Dir::open_ambient_dir(root, ambient_authority())?;
        let session = make_dir(&root, session.as_str())?;
        make_dir(&session, DIR)
    };
    make().map_err(AttachmentError::io("make the session's directory"))
}

/// The directory of a session's files, if there is one.
pub(super) fn open(root: &Path, session: SessionId) -> Result<Option<Dir>, AttachmentError> {
    let open = || {
        let root = Dir::open_ambient_dir(root, ambient_authority())?;
        open_dir(&open_dir(&root, session.as_str())?, DIR)
    };
    found(open()).map_err(AttachmentError::io("open the session's directory"))
}

/// The directory of a session's files, and the note of one of these.
pub(super) fn find(
    root: &Path,
    session: SessionId,
    id: CallId,
) -> Result<(Dir, Attachment), AttachmentError> {
    let missing = || AttachmentError::NoSuchFile(id.to_string());
    let dir = open(root, session)?.ok_or_else(missing)?;
    let note = note(&dir, id)?.ok_or_else(missing)?;
    Ok((dir, note))
}

/// None for a path that does not exist, or is a link or a file where it must not be one.
fn found<T>(opened: io::Result<T>) -> io::Result<Option<T>> {
    match opened {
        Ok(found) => Ok(Some(found)),
        Err(error) if is_no_dir(&error) || error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

fn note_name(id: CallId) -> String {
    format!("{id}.json")
}

/// A new file, which nobody else can have made.
pub(super) fn create(dir: &Dir, name: &str) -> io::Result<std::fs::File> {
    let mut options = no_follow_options(OFlags::empty());
    // Read-only: what was uploaded stays what it was.
    options.write(true).create_new(true).mode(0o400);
    Ok(dir.open_with(name, &options)?.into_std())
}

pub(super) fn write_note(dir: &Dir, attachment: &Attachment) -> io::Result<()> {
    let mut file = create(dir, &note_name(attachment.id))?;
    file.write_all(wire::Json::of(attachment).as_str().as_bytes())?;
    file.sync_all()
}

pub(super) fn note(dir: &Dir, id: CallId) -> Result<Option<Attachment>, AttachmentError> {
    let opened = dir.open_with(note_name(id), no_follow_options(OFlags::empty()).read(true));
    let file = found(opened).map_err(AttachmentError::io("read a note"))?;
    let Some(file) = file else { return Ok(None) };
    let mut text = String::new();
    let read = file.take(MAX_NOTE_BYTES).read_to_string(&mut text);
    // A note that cannot be parsed counts as missing.
    let note = read.ok().and_then(|_| serde_json::from_str::<Attachment>(&text).ok());
    Ok(note.filter(|note| note.id == id))
}

/// All files that are there as a whole, the oldest first.
pub(super) fn notes(dir: &Dir) -> Result<Vec<Attachment>, AttachmentError> {
    let entries = dir.entries().map_err(AttachmentError::io("list the files"))?;
    let mut all = Vec::new();
    for entry in entries {
        let entry = entry.map_err(AttachmentError::io("list the files"))?;
        let name = entry.file_name();
        let id = name.to_str().and_then(|name| name.strip_suffix(".json"));
        if let Some(id) = id.and_then(|id| CallId::parse(id).ok()) {
            all.extend(note(dir, id)?);
        }
        if all.len() > MAX_FILES {
            break;
        }
    }
    all.sort_by_key(|attachment| (attachment.created, attachment.id));
    Ok(all)
}

pub(super) fn file(
    dir: &Dir,
    id: CallId,
    shown: &str,
) -> Result<Option<std::fs::File>, AttachmentError> {
    let open = || {
        let own = open_dir(dir, id.as_str())?;
        let file =
            own.open_with(name::on_disk(shown), no_follow_options(OFlags::empty()).read(true))?;
        match file.metadata()?.is_file() {
            true => Ok(file.into_std()),
            false => Err(io::ErrorKind::NotFound.into()),
        }
    };
    found(open()).map_err(AttachmentError::io("open the file"))
}

/// Removes a file; its note first, so that it is gone for everybody at once.
pub(super) fn remove(dir: &Dir, id: CallId, shown: &str) -> io::Result<()> {
    found(dir.remove_file(note_name(id)))?;
    // A link in its place is removed, not followed.
    if let Some(own) = found(open_dir(dir, id.as_str()))? {
        found(own.remove_file(name::on_disk(shown)))?;
        return found(dir.remove_dir_all(id.as_str())).map(|_| ());
    }
    found(dir.remove_file(id.as_str())).map(|_| ())
}

pub(super) fn remove_all(root: &Path, session: SessionId) -> Result<(), AttachmentError> {
    let remove = || {
        let Some(root) = found(Dir::open_ambient_dir(root, ambient_authority()))? else {
            return Ok(());
        };
        match found(root.symlink_metadata(session.as_str()))? {
            Some(about) if about.is_dir() => root.remove_dir_all(session.as_str()),
            Some(_) => root.remove_file(session.as_str()),
            None => Ok(()),
        }
    };
    remove().map_err(AttachmentError::io("remove the session's directory"))
}

/// The sessions that have a directory below `root`.
pub(super) fn sessions(root: &Path) -> Result<Vec<SessionId>, AttachmentError> {
    let list = || {
        let Some(root) = found(Dir::open_ambient_dir(root, ambient_authority()))? else {
            return Ok(Vec::new());
        };
        let names = root.entries()?.map(|entry| entry.map(|entry| entry.file_name()));
        let names: Vec<_> = names.collect::<io::Result<_>>()?;
        Ok(names.iter().filter_map(|name| SessionId::parse(name.to_str()?).ok()).collect())
    };
    list().map_err(AttachmentError::io("list the sessions' directories"))
}
