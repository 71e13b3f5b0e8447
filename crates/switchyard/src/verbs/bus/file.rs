//! A bus file.
//!
//! In: `bus.toml`, or a stdio Bus configuration in JSON, told apart by what is in it. Out: a
//! [`BusFile`] with every path made absolute, or one error with its place in the file.

mod stdio_bus;

use std::fmt;
use std::io::Read as _;
use std::marker::PhantomData;
use std::path::{Path, PathBuf};

use bus::IoLimits;
use bus::switch::SwitchLimits;
use serde::de::{Deserializer, SeqAccess, Visitor};
use serde::{Deserialize, Serialize};
use toml::Spanned;

use super::limits_table::LimitsTable;
use super::listener::{BusListener, ListenTable};
use super::pool_table::{PoolEntry, PoolTable};
use crate::outcome::{ERROR, Failure};

/// Thousands of pools fit into it.
const MAX_BYTES: u64 = 4 << 20;

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct BusFile {
    pub(crate) form: BusFileFormat,
    pub(crate) pools: Vec<PoolEntry>,
    pub(crate) limits: SwitchLimits,
    pub(crate) edges: IoLimits,
    pub(crate) listeners: Vec<BusListener>,
    pub(crate) token_file: Option<PathBuf>,
    /// Settings that are valid but may not be what was meant.
    pub(crate) warnings: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum BusFileFormat {
    Toml,
    StdioBus,
}

/// An error in the text of a bus file, and its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BusFileProblem {
    /// Line and column, from 1.
    pub(crate) at: Option<(usize, usize)>,
    pub(crate) message: String,
    pub(crate) hint: Option<String>,
}

impl BusFileProblem {
    pub(super) fn new(message: impl Into<String>) -> Self {
        Self { at: None, message: message.into(), hint: None }
    }

    pub(super) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// The failure of a command that needs the file.
    pub(super) fn failure(self, path: &Path) -> Failure {
        Failure::new(ERROR, format!("{}{self}", path.display())).hinting(self.hint)
    }

    pub(super) fn of_toml(text: &str, error: &toml::de::Error) -> Self {
        let at = error.span().map(|span| line_and_column(text, span.start));
        Self { at, ..Self::new(error.message()) }
    }

    pub(super) fn of_json(error: &serde_json::Error) -> Self {
        let at = Some((error.line(), error.column()));
        // The message ends with the place, which has a field of its own here.
        let message = error.to_string();
        let message = message.split(" at line ").next().unwrap_or(&message);
        Self { at, ..Self::new(message) }
    }
}

/// Line and column of a byte, from 1.
pub(super) fn line_and_column(text: &str, at: usize) -> (usize, usize) {
    let before = text.get(..at).unwrap_or(text);
    let line = before.rsplit('\n').next().unwrap_or_default();
    (before.matches('\n').count() + 1, line.chars().count() + 1)
}

impl fmt::Display for BusFileProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.at {
            Some((line, column)) => write!(f, ":{line}:{column}: {}", self.message),
            None => write!(f, ": {}", self.message),
        }
    }
}

/// Reads a file that the user has named.
pub(super) fn read_text(path: &Path) -> Result<String, Failure> {
    let unreadable = |source: std::io::Error| {
        Failure::usage(format!("cannot read {}: {source}", path.display()))
    };
    let mut text = String::new();
    let file = std::fs::File::open(path).map_err(unreadable)?;
    file.take(MAX_BYTES + 1).read_to_string(&mut text).map_err(unreadable)?;
    if text.len() as u64 > MAX_BYTES {
        let why = format!("it has more than {MAX_BYTES} bytes");
        return Err(unreadable(std::io::Error::other(why)));
    }
    Ok(text)
}

impl BusFile {
    /// `path` says what the file is called and what its relative paths are below.
    pub(crate) fn parse(text: &str, path: &Path, here: &Path) -> Result<Self, BusFileProblem> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let is_json_name = path.extension().is_some_and(|extension| extension == "json");
        if is_json_name || text.trim_start().starts_with('{') {
            // As in stdio Bus: relative to where it is started, wherever the file is.
            return stdio_bus::parse(text).map(|file| file.below(here));
        }
        let tables = toml::from_str::<BusTables>(text)
            .map_err(|error| BusFileProblem::of_toml(text, &error))?;
        let dir = here.join(path);
        Ok(Self::of_tables(tables, text)?.below(dir.parent().unwrap_or(here)))
    }

    fn of_tables(tables: BusTables, text: &str) -> Result<Self, BusFileProblem> {
        let (limits, edges) = tables.limits.settle();
        Ok(Self {
            form: BusFileFormat::Toml,
            pools: tables.pool.settle(text)?,
            limits,
            edges,
            listeners: tables.listen.settle(text)?,
            token_file: tables.token_file,
            warnings: Vec::new(),
        })
    }

    fn below(mut self, base: &Path) -> Self {
        self.pools = self.pools.into_iter().map(|pool| pool.below(base)).collect();
        self.listeners = self.listeners.into_iter().map(|one| one.below(base)).collect();
        self.token_file = self.token_file.map(|path| base.join(path));
        self
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct BusTables {
    #[serde(default)]
    pool: TableList<PoolTable>,
    #[serde(default)]
    limits: LimitsTable,
    #[serde(default)]
    listen: TableList<ListenTable>,
    token_file: Option<PathBuf>,
}

/// A list of tables, whose brackets are easily written once too few.
#[derive(Debug)]
struct TableList<T>(Vec<Spanned<T>>);

impl<T> Default for TableList<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T> TableList<T> {
    /// Converts the tables; an error has the place where its table begins.
    fn settle<M: TryFrom<T, Error = String>>(self, text: &str) -> Result<Vec<M>, BusFileProblem> {
        let each = self.0.into_iter().map(|table| {
            let at = Some(line_and_column(text, table.span().start));
            M::try_from(table.into_inner())
                .map_err(|why| BusFileProblem { at, ..BusFileProblem::new(why) })
        });
        each.collect()
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for TableList<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct TableListVisitor<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for TableListVisitor<T> {
            type Value = TableList<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list; its tables have double brackets, such as [[pool]]")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<TableList<T>, A::Error> {
                let mut all = Vec::new();
                while let Some(one) = seq.next_element()? {
                    all.push(one);
                }
                Ok(TableList(all))
            }
        }
        deserializer.deserialize_seq(TableListVisitor(PhantomData))
    }
}

#[cfg(test)]
mod tests;
