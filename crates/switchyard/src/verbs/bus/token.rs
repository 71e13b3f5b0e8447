//! The token that TCP and WebSocket clients must send.
//!
//! It is in a file that only its user can read; made at the first start and kept, so that clients
//! need not be given a new one.

use std::fmt::Write as _;
use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use bus::BusToken;

use super::say;
use crate::config::Config;
use crate::home::make_private_dir;
use crate::outcome::{ERROR, Failure};

pub(super) fn open(file: Option<&Path>, config: &Config) -> Result<BusToken, Failure> {
    let (path, is_ours) = match file {
        Some(path) => (path.to_owned(), false),
        None => (own_path(config), true),
    };
    let secret = match read(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound && is_ours => {
            make(&path).map_err(|error| unusable(&path, &error))?
        }
        read => read.map_err(|error| unusable(&path, &error))?,
    };
    let token = BusToken::new(&secret).ok_or_else(|| too_short(&path))?;
    say(&format!("the token is in {}", path.display()));
    Ok(token)
}

/// The problem with a token file that the user has named, if there is one.
pub(super) fn problem(path: &Path) -> Option<Failure> {
    match read(path) {
        Ok(secret) if BusToken::new(&secret).is_some() => None,
        Ok(_) => Some(too_short(path)),
        Err(error) => Some(unusable(path, &error)),
    }
}

fn own_path(config: &Config) -> PathBuf {
    config.home.state.join("bus-token")
}

fn read(path: &Path) -> io::Result<String> {
    let metadata = fs::metadata(path)?;
    if metadata.mode() & 0o077 != 0 {
        return Err(io::Error::other("others can read it; `chmod 600` it"));
    }
    Ok(fs::read_to_string(path)?.trim().to_owned())
}

fn make(path: &Path) -> io::Result<String> {
    if let Some(dir) = path.parent() {
        make_private_dir(dir).map_err(|failure| io::Error::other(failure.to_string()))?;
    }
    let mut random = [0; 32];
    getrandom::fill(&mut random)?;
    let secret = random.iter().fold(String::new(), |mut text, byte| {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    });
    let mut options = fs::File::options();
    match options.write(true).create_new(true).mode(0o600).open(path) {
        Ok(mut file) => writeln!(file, "{secret}")?,
        // Another bus was quicker.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return read(path),
        Err(error) => return Err(error),
    }
    Ok(secret)
}

fn too_short(path: &Path) -> Failure {
    let message = format!("the token in {} has less than 16 characters", path.display());
    Failure::new(ERROR, message).hint("`openssl rand -hex 32` makes a good one")
}

fn unusable(path: &Path, error: &io::Error) -> Failure {
    Failure::new(ERROR, format!("the token file {}: {error}", path.display()))
        .hint("write a token of at least 16 characters into it, mode 600")
}

#[cfg(test)]
mod tests;
