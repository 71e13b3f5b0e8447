//! Names of files: as clients give them, and as they are on disk.

use super::AttachmentError;

/// A name that a client sends is not read beyond this.
const MAX_GIVEN_BYTES: usize = 1024;
const MAX_SHOWN_CHARS: usize = 200;
/// Every file system takes this much.
const MAX_ON_DISK: usize = 100;
const NAMELESS: &str = "file";

/// The name to show: the last segment of the given one, without invisible characters.
pub(crate) fn shown(given: &str) -> Result<String, AttachmentError> {
    if given.len() > MAX_GIVEN_BYTES {
        return Err(AttachmentError::BadName("`name` is too long"));
    }
    if given.contains('\0') {
        return Err(AttachmentError::BadName("`name` has a NUL in it"));
    }
    let last = given.rsplit(['/', '\\']).next().unwrap_or_default();
    // Marks that turn the direction of writing make `exe.png` of `gnp.exe`.
    let seen = wire::text::with_hidden(None, last).filter(|(_, hides)| !hides);
    let name: String = seen.map(|(c, _)| c).take(MAX_SHOWN_CHARS).collect();
    match name.trim() {
        "" | "." | ".." => Ok(NAMELESS.to_owned()),
        name => Ok(name.to_owned()),
    }
}

/// The name on disk: plain letters, and never one that means something to a shell, a file
/// system or a directory.
pub(crate) fn on_disk(shown: &str) -> String {
    let plain = |c: char| match c {
        'a'..='z' | 'A'..='Z' | '0'..='9' | '.' | '-' | '_' => c,
        _ => '_',
    };
    let name: String = shown.chars().map(plain).collect();
    let name = name.trim_start_matches(['.', '-']);
    // The end is kept, as the extension says what kind of file it is.
    let name = &name[name.len().saturating_sub(MAX_ON_DISK)..];
    let name = name.trim_start_matches(['.', '-']);
    if name.is_empty() { NAMELESS.to_owned() } else { name.to_owned() }
}

/// The MIME type, by the first bytes or else by the name.
pub(crate) fn mime_type(start: &[u8], name: &str) -> &'static str {
    const SIGNS: [(&[u8], &str); 6] = [
        (b"\x89PNG\r\n\x1a\n", "image/png"),
        (b"\xff\xd8\xff", "image/jpeg"),
        (b"GIF87a", "image/gif"),
        (b"GIF89a", "image/gif"),
        (b"%PDF-", "application/pdf"),
        (b"PK\x03\x04", "application/zip"),
    ];
    if let Some((_, kind)) = SIGNS.iter().find(|(sign, _)| start.starts_with(sign)) {
        return kind;
    }
    if start.starts_with(b"RIFF") && start.get(8..12) == Some(b"WEBP") {
        return "image/webp";
    }
    if start.contains(&0) {
        return "application/octet-stream";
    }
    let ending = name.rsplit_once('.').map(|(_, ending)| ending.to_lowercase());
    match ending.as_deref() {
        Some("md" | "markdown") => "text/markdown",
        Some("json") => "application/json",
        Some("csv") => "text/csv",
        Some("html" | "htm") => "text/html",
        Some("xml" | "svg") => "text/xml",
        Some("yaml" | "yml") => "application/yaml",
        // A character that is cut in two at the end may still be one of a text.
        _ => match std::str::from_utf8(start).is_err_and(|error| error.error_len().is_some()) {
            true => "application/octet-stream",
            false => "text/plain",
        },
    }
}
