//! A buffer of encoded frames, one behind the other.
//!
//! In: ids, names and JSON. Out: text, and where each frame ends. The same frames are written for
//! SSE and for WebSocket; no other file knows the difference.

use std::fmt::Write;

use serde::Serialize;

use super::query::FrameId;

/// How frames are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FrameEncoding {
    Sse,
    /// One JSON object each.
    Object,
}

#[derive(Debug)]
pub(super) struct FrameBuffer {
    encoding: FrameEncoding,
    pub(super) text: String,
    frames: Vec<FrameEnd>,
}

/// The end of a frame in the buffer, and its id.
#[derive(Debug, Clone, Copy)]
struct FrameEnd {
    end: usize,
    id: Option<FrameId>,
}

impl FrameBuffer {
    pub(super) fn new(encoding: FrameEncoding) -> Self {
        Self { encoding, text: String::new(), frames: Vec::new() }
    }

    pub(super) fn n_frames(&self) -> usize {
        self.frames.len()
    }

    /// Each frame with its id.
    pub(super) fn frames(&self) -> impl Iterator<Item = (Option<FrameId>, &str)> {
        let mut start = 0;
        self.frames.iter().map(move |frame| {
            let text = self.text.get(start..frame.end).unwrap_or_default();
            start = frame.end;
            (frame.id, text)
        })
    }

    /// The id of the last frame that has one.
    pub(super) fn last_id(&self) -> Option<FrameId> {
        self.frames.iter().rev().find_map(|frame| frame.id)
    }

    /// A frame about the stream itself.
    pub(super) fn push_notice(&mut self, name: &str, data: &impl Serialize) {
        let data = wire::Json::of(data);
        self.push(None, Some(name), |text| text.push_str(data.as_str()));
    }

    /// A line that clients do not see as a frame; nothing on a WebSocket.
    pub(super) fn push_comment(&mut self, line: &str) {
        if self.encoding == FrameEncoding::Sse {
            self.text.push_str(line);
            self.text.push_str("\n\n");
            self.frames.push(FrameEnd { end: self.text.len(), id: None });
        }
    }

    /// A frame, with an id if it stands for a place in the log. `data` writes one JSON value.
    pub(super) fn push(
        &mut self,
        id: Option<FrameId>,
        name: Option<&str>,
        data: impl FnOnce(&mut String),
    ) {
        // Writing to a String cannot fail.
        match self.encoding {
            FrameEncoding::Sse => {
                if let Some(id) = id {
                    let _ = writeln!(self.text, "id: {id}");
                }
                if let Some(name) = name {
                    let _ = writeln!(self.text, "event: {name}");
                }
                self.text.push_str("data: ");
                self.on_one_line(data);
                self.text.push_str("\n\n");
            }
            FrameEncoding::Object => {
                self.text.push('{');
                if let Some(id) = id {
                    let _ = write!(self.text, r#""id":"{id}","#);
                }
                let _ = write!(self.text, r#""event":"{}","data":"#, name.unwrap_or("message"));
                data(&mut self.text);
                self.text.push('}');
            }
        }
        self.frames.push(FrameEnd { end: self.text.len(), id });
    }

    /// Between two tokens of JSON, agents may write a carriage return, which would end the
    /// line in SSE; inside of strings it is always escaped.
    fn on_one_line(&mut self, data: impl FnOnce(&mut String)) {
        let start = self.text.len();
        data(&mut self.text);
        let written = self.text.as_bytes().get(start..).unwrap_or_default();
        if memchr::memchr2(b'\r', b'\n', written).is_some() {
            let flat = self.text.split_off(start).replace(['\r', '\n'], " ");
            self.text.push_str(&flat);
        }
    }
}

#[cfg(test)]
mod tests;
