//! `switchyard bus check`: whether a file is valid, and whether everything that it names exists.
//!
//! In: a file. Out: its pools and listeners, its warnings and its problems, each with a hint, as text
//! or as JSON; exit code 0, or 1 if something is wrong with it, or 2 if it cannot be read at all.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context as _;
use bus::{Launch, SpawnError};
use projection::sanitize;
use serde_json::{Value, json};

use super::file::{BusFile, BusFileProblem, read_text};
use super::limits_table::{ChangedLimit, changed_limits};
use super::listener::{BusAddress, BusListener, PRIVATE_SOCKET_MODE};
use super::pool_table::{PoolEntry, PoolProgram};
use super::setup::{launch, problems, warnings};
use super::token;
use crate::config::Config;
use crate::outcome::{ERROR, Failure};
use crate::terminal::format::word;
use crate::terminal::output::print;
use crate::terminal::paint::Paint;

#[derive(Debug, Default)]
struct CheckReport {
    path: PathBuf,
    /// The file, if it could be parsed, and the program of each of its pools that is there.
    file: Option<BusFile>,
    programs: Vec<Option<PathBuf>>,
    warnings: Vec<String>,
    problems: Vec<Failure>,
}

pub(super) async fn check(
    path: &Path,
    is_json: bool,
    config: &Config,
) -> Result<ExitCode, Failure> {
    let here = std::env::current_dir().context("cannot find the working directory")?;
    let report = match BusFile::parse(&read_text(path)?, path, &here) {
        Ok(file) => look(file, path, config, &here).await,
        Err(wrong) => CheckReport::of_problem(path, wrong),
    };
    let text = match is_json {
        true => format!("{:#}\n", report.json()),
        false => report.text(Paint::on_stdout()),
    };
    // The verdict is the same for whoever reads no more of it.
    print(&text).or_else(|error| if error.is_reader_gone { Ok(()) } else { Err(error) })?;
    Ok(if report.problems.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(ERROR) })
}

