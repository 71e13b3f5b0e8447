//! Reads the content blocks of a prompt.
//!
//! In: the `prompt` array. Out: the text, and a short description of everything that is not text.
//! Every kind of v1 is understood; an unknown kind or a missing field is the client's mistake.

use serde::Deserialize;

#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum PromptBlock {
    Text { text: String },
    Image(Media),
    Audio(Media),
    ResourceLink { name: String, uri: String },
    Resource { resource: Resource },
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Media {
    data: String,
    mime_type: String,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Resource {
    Text { uri: String, text: String },
    Blob { uri: String, blob: String },
}

#[derive(Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(from = "Vec<PromptBlock>")]
pub(super) struct DemoPrompt {
    pub(super) text: String,
    /// One `[image image/png, 1234 bytes]` per block that is not text.
    pub(super) attachments: Vec<String>,
}

impl From<Vec<PromptBlock>> for DemoPrompt {
    fn from(blocks: Vec<PromptBlock>) -> Self {
        let mut prompt = Self::default();
        for block in blocks {
            prompt.attachments.push(match block {
                PromptBlock::Text { text } => {
                    if !prompt.text.is_empty() {
                        prompt.text.push('\n');
                    }
                    prompt.text.push_str(&text);
                    continue;
                }
                PromptBlock::Image(Media { data, mime_type }) => {
                    format!("[image {mime_type}, {} bytes]", decoded_len(&data))
                }
                PromptBlock::Audio(Media { data, mime_type }) => {
                    format!("[audio {mime_type}, {} bytes]", decoded_len(&data))
                }
                PromptBlock::ResourceLink { name, uri } => format!("[link {name}, {uri}]"),
                PromptBlock::Resource { resource: Resource::Text { uri, text } } => {
                    format!("[resource {uri}, {} bytes of text]", text.len())
                }
                PromptBlock::Resource { resource: Resource::Blob { uri, blob } } => {
                    format!("[resource {uri}, {} bytes]", decoded_len(&blob))
                }
            });
        }
        prompt
    }
}

/// The size of what base64 text stands for.
fn decoded_len(base64: &str) -> usize {
    base64.trim_end_matches('=').len() * 3 / 4
}

#[cfg(test)]
mod tests;
