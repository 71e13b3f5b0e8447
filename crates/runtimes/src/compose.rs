//! One prompt for a CLI, from ACP's content blocks.
//!
//! In: the blocks of `session/prompt` and the session's directories. Out: text and images, or
//! why not. Instructions for CLIs that have no argument for them come with the blocks: the
//! session that uses this agent puts them before its first prompt.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::definition::ImageSupport;
use crate::dialect::{ComposedPrompt, PromptImage};
use crate::scratch::write_private;

/// The largest image, as base64.
const MAX_IMAGE_BYTES: usize = 28 << 20;
const MAX_IMAGES: usize = 16;
/// The largest file whose text comes with the prompt.
const MAX_EMBEDDED_BYTES: usize = 4 << 20;

/// The properties of a session that matter when a prompt is composed.
#[derive(Debug, Clone)]
pub struct PromptContext<'a> {
    pub cwd: &'a Path,
    /// The directories that attached files must be inside.
    pub roots: Vec<PathBuf>,
    pub images: ImageSupport,
    /// The directory for images that the prompt names by path.
    pub image_dir: Option<&'a Path>,
}

#[derive(Debug, thiserror::Error)]
pub enum ComposeError {
    #[error("the prompt has no content")]
    Empty,
    #[error("{} is not inside the session's directories", path.display())]
    Outside { path: PathBuf },
    #[error("{} cannot be attached: {source}", path.display())]
    Unreadable { path: PathBuf, source: std::io::Error },
    #[error("this agent takes no {0} in a prompt")]
    NotTaken(&'static str),
    #[error("an attached {what} is larger than {limit} bytes")]
    TooLarge { what: &'static str, limit: usize },
    #[error("more than {MAX_IMAGES} images in one prompt")]
    TooManyImages,
    #[error("an image cannot be written to {}: {source}", path.display())]
    Image { path: PathBuf, source: std::io::Error },
    #[error("an image is not valid base64")]
    NotBase64,
}

/// Composes a prompt. Files it writes (images that are named by path) are in
/// `setting.image_dir`.
pub fn compose(
    blocks: &[Value],
    setting: &PromptContext<'_>,
) -> Result<ComposedPrompt, ComposeError> {
    let mut builder = PromptBuilder::default();
    for block in blocks {
        builder.add(block, setting)?;
    }
    let mut prompt = builder.prompt;
    prompt.text.truncate(prompt.text.trim_end().len());
    if prompt.text.is_empty() && prompt.images.is_empty() {
        return Err(ComposeError::Empty);
    }
    Ok(prompt)
}

#[derive(Default)]
struct PromptBuilder {
    prompt: ComposedPrompt,
    /// All images, also those that the text names by path.
    n_images: usize,
}

impl PromptBuilder {
    fn add(&mut self, block: &Value, setting: &PromptContext<'_>) -> Result<(), ComposeError> {
        match block["type"].as_str().unwrap_or_default() {
            "text" => self.push_text(block["text"].as_str().unwrap_or_default()),
            "resource_link" => {
                let mention = mention(block["uri"].as_str().unwrap_or_default(), setting)?;
                self.push_text(&mention);
            }
            "resource" => self.embed(&block["resource"])?,
            "image" => self.add_image(block, setting)?,
            "audio" => return Err(ComposeError::NotTaken("sound")),
            _ => return Err(ComposeError::NotTaken("content of this type")),
        }
        Ok(())
    }

    fn push_text(&mut self, text: &str) {
        let prompt = &mut self.prompt.text;
        if !prompt.is_empty() && !prompt.ends_with('\n') {
            prompt.push('\n');
        }
        prompt.push_str(text);
    }

    /// Adds a file whose text came with the prompt: fenced with more backticks than it has itself.
    fn embed(&mut self, resource: &Value) -> Result<(), ComposeError> {
        let Some(text) = resource["text"].as_str() else {
            return Err(ComposeError::NotTaken("embedded binary file"));
        };
        if text.len() > MAX_EMBEDDED_BYTES {
            return Err(ComposeError::TooLarge { what: "file", limit: MAX_EMBEDDED_BYTES });
        }
        let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or_default();
        let fence = "`".repeat(longest.max(2) + 1);
        let uri = resource["uri"].as_str().unwrap_or("a file");
        let name = file_path(uri).map_or(uri.to_owned(), |path| path.display().to_string());
        self.push_text(&format!("{name}:\n{fence}\n{}\n{fence}\n", text.trim_end_matches('\n')));
        Ok(())
    }

    fn add_image(
        &mut self,
        block: &Value,
        setting: &PromptContext<'_>,
    ) -> Result<(), ComposeError> {
        let data = block["data"].as_str().unwrap_or_default();
        if data.len() > MAX_IMAGE_BYTES {
            return Err(ComposeError::TooLarge { what: "image", limit: MAX_IMAGE_BYTES });
        }
        self.n_images += 1;
        if self.n_images > MAX_IMAGES {
            return Err(ComposeError::TooManyImages);
        }
        let mime_type = block["mimeType"].as_str().unwrap_or("image/png").to_owned();
        match (setting.images, setting.image_dir) {
            (ImageSupport::Protocol, _) => {
                decoded(data)?;
                self.prompt.images.push(PromptImage { mime_type, data: data.to_owned() });
            }
            (ImageSupport::AtPath, Some(dir)) => {
                let path = write_image(dir, self.n_images, &mime_type, data)?;
                self.push_text(&format!("@{}", path.display()));
            }
            _ => return Err(ComposeError::NotTaken("images")),
        }
        Ok(())
    }
}

fn decoded(data: &str) -> Result<Vec<u8>, ComposeError> {
    use base64::Engine as _;
    let engine = base64::engine::general_purpose::STANDARD;
    engine.decode(data).map_err(|_| ComposeError::NotBase64)
}

fn write_image(dir: &Path, n: usize, mime: &str, data: &str) -> Result<PathBuf, ComposeError> {
    let bytes = decoded(data)?;
    let extension = match mime {
        "image/jpeg" => "jpg",
        "image/gif" => "gif",
        "image/webp" => "webp",
        _ => "png",
    };
    let path = dir.join(format!("image-{n}.{extension}"));
    write_private(&path, &bytes)
        .map_err(|source| ComposeError::Image { path: path.clone(), source })?;
    Ok(path)
}

/// The name of a linked file in the prompt, `@path`. The file must be inside the session's
/// roots, links resolved: its content is about to leave the machine.
fn mention(uri: &str, setting: &PromptContext<'_>) -> Result<String, ComposeError> {
    let plain = uri.trim_start_matches('@');
    let path = file_path(plain).or_else(|| plain.starts_with('/').then(|| PathBuf::from(plain)));
    let Some(path) = path else { return Ok(uri.to_owned()) };
    let path = setting.cwd.join(path);
    let real = path
        .canonicalize()
        .map_err(|source| ComposeError::Unreadable { path: path.clone(), source })?;
    let is_inside = setting
        .roots
        .iter()
        .any(|root| root.canonicalize().is_ok_and(|root| real.starts_with(root)));
    match is_inside {
        true => Ok(format!("@{}", real.display())),
        false => Err(ComposeError::Outside { path }),
    }
}

/// The path of a `file:` URI, its percent signs decoded.
fn file_path(uri: &str) -> Option<PathBuf> {
    let (scheme, rest) = uri.split_once(':')?;
    if !scheme.eq_ignore_ascii_case("file") {
        return None;
    }
    let rest = rest.strip_prefix("//").unwrap_or(rest);
    let rest = rest.strip_prefix("localhost").unwrap_or(rest);
    let rest = rest.split(['#', '?']).next().unwrap_or(rest);
    let mut bytes = Vec::with_capacity(rest.len());
    let mut left = rest.as_bytes();
    while let Some((&byte, rest)) = left.split_first() {
        left = rest;
        let code = (byte == b'%').then(|| left.get(..2)).flatten();
        let code = code.and_then(|hex| std::str::from_utf8(hex).ok());
        match code.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(decoded) => {
                bytes.push(decoded);
                left = left.get(2..).unwrap_or_default();
            }
            None => bytes.push(byte),
        }
    }
    use std::os::unix::ffi::OsStringExt as _;
    Some(PathBuf::from(std::ffi::OsString::from_vec(bytes)))
}

#[cfg(test)]
mod tests;
