//! What an endpoint turned out not to take, learnt from how it refuses.
//!
//! Always true: only what was sent is left out, and each thing once.

use serde_json::Value;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Quirks {
    pub(super) no_stream_options: bool,
    /// Newer models want `max_completion_tokens` instead of `max_tokens`.
    pub(super) renamed_max_tokens: bool,
    pub(super) no_temperature: bool,
    pub(super) no_effort: bool,
}

impl Quirks {
    /// What to leave out after a refusal; `None` if that would not help.
    pub(super) fn learn(self, sent: &Value, status: u16, answer: &str) -> Option<Self> {
        if !matches!(status, 400 | 404 | 422) {
            return None;
        }
        let blames = |name: &str| sent.get(name).is_some() && answer.contains(name);
        let mut quirks = self;
        if blames("stream_options")
            || sent.get("stream_options").is_some() && answer.contains("include_usage")
        {
            quirks.no_stream_options = true;
        } else if blames("max_tokens") {
            quirks.renamed_max_tokens = true;
        } else if blames("reasoning_effort") {
            quirks.no_effort = true;
        } else if blames("temperature") {
            quirks.no_temperature = true;
        }
        (quirks != self).then_some(quirks)
    }
}
