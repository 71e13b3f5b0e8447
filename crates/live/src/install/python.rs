//! Packages of the Python index, each in an environment of its own.
//!
//! The first Python that is new enough is taken: on the PATH, from pyenv, or one that `uv` (itself
//! a package) can find or fetch.

use super::{Cache, InstallError, is_complete, run};
use std::path::{Path, PathBuf};
use std::process::Command;

const MINORS_TO_TRY: std::ops::RangeInclusive<u32> = 11..=14;
// Some agents crash on this one.
const BROKEN: &[&str] = &["3.12.1"];

pub(super) fn install(
    cache: &Cache,
    dir: &Path,
    name: &str,
    version: &str,
    minor: u32,
) -> Result<(), InstallError> {
    let python = candidates(minor).into_iter().find(|python| is_good(python, minor));
    let python = match python {
        Some(python) => python,
        None => with_uv(cache, minor)?,
    };
    run("python -m venv", Command::new(python).args(["-m", "venv"]).arg(dir))?;
    let mut pip = Command::new(dir.join("bin/pip"));
    // What has to be compiled leaves the machine usable, and llama.cpp needs no pictures here.
    pip.env("CMAKE_BUILD_PARALLEL_LEVEL", "2").env("CMAKE_ARGS", "-DLLAVA_BUILD=OFF");
    let package = format!("{name}=={version}");
    let quiet = ["install", "--quiet", "--disable-pip-version-check", &package];
    run(&format!("pip install {package}"), pip.args(quiet)).map(drop)
}

fn candidates(minor: u32) -> Vec<PathBuf> {
    let mut found = vec![PathBuf::from("python3")];
    found.extend(
        MINORS_TO_TRY.filter(|one| *one >= minor).map(|one| format!("python3.{one}").into()),
    );
    let home = std::env::var_os("HOME").map(PathBuf::from).unwrap_or_default();
    let versions = std::fs::read_dir(home.join(".pyenv/versions")).into_iter().flatten().flatten();
    found.extend(versions.map(|version| version.path().join("bin/python3")));
    found
}

fn is_good(python: &Path, minor: u32) -> bool {
    let Ok(text) = run("python --version", Command::new(python).arg("--version")) else {
        return false;
    };
    let version = text.trim().trim_start_matches("Python ");
    let mut parts = version.split('.').map(|part| part.parse::<u32>().unwrap_or_default());
    parts.next() == Some(3)
        && parts.next().is_some_and(|its| its >= minor)
        && !BROKEN.contains(&version)
}

fn with_uv(cache: &Cache, minor: u32) -> Result<PathBuf, InstallError> {
    let dir = cache.root().join("uv");
    if !is_complete(&dir) {
        Cache::fresh(&dir, |dir| {
            run("python -m venv", Command::new("python3").args(["-m", "venv"]).arg(dir))?;
            let mut pip = Command::new(dir.join("bin/pip"));
            run("pip install uv", pip.args(["install", "--quiet", "uv"])).map(drop)
        })?;
    }
    let uv = |arguments: &[&str]| {
        run("uv python", Command::new(dir.join("bin/uv")).arg("python").args(arguments))
    };
    let wanted = format!("3.{}", minor.max(13));
    let found = uv(&["find", &wanted])
        .or_else(|_| uv(&["install", &wanted]).and_then(|_| uv(&["find", &wanted])));
    found.map(|path| PathBuf::from(path.trim())).map_err(|_| InstallError::NoPython(minor))
}
