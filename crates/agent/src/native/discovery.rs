//! Looking for a model endpoint on this machine, where nothing is configured.
//!
//! In: kinds and the loopback ports they usually have. Out: the first, in that order, that
//! answers with a list of models. All are asked at once, without any key and without a proxy,
//! and whatever is not a list of models is passed over: other programs use these ports too.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use futures_util::future::join_all;
use reqwest::Url;
use serde_json::Value;

use super::endpoint::{Endpoint, EndpointKind};
use super::http;
use super::provider::listing;

/// Time for an answer: what listens on this machine answers at once, or is busy.
const ANSWER_WITHIN: Duration = Duration::from_millis(1500);
const MAX_LIST_BYTES: usize = 4 << 20;

/// A kind of endpoint, and a port where it may listen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Candidate {
    pub kind: EndpointKind,
    pub port: u16,
}

/// The usual ports.
pub const CANDIDATES: [Candidate; 5] = [
    Candidate { kind: EndpointKind::Ollama, port: 11434 },
    Candidate { kind: EndpointKind::Vllm, port: 8000 },
    Candidate { kind: EndpointKind::Litellm, port: 4000 },
    Candidate { kind: EndpointKind::Llamacpp, port: 8080 },
    Candidate { kind: EndpointKind::Lmstudio, port: 1234 },
];

/// Advice on how to configure an endpoint, for whoever reads it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Advice {
    /// In the environment of whoever started the agent.
    #[default]
    Variables,
    /// A daemon runs the agent: variables count in its environment alone, the file for everybody.
    Daemon { config: PathBuf },
}

impl fmt::Display for Advice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Variables => f.write_str("set OPENAI_BASE_URL, OPENAI_API_KEY and OPENAI_MODEL"),
            Self::Daemon { config } => write!(
                f,
                "name one in {} ([native.providers.NAME] with base_url, api_key_env and model) and \
                 begin a new session; OPENAI_BASE_URL, OPENAI_API_KEY and OPENAI_MODEL count in the \
                 environment of the daemon, or of the command that begins the session",
                config.display()
            ),
        }
    }
}

/// Why no endpoint was found; two lines that say what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NothingFound {
    #[error(
        "no model endpoint is configured, and none answers on this machine (looked for {looked})\n\
         hint: {advice}; or start a local one such as `ollama serve`"
    )]
    Silence { looked: String, advice: Advice },
    #[error(
        "{title} answers at {base}, but has no models yet\n\
         hint: {remedy}; or {advice}"
    )]
    NoModels { title: &'static str, base: String, remedy: &'static str, advice: Advice },
    #[error(
        "{title} seems to answer at {base}, but wants a key (HTTP {status})\n\
         hint: {remedy}"
    )]
    WantsKey { title: &'static str, base: String, status: u16, remedy: String },
}

/// Asks all candidates; the first of them that has a model wins. It has the models that it listed,
/// and no key.
pub async fn look(candidates: &[Candidate], advice: &Advice) -> Result<Endpoint, NothingFound> {
    let asked = join_all(candidates.iter().map(|candidate| ask(*candidate, advice))).await;
    let (mut without_models, mut locked) = (None, None);
    for found in asked.into_iter().flatten() {
        match found {
            Ok(found) if found.table.models.is_empty() => {
                without_models.get_or_insert(NothingFound::NoModels {
                    title: found.kind.title(),
                    base: found.base.to_string(),
                    remedy: match found.kind {
                        EndpointKind::Ollama => "get one with `ollama pull qwen3`",
                        _ => "load one there",
                    },
                    advice: advice.clone(),
                });
            }
            Ok(found) => {
                tracing::info!(kind = found.kind.word(), base = %found.base, "a model endpoint was found on this machine");
                return Ok(found);
            }
            Err(wants_key) => _ = locked.get_or_insert(wants_key),
        }
    }
    Err(without_models.or(locked).unwrap_or_else(|| {
        let looked = candidates
            .iter()
            .map(|candidate| format!("{} on {}", candidate.kind.title(), candidate.port));
        let looked = looked.collect::<Vec<_>>().join(", ");
        NothingFound::Silence { looked, advice: advice.clone() }
    }))
}

/// One line for people about an endpoint that was found.
pub fn summary(found: &Endpoint) -> String {
    let n = found.table.models.len();
    let models = if n == 1 { "1 model".to_owned() } else { format!("{n} models") };
    format!("using {} at {} ({models})", found.kind.title(), found.base)
}

/// Asks what answers on a port; an error, if it answers, but not without a key.
async fn ask(candidate: Candidate, advice: &Advice) -> Option<Result<Endpoint, NothingFound>> {
    let Candidate { kind, port } = candidate;
    let base = Url::parse(&format!("http://127.0.0.1:{port}/v1")).ok()?;
    let asking = async {
        let client = super::provider::client::builder_for(&base).build().ok()?;
        let mut response = client.get(format!("{base}/models")).send().await.ok()?;
        let status = response.status();
        // LiteLLM answers 401, or 500 when it has no database to look the missing key up in.
        let is_locked = status == 401 || (status == 500 && kind == EndpointKind::Litellm);
        if is_locked {
            return Some(Err(status.as_u16()));
        }
        if !status.is_success() {
            return None;
        }
        let mut body = Vec::new();
        if !http::read(&mut response, MAX_LIST_BYTES, &mut body).await.ok()? {
            return None;
        }
        serde_json::from_slice::<Value>(&body).ok().map(Ok)
    };
    match tokio::time::timeout(ANSWER_WITHIN, asking).await.ok()?? {
        Ok(list) => {
            let mut found = Endpoint::new(kind.word(), kind, base);
            // It has listed them, whether or not it lists them again.
            let models = listing::read_strictly(&list)?.into_iter();
            found.table.models = models.map(|model| model.id).collect();
            Some(Ok(found))
        }
        Err(status) => {
            let (title, base) = (kind.title(), base.to_string());
            let remedy = match advice {
                Advice::Variables => format!("set OPENAI_BASE_URL={base} and OPENAI_API_KEY"),
                Advice::Daemon { .. } => advice.to_string(),
            };
            Some(Err(NothingFound::WantsKey { title, base, status, remedy }))
        }
    }
}
