//! Goes through directories as ripgrep does, but by handles.
//!
//! `.gitignore`, `.ignore` and git's own exclude file are honoured, from the top of the
//! repository down; version control's own directories are left out. Links are shown and never
//! followed, so that nothing outside the roots is seen, whatever is swapped in on the way. Of the
//! directories above a root only the files of the project's own [`TrustedOwners`] count.

use std::ffi::OsStr;
use std::ops::ControlFlow;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::{DirectoryEntry, FileKind, Folder, ResolvedPath, Roots};
use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

/// Deeper trees are made by accident, and each level holds a handle.
const MAX_DEPTH: usize = 64;
/// More in one directory are data and not something to read.
const MAX_DIR_ENTRIES: usize = 50_000;
const MAX_IGNORE_BYTES: u64 = 1 << 20;
const VERSION_CONTROL_DIRS: &[&str] = &[".git", ".hg", ".svn", ".jj"];

/// How far a walk goes.
#[derive(Debug, Clone, Copy)]
pub struct WalkBounds {
    pub max_entries: usize,
    /// How many levels to go down; 1 is the directory itself.
    pub depth: usize,
}

impl Default for WalkBounds {
    fn default() -> Self {
        Self { max_entries: 500_000, depth: MAX_DEPTH }
    }
}

/// When to give up: after a while, or when nobody waits any more.
#[derive(Debug, Clone)]
pub struct WalkStop {
    is_dropped: Arc<AtomicBool>,
    at: Instant,
}

impl WalkStop {
    pub fn after(while_: Duration) -> Self {
        Self { is_dropped: Arc::default(), at: Instant::now() + while_ }
    }

    pub fn is_now(&self) -> bool {
        self.is_dropped.load(Ordering::Relaxed) || Instant::now() >= self.at
    }
}

/// Ends the work when it is dropped.
#[derive(Debug)]
struct StopOnDrop(Arc<AtomicBool>);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Runs long work with a [`WalkStop`], which says so when `within` is over or the future was
/// dropped.
pub async fn stoppable<T: Send + 'static>(
    within: Duration,
    work: impl AsyncFnOnce(WalkStop) -> T,
) -> T {
    let stop = WalkStop::after(within);
    let _guard = StopOnDrop(stop.is_dropped.clone());
    work(stop).await
}

/// One entry met while walking a directory.
#[derive(Debug)]
pub struct WalkEntry<'a> {
    /// Its path below the start of the walk.
    pub path: &'a Path,
    pub name: &'a OsStr,
    pub kind: FileKind,
    pub folder: &'a Folder,
}

/// How a walk ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WalkEnd {
    Whole,
    /// The visitor had enough.
    Enough,
    /// There was more than the bounds allow.
    TooMuch,
    TimeIsUp,
}

/// Shows everything below the directory `from` to `visit`, each directory before what is in it,
/// in the order of names.
pub fn walk(
    roots: &Roots,
    from: &ResolvedPath,
    bounds: WalkBounds,
    stop: &WalkStop,
    visit: &mut dyn FnMut(&WalkEntry<'_>) -> ControlFlow<()>,
) -> Result<WalkEnd, crate::RootsError> {
    let folder = roots.folder(from)?;
    let ignores = ignores_above(roots, from);
    let mut walk = Walk { bounds, stop, visit, ignores, n_entries: 0, is_cut: false };
    Ok(match walk.enter(&folder, Path::new(""), from.real(), 1) {
        ControlFlow::Break(end) => end,
        ControlFlow::Continue(()) if walk.is_cut => WalkEnd::TooMuch,
        ControlFlow::Continue(()) => WalkEnd::Whole,
    })
}

struct Walk<'a> {
    bounds: WalkBounds,
    stop: &'a WalkStop,
    visit: &'a mut dyn FnMut(&WalkEntry<'_>) -> ControlFlow<()>,
    /// The patterns of the directories from the top down to where the walk is.
    ignores: Vec<Gitignore>,
    n_entries: usize,
    is_cut: bool,
}

