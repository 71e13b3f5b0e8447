//! Packages of npm, and the Node that they need.
//!
//! On an older Node npm silently installs older versions of some agents, so a Node that is too
//! old is set aside for one from the registry, which exists as a package too.

use super::{Cache, InstallError, is_complete, path_with, run};
use crate::say;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

// The oldest Node that all agents run on.
const OLDEST_NODE: (u32, u32) = (22, 19);
const NODE: &str = "24";

/// The directory of a Node that is new enough; nothing if the one on the PATH is.
pub(super) fn node(cache: &Cache) -> Result<Option<PathBuf>, InstallError> {
    let own = run("node --version", Command::new("node").arg("--version")).ok();
    if own.and_then(|text| version(&text)).is_some_and(|version| version >= OLDEST_NODE) {
        return Ok(None);
    }
    let package = format!("node-{}-{}", std::env::consts::OS, architecture());
    let dir = cache.root().join(format!("node-{NODE}"));
    if !is_complete(&dir) {
        say(&format!("installing node {NODE} …"));
        Cache::fresh(&dir, |dir| install(dir, &package, NODE, &[]))?;
    }
    Ok(Some(dir.join("node_modules").join(package).join("bin")))
}

pub(super) fn install(
    dir: &Path,
    name: &str,
    version: &str,
    path: &[PathBuf],
) -> Result<(), InstallError> {
    fs::write(dir.join("package.json"), r#"{"private":true}"#)?;
    let npm = |arguments: &[&str]| {
        let mut command = Command::new("npm");
        command.args(arguments).current_dir(dir).env("PATH", path_with(path));
        run(&format!("npm {}", arguments.join(" ")), &mut command)
    };
    let package = format!("{name}@{version}");
    npm(&["install", "--no-audit", "--no-fund", "--loglevel=error", &package])?;
    // Newer versions of npm run the scripts of packages only when told to; older ones did it
    // above and do not know the first command.
    if npm(&["install-scripts", "approve", "--all"]).is_ok() {
        npm(&["rebuild", "--loglevel=error"])?;
    }
    Ok(())
}

/// `v20.20.2`
fn version(text: &str) -> Option<(u32, u32)> {
    let mut parts = text.trim().strip_prefix('v')?.split('.');
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

fn architecture() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "x64",
        "aarch64" => "arm64",
        other => other,
    }
}
