//! A fingerprint of the files that a worker was started from, to see if a new one would differ.
//!
//! In: the command. Out: which file each part of it meant, and which state that file was in:
//! the program, every argument that names a file (a script behind its interpreter, the CLI
//! behind its adapter, a configuration), the directory, and the files that agents read when
//! they start. Nothing is opened.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use crate::file_stamp::FileStamp;
use crate::host::AgentCommand;
use crate::settings::WorkerSetup;

/// Arguments that are looked at; a command line has fewer.
const MAX_ARGS: usize = 64;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fingerprint(Vec<(PathBuf, Option<FileStamp>)>);

impl Fingerprint {
    /// Looks at the file system, so it may block.
    pub(super) fn take(command: &AgentCommand, setup: &WorkerSetup, watched: &[PathBuf]) -> Self {
        let mut launch = setup.launch(&command.program, &command.cwd);
        launch.env = command.env.clone();
        let program = launch.find_program().unwrap_or_else(|_| command.program.clone().into());
        let at = |path: &Path| command.cwd.join(path);
        let args = command.args.iter().take(MAX_ARGS).map(|arg| at(Path::new(file_part(arg))));
        let args = args.filter(|path| path.is_file());
        let watched = watched.iter().map(|path| at(path));
        let paths = [program, command.cwd.clone()].into_iter().chain(args).chain(watched);
        Self(paths.map(|path| (path.clone(), FileStamp::of(&path))).collect())
    }
}

/// The path in `PATH` and in `--flag=PATH`.
fn file_part(arg: &OsStr) -> &OsStr {
    match arg.to_str().and_then(|text| text.strip_prefix("--")?.split_once('=')) {
        Some((_, path)) => OsStr::new(path),
        None => arg,
    }
}

#[cfg(test)]
mod tests;
