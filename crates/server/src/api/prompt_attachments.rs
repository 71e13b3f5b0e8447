//! Attachments of a prompt as content blocks that its agent understands.
//!
//! An image goes in as an image, a text as a text, if the agent takes such blocks and they
//! are not too large; everything else is a link to the file, which every agent takes.

use std::io::Read as _;
use std::path::Path;

use serde_json::{Value, json};
use sessions::fair_limiter::FairPermit;
use sessions::host::AgentCapabilities;
use wire::SessionId;
use wire::uri::file_uri;

use crate::attachments::{Attachment, image_block};
use crate::daemon::Daemon;
use crate::principal::Principal;
use crate::problem::{Problem, shown};

/// Larger texts are linked to: an agent reads them better piece by piece.
const MAX_TEXT_BYTES: u64 = 1 << 20;
/// Larger images are linked to: no model takes them.
const MAX_IMAGE_BYTES: u64 = 8 << 20;
/// Bytes of attachments inside one prompt; the rest is linked to.
const MAX_TOTAL_BYTES: u64 = 16 << 20;

/// A prompt's attachments, and the permit for their memory, held until the prompt is in the log.
pub(super) struct PromptAttachments {
    pub(super) blocks: Vec<Value>,
    pub(super) place: Option<FairPermit>,
}

/// Reads a prompt's attachments. No file is open while other prompts or the agent are waited for.
pub(super) async fn read_attachments(
    daemon: &Daemon,
    principal: &Principal,
    session: SessionId,
    ids: &[String],
) -> Result<PromptAttachments, Problem> {
    let mut blocks = Vec::new();
    if ids.is_empty() {
        return Ok(PromptAttachments { blocks, place: None });
    }
    if let Some(twin) = ids.iter().enumerate().find(|(n, id)| ids[..*n].contains(id)) {
        let why = format!("the attachment `{}` is named twice", shown(twin.1));
        return Err(Problem::bad_request(why));
    }
    for id in ids {
        open(daemon, session, id).await?;
    }
    let takes = daemon.capabilities(session).await??;
    let files = &daemon.attachments;
    let place = Some(files.in_memory.enter(&principal.name).await);
    let mut n_left = MAX_TOTAL_BYTES;
    for id in ids {
        let (attachment, file) = open(daemon, session, id).await?;
        blocks.push(
            block(&files.path(session, &attachment), &attachment, file, &takes, &mut n_left)
                .await?,
        );
    }
    Ok(PromptAttachments { blocks, place })
}

async fn open(
    daemon: &Daemon,
    session: SessionId,
    id: &str,
) -> Result<(Attachment, std::fs::File), Problem> {
    let found = daemon.attachments.open(session, id).await;
    // The prompt is what is wrong, not the path.
    found.map_err(|error| match Problem::from(error) {
        problem if problem.status == 404 => {
            Problem::bad_request(problem.detail.unwrap_or_default())
        }
        problem => problem,
    })
}

/// An attachment as a content block that the agent takes; its bytes are subtracted from `n_left`.
async fn block(
    path: &Path,
    attachment: &Attachment,
    file: std::fs::File,
    takes: &AgentCapabilities,
    n_left: &mut u64,
) -> Result<Value, Problem> {
    let is_image = takes.image
        && attachment.mime_type.starts_with("image/")
        && attachment.size <= MAX_IMAGE_BYTES.min(*n_left);
    let is_text = takes.embedded_context && attachment.size <= MAX_TEXT_BYTES.min(*n_left);
    let held = match is_image || is_text {
        true => read(file, attachment).await?,
        false => None,
    };
    let block = match held {
        Some(bytes) if is_image => Some(image_block(&bytes, &attachment.mime_type, path)),
        Some(bytes) => String::from_utf8(bytes)
            .ok()
            .filter(|text| !text.contains('\0'))
            .map(|text| embedded(attachment, path, &text)),
        None => None,
    };
    // Measured as JSON, where a control character takes six bytes.
    let written = block.map(|block| (wire::Json::of(&block).as_str().len() as u64, block));
    Ok(match written {
        Some((n_bytes, block)) if n_bytes <= *n_left => {
            *n_left -= n_bytes;
            block
        }
        _ => link(attachment, path),
    })
}

async fn read(file: std::fs::File, attachment: &Attachment) -> Result<Option<Vec<u8>>, Problem> {
    let size = attachment.size;
    let reading = tokio::task::spawn_blocking(move || {
        let mut bytes = Vec::new();
        file.take(size + 1).read_to_end(&mut bytes).map(|_| bytes)
    });
    let bytes = reading.await?.map_err(Problem::internal)?;
    // Another length means that somebody else has written to the file.
    Ok(Some(bytes).filter(|bytes| bytes.len() as u64 == size))
}

fn embedded(attachment: &Attachment, path: &Path, text: &str) -> Value {
    json!({
        "type": "resource",
        "resource": { "uri": file_uri(path), "mimeType": attachment.mime_type, "text": text },
    })
}

fn link(attachment: &Attachment, path: &Path) -> Value {
    json!({
        "type": "resource_link", "uri": file_uri(path), "name": attachment.name,
        "mimeType": attachment.mime_type, "size": attachment.size,
    })
}
