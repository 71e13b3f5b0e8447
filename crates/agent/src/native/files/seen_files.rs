//! The files that a model has seen, with a digest of what it saw.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::text::TextDigest;

/// A session that reads more files has to read the oldest again before it changes them.
const MAX_FILES: usize = 4096;

#[derive(Debug, Default)]
pub(super) struct SeenFiles {
    files: HashMap<PathBuf, (TextDigest, u64)>,
    n_notes: u64,
}

impl SeenFiles {
    pub(super) fn note(&mut self, path: &Path, digest: TextDigest) {
        self.n_notes += 1;
        self.files.insert(path.to_owned(), (digest, self.n_notes));
        if self.files.len() > MAX_FILES {
            let oldest = self.files.iter().min_by_key(|(_, (_, noted))| *noted);
            if let Some(path) = oldest.map(|(path, _)| path.clone()) {
                self.files.remove(&path);
            }
        }
    }

    pub(super) fn of(&self, path: &Path) -> Option<TextDigest> {
        self.files.get(path).map(|(digest, _)| *digest)
    }

    pub(super) fn forget(&mut self, path: &Path) {
        self.files.remove(path);
    }
}

#[cfg(test)]
mod tests;
