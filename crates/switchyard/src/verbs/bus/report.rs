//! The report of `switchyard bus check`, as text and as JSON.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use bus::switch::{PoolPlan, RestartPolicy, StartPolicy};
use projection::sanitize;
use serde::Serialize;
use serde_json::{Value, json};

use super::file::{BusFile, BusFileFormat, BusFileProblem};
use super::limits_table::{ChangedLimit, changed_limits};
use super::listener::{BusAddress, BusListener, PRIVATE_SOCKET_MODE};
use super::pool_table::{PoolEntry, PoolProgram};
use crate::outcome::{ERROR, Failure};
use crate::terminal::format::word;
use crate::terminal::paint::Paint;

#[derive(Debug, Default)]
pub(super) struct CheckReport {
    path: PathBuf,
    form: Option<BusFileFormat>,
    pools: Vec<PoolReport>,
    limits: Vec<ChangedLimit>,
    listeners: Vec<BusListener>,
    warnings: Vec<String>,
    problems: Vec<Failure>,
}

#[derive(Debug, Serialize)]
pub(super) struct PoolReport {
    name: String,
    min: u32,
    max: u32,
    start: StartPolicy,
    restart: RestartPolicy,
    runs: Vec<String>,
    program: Option<PathBuf>,
}

impl PoolReport {
    pub(super) fn new(pool: &PoolEntry, program: Option<PathBuf>) -> Self {
        let runs = match &pool.work {
            PoolProgram::Agent { name, .. } => vec!["agent".to_owned(), name.clone()],
            PoolProgram::Command { program, args } => {
                [program.display().to_string()].into_iter().chain(args.iter().cloned()).collect()
            }
        };
        let PoolPlan { min, max, start, restart, .. } = pool.plan;
        Self { name: pool.name().to_owned(), min, max, start, restart, runs, program }
    }

    fn columns(&self) -> [String; 5] {
        let workers = match self.min == self.max {
            true => self.max.to_string(),
            false => format!("{}-{}", self.min, self.max),
        };
        let (name, runs) = (clean(&self.name), clean(&self.runs.join(" ")));
        [name, workers, word(&self.start), word(&self.restart), runs]
    }
}

impl CheckReport {
    pub(super) fn new(
        path: &Path,
        file: &BusFile,
        pools: Vec<PoolReport>,
        warnings: Vec<String>,
        problems: Vec<Failure>,
    ) -> Self {
        Self {
            path: path.to_owned(),
            form: Some(file.form),
            pools,
            limits: changed_limits(&file.limits, &file.edges),
            listeners: file.listeners.clone(),
            warnings,
            problems,
        }
    }

    /// The report of a file that could not be parsed.
    pub(super) fn of_problem(path: &Path, wrong: BusFileProblem) -> Self {
        let BusFileProblem { at, message, hint } = wrong;
        let message = match at {
            Some((line, column)) => format!("line {line}, column {column}: {message}"),
            None => message,
        };
        let problems = vec![Failure::new(ERROR, message).hinting(hint)];
        Self { path: path.to_owned(), problems, ..Self::default() }
    }

    pub(super) fn is_ok(&self) -> bool {
        self.problems.is_empty()
    }

    pub(super) fn json(&self) -> Value {
        let listeners = self.listeners.iter().map(|listener| {
            json!({
                "at": listener.at.to_string(), "pool": listener.pool,
                "needsToken": listener.at.needs_token(),
            })
        });
        json!({
            "file": self.path,
            "form": self.form,
            "isOk": self.is_ok(),
            "pools": self.pools,
            "limits": self.limits,
            "listeners": listeners.collect::<Vec<_>>(),
            "warnings": self.warnings,
            "problems": self.problems,
        })
    }

    pub(super) fn text(&self, paint: Paint) -> String {
        let mut text = String::new();
        // Writing to a String cannot fail.
        if !self.pools.is_empty() {
            text.push_str(&self.table(paint));
        }
        if !self.limits.is_empty() {
            let _ = writeln!(text, "\n{}", paint.strong("limits that differ from the defaults"));
            for ChangedLimit { name, value, usual } in &self.limits {
                let _ = writeln!(text, "  {name:<19} {value} (default {usual})");
            }
        }
        if self.form.is_some() {
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
        let rows: Vec<[String; 5]> = self.pools.iter().map(PoolReport::columns).collect();
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
        for (row, pool) in rows.iter().zip(&self.pools) {
            let line = line(row);
            let line = if pool.program.is_some() { line } else { paint.bad(&line) };
            let _ = writeln!(text, "{line}");
        }
        text
    }

    fn listeners_text(&self) -> String {
        if self.listeners.is_empty() {
            return "  stdin and stdout, one; or by --tcp, --unix and --ws\n".to_owned();
        }
        let mut text = String::new();
        for BusListener { at, pool } in &self.listeners {
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

fn clean(text: &str) -> String {
    sanitize(text).into_owned()
}

#[cfg(test)]
mod tests;
