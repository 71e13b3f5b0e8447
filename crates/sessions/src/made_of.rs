//! The params and the preface that a session was created with; its agent gets them at its start.
//!
//! Kept apart from the rest of a session's record (`details`): instructions and servers may be
//! large, and every list, read and turn reads that.

use serde::{Deserialize, Serialize};
use store::Origin;
use wire::Json;

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MadeOf {
    /// Params of the `session/new` that made the session.
    pub new_params: Json,
    /// Text before the first prompt, for an agent that takes no instructions in another way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preface: Option<String>,
}

impl MadeOf {
    pub(crate) fn to_origin(&self, made_by: Option<String>) -> Origin {
        Origin { made_by, made_of: Json::of(self) }
    }

    /// The maker's own note, which lists show: `_meta.switchyard`.
    pub(crate) fn note(&self) -> Option<Json> {
        #[derive(Deserialize)]
        struct Params {
            #[serde(rename = "_meta")]
            meta: Meta,
        }
        #[derive(Deserialize)]
        struct Meta {
            switchyard: Json,
        }
        let note = self.new_params.read::<Params>().ok()?.meta.switchyard;
        Some(note).filter(|note| note.as_str().len() <= MAX_NOTE_BYTES)
    }
}

/// Longest note that is kept: names of a few things.
const MAX_NOTE_BYTES: usize = 4 << 10;
