//! Access of the context tools to the conversation: by parts, and one change at a time.

use std::fmt::Write as _;
use std::sync::Arc;

use tokio::sync::Mutex;

use crate::native::chat::MessagePart;
use crate::native::context::{self, ContextPiece, Overlay, PieceRole};
use crate::native::display_text;
use crate::native::excerpt;
use crate::native::journal::{JournalEntry, JournalItem, PartShape};
use crate::native::session::NativeSession;
use crate::native::tool::{CallContent, ToolError, ToolOutput};

const FIRST_WORDS_CHARS: usize = 80;
/// A name is one word or a few, in lists.
const MAX_NAME_CHARS: usize = 60;
/// A note that is longer than this saves nothing.
pub(super) const MAX_TEXT_CHARS: usize = 40_000;

#[derive(Clone)]
pub(super) struct ContextEditor {
    pub(super) session: Arc<NativeSession>,
    /// Calls of one answer run side by side; what one looked at must still be so when it writes.
    pub(super) change_lock: Arc<Mutex<()>>,
}

impl ContextEditor {
    pub(super) fn entries(&self) -> Vec<JournalEntry> {
        self.session.journal.all()
    }

    pub(super) async fn keep(&self, item: JournalItem) -> Result<(), ToolError> {
        let kept = self.session.journal.add(item).await;
        kept.map(drop).map_err(|error| ToolError(format!("The change cannot be saved: {error}.")))
    }

    /// About how many tokens the conversation takes as it is sent now.
    pub(super) fn tokens(&self) -> u64 {
        context::estimate(&context::messages("", &self.entries()))
    }

    /// Keeps a change; reports it with the size of the conversation before and after.
    pub(super) async fn change(
        &self,
        items: Vec<JournalItem>,
        what: &str,
    ) -> Result<String, ToolError> {
        let before = self.tokens();
        for item in items {
            self.keep(item).await?;
        }
        let after = self.tokens();
        Ok(format!("{what} The conversation takes about {after} tokens now ({before} before)."))
    }
}

/// An output with the same text for the model and for people.
pub(super) fn text_output(text: impl Into<String>) -> ToolOutput {
    let text = text.into();
    ToolOutput {
        parts: vec![MessagePart::text(text.clone())],
        content: vec![CallContent::Text(display_text::asked(&text))],
        ..ToolOutput::default()
    }
}

/// One line about a part.
pub(super) fn piece_line(piece: &ContextPiece, overlay: &Overlay) -> String {
    let mut line = String::new();
    if piece.role == PieceRole::Result {
        line.push_str("  ");
    }
    let _ = write!(line, "{} {}", piece.number, piece.role.word());
    match piece.role {
        PieceRole::Answer if !piece.tools.is_empty() => {
            let _ = write!(line, " with calls of {}", piece.tools);
        }
        PieceRole::Result => {
            let _ = write!(line, " of {}", piece.tools);
        }
        _ => {}
    }
    let _ = write!(line, ", {} characters", piece.text.chars().count());
    if let Some(covering) = overlay.covering(piece.group) {
        let _ = write!(line, " [in `{}`]", covering.name);
    }
    match overlay.shape(piece.number) {
        PartShape::Hidden => line.push_str(" [hidden]"),
        PartShape::Replaced { .. } => line.push_str(" [replaced]"),
        PartShape::Whole => {}
    }
    if piece.is_current {
        line.push_str(" [present]");
    }
    let _ = write!(line, ": {}", first_words(&piece.text, FIRST_WORDS_CHARS));
    line
}

/// The first words of a text, in one line.
pub(super) fn first_words(text: &str, max_chars: usize) -> String {
    let words: Vec<&str> = text.split_whitespace().take(max_chars).collect();
    excerpt::head(&words.join(" "), max_chars)
}

/// A text of at most so many characters: of a longer one both ends.
pub(super) fn shortened(text: &str, max_chars: usize) -> String {
    let half = max_chars / 2;
    excerpt::ends(text, (half, half), |n| format!("\n[… {n} characters left out …]\n"))
}

pub(super) fn checked_name(name: &str) -> Result<String, ToolError> {
    let name = name.trim();
    let n_chars = name.chars().count();
    if n_chars == 0 || n_chars > MAX_NAME_CHARS || name.chars().any(char::is_control) {
        return Err(ToolError(format!(
            "A name has 1 to {MAX_NAME_CHARS} characters, all of them visible."
        )));
    }
    Ok(name.replace('`', "'"))
}

pub(super) fn checked_text(what: &str, text: &str) -> Result<String, ToolError> {
    let n_chars = text.chars().count();
    if text.trim().is_empty() {
        return Err(ToolError(format!("`{what}` is empty.")));
    }
    if n_chars > MAX_TEXT_CHARS {
        return Err(ToolError(format!(
            "`{what}` has {n_chars} characters; keep to {MAX_TEXT_CHARS}."
        )));
    }
    Ok(text.to_owned())
}
