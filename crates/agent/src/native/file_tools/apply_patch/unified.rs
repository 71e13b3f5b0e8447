//! Reads and applies unified diffs, also git's.

use std::fmt::Write as _;

use diffy::patch_set::{FileOperation, FilePatch, ParseOptions, PatchSet};

use super::{PatchAction, PatchEdit, PatchStep};

/// The diff with the counts of its hunks put right, which models get wrong.
pub(super) fn recounted(diff: &str) -> String {
    let mut text = String::with_capacity(diff.len() + 1);
    let mut lines = diff.lines().filter(|line| !line.starts_with("```")).peekable();
    while let Some(line) = lines.next() {
        let Some((old, new, rest)) = starts(line) else {
            text.push_str(line);
            text.push('\n');
            continue;
        };
        let (mut body, mut n_old, mut n_new) = (String::new(), 0_usize, 0_usize);
        while let Some(line) = lines.peek().copied() {
            let kind = line.chars().next();
            match kind {
                // The head of the next file, which looks like a removed line.
                Some('-') if line.starts_with("--- ") && is_file_head(lines.clone()) => break,
                Some('-') => n_old += 1,
                Some('+') => n_new += 1,
                Some(' ') => (n_old, n_new) = (n_old + 1, n_new + 1),
                Some('\\') => {}
                // An empty line whose space was lost, unless the hunk is over.
                None if is_in_hunk(lines.clone()) => (n_old, n_new) = (n_old + 1, n_new + 1),
                _ => break,
            }
            if kind.is_none() {
                body.push(' ');
            }
            body.push_str(line);
            body.push('\n');
            lines.next();
        }
        let _ = writeln!(text, "@@ -{old},{n_old} +{new},{n_new} @@{rest}");
        text.push_str(&body);
    }
    text
}

fn is_file_head<'a>(mut lines: impl Iterator<Item = &'a str>) -> bool {
    lines.next();
    lines.next().is_some_and(|line| line.starts_with("+++ "))
}

fn is_in_hunk<'a>(lines: impl Iterator<Item = &'a str>) -> bool {
    let mut rest = lines.skip_while(|line| line.is_empty());
    rest.next().is_some_and(|line| line.starts_with([' ', '-', '+']) && !line.starts_with("--- "))
}

/// The lines at which a hunk begins in both files, and the text behind them.
fn starts(line: &str) -> Option<(usize, usize, &str)> {
    let (ranges, rest) = line.strip_prefix("@@ -")?.split_once(" @@")?;
    let (old, new) = ranges.split_once(" +")?;
    let start = |range: &str| range.split(',').next()?.parse().ok();
    Some((start(old)?, start(new)?, rest))
}

pub(super) fn read(diff: &str) -> Result<Vec<PatchStep<'_>>, String> {
    let is_git = diff.lines().any(|line| line.starts_with("diff --git "));
    let options = if is_git { ParseOptions::gitdiff() } else { ParseOptions::unidiff() };
    let mut steps = Vec::new();
    for patch in PatchSet::parse(diff, options) {
        let patch = patch.map_err(|error| {
            format!(
                "{error}. It has to be a `*** Begin Patch` or a unified diff with `---`, `+++` \
                     and `@@ -LINE,COUNT +LINE,COUNT @@`"
            )
        })?;
        steps.push(step(patch)?);
    }
    Ok(steps)
}

fn step(patch: FilePatch<'_, str>) -> Result<PatchStep<'_>, String> {
    let operation = patch.operation().clone();
    let Some(text) = patch.patch().as_text().cloned() else {
        return Err("it changes a binary file".into());
    };
    let update = |to| PatchAction::Update { edit: PatchEdit::Unified(text.clone()), to };
    Ok(match operation {
        FileOperation::Create(path) => {
            let content = diffy::apply("", &text).map_err(|error| error.to_string())?;
            PatchStep { path: bare(&path), action: PatchAction::Add(content) }
        }
        FileOperation::Delete(path) => PatchStep { path: bare(&path), action: PatchAction::Delete },
        // `modified` alone counts: some write `a/x.orig` above it.
        FileOperation::Modify { original, modified } => {
            let is_git = original.starts_with("a/") && modified.starts_with("b/");
            let path = if is_git { bare(&modified) } else { modified.into_owned() };
            PatchStep { path, action: update(None) }
        }
        FileOperation::Rename { from, to } => {
            PatchStep { path: from.into_owned(), action: update(Some(to.into_owned())) }
        }
        FileOperation::Copy { .. } => return Err("copies are not made; add the file".into()),
    })
}

/// The path without git's `a/` or `b/`.
fn bare(path: &str) -> String {
    path.strip_prefix("a/").or_else(|| path.strip_prefix("b/")).unwrap_or(path).to_owned()
}

pub(super) fn apply(whole: &str, patch: &diffy::Patch<'_, str>) -> Result<String, String> {
    let applied = diffy::apply(whole, patch).or_else(|error| match whole.ends_with('\n') {
        true => Err(error),
        // Models forget to say that the last line has no end.
        false => diffy::apply(&format!("{whole}\n"), patch).map(|mut text| {
            text.truncate(text.strip_suffix('\n').unwrap_or(&text).len());
            text
        }),
    });
    applied.map_err(|error| {
        format!("{error}: its old lines are not in the file in this order; read the file again")
    })
}