async fn look(file: BusFile, path: &Path, config: &Config, here: &Path) -> CheckReport {
    let mut found = problems(&file);
    let mut programs = Vec::new();
    for pool in &file.pools {
        let program = match launch(pool, config, here).await {
            Ok(launch) => find_program(pool.name(), &launch),
            Err(problem) => Err(problem),
        };
        programs.push(program.map_err(|problem| found.push(problem)).ok());
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
    let (path, warnings) = (path.to_owned(), warnings(&file));
    CheckReport { path, file: Some(file), programs, warnings, problems: found }
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

impl CheckReport {
    /// The report of a file that could not be parsed.
    fn of_problem(path: &Path, wrong: BusFileProblem) -> Self {
        let BusFileProblem { at, message, hint } = wrong;
        let message = match at {
            Some((line, column)) => format!("line {line}, column {column}: {message}"),
            None => message,
        };
        let problems = vec![Failure::new(ERROR, message).hinting(hint)];
        Self { path: path.to_owned(), problems, ..Self::default() }
    }

    /// The pools, each with its program.
    fn pools(&self) -> impl Iterator<Item = (&PoolEntry, Option<&PathBuf>)> {
        let programs = self.programs.iter().map(Option::as_ref);
        self.file.iter().flat_map(|file| &file.pools).zip(programs)
    }

    fn listeners(&self) -> &[BusListener] {
        self.file.as_ref().map(|file| file.listeners.as_slice()).unwrap_or_default()
    }

    fn limits(&self) -> Vec<ChangedLimit> {
        self.file.as_ref().map(|file| changed_limits(&file.limits, &file.edges)).unwrap_or_default()
    }

    fn json(&self) -> Value {
        let pools = self.pools().map(|(pool, program)| {
            let plan = &pool.plan;
            json!({
                "name": plan.name, "min": plan.min, "max": plan.max, "start": plan.start,
                "restart": plan.restart, "runs": command_of(pool), "program": program,
            })
        });
        let listeners = self.listeners().iter().map(|listener| {
            json!({
                "at": listener.at.to_string(), "pool": listener.pool,
                "needsToken": listener.at.needs_token(),
            })
        });
        json!({
            "file": self.path,
            "form": self.file.as_ref().map(|file| file.form),
            "isOk": self.problems.is_empty(),
            "pools": pools.collect::<Vec<_>>(),
            "limits": self.limits(),
            "listeners": listeners.collect::<Vec<_>>(),
            "warnings": self.warnings,
            "problems": self.problems,
        })
    }

    fn text(&self, paint: Paint) -> String {
        let mut text = String::new();
        // Writing to a String cannot fail.
        if !self.programs.is_empty() {
            text.push_str(&self.table(paint));
        }
        let limits = self.limits();
        if !limits.is_empty() {
            let _ = writeln!(text, "\n{}", paint.strong("limits that differ from the defaults"));
            for ChangedLimit { name, value, usual } in &limits {
                let _ = writeln!(text, "  {name:<19} {value} (default {usual})");
            }
        }
        if self.file.is_some() {
            let _ = writeln!(text, "\n{}", paint.strong("listeners"));
            text.push_str(&self.listeners_text());
        }
        for warning in &self.warnings {
            let _ = writeln!(text, "\n{}: {}", paint.doubtful("warning"), sanitize(warning));
        }
        for Failure { message, hint, .. } in &self.problems {
            let _ = writeln!(text, "\n{}: {}", paint.bad("problem"), sanitize(message));
            if let Some(hint) = hint {
                let _ = writeln!(text, "    fix: {}", sanitize(hint));
            }
        }
        let path = clean(&self.path.display().to_string());
        let verdict = match self.problems.len() {
            0 => paint.good(&format!("{path} is fine")),
            1 => paint.bad(&format!("{path} has a problem")),
            n => paint.bad(&format!("{path} has {n} problems")),
        };
        let _ = writeln!(text, "\n{verdict}");
        text.trim_start().to_owned()
    }

    fn table(&self, paint: Paint) -> String {
        let head = ["pool", "workers", "start", "restart", "runs"].map(str::to_owned);
        let rows: Vec<[String; 5]> = self.pools().map(|(pool, _)| columns(pool)).collect();
        let width = |n: usize| {
            let cells = [&head].into_iter().chain(&rows).filter_map(|row| row.get(n));
            cells.map(|cell| cell.chars().count()).max().unwrap_or_default()
        };
        let widths: Vec<usize> = (0..head.len()).map(width).collect();
        let line = |row: &[String; 5]| {
            let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}"));
            cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
        };
        let mut text = format!("{}\n", paint.strong(&line(&head)));
        for (row, program) in rows.iter().zip(&self.programs) {
            let line = line(row);
            let line = if program.is_some() { line } else { paint.bad(&line) };
            let _ = writeln!(text, "{line}");
        }
        text
    }

    fn listeners_text(&self) -> String {
        if self.listeners().is_empty() {
            return "  stdin and stdout, one; or by --tcp, --unix and --ws\n".to_owned();
        }
        let mut text = String::new();
        for BusListener { at, pool } in self.listeners() {
            let place = clean(&at.to_string());
            let how = match at {
                BusAddress::Tcp(_) | BusAddress::Ws(_) => "with the token".to_owned(),
                BusAddress::Unix(_, PRIVATE_SOCKET_MODE) => "as this user".to_owned(),
                BusAddress::Unix(_, mode) => format!("as its mode {mode:04o} allows"),
            };
            let pool = pool.as_ref().map(|pool| format!(", to pool {}", sanitize(pool)));
            let _ = writeln!(text, "  {place}, {how}{}", pool.unwrap_or_default());
        }
        text
    }
}

fn command_of(pool: &PoolEntry) -> Vec<String> {
    match &pool.work {
        PoolProgram::Agent { name, .. } => vec!["agent".to_owned(), name.clone()],
        PoolProgram::Command { program, args } => {
            [program.display().to_string()].into_iter().chain(args.iter().cloned()).collect()
        }
    }
}

fn columns(pool: &PoolEntry) -> [String; 5] {
    let plan = &pool.plan;
    let workers = match plan.min == plan.max {
        true => plan.max.to_string(),
        false => format!("{}-{}", plan.min, plan.max),
    };
    let (name, runs) = (clean(&plan.name), clean(&command_of(pool).join(" ")));
    [name, workers, word(&plan.start), word(&plan.restart), runs]
}

fn clean(text: &str) -> String {
    sanitize(text).into_owned()
}

#[cfg(test)]
mod tests;
