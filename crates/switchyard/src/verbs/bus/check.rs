//! `switchyard bus check`: whether a file is valid, and whether everything that it names exists.
//!
//! In: a file. Out: its pools and listeners, its warnings and its problems, each with a hint;
//! exit code 0, or 1 if something is wrong with it, or 2 if it cannot be read at all.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context as _;
use bus::{Launch, SpawnError};

use super::file::{BusFile, BusFileError};
use super::listener::BusAddress;
use super::report::{CheckReport, PoolReport};
use super::setup::{launch, problems, warnings};
use super::token;
use crate::config::Config;
use crate::outcome::{ERROR, Failure};
use crate::terminal::output::print;
use crate::terminal::paint::Paint;

pub(super) async fn check(
    path: &Path,
    is_json: bool,
    config: &Config,
) -> Result<ExitCode, Failure> {
    let here = std::env::current_dir().context("cannot find the working directory")?;
    let report = match BusFile::read(path, &here) {
        Ok(file) => look(file, path, config, &here).await,
        Err(error @ BusFileError::Unreadable { .. }) => return Err(error.into()),
        Err(BusFileError::Invalid { wrong, .. }) => CheckReport::of_problem(path, wrong),
    };
    let text = match is_json {
        true => format!("{:#}\n", report.json()),
        false => report.text(Paint::on_stdout()),
    };
    // The verdict is the same for whoever reads no more of it.
    print(&text).or_else(|error| if error.is_reader_gone { Ok(()) } else { Err(error) })?;
    Ok(if report.is_ok() { ExitCode::SUCCESS } else { ExitCode::from(ERROR) })
}

async fn look(file: BusFile, path: &Path, config: &Config, here: &Path) -> CheckReport {
    let mut found = problems(&file);
    let mut pools = Vec::new();
    for pool in &file.pools {
        let program = match launch(pool, config, here).await {
            Ok(launch) => find_program(pool.name(), &launch),
            Err(problem) => Err(problem),
        };
        let program = program.map_err(|problem| found.push(problem)).ok();
        pools.push(PoolReport::new(pool, program));
    }
    for listener in &file.listeners {
        if let BusAddress::Unix(socket, _) = &listener.at
            && let Some(dir) = socket.parent().filter(|dir| !dir.is_dir())
        {
            let problem = Failure::new(ERROR, format!("{} is no directory", dir.display()));
            found.push(problem.hint(format!("mkdir -p {}", dir.display())));
        }
    }
    found.extend(file.token_file.as_deref().and_then(token::problem));
    let warnings = warnings(&file);
    CheckReport::new(path, &file, pools, warnings, found)
}

fn find_program(pool: &str, launch: &Launch) -> Result<PathBuf, Failure> {
    launch.find_program().map_err(|error| {
        let program = launch.program.display();
        let problem = Failure::new(ERROR, format!("pool `{pool}`: {error}"));
        match error {
            SpawnError::NotFound { .. } if program.to_string().contains('/') => {
                problem.hint("correct the path in `command`")
            }
            SpawnError::NotFound { .. } => {
                problem.hint("install it, or give its whole path as `command`")
            }
            SpawnError::NotExecutable { .. } => problem.hint(format!("chmod +x {program}")),
            SpawnError::BadCwd { cwd, .. } => {
                problem.hint(format!("correct `cwd`, or make it: mkdir -p {}", cwd.display()))
            }
            _ => problem,
        }
    })
}

#[cfg(test)]
mod tests;
