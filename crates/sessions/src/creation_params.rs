//! The params and the preface that a session was created with; its agent gets them at its start.
//!
//! Kept apart from the rest of a session's record (`details`): instructions and servers may be
//! large, and every list, read and turn reads that.

use serde::{Deserialize, Serialize};
use store::SessionOrigin;
use wire::Json;

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CreationParams {
    /// Params of the `session/new` that made the session.
    pub new_params: Json,
    /// Text before the first prompt, for an agent that takes no instructions in another way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preface: Option<String>,
}

impl CreationParams {
    pub(crate) fn to_origin(&self, made_by: Option<String>) -> SessionOrigin {
        SessionOrigin { made_by, made_of: Json::of(self) }
    }

    /// The maker's own note, which lists show: `_meta.switchyard`.
    pub(crate) fn note(&self) -> Option<Json> {
        #[derive(Deserialize)]
        struct NoteParams {
            #[serde(rename = "_meta")]
            meta: NoteMeta,
        }
        #[derive(Deserialize)]
        struct NoteMeta {
            switchyard: Json,
        }
        let note = self.new_params.read::<NoteParams>().ok()?.meta.switchyard;
        Some(note).filter(|note| note.as_str().len() <= MAX_NOTE_BYTES)
    }
}

/// Longest note that is kept: names of a few things.
const MAX_NOTE_BYTES: usize = 4 << 10;
