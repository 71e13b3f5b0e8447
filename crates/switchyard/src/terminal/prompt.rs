//! Makes a prompt of what was typed: text, stdin, attached files.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use projection::sanitize_line;
use serde_json::{Value, json};
use wire::uri::file_uri;

use crate::outcome::Failure;
use crate::terminal;

/// Files larger than this are linked, not sent.
const MAX_INLINE_BYTES: u64 = 8 << 20;
/// The longest path that is shown in a note.
const MAX_PATH_CHARS: usize = 80;

/// The prompt's text; `-` means stdin.
pub(crate) fn read_text(word: &str) -> Result<String, Failure> {
    if word != "-" {
        return match word.trim().is_empty() {
            true => Err(Failure::usage("the prompt is empty")),
            false => Ok(word.to_owned()),
        };
    }
    let limit = wire::limits::CLIENT_LINE_BYTES as u64;
    let mut text = String::new();
    let stdin = std::io::stdin().lock();
    stdin.take(limit + 1).read_to_string(&mut text).context("cannot read the prompt from stdin")?;
    if text.len() as u64 > limit {
        return Err(Failure::usage(format!("the prompt is larger than {limit} bytes")));
    }
    if text.trim().is_empty() {
        return Err(Failure::usage("the prompt on stdin is empty"));
    }
    Ok(text)
}

/// A prompt's text and attachments, checked before anything is started.
#[derive(Debug, Default)]
pub(crate) struct PromptInput {
    /// Text, and links to files.
    pub(crate) blocks: Vec<Value>,
    /// Images and sounds, whose content is sent to agents that take it.
    pub(crate) media: Vec<PathBuf>,
}

impl PromptInput {
    /// A prompt without text as yet; fails if a file cannot be attached.
    pub(crate) fn attaching(files: &[PathBuf]) -> Result<Self, Failure> {
        let mut prompt = Self::default();
        for path in files {
            let link = link(path).map_err(|error| Failure::usage(format!("{error:#}")))?;
            let is_small = link["size"].as_u64().is_some_and(|size| size <= MAX_INLINE_BYTES);
            match is_small && link["mimeType"].as_str().is_some_and(is_media) {
                true => prompt.media.push(path.clone()),
                false => prompt.blocks.push(link),
            }
        }
        Ok(prompt)
    }

    pub(crate) fn with_text(mut self, text: &str) -> Self {
        self.blocks.insert(0, json!({ "type": "text", "text": text }));
        self
    }
}

/// Warns about attached files that an agent may not be able to read: those that are sent as
/// links and are outside its directories.
pub(crate) fn warn_outside(attached: &[PathBuf], roots: &[PathBuf]) {
    for path in attached {
        let Ok(real) = path.canonicalize() else { continue };
        let is_sent = is_media(mime_of(&real));
        let is_inside =
            roots.iter().any(|root| root.canonicalize().is_ok_and(|root| real.starts_with(root)));
        if !is_sent && !is_inside {
            let shown = sanitize_line(&path.to_string_lossy(), MAX_PATH_CHARS);
            terminal::say(&format!(
                "note: {shown} is outside the session's directories, where the agent may not be \
                 able to read it; see --add-dir"
            ));
        }
    }
}

/// A link to a file.
fn link(path: &Path) -> anyhow::Result<Value> {
    let cannot = || format!("cannot attach {}", path.display());
    let real = path.canonicalize().with_context(cannot)?;
    let metadata = real.metadata().with_context(cannot)?;
    if !metadata.is_file() {
        bail!("{}: it is not a file", cannot());
    }
    let mime = match mime_of(&real) {
        // The name does not tell the type, so the content is looked at.
        UNKNOWN_TEXT if !is_text(&real).with_context(cannot)? => "application/octet-stream",
        mime => mime,
    };
    let name = real.file_name().unwrap_or_default().to_string_lossy().into_owned();
    Ok(json!({
        "type": "resource_link",
        "uri": file_uri(&real),
        "name": name,
        "mimeType": mime,
        "size": metadata.len(),
    }))
}

/// Whether it is an image or sound, of which more can be sent than a link.
fn is_media(mime: &str) -> bool {
    mime.starts_with("image/") || mime.starts_with("audio/")
}

/// The type of a text file whose name does not tell it.
const UNKNOWN_TEXT: &str = "text/plain";
/// How many bytes of a file tell whether it is text: as many as git looks at.
const TEXT_PROBE_BYTES: u64 = 8000;

fn mime_of(path: &Path) -> &'static str {
    let extension = path.extension().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
    match &*extension {
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        "gif" => "image/gif",
        "webp" => "image/webp",
        "wav" => "audio/wav",
        "mp3" => "audio/mpeg",
        "ogg" => "audio/ogg",
        "json" => "application/json",
        "pdf" => "application/pdf",
        "html" | "htm" => "text/html",
        "md" => "text/markdown",
        _ => UNKNOWN_TEXT,
    }
}

/// Whether a file begins like text: UTF-8 without a zero byte.
fn is_text(path: &Path) -> std::io::Result<bool> {
    let mut bytes = Vec::new();
    std::fs::File::open(path)?.take(TEXT_PROBE_BYTES).read_to_end(&mut bytes)?;
    let is_utf8 = match std::str::from_utf8(&bytes) {
        Ok(_) => true,
        // The last letter may be cut.
        Err(error) => error.error_len().is_none(),
    };
    Ok(is_utf8 && !bytes.contains(&0))
}

#[cfg(test)]
mod tests;
