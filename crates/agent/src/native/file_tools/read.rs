//! `read`: reads a file, with numbered lines, or an image.

use std::fmt::Write as _;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use roots::{FileKind, ResolvedPath};
use serde::Deserialize;

use crate::native::chat::MessagePart;
use crate::native::files::{Files, MAX_TEXT_BYTES};
use crate::native::tool::arguments::{self, integer, string};
use crate::native::tool::{
    CallContent, CallDescription, CallNeed, Location, PreparedCall, Tool, ToolContext, ToolError,
    ToolKind, ToolOutput,
};

const DEFAULT_LINES: usize = 2000;
const MAX_LINE_CHARS: usize = 2000;
/// Limit on the text for the model: half a file leads models astray, so it is higher than
/// elsewhere.
const MAX_CHARS: usize = 50_000;
/// Largest image that the usual endpoints take.
const MAX_IMAGE_BYTES: u64 = 5 << 20;

#[derive(Deserialize)]
struct ReadArguments {
    #[serde(alias = "file_path", alias = "filePath", alias = "filename")]
    path: String,
    #[serde(default, deserialize_with = "arguments::number")]
    offset: Option<usize>,
    #[serde(default, deserialize_with = "arguments::number")]
    limit: Option<usize>,
}

pub(super) fn tool() -> Arc<Tool> {
    let description = format!(
        "Reads a text file, with line numbers before a tab, or an image. Gives up to \
         {DEFAULT_LINES} lines at once; go on with `offset`. A file has to be read before it is \
         changed."
    );
    let arguments = [
        string("path", "The file, absolute or relative to the working directory").required(),
        integer("offset", "The first line to read, counted from 1"),
        integer("limit", "How many lines to read"),
    ];
    Tool::new("read", ToolKind::Read, description, arguments, prepare)
}

async fn prepare(asked: ReadArguments, context: ToolContext) -> Result<PreparedCall, ToolError> {
    let files = context.workspace.files.clone();
    let place = files.resolve(&asked.path).await?;
    let from = asked.offset.unwrap_or(1).max(1);
    let line = asked.offset.and_then(|_| u32::try_from(from).ok());
    let shown = CallDescription {
        title: match (asked.offset, asked.limit) {
            (None, None) => format!("Read {}", files.shown(&place)),
            (_, None) => format!("Read {} from line {from}", files.shown(&place)),
            (_, Some(limit)) => {
                let to = from.saturating_add(limit).saturating_sub(1);
                format!("Read {} ({from}-{to})", files.shown(&place))
            }
        },
        locations: vec![Location::of(&place, line)],
        ..CallDescription::default()
    };
    let work = async move {
        if let Some(image) = image(&files, &place).await? {
            return Ok(image);
        }
        let text = files.read_existing(&place).await?;
        let limit = asked.limit.unwrap_or(DEFAULT_LINES).max(1);
        let read = numbered(&files.shown(&place), &text.plain(), from, limit)?;
        files.note(&place, &text);
        Ok(ToolOutput::text(read))
    };
    Ok(PreparedCall { shown, need: CallNeed::Nothing, work: Box::pin(work) })
}

/// The lines from `from`, as many as fit, and how to get the others.
fn numbered(name: &str, text: &str, from: usize, limit: usize) -> Result<String, ToolError> {
    let n_lines = text.lines().count();
    if n_lines == 0 {
        return Ok(format!("(`{name}` is empty)"));
    }
    if from > n_lines {
        return Err(ToolError(format!("`{name}` has only {n_lines} lines")));
    }
    let mut read = String::new();
    let mut to = from - 1;
    for line in text.lines().skip(from - 1).take(limit) {
        let n_chars = line.chars().count();
        let line: &str = match line.char_indices().nth(MAX_LINE_CHARS) {
            Some((cut, _)) => line.get(..cut).unwrap_or(line),
            None => line,
        };
        if read.len() + line.len() > MAX_CHARS && to >= from {
            break;
        }
        to += 1;
        let _ = write!(read, "{to:>6}\t{line}");
        if n_chars > MAX_LINE_CHARS {
            let _ = write!(read, "… ({} more characters)", n_chars - MAX_LINE_CHARS);
        }
        read.push('\n');
    }
    if to < n_lines {
        let next = to + 1;
        let _ = write!(read, "\n(lines {from}-{to} of {n_lines}; go on with offset {next})");
    } else if from > 1 {
        let _ = write!(read, "\n(lines {from}-{to} of {n_lines}, the end of the file)");
    }
    Ok(read)
}

/// The file as an image, if it is one that models take.
async fn image(files: &Files, place: &ResolvedPath) -> Result<Option<ToolOutput>, ToolError> {
    let path = place.path().to_owned();
    let name = path.extension().and_then(|name| name.to_str()).unwrap_or_default();
    // By its name first: text is not read twice.
    if !["png", "jpg", "jpeg", "gif", "webp"].contains(&name.to_lowercase().as_str()) {
        return Ok(None);
    }
    let shown = files.shown(place);
    let Some(facts) = files.look(place).await? else { return Err(files.missing(place).await) };
    if facts.kind != FileKind::File {
        return Ok(None);
    }
    files.check_denied(ToolKind::Read, place.path()).await?;
    let bytes = files.bytes(place, MAX_TEXT_BYTES.max(MAX_IMAGE_BYTES)).await?;
    let Some(mime) = mime_of(&bytes) else { return Ok(None) };
    if bytes.len() as u64 > MAX_IMAGE_BYTES {
        return Err(ToolError(format!(
            "`{shown}` is an image of {} KiB; more than {} MiB cannot be shown. Make a smaller \
             copy of it first",
            bytes.len() >> 10,
            MAX_IMAGE_BYTES >> 20
        )));
    }
    let data = STANDARD.encode(&bytes);
    let about = format!("`{shown}`: {mime}, {} bytes", bytes.len());
    Ok(Some(ToolOutput {
        parts: vec![
            MessagePart::text(about),
            MessagePart::Image { mime: mime.into(), data: data.clone() },
        ],
        content: vec![CallContent::Image { mime: mime.into(), data }],
        ..ToolOutput::default()
    }))
}

fn mime_of(bytes: &[u8]) -> Option<&'static str> {
    match bytes {
        [0x89, b'P', b'N', b'G', ..] => Some("image/png"),
        [0xff, 0xd8, 0xff, ..] => Some("image/jpeg"),
        [b'G', b'I', b'F', b'8', ..] => Some("image/gif"),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some("image/webp"),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
