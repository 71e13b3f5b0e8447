//! Content blocks: what prompts, answers and the outputs of tools are made of.

use std::borrow::Cow;

use wire::Event;

use super::inline::inline;
use super::json::{JsonNode, JsonObject};
use super::media::{FileContent, Media, decoded_len};

/// The members of `update` in the payload of a `session/update`.
pub(crate) fn update_of(event: &Event) -> JsonObject<'_> {
    JsonNode::of(&event.payload).object().object("update")
}

/// A content block of a prompt, a message or a tool's output.
#[derive(Debug)]
pub struct ContentBlock<'a> {
    pub(crate) node: JsonNode<'a>,
    fields: JsonObject<'a>,
}

/// The blocks of a `content` or `prompt` member, which some agents send as one block, some
/// as a list, and some as a bare string.
pub(crate) fn blocks(content: Option<JsonNode<'_>>) -> Vec<ContentBlock<'_>> {
    let Some(node) = content else { return Vec::new() };
    if node.is_list() {
        node.items().into_iter().map(ContentBlock::of).collect()
    } else {
        vec![ContentBlock::of(node)]
    }
}

/// The text of a message chunk; other blocks have none.
pub(crate) fn chunk_text(update: &JsonObject<'_>) -> String {
    blocks(update.get("content")).iter().filter_map(ContentBlock::text).collect()
}

impl<'a> ContentBlock<'a> {
    pub fn of(node: JsonNode<'a>) -> Self {
        Self { node, fields: node.object() }
    }

    pub fn text(&self) -> Option<Cow<'a, str>> {
        match self.kind().as_deref() {
            None | Some("text") => self.node.text().or_else(|| self.fields.text("text")),
            Some(_) => None,
        }
    }

    pub(crate) fn file(&self) -> Option<FileContent> {
        let resource = self.fields.object("resource");
        let holder = if resource.is_empty() { &self.fields } else { &resource };
        let uri = holder.non_blank_text("uri");
        let name = self.fields.non_blank_text("name").or_else(|| last_segment(uri.as_deref()?))?;
        let size = holder.count("size").or_else(|| embedded_size(holder))?;
        Some(FileContent {
            reference: uri.unwrap_or_else(|| name.clone()).into_owned(),
            name: name.into_owned(),
            size,
            mime_type: holder.non_blank_text("mimeType").map(Cow::into_owned),
        })
    }

    /// The image or sound that the block holds.
    pub(crate) fn media(&self) -> Option<Media<'a>> {
        Media::of(&self.fields)
    }

    /// Its `name` member.
    pub fn name(&self) -> Option<Cow<'a, str>> {
        self.fields.non_blank_text("name")
    }

    /// A short description of a block that is not text.
    pub fn describe(&self) -> Option<String> {
        let kind = self.kind().filter(|kind| kind != "text")?;
        if let Some(media) = self.media() {
            return Some(media.describe());
        }
        let resource = self.fields.object("resource");
        let detail = ["name", "uri", "mimeType"].iter().find_map(|key| {
            self.fields.non_blank_text(key).or_else(|| resource.non_blank_text(key))
        });
        Some(match detail {
            // A `data:` URI may hold the whole file, so it is cut.
            Some(detail) => format!("[{}: {}]", inline(&kind), inline(&detail)),
            None => format!("[{}]", inline(&kind)),
        })
    }

    /// Whether it has anything to show.
    pub(crate) fn has_content(&self) -> bool {
        self.kind().is_some_and(|kind| kind != "text") || self.file().is_some()
    }

    /// The type and URI that identify a block that is not text, however it is written.
    pub(crate) fn identity(&self) -> (String, Option<String>) {
        let resource = self.fields.object("resource");
        let uri = self.fields.non_blank_text("uri").or_else(|| resource.non_blank_text("uri"));
        (self.kind().unwrap_or_default().into_owned(), uri.map(Cow::into_owned))
    }

    fn kind(&self) -> Option<Cow<'a, str>> {
        self.fields.text("type")
    }
}

fn last_segment<'a>(uri: &str) -> Option<Cow<'a, str>> {
    let path = uri.split(['?', '#']).next()?;
    let name = path.trim_end_matches('/').rsplit('/').next()?;
    (!name.is_empty() && !name.ends_with(':')).then(|| Cow::Owned(name.to_owned()))
}

/// The size of what the block itself holds, as text or as base64.
fn embedded_size(holder: &JsonObject<'_>) -> Option<u64> {
    if let Some(text) = holder.text("text") {
        return Some(text.len() as u64);
    }
    let data = holder.text("data").or_else(|| holder.text("blob"))?;
    Some(decoded_len(&data))
}

/// The call whose sub-agent sends this, if one does.
pub(crate) fn parent_call(fields: &JsonObject<'_>) -> Option<String> {
    let meta = fields.object("_meta");
    let parent = meta.object("claudeCode").non_blank_text("parentToolUseId");
    parent
        .or_else(|| meta.object("switchyard").non_blank_text("parentToolCallId"))
        .map(Cow::into_owned)
}

#[cfg(test)]
mod tests;
