//! Reads patches between `*** Begin Patch` and `*** End Patch`.

use std::iter::Peekable;
use std::str::Lines;

use super::hunks::{Hunk, HunkLine};
use super::{PatchAction, PatchEdit, PatchStep};

const BEGIN: &str = "*** Begin Patch";
const END: &str = "*** End Patch";
const ADD: &str = "*** Add File:";
const DELETE: &str = "*** Delete File:";
const UPDATE: &str = "*** Update File:";
const MOVE: &str = "*** Move to:";
const END_OF_FILE: &str = "*** End of File";

pub(super) fn is_one(patch: &str) -> bool {
    let starts = [BEGIN, ADD, DELETE, UPDATE];
    patch.lines().any(|line| starts.iter().any(|start| line.trim().starts_with(start)))
}

/// Reads the steps. Text around the patch, such as a fence, does not count. The last line may be
/// missing.
pub(super) fn read(patch: &str) -> Result<Vec<PatchStep<'_>>, String> {
    let mut lines = patch.lines().peekable();
    let is_head = |line: &&str| [ADD, DELETE, UPDATE].iter().any(|head| line.starts_with(head));
    while lines.next_if(|line| line.trim() != BEGIN && !is_head(line)).is_some() {}
    lines.next_if(|line| line.trim() == BEGIN);
    let mut steps = Vec::new();
    while let Some(line) = lines.next() {
        if line.trim() == END {
            break;
        }
        if line.trim().is_empty() {
            continue;
        }
        let (action, path) = if let Some(path) = line.strip_prefix(ADD) {
            (PatchAction::Add(added(&mut lines)?), path)
        } else if let Some(path) = line.strip_prefix(DELETE) {
            (PatchAction::Delete, path)
        } else if let Some(path) = line.strip_prefix(UPDATE) {
            (update(&mut lines)?, path)
        } else {
            return Err(format!(
                "`{line}` stands where `{ADD}`, `{UPDATE}`, `{DELETE}` or `{END}` belongs"
            ));
        };
        steps.push(PatchStep { path: named(path)?, action });
    }
    match steps.is_empty() {
        true => Err("it changes no file".into()),
        false => Ok(steps),
    }
}

fn named(path: &str) -> Result<String, String> {
    match path.trim() {
        "" => Err("a file has no name".into()),
        path => Ok(path.to_owned()),
    }
}

fn added(lines: &mut Peekable<Lines<'_>>) -> Result<String, String> {
    let mut text = String::new();
    while let Some(line) = lines.next_if(|line| !line.starts_with("*** ")) {
        match line.strip_prefix('+') {
            Some(line) => {
                text.push_str(line);
                text.push('\n');
            }
            // Before the next file.
            None if line.trim().is_empty() => {}
            None => return Err(format!("`{line}`: lines of a new file begin with `+`")),
        }
    }
    Ok(text)
}

fn update<'a>(lines: &mut Peekable<Lines<'a>>) -> Result<PatchAction<'a>, String> {
    let to = match lines.next_if(|line| line.starts_with(MOVE)) {
        Some(line) => Some(named(line.strip_prefix(MOVE).unwrap_or_default())?),
        None => None,
    };
    let mut hunks: Vec<Hunk<'a>> = Vec::new();
    let is_of_hunk = |line: &&str| !line.starts_with("*** ") || line.trim() == END_OF_FILE;
    while let Some(line) = lines.next_if(is_of_hunk) {
        if line.trim() == END_OF_FILE {
            if let Some(hunk) = hunks.last_mut() {
                hunk.is_at_end = true;
            }
            continue;
        }
        if let Some(head) = line.strip_prefix("@@") {
            let head = head.trim();
            match hunks.last_mut() {
                // One head after the other: a class, then its method.
                Some(hunk) if hunk.lines.is_empty() && !head.is_empty() => hunk.heads.push(head),
                _ => hunks.push(Hunk {
                    heads: (!head.is_empty()).then_some(head).into_iter().collect(),
                    ..Hunk::default()
                }),
            }
            continue;
        }
        let line = match line.split_at_checked(1) {
            None => HunkLine::Same(""),
            Some((" ", rest)) => HunkLine::Same(rest),
            Some(("-", rest)) => HunkLine::Old(rest),
            Some(("+", rest)) => HunkLine::New(rest),
            Some(_) => {
                return Err(format!("`{line}` begins neither with a space nor with `-` or `+`"));
            }
        };
        if hunks.is_empty() {
            hunks.push(Hunk::default());
        }
        if let Some(hunk) = hunks.last_mut() {
            hunk.lines.push(line);
        }
    }
    for hunk in &mut hunks {
        hunk.trim();
    }
    hunks.retain(|hunk| !hunk.lines.is_empty());
    match hunks.is_empty() && to.is_none() {
        true => Err("a file to update has no changes".into()),
        false => Ok(PatchAction::Update { edit: PatchEdit::Hunks(hunks), to }),
    }
}
