//! Makes a prompt of what was typed: text, stdin, attached files.

use std::io::Read;
use std::path::Path;

use anyhow::{Context, bail};
use base64::Engine;
use base64::prelude::BASE64_STANDARD as BASE64;
use serde_json::{Value, json};
use sessions::host::AgentCapabilities;
use wire::Json;

use crate::outcome::Failure;

/// Files larger than this are linked, not sent.
const MAX_INLINE_BYTES: u64 = 8 << 20;

/// The prompt's text; `-` means stdin.
pub(crate) fn read_text(word: &str) -> Result<String, Failure> {
    if word != "-" {
        return Ok(word.to_owned());
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

/// Whether everything that is to be sent along is there, before anything is started.
pub(crate) fn check_attached(attached: &[std::path::PathBuf]) -> Result<(), Failure> {
    for path in attached {
        attachment(path, &AgentCapabilities::default())
            .map_err(|error| Failure::usage(format!("{error:#}")))?;
    }
    Ok(())
}

/// Params of `session/prompt`, without the session's id.
pub(crate) fn params(
    text: &str,
    attached: &[std::path::PathBuf],
    can: &AgentCapabilities,
) -> Result<Json, Failure> {
    let mut blocks = vec![json!({ "type": "text", "text": text })];
    for path in attached {
        blocks.push(attachment(path, can)?);
    }
    Ok(Json::of(&json!({ "prompt": blocks })))
}

fn attachment(path: &Path, can: &AgentCapabilities) -> anyhow::Result<Value> {
    let real = path.canonicalize().with_context(|| format!("cannot attach {}", path.display()))?;
    let metadata = real.metadata().with_context(|| format!("cannot attach {}", path.display()))?;
    if !metadata.is_file() {
        bail!("cannot attach {}: it is not a file", path.display());
    }
    let mime = mime_of(&real);
    let kind = match mime.split('/').next() {
        Some("image") if can.image => Some("image"),
        Some("audio") if can.audio => Some("audio"),
        _ => None,
    };
    if let Some(kind) = kind.filter(|_| metadata.len() <= MAX_INLINE_BYTES) {
        let bytes =
            std::fs::read(&real).with_context(|| format!("cannot attach {}", path.display()))?;
        return Ok(json!({ "type": kind, "mimeType": mime, "data": BASE64.encode(bytes) }));
    }
    let name = real.file_name().unwrap_or_default().to_string_lossy().into_owned();
    Ok(json!({
        "type": "resource_link",
        "uri": file_uri(&real),
        "name": name,
        "mimeType": mime,
        "size": metadata.len(),
    }))
}

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
        _ => "text/plain",
    }
}

/// `file://` with everything escaped that a URI must not hold.
fn file_uri(path: &Path) -> String {
    use std::fmt::Write;
    use std::os::unix::ffi::OsStrExt;
    let mut uri = String::from("file://");
    for byte in path.as_os_str().as_bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'.' | b'_' | b'~' => {
                uri.push(char::from(*byte));
            }
            // Writing to a String cannot fail.
            other => _ = write!(uri, "%{other:02X}"),
        }
    }
    uri
}

#[cfg(test)]
mod tests;
