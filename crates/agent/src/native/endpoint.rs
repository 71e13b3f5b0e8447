//! One model endpoint: its address, its key, and how long is waited for it.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

use reqwest::Url;
use serde::Deserialize;

use super::cost::Price;
use super::lenient::ConfigDuration;
use super::secret::Secret;

/// The software or service that serves the models; decides paths, headers and defaults.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EndpointKind {
    Openai,
    Azure,
    Bedrock,
    Ollama,
    Vllm,
    Litellm,
    Llamacpp,
    Openrouter,
    Lmstudio,
    #[default]
    Other,
}

/// `[native.providers.NAME]`
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ProviderTable {
    pub kind: EndpointKind,
    pub base_url: Option<String>,
    /// The variable that holds the key. Wins over `api_key` where it is set.
    pub api_key_env: Option<String>,
    pub api_key: Option<Secret>,
    /// The model that is used where nobody chooses.
    pub model: Option<String>,
    /// Offered beside what the endpoint lists.
    pub models: Vec<String>,
    pub headers: BTreeMap<String, Secret>,
    /// Azure.
    pub api_version: Option<String>,
    /// Azure; the model's name if there is none.
    pub deployment: Option<String>,
    /// Bedrock.
    pub region: Option<String>,
    /// Tokens.
    pub context_window: Option<u64>,
    pub max_tokens: Option<u32>,
    pub temperature: Option<f64>,
    /// Whether its models look at images; unknown if nobody said.
    pub images: Option<bool>,
    /// Whether its models get tools; unknown if nobody said.
    pub tools: Option<bool>,
    pub send_thoughts: Option<bool>,
    pub connect: Option<ConfigDuration>,
    pub first_byte: Option<ConfigDuration>,
    pub idle: Option<ConfigDuration>,
    pub retries: Option<u32>,
    pub retry_wait: Option<ConfigDuration>,
}

#[derive(Debug, Clone)]
pub struct Endpoint {
    pub name: String,
    pub kind: EndpointKind,
    /// The base URL, without a slash at its end.
    pub base: Url,
    pub key: Option<Secret>,
    /// The setting that holds the key, for a person to look at when the key is refused.
    pub key_name: String,
    /// What was configured of it, without the key.
    pub table: ProviderTable,
    /// Settings of single models, by `model` or `provider/model`.
    pub model_settings: BTreeMap<String, ModelSettings>,
    /// Whether it wants a model's thoughts back with the calls that followed from them.
    pub send_thoughts: bool,
    pub waits: EndpointTimeouts,
}

/// Settings of one model, whoever serves it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ModelSettings {
    /// Whether it gets tools.
    pub tools: Option<bool>,
    pub price: Option<Price>,
}

/// Time limits and retries of requests. A whole answer has no limit: a model that still sends is at
/// work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EndpointTimeouts {
    pub connect: Duration,
    /// Wait from the request to the first byte of the answer's body.
    pub first_byte: Duration,
    /// Wait between two bytes.
    pub idle: Duration,
    /// How often a request is repeated before its first token has come.
    pub max_retries: u32,
    /// Wait before the first repetition; then twice as long each time.
    pub retry_first: Duration,
}

/// Wait for the first byte on this machine: a model may have to be loaded from disk, and reads a
/// long prompt slowly.
const FIRST_BYTE_HERE: Duration = Duration::from_secs(300);

impl EndpointTimeouts {
    pub(super) fn of(url: &Url) -> Self {
        let first_byte = match is_loopback(url) {
            true => FIRST_BYTE_HERE,
            false => Duration::from_secs(60),
        };
        Self {
            connect: Duration::from_secs(10),
            first_byte,
            idle: Duration::from_secs(120),
            max_retries: 3,
            retry_first: Duration::from_millis(500),
        }
    }
}

impl Endpoint {
    pub fn new(name: impl Into<String>, kind: EndpointKind, base: Url) -> Self {
        let waits = EndpointTimeouts::of(&base);
        let host = base.host_str().unwrap_or_default();
        let send_thoughts = ["deepseek.com", "moonshot.ai", "moonshot.cn"]
            .iter()
            .any(|domain| host == *domain || host.ends_with(&format!(".{domain}")));
        Self {
            name: name.into(),
            kind,
            base,
            key: None,
            key_name: "OPENAI_API_KEY".to_owned(),
            table: ProviderTable {
                model: (kind == EndpointKind::Openai).then(|| "gpt-4o".to_owned()),
                ..ProviderTable::default()
            },
            model_settings: BTreeMap::new(),
            send_thoughts,
            waits,
        }
    }

