//! A cache file of facts from earlier probes.
//!
//! In: a directory. Out: facts by agent, each with a key that names the very program they were
//! learned from; another size, time or inode makes another key. A file that cannot be read is
//! no file. It is replaced whole, so a reader never sees half of it.

use std::collections::BTreeMap;
use std::fs;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::Machine;
use super::facts::ProgramFacts;
use crate::definition::RuntimeDefinition;

/// The version of the cache file's format; changed whenever its content changes its meaning.
const FORMAT: u32 = 1;
/// The longest cache file that is read; far above what two dozen agents with all models need.
const MAX_FILE_BYTES: u64 = 16 << 20;
const FILE_NAME: &str = "agents.json";

#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct DetectionCache {
    format: u32,
    agents: BTreeMap<String, DetectionCacheEntry>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct DetectionCacheEntry {
    pub key: String,
    pub facts: ProgramFacts,
}

impl DetectionCache {
    pub(super) fn load(dir: Option<&Path>) -> Self {
        let Some(dir) = dir else { return Self::default() };
        let loaded =
            read(&dir.join(FILE_NAME)).ok().and_then(|text| serde_json::from_str(&text).ok());
        loaded.filter(|cache: &Self| cache.format == FORMAT).unwrap_or_default()
    }

    /// The cached facts about an agent, however old.
    pub(super) fn get(&self, agent: &str, key: &str) -> Option<ProgramFacts> {
        let entry = self.agents.get(agent).filter(|entry| entry.key == key)?;
        Some(entry.facts.clone())
    }

    /// Adds entries to what is in the file by now, which another process may have written.
    pub(super) fn save(
        dir: &Path,
        entries: BTreeMap<String, DetectionCacheEntry>,
    ) -> io::Result<()> {
        let mut cache = Self::load(Some(dir));
        cache.format = FORMAT;
        cache.agents.extend(entries);
        fs::create_dir_all(dir)?;
        let mut file = tempfile::NamedTempFile::new_in(dir)?;
        file.write_all(&serde_json::to_vec(&cache)?)?;
        file.persist(dir.join(FILE_NAME))?;
        Ok(())
    }
}

fn read(path: &PathBuf) -> io::Result<String> {
    let mut text = String::new();
    fs::File::open(path)?.take(MAX_FILE_BYTES).read_to_string(&mut text)?;
    Ok(text)
}

/// The cache key of a program: changes with the file, its definition, and what probes depend on.
pub(super) fn key(
    program: &Path,
    definition: &RuntimeDefinition,
    machine: &Machine,
) -> Option<String> {
    let real = fs::canonicalize(program).ok()?;
    let file = fs::metadata(&real).ok()?;
    let mut hasher = DefaultHasher::new();
    format!("{definition:?}").hash(&mut hasher);
    env!("CARGO_PKG_VERSION").hash(&mut hasher);
    for name in &definition.auth.env {
        machine.variable(name).is_some().hash(&mut hasher);
    }
    // Another PATH may give a script another interpreter.
    machine.path.hash(&mut hasher);
    Some(format!(
        "{}|{}|{}.{}|{}.{}|{:x}",
        real.display(),
        file.size(),
        file.mtime(),
        file.mtime_nsec(),
        file.dev(),
        file.ino(),
        hasher.finish()
    ))
}

#[cfg(test)]
mod tests;
