//! Looking for a model endpoint on this machine, where nothing is configured.
//!
//! In: kinds and the loopback ports they usually have. Out: the first, in that order, that
//! answers with a list of models. All are asked at once, without any key and without a proxy,
//! and whatever is not a list of models is passed over: other programs use these ports too.

use std::time::Duration;

use futures_util::future::join_all;
use reqwest::Url;
use serde_json::Value;

use super::endpoint::{Endpoint, Kind};
use super::provider::Model;
use super::provider::listing;

/// What listens on this machine answers at once, or is busy with something else.
const ANSWER_WITHIN: Duration = Duration::from_millis(1500);
const MAX_LIST_BYTES: usize = 4 << 20;

/// Where something could be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Candidate {
    pub kind: Kind,
    pub port: u16,
}

/// The usual ports.
pub const CANDIDATES: [Candidate; 5] = [
    Candidate { kind: Kind::Ollama, port: 11434 },
    Candidate { kind: Kind::Vllm, port: 8000 },
    Candidate { kind: Kind::Litellm, port: 4000 },
    Candidate { kind: Kind::Llamacpp, port: 8080 },
    Candidate { kind: Kind::Lmstudio, port: 1234 },
];

/// An endpoint that answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    pub kind: Kind,
    pub base: Url,
    pub models: Vec<Model>,
}

/// Nothing to talk to; two lines that say what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NothingFound {
    #[error(
        "no model endpoint is configured, and none answers on this machine (looked for {looked})\n\
         hint: set OPENAI_BASE_URL, OPENAI_API_KEY and OPENAI_MODEL, or start a local one such as `ollama serve`"
    )]
    Silence { looked: String },
    #[error(
        "{title} answers at {base}, but has no models yet\n\
         hint: {advice}, or set OPENAI_BASE_URL, OPENAI_API_KEY and OPENAI_MODEL"
    )]
    NoModels { title: &'static str, base: String, advice: &'static str },
}

/// Asks all candidates; the first of them that has a model wins.
pub async fn look(candidates: &[Candidate]) -> Result<Found, NothingFound> {
    let found = join_all(candidates.iter().map(|candidate| ask(*candidate))).await;
    let mut without_models = None;
    for found in found.into_iter().flatten() {
        if found.models.is_empty() {
            without_models.get_or_insert(found);
        } else {
            tracing::info!(kind = found.kind.word(), base = %found.base, "a model endpoint was found on this machine");
            return Ok(found);
        }
    }
    Err(match without_models {
        Some(found) => NothingFound::NoModels {
            title: found.kind.title(),
            base: found.base.to_string(),
            advice: match found.kind {
                Kind::Ollama => "get one with `ollama pull qwen3`",
                _ => "load one there",
            },
        },
        None => {
            let looked: Vec<_> = candidates
                .iter()
                .map(|candidate| format!("{} on {}", candidate.kind.title(), candidate.port))
                .collect();
            NothingFound::Silence { looked: looked.join(", ") }
        }
    })
}

impl Found {
    /// How it is talked to: without a key.
    pub fn endpoint(&self) -> Endpoint {
        let mut endpoint = Endpoint::new(self.kind.word(), self.kind, self.base.clone());
        let speaks = |model: &&Model| !model.id.to_lowercase().contains("embed");
        let first = self.models.iter().find(speaks).or(self.models.first());
        endpoint.model = first.map(|model| model.id.clone());
        endpoint
    }

    /// One line for people.
    pub fn says(&self) -> String {
        let n = self.models.len();
        let models = if n == 1 { "1 model".to_owned() } else { format!("{n} models") };
        format!("using {} at {} ({models})", self.kind.title(), self.base)
    }
}

async fn ask(candidate: Candidate) -> Option<Found> {
    let base = Url::parse(&format!("http://127.0.0.1:{}/v1", candidate.port)).ok()?;
    let asking = async {
        let client = super::provider::client::bare(&base).ok()?;
        let mut response = client.get(format!("{base}/models")).send().await.ok()?;
        if !response.status().is_success() {
            return None;
        }
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.ok()? {
            body.extend_from_slice(&chunk);
            if body.len() > MAX_LIST_BYTES {
                return None;
            }
        }
        serde_json::from_slice::<Value>(&body).ok()
    };
    let answer = tokio::time::timeout(ANSWER_WITHIN, asking).await.ok()??;
    let models = listing::strict(&answer)?;
    Some(Found { kind: candidate.kind, base, models })
}
