//! Pinned agents in a cache.
//!
//! In: the packages of the table, a directory. Out: a directory for each package, and where its
//! programs are; a package that cannot be had is an error of its own and stops nothing.
//! A directory without the mark `.complete` was left in the middle and is made anew, so an
//! installation may be interrupted at any time and goes on where it was.

mod npm;
mod python;

use crate::say;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

// Written last.
const MARK: &str = ".complete";

/// From which registry, under which name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    Npm(&'static str),
    /// With the lowest minor version of Python 3 that it runs on.
    Python(&'static str, u32),
    /// It is in the binary that is checked.
    Own,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Package {
    /// Name of its directory.
    pub id: &'static str,
    pub version: &'static str,
    pub source: Source,
    /// The program, by its name in the package.
    pub program: &'static str,
}

#[derive(Debug, thiserror::Error)]
pub enum InstallError {
    #[error("cannot write to the cache: {0}")]
    Cache(#[from] io::Error),
    #[error("cannot run {program}: {reason}")]
    NoProgram { program: String, reason: io::Error },
    #[error("{step} ended with {status}: {output}")]
    Failed { step: String, status: String, output: String },
    #[error("no Python 3.{0} or later, and none could be had")]
    NoPython(u32),
    #[error("the package has no program `{0}`")]
    Missing(String),
}

/// Where packages are kept.
#[derive(Debug, Clone)]
pub struct Cache {
    root: PathBuf,
}

/// A package that is there.
#[derive(Debug, Clone)]
pub struct InstalledPackage {
    pub program: PathBuf,
    /// What must be on the PATH for it to run, first things first.
    pub path: Vec<PathBuf>,
}

impl Cache {
    /// `SWITCHYARD_LIVE_CACHE`, else `switchyard-live` in the user's cache directory.
    pub fn from_environment() -> Self {
        let set =
            |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let root = set("SWITCHYARD_LIVE_CACHE").unwrap_or_else(|| {
            let home = || set("HOME").map(|home| home.join(".cache"));
            let caches = set("XDG_CACHE_HOME").or_else(home).unwrap_or_else(std::env::temp_dir);
            caches.join("switchyard-live")
        });
        Self { root }
    }

    pub fn at(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Installs what is not there yet.
    pub fn install(&self, package: &Package) -> Result<InstalledPackage, InstallError> {
        let mut path = Vec::new();
        if package.source == Source::Own {
            return Ok(InstalledPackage { program: PathBuf::from(package.program), path });
        }
        if let Source::Npm(_) = package.source {
            path.extend(npm::node(self)?);
        }
        let dir = self.dir(package);
        if !is_complete(&dir) {
            say(&format!("installing {} {} …", package.id, package.version));
            Self::fresh(&dir, |dir| match package.source {
                Source::Npm(name) => npm::install(dir, name, package.version, &path),
                Source::Python(name, minor) => {
                    python::install(self, dir, name, package.version, minor)
                }
                Source::Own => Ok(()),
            })?;
        }
        let bin = match package.source {
            Source::Npm(_) => dir.join("node_modules/.bin"),
            Source::Python(..) | Source::Own => dir.join("bin"),
        };
        let program = bin.join(package.program);
        if !program.exists() {
            return Err(InstallError::Missing(package.program.to_owned()));
        }
        path.push(bin);
        Ok(InstalledPackage { program, path })
    }

    fn dir(&self, package: &Package) -> PathBuf {
        self.root.join(format!("{}-{}", package.id, package.version))
    }

    /// Makes a directory from nothing, and marks it when all went well.
    fn fresh(
        dir: &Path,
        fill: impl FnOnce(&Path) -> Result<(), InstallError>,
    ) -> Result<(), InstallError> {
        if dir.exists() {
            fs::remove_dir_all(dir)?;
        }
        fs::create_dir_all(dir)?;
        fill(dir)?;
        fs::write(dir.join(MARK), "")?;
        Ok(())
    }
}

fn is_complete(dir: &Path) -> bool {
    dir.join(MARK).exists()
}

/// Runs one step to its end; what it printed is shown only if it fails.
fn run(step: &str, command: &mut Command) -> Result<String, InstallError> {
    // The last lines hold the reason.
    const SHOWN_CHARS: usize = 600;
    let program = command.get_program().to_string_lossy().into_owned();
    let ran = command.stdin(Stdio::null()).output();
    let ran = ran.map_err(|reason| InstallError::NoProgram { program, reason })?;
    let out = String::from_utf8_lossy(&ran.stdout).into_owned();
    if ran.status.success() {
        return Ok(out);
    }
    let all = out + &String::from_utf8_lossy(&ran.stderr);
    let skipped = all.chars().count().saturating_sub(SHOWN_CHARS);
    let output = all.chars().skip(skipped).collect::<String>().trim().replace('\n', " ⏎ ");
    Err(InstallError::Failed { step: step.to_owned(), status: ran.status.to_string(), output })
}

/// The PATH with these directories before all others.
fn path_with(first: &[PathBuf]) -> std::ffi::OsString {
    let rest = std::env::var_os("PATH").unwrap_or_default();
    let all = first.iter().cloned().chain(std::env::split_paths(&rest));
    std::env::join_paths(all).unwrap_or(rest)
}

#[cfg(test)]
mod tests;
