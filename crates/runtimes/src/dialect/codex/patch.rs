//! Changes of files: Codex's patches as ACP's diffs.
//!
//! A new file comes as its text, a deleted one as the text it had, a changed one as hunks of
//! a unified diff. `exec` prints only paths.

use serde_json::{Value, json};

use super::{either, plain};
use crate::tools;
use crate::update::{ToolCall, ToolCallContent, ToolCallLocation, ToolKind};

/// The text that Codex appends to the diff of a file that is also moved.
const MOVED: &str = "\n\nMoved to: ";

/// The call that changes files.
pub(super) fn call(changes: &Value) -> ToolCall {
    let list: Vec<CodexFileChange> =
        changes.as_array().into_iter().flatten().map(CodexFileChange::read).collect();
    let content: Vec<ToolCallContent> = list.iter().flat_map(CodexFileChange::content).collect();
    ToolCall {
        locations: Some(list.iter().flat_map(CodexFileChange::locations).collect()),
        content: (!content.is_empty()).then_some(content),
        raw_input: Some(json!({ "changes": changes })),
        ..ToolCall::of(kind(&list), "file_change", title(&list))
    }
}

/// The changes of the older request, a map by path, as a list.
pub(super) fn listed(by_path: &Value) -> Value {
    let changes = by_path.as_object().into_iter().flatten().map(|(path, change)| {
        let diff = match &change["unified_diff"] {
            Value::Null => &change["content"],
            diff => diff,
        };
        let kind = json!({ "type": change["type"], "move_path": change["move_path"] });
        json!({ "path": path, "kind": kind, "diff": diff })
    });
    changes.collect()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FileChangeKind {
    Add,
    Update,
    Delete,
}

struct CodexFileChange<'a> {
    path: &'a str,
    kind: FileChangeKind,
    moved_to: Option<&'a str>,
    diff: &'a str,
}

impl<'a> CodexFileChange<'a> {
    fn read(change: &'a Value) -> Self {
        let kind = &change["kind"];
        let name = if kind.is_object() { &kind["type"] } else { kind };
        Self {
            path: change["path"].as_str().unwrap_or_default(),
            kind: match plain(name).as_str() {
                "add" => FileChangeKind::Add,
                "delete" => FileChangeKind::Delete,
                _ => FileChangeKind::Update,
            },
            moved_to: either(kind, "move_path", "movePath").as_str(),
            diff: change["diff"].as_str().unwrap_or_default(),
        }
    }

    fn locations(&self) -> Vec<ToolCallLocation> {
        let line = match self.kind {
            FileChangeKind::Update => hunks(self.diff).first().and_then(|hunk| hunk.line),
            _ => None,
        };
        let from = ToolCallLocation { path: self.path.to_owned(), line };
        let to = self.moved_to.map(|path| ToolCallLocation { path: path.to_owned(), line });
        std::iter::once(from).chain(to).filter(|at| !at.path.is_empty()).collect()
    }

    fn content(&self) -> Vec<ToolCallContent> {
        let diff = |old_text: Option<String>, new_text: String| ToolCallContent::Diff {
            path: self.moved_to.unwrap_or(self.path).to_owned(),
            old_text,
            new_text,
        };
        match self.kind {
            _ if self.diff.is_empty() => Vec::new(),
            FileChangeKind::Add => vec![diff(None, self.diff.to_owned())],
            FileChangeKind::Delete => vec![diff(Some(self.diff.to_owned()), String::new())],
            FileChangeKind::Update => {
                hunks(self.diff).into_iter().map(|hunk| diff(Some(hunk.old), hunk.new)).collect()
            }
        }
    }

    fn verb(&self) -> &'static str {
        match (self.kind, self.moved_to) {
            (FileChangeKind::Add, _) => "Create",
            (FileChangeKind::Delete, _) => "Delete",
            (FileChangeKind::Update, Some(_)) => "Move",
            (FileChangeKind::Update, None) => "Edit",
        }
    }
}

fn title(changes: &[CodexFileChange]) -> String {
    let title = match changes {
        [] => "Change files".to_owned(),
        [change] => format!("{} {}", change.verb(), change.path),
        changes => {
            let names = changes.iter().map(|c| c.path.rsplit('/').next().unwrap_or_default());
            format!("Change {}", names.collect::<Vec<_>>().join(", "))
        }
    };
    tools::one_line(&title)
}

/// The gravest kind of change: a patch that also deletes is no mere edit to whoever must allow it.
fn kind(changes: &[CodexFileChange]) -> ToolKind {
    if changes.iter().any(|change| change.kind == FileChangeKind::Delete) {
        ToolKind::Delete
    } else if changes.iter().any(|change| change.moved_to.is_some()) {
        ToolKind::Move
    } else {
        ToolKind::Edit
    }
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Hunk {
    pub(super) line: Option<u64>,
    pub(super) old: String,
    pub(super) new: String,
}

/// The hunks of a unified diff of one file.
pub(super) fn hunks(diff: &str) -> Vec<Hunk> {
    let diff = diff.split_once(MOVED).map_or(diff, |(diff, _)| diff);
    let mut hunks: Vec<Hunk> = Vec::new();
    // Lines still to come by the hunk's header; without a number, any.
    let (mut n_old, mut n_new) = (0u64, 0u64);
    let mut last = ' ';
    for line in diff.split_inclusive('\n') {
        if let Some(header) = line.strip_prefix("@@") {
            let (old, new) = (range(header, '-'), range(header, '+'));
            (n_old, n_new) = (old.map_or(u64::MAX, |at| at.1), new.map_or(u64::MAX, |at| at.1));
            let line = new.map(|at| at.0);
            hunks.push(Hunk { line, old: String::new(), new: String::new() });
            continue;
        }
        let mark = line.chars().next().unwrap_or(' ');
        let Some(hunk) = hunks.last_mut() else { continue };
        if mark == '\\' {
            // "No newline at end of file" is about the line above.
            for (text, other) in [(&mut hunk.old, '+'), (&mut hunk.new, '-')] {
                if last != other && text.ends_with('\n') {
                    text.pop();
                }
            }
            continue;
        }
        if (n_old, n_new) == (0, 0) {
            continue;
        }
        let text = line.strip_prefix(['+', '-', ' ']).unwrap_or(line);
        if mark != '+' {
            hunk.old.push_str(text);
            n_old = n_old.saturating_sub(1);
        }
        if mark != '-' {
            hunk.new.push_str(text);
            n_new = n_new.saturating_sub(1);
        }
        last = mark;
    }
    hunks
}

/// The line and the number of lines in a header such as ` -1,3 +1,4 @@`.
fn range(header: &str, sign: char) -> Option<(u64, u64)> {
    let word = header.split_whitespace().find_map(|word| word.strip_prefix(sign))?;
    let (line, n_lines) = word.split_once(',').unwrap_or((word, "1"));
    Some((line.parse().ok()?, n_lines.parse().ok()?))
}
