//! Files and directories by a name below a directory that is open already.

use std::io;

use cap_std::fs::{Dir, DirBuilder, DirBuilderExt as _, OpenOptions, OpenOptionsExt as _};
use rustix::fs::OFlags;

/// Options for opening a path that must not be a link. Opening a FIFO does not block.
pub(crate) fn no_follow_options(more: OFlags) -> OpenOptions {
    with_flags(OFlags::NOFOLLOW | more)
}

/// Options for reading a file by a path that the directory's handle keeps inside. Opening a FIFO
/// does not block.
pub(crate) fn read_options() -> OpenOptions {
    let mut options = with_flags(OFlags::empty());
    options.read(true);
    options
}

fn with_flags(more: OFlags) -> OpenOptions {
    let flags = OFlags::NONBLOCK | OFlags::CLOEXEC | more;
    let mut options = OpenOptions::new();
    options.custom_flags(flags.bits().cast_signed());
    options
}

/// Whether something is no directory to be opened: a link, or a file.
pub(crate) fn is_no_dir(error: &io::Error) -> bool {
    let is_link = error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error());
    is_link || error.kind() == io::ErrorKind::NotADirectory
}

/// Does work that waits for the disk on a thread of its own.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    tokio::task::spawn_blocking(work).await.unwrap_or_else(|error| Err(io::Error::other(error)))
}

/// A directory by one name, which must not be a link.
pub(crate) fn open_dir(dir: &Dir, name: &str) -> io::Result<Dir> {
    let file = dir.open_with(name, no_follow_options(OFlags::DIRECTORY).read(true))?;
    Ok(Dir::from_std_file(file.into_std()))
}

/// The same, made if there is none.
pub(crate) fn make_dir(dir: &Dir, name: &str) -> io::Result<Dir> {
    let mut builder = DirBuilder::new();
    builder.mode(0o700);
    match dir.create_dir_with(name, &builder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => open_dir(dir, name),
    }
}
