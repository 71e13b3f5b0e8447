//! A bus file: pools, limits and listeners, read once and held as what it means.
//!
//! In: `bus.toml`, or a stdio Bus configuration in JSON, told apart by what is in it. Out: a
//! [`BusFile`] with every path made absolute, or one error with its place in the file.

use std::fmt;
use std::io::Read as _;
use std::marker::PhantomData;
use std::path::{Path, PathBuf};

use bus::Edges;
use bus::switch::Limits;
use serde::de::{Deserializer, SeqAccess, Visitor};
use serde::{Deserialize, Serialize};
use toml::Spanned;

use super::limits_table::LimitsTable;
use super::listener::{ListenTable, Listener};
use super::pool_table::{PoolEntry, PoolTable};
use super::stdio_bus;
use crate::outcome::{ERROR, Failure};

/// Thousands of pools fit into it.
const MAX_BYTES: u64 = 4 << 20;

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct BusFile {
    pub(crate) form: Form,
    pub(crate) pools: Vec<PoolEntry>,
    pub(crate) limits: Limits,
    pub(crate) edges: Edges,
    pub(crate) listeners: Vec<Listener>,
    pub(crate) token_file: Option<PathBuf>,
    /// What is fine but may not be what was meant.
    pub(crate) warnings: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Form {
    Toml,
    StdioBus,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum FileError {
    #[error("cannot read {}: {source}", path.display())]
    Unreadable { path: PathBuf, source: std::io::Error },
    #[error("{}{wrong}", path.display())]
    Wrong { path: PathBuf, wrong: Wrong },
}

/// What is wrong with the text, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Wrong {
    /// Line and column, from 1.
    pub(crate) at: Option<(usize, usize)>,
    pub(crate) message: String,
    pub(crate) hint: Option<String>,
}

impl BusFile {
    /// Reads a file. `here` is where the bus is started.
    pub(crate) fn read(path: &Path, here: &Path) -> Result<Self, FileError> {
        let unreadable = |source| FileError::Unreadable { path: path.to_owned(), source };
        let mut text = String::new();
        let file = std::fs::File::open(path).map_err(unreadable)?;
        file.take(MAX_BYTES + 1).read_to_string(&mut text).map_err(unreadable)?;
        if text.len() as u64 > MAX_BYTES {
            let why = format!("it has more than {MAX_BYTES} bytes");
            return Err(unreadable(std::io::Error::other(why)));
        }
        Self::parse(&text, path, here)
            .map_err(|wrong| FileError::Wrong { path: path.to_owned(), wrong })
    }

    /// `path` says what the file is called and what its relative paths are below.
    pub(crate) fn parse(text: &str, path: &Path, here: &Path) -> Result<Self, Wrong> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let is_json_name = path.extension().is_some_and(|extension| extension == "json");
        if is_json_name || text.trim_start().starts_with('{') {
            // As there: relative to where it is started, wherever the file is.
            return stdio_bus::parse(text).map(|file| file.below(here));
        }
        let tables =
            toml::from_str::<Tables>(text).map_err(|error| Wrong::of_toml(text, &error))?;
        let dir = here.join(path);
        Ok(Self::of_tables(tables, text)?.below(dir.parent().unwrap_or(here)))
    }

    fn of_tables(tables: Tables, text: &str) -> Result<Self, Wrong> {
        let (limits, edges) = tables.limits.settle();
        Ok(Self {
            form: Form::Toml,
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
struct Tables {
    #[serde(default)]
    pool: Many<PoolTable>,
    #[serde(default)]
    limits: LimitsTable,
    #[serde(default)]
    listen: Many<ListenTable>,
    token_file: Option<PathBuf>,
}

/// A list of tables, whose brackets are easily written once too few.
#[derive(Debug)]
struct Many<T>(Vec<Spanned<T>>);

impl<T> Default for Many<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T> Many<T> {
    /// What the tables mean; an error is where its table begins.
    fn settle<M: TryFrom<T, Error = String>>(self, text: &str) -> Result<Vec<M>, Wrong> {
        let each = self.0.into_iter().map(|table| {
            let at = Some(place(text, table.span().start));
            M::try_from(table.into_inner()).map_err(|why| Wrong { at, ..Wrong::new(why) })
        });
        each.collect()
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Many<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Each<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Each<T> {
            type Value = Many<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list; its tables have double brackets, such as [[pool]]")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Many<T>, A::Error> {
                let mut all = Vec::new();
                while let Some(one) = seq.next_element()? {
                    all.push(one);
                }
                Ok(Many(all))
            }
        }
        deserializer.deserialize_seq(Each(PhantomData))
    }
}

impl Wrong {
    pub(super) fn new(message: impl Into<String>) -> Self {
        Self { at: None, message: message.into(), hint: None }
    }

    pub(super) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    fn of_toml(text: &str, error: &toml::de::Error) -> Self {
        let at = error.span().map(|span| place(text, span.start));
        Self { at, ..Self::new(error.message()) }
    }

    pub(super) fn of_json(error: &serde_json::Error) -> Self {
        let at = Some((error.line(), error.column()));
        // It ends with the place, which is told apart from it.
        let message = error.to_string();
        let message = message.split(" at line ").next().unwrap_or(&message);
        Self { at, ..Self::new(message) }
    }
}

/// Line and column of a byte, from 1.
fn place(text: &str, at: usize) -> (usize, usize) {
    let before = text.get(..at).unwrap_or(text);
    let line = before.rsplit('\n').next().unwrap_or_default();
    (before.matches('\n').count() + 1, line.chars().count() + 1)
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.at {
            Some((line, column)) => write!(f, ":{line}:{column}: {}", self.message),
            None => write!(f, ": {}", self.message),
        }
    }
}

impl From<FileError> for Failure {
    fn from(error: FileError) -> Self {
        let message = error.to_string();
        match error {
            FileError::Unreadable { .. } => Self::usage(message),
            FileError::Wrong { wrong, .. } => Self::new(ERROR, message).hinting(wrong.hint),
        }
    }
}

#[cfg(test)]
mod tests;
