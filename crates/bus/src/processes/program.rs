//! The lookup of a program's file by its name.
//!
//! In: a name or path and the worker's `PATH`. Out: the file to execute, or why there is none.
//! Only absolute entries of `PATH` count: the worker's directory is usually somebody's
//! repository, and a file in it must not become the agent by having its name.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};
use rustix::io::Errno;

use super::control::StartFailure;

// The `PATH` that shells use when it is unset.
const DEFAULT_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

pub(crate) fn find(program: &OsStr, path: Option<&OsStr>) -> Result<PathBuf, StartFailure> {
    if program.is_empty() {
        return Err(StartFailure::NotFound);
    }
    if program.as_bytes().contains(&b'/') {
        let file = PathBuf::from(program);
        return check(&file).map(|()| file);
    }
    let mut failure = StartFailure::NotFound;
    for dir in std::env::split_paths(path.unwrap_or(OsStr::new(DEFAULT_PATH))) {
        if !dir.is_absolute() {
            continue;
        }
        let file = dir.join(program);
        match check(&file) {
            Ok(()) => return Ok(file),
            Err(StartFailure::NotFound) => {}
            // Another entry may still have one that we may execute.
            Err(found_but) => failure = found_but,
        }
    }
    Err(failure)
}

fn check(file: &Path) -> Result<(), StartFailure> {
    match fs::metadata(file) {
        Ok(metadata) if !metadata.is_file() => {
            Err(StartFailure::NotExecutable(Errno::ACCESS.raw_os_error()))
        }
        Ok(_) => access(file, Access::EXEC_OK)
            .map_err(|errno| StartFailure::NotExecutable(errno.raw_os_error())),
        Err(error) => match error.raw_os_error() {
            Some(errno) if errno == Errno::ACCESS.raw_os_error() => {
                Err(StartFailure::NotExecutable(errno))
            }
            _ => Err(StartFailure::NotFound),
        },
    }
}

#[cfg(test)]
mod tests;
