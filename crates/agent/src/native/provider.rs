//! A Chat Completions endpoint: requests out, answers in, piece by piece.
//!
//! | part | owns |
//! |---|---|
//! | [`client`] | connections: proxies, TLS, addresses, headers |
//! | [`body`] | requests in the endpoint's format |
//! | [`quirks`] | parameters that an endpoint turned out not to take |
//! | [`answer`] | one answer from its request to its end, with repetitions |
//! | [`reader`] | bytes to chunks |
//! | [`chunk`], [`call_slots`] | chunks to [`Delta`](super::chat::Delta)s |
//! | [`failure`] | what went wrong, and whether to try again |
//! | [`backoff`] | how long to wait before that |
//! | [`listing`] | lists of models |
//!
//! Always true: a request is repeated only while nothing of its answer has come; every wait
//! has a limit, and a whole answer has none; no error holds a key.

mod answer;
mod backoff;
mod body;
mod call_slots;
mod chunk;
pub(super) mod client;
mod failure;
pub(super) mod listing;
mod quirks;
mod reader;
mod think_tags;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock};

pub use self::answer::AnswerStream;
pub use self::failure::ModelFailure;
use self::quirks::EndpointQuirks;
use super::chat::ChatRequest;
use super::cost::Price;
use super::endpoint::{Endpoint, EndpointKind, ProviderTable};
use super::lock;

/// Models whose quirks, image support and prices are remembered.
const MAX_REMEMBERED: usize = 4096;

/// One endpoint, with its key. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Provider {
    inner: Arc<ProviderState>,
}

#[derive(Debug)]
struct ProviderState {
    endpoint: Endpoint,
    /// Made with the first request: certificates take a while to read.
    client: OnceLock<reqwest::Client>,
    learnt: Mutex<LearntFacts>,
}

#[derive(Debug, Default)]
struct LearntFacts {
    quirks: HashMap<String, EndpointQuirks>,
    takes_images: HashMap<String, bool>,
    prices: HashMap<String, Price>,
}

/// A model that an endpoint offers.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Model {
    pub id: String,
    pub name: Option<String>,
    /// Tokens, where the endpoint tells.
    pub context: Option<u64>,
    /// Whether it looks at images, where the endpoint tells.
    pub images: Option<bool>,
    /// Whether it is for conversations, where the endpoint tells.
    pub chats: Option<bool>,
    /// Its price, where the endpoint tells.
    pub price: Option<Price>,
}

impl Model {
    pub fn named(id: impl Into<String>) -> Self {
        Self { id: id.into(), ..Self::default() }
    }

    /// Whether it can probably be talked with: as its endpoint says, or as its name suggests.
    pub fn seems_to_chat(&self) -> bool {
        self.chats.unwrap_or_else(|| !listing::name_suggests_other_work(&self.id))
    }
}

impl Provider {
    pub fn new(endpoint: Endpoint) -> Self {
        let (client, learnt) = (OnceLock::new(), Mutex::default());
        Self { inner: Arc::new(ProviderState { endpoint, client, learnt }) }
    }

    pub fn name(&self) -> &str {
        &self.inner.endpoint.name
    }

    pub fn endpoint(&self) -> &Endpoint {
        &self.inner.endpoint
    }

    /// The models that the endpoint lists, and those that it was configured with.
    pub async fn models(&self) -> Result<Vec<Model>, ModelFailure> {
        let mut models = listing::ask(self).await?;
        let own = self.own_models();
        let is_new = |own: &Model| models.iter().all(|model| model.id != own.id);
        let new: Vec<_> = own.into_iter().filter(is_new).collect();
        models.extend(new);
        for model in &mut models {
            let is_default = self.endpoint().table.model.as_ref() == Some(&model.id);
            if let (true, Some(window)) = (is_default, self.endpoint().table.context_window) {
                model.context = Some(window);
            }
        }
        let mut learnt = lock(&self.inner.learnt);
        for model in models.iter().take(MAX_REMEMBERED) {
            if let Some(sees) = model.images {
                learnt.takes_images.insert(model.id.clone(), sees);
            }
            if let Some(price) = model.price {
                learnt.prices.insert(model.id.clone(), price);
            }
        }
        Ok(models)
    }

    /// The models that it was configured with.
    pub fn own_models(&self) -> Vec<Model> {
        let ProviderTable { deployment, model, models: more, context_window, .. } =
            &self.endpoint().table;
        let is_azure = self.endpoint().kind == EndpointKind::Azure;
        let ids = model.iter().chain(deployment.iter().filter(|_| is_azure)).chain(more);
        let mut models: Vec<Model> = Vec::new();
        for id in ids {
            if models.iter().all(|model| model.id != *id) {
                models.push(Model { context: *context_window, ..Model::named(id) });
            }
        }
        models
    }

    /// Whether a model looks at images: as configured, as listed, or as its name suggests.
    pub fn takes_images(&self, model: &str) -> bool {
        if let Some(images) = self.endpoint().table.images {
            return images;
        }
        let learnt = lock(&self.inner.learnt);
        let listed = learnt.takes_images.get(model).copied();
        listed.unwrap_or_else(|| listing::name_suggests_images(model))
    }

    /// Whether a model is to have tools, as it was configured.
    pub fn wants_tools(&self, model: &str) -> bool {
        let endpoint = self.endpoint();
        let of_model = endpoint.settings_of(model).and_then(|settings| settings.tools);
        of_model.or(endpoint.table.tools).unwrap_or(true)
    }

    /// Whether the endpoint turned out not to take tools with a model.
    pub fn refuses_tools(&self, model: &str) -> bool {
        self.quirks(model).no_tools
    }

    /// Forgets that the endpoint refused tools with a model.
    pub fn try_tools_again(&self, model: &str) {
        let quirks = self.quirks(model);
        if quirks.no_tools {
            self.remember(model, EndpointQuirks { no_tools: false, ..quirks });
        }
    }

    /// What a model costs: as configured, or as listed.
    pub(super) fn price(&self, model: &str) -> Option<Price> {
        let configured = self.endpoint().settings_of(model).and_then(|settings| settings.price);
        let learnt = lock(&self.inner.learnt);
        configured.or_else(|| learnt.prices.get(model).copied())
    }

    /// Whether it says which models it serves.
    pub fn lists_models(&self) -> bool {
        client::models_url(self.endpoint()).is_some()
    }

    /// Checks that the endpoint answers and takes the key, also where it cannot list its models.
    pub async fn answers(&self) -> Result<(), ModelFailure> {
        listing::probe(self).await
    }

    /// Begins an answer; nothing is sent before it is polled.
    pub fn chat(&self, request: ChatRequest) -> AnswerStream {
        answer::begin(self.clone(), request)
    }

    fn client(&self) -> Result<&reqwest::Client, ModelFailure> {
        if let Some(client) = self.inner.client.get() {
            return Ok(client);
        }
        let client = client::build(self.endpoint()).map_err(|error| {
            ModelFailure::network(self.endpoint(), &self.endpoint().base, &error)
        })?;
        Ok(self.inner.client.get_or_init(|| client))
    }

    fn quirks(&self, model: &str) -> EndpointQuirks {
        let learnt = lock(&self.inner.learnt);
        learnt.quirks.get(model).copied().unwrap_or_default()
    }

    fn remember(&self, model: &str, quirks: EndpointQuirks) {
        let mut learnt = lock(&self.inner.learnt);
        if learnt.quirks.len() < MAX_REMEMBERED || learnt.quirks.contains_key(model) {
            learnt.quirks.insert(model.to_owned(), quirks);
        }
    }
}
