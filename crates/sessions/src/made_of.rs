//! What a session was made of, and its agent is told when it is started.
//!
//! Kept apart from the session's [`Details`]: instructions and servers may be large, and every
//! list, read and turn reads the details.

use serde::{Deserialize, Serialize};
use serde_json::json;
use store::{EventLog, Origin, SessionRecord, StoreError};
use wire::Json;

use crate::details::Details;

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
    pub async fn read(log: &dyn EventLog, record: &SessionRecord) -> Result<Self, StoreError> {
        if let Some(made_of) = Details::read(record).made_of() {
            return Ok(made_of);
        }
        let origin = log.origin(record.id).await?;
        Ok(origin.and_then(|origin| origin.made_of.read().ok()).unwrap_or_else(|| {
            let cwd = json!({ "cwd": record.cwd, "mcpServers": [] });
            Self { new_params: Json::of(&cwd), preface: None }
        }))
    }

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
