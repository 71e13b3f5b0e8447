//! Reads a bus file.
//!
//! In: `bus.toml`, or a stdio Bus configuration in JSON, told apart by what is in it. Out: a
//! [`BusFile`] with every path made absolute, or one error with its place in the file.

use std::fmt;
use std::io::Read as _;
use std::marker::PhantomData;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde::de::{Deserializer, SeqAccess, Visitor};
use toml::Spanned;

use super::file::{BusFile, BusFileError, BusFileFormat, BusFileProblem, line_and_column};
use super::limits_table::LimitsTable;
use super::listener::ListenTable;
use super::pool_table::PoolTable;
use super::stdio_bus;

/// Thousands of pools fit into it.
const MAX_BYTES: u64 = 4 << 20;

impl BusFile {
    /// Reads a file. `here` is where the bus is started.
    pub(crate) fn read(path: &Path, here: &Path) -> Result<Self, BusFileError> {
        let unreadable = |source| BusFileError::Unreadable { path: path.to_owned(), source };
        let mut text = String::new();
        let file = std::fs::File::open(path).map_err(unreadable)?;
        file.take(MAX_BYTES + 1).read_to_string(&mut text).map_err(unreadable)?;
        if text.len() as u64 > MAX_BYTES {
            let why = format!("it has more than {MAX_BYTES} bytes");
            return Err(unreadable(std::io::Error::other(why)));
        }
        Self::parse(&text, path, here)
            .map_err(|wrong| BusFileError::Invalid { path: path.to_owned(), wrong })
    }

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
