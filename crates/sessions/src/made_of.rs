//! What a session was made of, and its agent is told when it is started.
//!
//! Kept apart from what else a session remembers about itself (`details`): instructions and servers may
//! be large, and every list, read and turn reads that.

use serde::{Deserialize, Serialize};
use store::Origin;
use wire::Json;

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MadeOf {
    /// Params of the `session/new` that made the session.
    pub new_params: Json,
    /// What the agent is told before the first prompt, where it has no other way to hear it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preface: Option<String>,
}

impl MadeOf {
    pub(crate) fn to_origin(&self, made_by: Option<String>) -> Origin {
        Origin { made_by, made_of: Json::of(self) }
    }

    /// What whoever made the session noted for itself, and lists show: `_meta.switchyard`.
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

/// Names of a few things; what is longer is no note.
const MAX_NOTE_BYTES: usize = 4 << 10;