    /// Settings of one of its models. Ollama's `:latest` may be left out.
    pub fn settings_of(&self, model: &str) -> Option<&ModelSettings> {
        let short = model.strip_suffix(":latest").unwrap_or(model);
        [model, short].into_iter().find_map(|model| {
            let whole = self.model_settings.get(&format!("{}/{model}", self.name));
            whole.or_else(|| self.model_settings.get(model))
        })
    }

    /// The address as people may see it: without user, password and query.
    pub fn shown_base(&self) -> String {
        shown(&self.base)
    }

    /// The text without anything that is secret between us and the endpoint.
    pub(super) fn hide_secrets(&self, text: &str) -> String {
        let mut text = text.to_owned();
        let password = self.base.password().map(Secret::new);
        for secret in self.key.iter().chain(self.table.headers.values()).chain(&password) {
            text = secret.hide_in(&text);
        }
        super::secret::hide_keys(&text)
    }
}

pub(super) fn shown(url: &Url) -> String {
    let mut url = url.clone();
    // Neither can fail for a URL that has a host; one without has nothing to hide.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url.set_query(None);
    url.set_fragment(None);
    url.to_string()
}

pub(super) fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let address = host.trim_start_matches('[').trim_end_matches(']');
    match address.parse::<IpAddr>() {
        Ok(address) => address.is_loopback(),
        Err(_) => host == "localhost",
    }
}

/// Each kind with its word in configuration, its title, its usual address, and the variable in
/// which its key usually is; empty where there is none.
pub(super) const KINDS: [(EndpointKind, [&str; 4]); 10] = [
    (EndpointKind::Openai, ["openai", "OpenAI", "https://api.openai.com/v1", "OPENAI_API_KEY"]),
    (EndpointKind::Azure, ["azure", "Azure OpenAI", "", "AZURE_OPENAI_API_KEY"]),
    (EndpointKind::Bedrock, ["bedrock", "Amazon Bedrock", "", "AWS_BEARER_TOKEN_BEDROCK"]),
    (EndpointKind::Ollama, ["ollama", "Ollama", "http://127.0.0.1:11434/v1", ""]),
    (EndpointKind::Vllm, ["vllm", "vLLM", "http://127.0.0.1:8000/v1", ""]),
    (EndpointKind::Litellm, ["litellm", "LiteLLM", "http://127.0.0.1:4000/v1", ""]),
    (EndpointKind::Llamacpp, ["llamacpp", "llama.cpp", "http://127.0.0.1:8080/v1", ""]),
    (
        EndpointKind::Openrouter,
        ["openrouter", "OpenRouter", "https://openrouter.ai/api/v1", "OPENROUTER_API_KEY"],
    ),
    (EndpointKind::Lmstudio, ["lmstudio", "LM Studio", "http://127.0.0.1:1234/v1", ""]),
    (EndpointKind::Other, ["other", "an OpenAI-compatible endpoint", "", ""]),
];

impl EndpointKind {
    fn facts(self) -> [&'static str; 4] {
        KINDS.into_iter().find(|(kind, _)| *kind == self).map_or([""; 4], |(_, facts)| facts)
    }

    /// The word in configuration, and the name of a provider that has none.
    pub fn word(self) -> &'static str {
        self.facts()[0]
    }

    /// The name as people write it.
    pub fn title(self) -> &'static str {
        self.facts()[1]
    }

    /// The usual address.
    pub(super) fn usual_base(self) -> Option<&'static str> {
        Some(self.facts()[2]).filter(|base| !base.is_empty())
    }

    /// The variable in which its key usually is.
    pub(super) fn usual_key(self) -> Option<&'static str> {
        Some(self.facts()[3]).filter(|name| !name.is_empty())
    }

    /// The kind that is probably behind an address of which nothing else is known.
    pub(super) fn guess(url: &Url) -> Self {
        let host = url.host_str().unwrap_or_default();
        if is_loopback(url) {
            let port = url.port_or_known_default();
            let same = |kind: &Self| {
                let usual = kind.usual_base().and_then(|base| Url::parse(base).ok());
                usual.is_some_and(|usual| is_loopback(&usual) && usual.port() == port)
            };
            return KINDS.into_iter().map(|(kind, _)| kind).find(same).unwrap_or_default();
        }
        if host == "api.openai.com" {
            Self::Openai
        } else if host.ends_with(".openai.azure.com")
            || host.ends_with(".cognitiveservices.azure.com")
        {
            Self::Azure
        } else if host.starts_with("bedrock-") && host.ends_with(".amazonaws.com") {
            Self::Bedrock
        } else if host == "openrouter.ai" {
            Self::Openrouter
        } else {
            Self::Other
        }
    }
}