impl Walk<'_> {
    fn enter(
        &mut self,
        folder: &Folder,
        below: &Path,
        real: &Path,
        depth: usize,
    ) -> ControlFlow<WalkEnd> {
        // What cannot be read is as good as empty.
        let Ok((mut entries, has_more)) = folder.entries(MAX_DIR_ENTRIES) else {
            return ControlFlow::Continue(());
        };
        self.is_cut |= has_more;
        entries.sort();
        let own = ignores_of(folder, real, &entries);
        let n_outer = self.ignores.len();
        self.ignores.extend(own);
        let ended = entries.iter().try_for_each(|entry| {
            let real = real.join(&entry.name);
            match self.is_hidden(entry, &real) {
                true => ControlFlow::Continue(()),
                false => self.visit_entry(folder, entry, &below.join(&entry.name), &real, depth),
            }
        });
        self.ignores.truncate(n_outer);
        ended
    }

    fn visit_entry(
        &mut self,
        folder: &Folder,
        entry: &DirectoryEntry,
        path: &Path,
        real: &Path,
        depth: usize,
    ) -> ControlFlow<WalkEnd> {
        if self.stop.is_now() {
            return ControlFlow::Break(WalkEnd::TimeIsUp);
        }
        self.n_entries += 1;
        if self.n_entries > self.bounds.max_entries {
            return ControlFlow::Break(WalkEnd::TooMuch);
        }
        let found = WalkEntry { path, name: &entry.name, kind: entry.kind, folder };
        if (self.visit)(&found).is_break() {
            return ControlFlow::Break(WalkEnd::Enough);
        }
        if entry.kind != FileKind::Directory || depth >= self.bounds.depth {
            return ControlFlow::Continue(());
        }
        if depth >= MAX_DEPTH {
            self.is_cut = true;
            return ControlFlow::Continue(());
        }
        match folder.folder(&entry.name) {
            Ok(inner) => self.enter(&inner, path, real, depth + 1),
            Err(_) => ControlFlow::Continue(()),
        }
    }

    fn is_hidden(&self, entry: &DirectoryEntry, real: &Path) -> bool {
        if VERSION_CONTROL_DIRS.iter().any(|name| entry.name == *name) {
            return true;
        }
        let is_dir = entry.kind == FileKind::Directory;
        for ignores in self.ignores.iter().rev() {
            match ignores.matched(real, is_dir) {
                Match::Ignore(_) => return true,
                Match::Whitelist(_) => return false,
                Match::None => {}
            }
        }
        false
    }
}

/// The patterns that a directory holds, the stronger last.
fn ignores_of(folder: &Folder, real: &Path, entries: &[DirectoryEntry]) -> Vec<Gitignore> {
    let mut found = Vec::new();
    let has = |name: &str, kind| entries.iter().any(|at| at.name == name && at.kind == kind);
    if has(".git", FileKind::Directory) {
        let info = folder.folder(OsStr::new(".git")).and_then(|git| git.folder(OsStr::new("info")));
        found.extend(info.ok().and_then(|info| patterns(&info, real, "exclude")));
    }
    for name in [".gitignore", ".ignore"] {
        if has(name, FileKind::File) {
            found.extend(patterns(folder, real, name));
        }
    }
    found
}

fn patterns(folder: &Folder, real: &Path, name: &str) -> Option<Gitignore> {
    let bytes = folder.read(OsStr::new(name), MAX_IGNORE_BYTES).ok()?;
    let mut builder = GitignoreBuilder::new(real);
    for line in String::from_utf8_lossy(&bytes).lines() {
        // A pattern that is none hides nothing; the others still count.
        let _ = builder.add_line(None, line);
    }
    builder.build().ok()
}

/// The patterns above `from`, from the top of the repository down. Those above the root are
/// read as well, if they are of the same owners: they say what to leave out, and nothing of them
/// is shown.
fn ignores_above(roots: &Roots, from: &ResolvedPath) -> Vec<Gitignore> {
    let inside: Vec<ResolvedPath> =
        std::iter::successors(from.parent(), ResolvedPath::parent).collect();
    let top = inside.last().unwrap_or(from);
    let owners = TrustedOwners::of(top.real());
    let above = top.real().ancestors().take(owners.n_in_repository(top.real())).skip(1);
    let files: Vec<PathBuf> = above.map(|dir| dir.join(".gitignore")).collect();
    let own = files.iter().rev().filter(|file| owners.own(file));
    let mut found: Vec<Gitignore> = own.map(|file| Gitignore::new(file).0).collect();
    for place in inside.iter().rev() {
        let Ok(folder) = roots.folder(place) else { continue };
        let Ok((entries, _)) = folder.entries(MAX_DIR_ENTRIES) else { continue };
        found.extend(ignores_of(&folder, place.real(), &entries));
    }
    found
}

/// The users whose files count for a project: the user we run as, root, and whoever owns the
/// directory that the session works in. In a directory above it, anybody may have left something.
#[derive(Debug, Clone, Copy)]
pub struct TrustedOwners([u32; 3]);

impl TrustedOwners {
    pub fn of(directory: &Path) -> Self {
        let own = rustix::process::geteuid().as_raw();
        Self([own, 0, directory.metadata().map_or(own, |found| found.uid())])
    }

    /// Whether `path` is there and theirs; a link counts as itself.
    pub fn own(self, path: &Path) -> bool {
        path.symlink_metadata().is_ok_and(|found| self.0.contains(&found.uid()))
    }

    /// How many directories from `directory` up belong to the same repository, with its top;
    /// just one, if it is in none.
    pub fn n_in_repository(self, directory: &Path) -> usize {
        let above = directory.ancestors().take_while(|dir| self.own(dir));
        above.map(|dir| dir.join(".git")).position(|git| self.own(&git)).map_or(1, |n| n + 1)
    }
}

#[cfg(test)]
mod tests;
