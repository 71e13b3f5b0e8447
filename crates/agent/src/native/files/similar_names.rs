//! Names like one that does not exist.

use std::ops::ControlFlow;
use std::path::Path;
use std::time::Duration;

use roots::{FileKind, ResolvedPath, Roots};

use roots::walk::{WalkBounds, WalkStop, walk};

const MAX_NAMES: usize = 3;
/// Entries looked at in the directory of the file.
const MAX_ENTRIES: usize = 5_000;
/// Entries looked at in the whole root, for a file with that name elsewhere.
const MAX_WALKED: usize = 20_000;
const WITHIN: Duration = Duration::from_secs(2);
/// How much alike two names must be, between 0 and 1: half of a name may differ, so that a longer
/// or shorter form of it is found too.
const ALIKE: f64 = 0.5;

pub(super) fn similar(roots: &Roots, place: &ResolvedPath) -> Vec<ResolvedPath> {
    let beside = beside(roots, place);
    match beside.is_empty() {
        true => elsewhere(roots, place),
        false => beside,
    }
}

/// Names in the same directory.
fn beside(roots: &Roots, place: &ResolvedPath) -> Vec<ResolvedPath> {
    let Some((parent, wanted)) = place.parent().zip(place.relative().file_name()) else {
        return Vec::new();
    };
    let Ok(folder) = roots.folder(&parent) else { return Vec::new() };
    let Ok((entries, _)) = folder.entries(MAX_ENTRIES) else { return Vec::new() };
    let lower = |name: &std::ffi::OsStr| name.to_string_lossy().to_lowercase();
    let wanted = lower(wanted);
    let mut found: Vec<_> = entries
        .iter()
        .map(|entry| (strsim::normalized_levenshtein(&lower(&entry.name), &wanted), &entry.name))
        .filter(|(alike, _)| *alike >= ALIKE)
        .collect();
    found.sort_by(|(one, _), (other, _)| other.total_cmp(one));
    found.truncate(MAX_NAMES);
    found.into_iter().map(|(_, name)| parent.below(Path::new(name))).collect()
}

/// The same name in other directories of the root.
fn elsewhere(roots: &Roots, place: &ResolvedPath) -> Vec<ResolvedPath> {
    let Some(wanted) = place.relative().file_name() else { return Vec::new() };
    let mut root = place.clone();
    while let Some(above) = root.parent() {
        root = above;
    }
    let mut found = Vec::new();
    let bounds = WalkBounds { max_entries: MAX_WALKED, ..WalkBounds::default() };
    let _ = walk(roots, &root, bounds, &WalkStop::after(WITHIN), &mut |entry| {
        if entry.kind == FileKind::File && entry.path.file_name() == Some(wanted) {
            found.push(root.below(entry.path));
        }
        match found.len() < MAX_NAMES {
            true => ControlFlow::Continue(()),
            false => ControlFlow::Break(()),
        }
    });
    found
}
