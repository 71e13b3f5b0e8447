//! Images and sounds in content blocks: described in one line, and as a file in a `data:` URI.
//!
//! In: the members of a block. Out: its kind, size and bytes, if it has bytes. They are the
//! agent's: only what is base64 under a plain name of a type is put into a URI, and only up to a
//! limit.

use std::borrow::Cow;

use serde::Serialize;
use serde_with::skip_serializing_none;

use super::inline::inline;
use super::json::JsonObject;

/// Limit of base64 that an envelope carries; longer media are described in a line.
const MAX_CARRIED_BYTES: usize = 1 << 20;

/// A file that a block carries or points to, when its name and size are known.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FileContent {
    #[serde(rename = "ref")]
    pub reference: String,
    pub name: String,
    pub size: u64,
    pub mime_type: Option<String>,
}

/// An image or a sound that a block holds.
#[derive(Debug)]
pub(crate) struct Media<'a> {
    kind: &'static str,
    mime_type: Option<Cow<'a, str>>,
    data: Cow<'a, str>,
}

impl<'a> Media<'a> {
    /// `None` for blocks of another kind, and for those that only point elsewhere.
    pub(crate) fn of(block: &JsonObject<'a>) -> Option<Self> {
        let kind = match block.text("type").as_deref() {
            Some("image") => "image",
            Some("audio") => "audio",
            _ => return None,
        };
        let data = block.non_blank_text("data")?;
        Some(Self { kind, mime_type: block.non_blank_text("mimeType"), data })
    }

    /// `[image image/png, 12 KB]`
    pub(crate) fn describe(&self) -> String {
        let size = size_words(decoded_len(&self.data));
        match &self.mime_type {
            Some(mime_type) => format!("[{} {}, {size}]", self.kind, inline(mime_type)),
            None => format!("[{}, {size}]", self.kind),
        }
    }

    /// As a file with all its data, unless it is too large or no base64.
    pub(crate) fn file(&self) -> Option<FileContent> {
        let is_base64 = |byte: u8| byte.is_ascii_alphanumeric() || b"+/=".contains(&byte);
        if self.data.len() > MAX_CARRIED_BYTES || !self.data.bytes().all(is_base64) {
            return None;
        }
        let mime_type = self.mime_type.as_deref().filter(|name| is_plain_type(name));
        let extension = mime_type.and_then(|name| name.split_once('/')).map(|(_, of)| of);
        // `svg+xml` and the like: the part before the plus is the file extension.
        let extension = extension.and_then(|of| of.split('+').next()).unwrap_or("bin");
        let named = mime_type.unwrap_or("application/octet-stream");
        Some(FileContent {
            reference: format!("data:{named};base64,{}", self.data),
            name: format!("{}.{extension}", self.kind),
            size: decoded_len(&self.data),
            mime_type: mime_type.map(str::to_owned),
        })
    }
}

/// How many bytes base64 stands for.
pub(crate) fn decoded_len(base64: &str) -> u64 {
    let digits = base64.trim_end_matches('=').len() as u64;
    digits * 3 / 4
}

fn is_plain_type(name: &str) -> bool {
    let is_plain = |part: &str| {
        let of_names = |c: char| c.is_ascii_alphanumeric() || "-.+".contains(c);
        !part.is_empty() && part.chars().all(of_names)
    };
    name.split_once('/').is_some_and(|(kind, of)| is_plain(kind) && is_plain(of))
}

fn size_words(bytes: u64) -> String {
    const KB: u64 = 1 << 10;
    const MB: u64 = 1 << 20;
    match bytes {
        0..KB => format!("{bytes} bytes"),
        KB..MB => format!("{} KB", bytes / KB),
        _ => format!("{}.{} MB", bytes / MB, bytes % MB * 10 / MB),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use wire::Json;

    use super::*;
    use crate::json::JsonNode;

    fn with<T>(block: &Value, see: impl Fn(Option<Media<'_>>) -> T) -> T {
        let block = Json::of(block);
        see(Media::of(&JsonNode::of(&block).object()))
    }

    #[test]
    fn an_image_is_told_in_a_line_with_its_size() {
        let image = |mime: Value, n: usize| json!({ "type": "image", "mimeType": mime, "data": "A".repeat(n) });
        for (block, expected) in [
            (image(json!("image/png"), 8), "[image image/png, 6 bytes]"),
            (image(json!("image/png"), 16 << 10), "[image image/png, 12 KB]"),
            (image(json!(null), 4 << 20), "[image, 3.0 MB]"),
            (json!({ "type": "audio", "data": "QQ==" }), "[audio, 1 bytes]"),
        ] {
            assert_eq!(with(&block, |media| media.unwrap().describe()), expected);
        }
        for other in [
            json!({ "type": "image", "uri": "file:///a.png" }),
            json!({ "type": "text", "data": "QQ==" }),
        ] {
            assert!(with(&other, |media| media.is_none()), "{other}");
        }
    }

    #[test]
    fn what_is_carried_is_bounded_and_cannot_break_out_of_its_uri() {
        let file = |mime: &str, data: String| {
            let block = json!({ "type": "image", "mimeType": mime, "data": data });
            with(&block, |media| media.unwrap().file())
        };
        let png = file("image/png", "QUJD".to_owned()).unwrap();
        assert_eq!(
            (&*png.reference, &*png.name, png.size),
            ("data:image/png;base64,QUJD", "image.png", 3)
        );
        assert_eq!(file("image/svg+xml", "QUJD".to_owned()).unwrap().name, "image.svg");
        let odd = file("text/html,<b>", "QUJD".to_owned()).unwrap();
        assert_eq!(odd.reference, "data:application/octet-stream;base64,QUJD");
        assert_eq!(file("image/png", "QUJD\" onload".to_owned()), None);
        assert_eq!(file("image/png", "A".repeat(MAX_CARRIED_BYTES + 1)), None);
    }
}
