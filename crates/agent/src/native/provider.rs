//! A Chat Completions endpoint: requests out, answers in, piece by piece.
//!
//! | part | owns |
//! |---|---|
//! | [`client`] | connections: proxies, TLS, addresses, headers |
//! | [`body`] | what is said, in the endpoint's words |
//! | [`quirks`] | what an endpoint turned out not to take |
//! | [`answer`] | one answer from its request to its end, with repetitions |
//! | [`reader`], [`sse`] | bytes to chunks |
//! | [`chunk`], [`slots`] | chunks to [`Delta`](super::chat::Delta)s |
//! | [`failure`] | what went wrong, and whether to try again |
//! | [`pace`] | how long to wait before that |
//! | [`listing`] | lists of models |
//!
//! Always true: a request is repeated only while nothing of its answer has come; every wait
//! has a limit, and a whole answer has none; no error holds a key.

mod answer;
mod body;
mod chunk;
pub(super) mod client;
mod failure;
pub(super) mod listing;
mod pace;
mod quirks;
mod reader;
mod slots;
mod sse;
mod think;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

pub use self::answer::Answer;
pub use self::failure::Failure;
use self::quirks::Quirks;
use super::chat::Request;
use super::endpoint::{Endpoint, Kind};

/// Models of which it is remembered what they do not take, and whether they see.
const MAX_REMEMBERED: usize = 4096;

/// One endpoint, with its key. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Provider {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    endpoint: Endpoint,
    /// Made with the first request: certificates take a while to read.
    client: OnceLock<reqwest::Client>,
    learnt: Mutex<Learnt>,
}

#[derive(Debug, Default)]
struct Learnt {
    quirks: HashMap<String, Quirks>,
    sees: HashMap<String, bool>,
}

/// A model that an endpoint offers.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Model {
    pub id: String,
    pub name: Option<String>,
    /// Tokens, where the endpoint tells.
    pub context: Option<u64>,
    /// Whether it looks at images, where the endpoint tells.
    pub images: Option<bool>,
}

impl Model {
    pub fn named(id: impl Into<String>) -> Self {
        Self { id: id.into(), ..Self::default() }
    }
}

impl Provider {
    pub fn new(endpoint: Endpoint) -> Self {
        let (client, learnt) = (OnceLock::new(), Mutex::default());
        Self { inner: Arc::new(Inner { endpoint, client, learnt }) }
    }

    pub fn name(&self) -> &str {
        &self.inner.endpoint.name
    }

    pub fn endpoint(&self) -> &Endpoint {
        &self.inner.endpoint
    }

    /// The models that the endpoint lists, and those that it was configured with.
    pub async fn models(&self) -> Result<Vec<Model>, Failure> {
        let mut models = listing::ask(self).await?;
        let own = self.own_models();
        let is_new = |own: &Model| models.iter().all(|model| model.id != own.id);
        let new: Vec<_> = own.into_iter().filter(is_new).collect();
        models.extend(new);
        for model in &mut models {
            let is_default = self.endpoint().model.as_ref() == Some(&model.id);
            if let (true, Some(window)) = (is_default, self.endpoint().context_window) {
                model.context = Some(window);
            }
        }
        let mut learnt = self.inner.learnt.lock().unwrap_or_else(PoisonError::into_inner);
        for model in models.iter().take(MAX_REMEMBERED) {
            if let Some(sees) = model.images {
                learnt.sees.insert(model.id.clone(), sees);
            }
        }
        Ok(models)
    }

    /// Those that it was configured with.
    pub fn own_models(&self) -> Vec<Model> {
        let endpoint = self.endpoint();
        let deployment = endpoint.deployment.as_ref().filter(|_| endpoint.kind == Kind::Azure);
        let ids = endpoint.model.iter().chain(deployment).chain(&endpoint.models);
        let mut models: Vec<Model> = Vec::new();
        for id in ids {
            if models.iter().all(|model| model.id != *id) {
                models.push(Model { context: endpoint.context_window, ..Model::named(id) });
            }
        }
        models
    }

    /// Whether a model looks at images: as configured, as listed, or as its name suggests.
    pub fn takes_images(&self, model: &str) -> bool {
        if let Some(images) = self.endpoint().images {
            return images;
        }
        let learnt = self.inner.learnt.lock().unwrap_or_else(PoisonError::into_inner);
        let listed = learnt.sees.get(model).copied();
        listed.unwrap_or_else(|| listing::name_suggests_images(model))
    }

    /// Begins an answer; nothing is sent before it is polled.
    pub fn chat(&self, request: Request) -> Answer {
        Answer::new(self.clone(), request)
    }

    fn client(&self) -> Result<&reqwest::Client, Failure> {
        if let Some(client) = self.inner.client.get() {
            return Ok(client);
        }
        let client = client::build(self.endpoint())
            .map_err(|error| Failure::network(self.endpoint(), &self.endpoint().base, &error))?;
        Ok(self.inner.client.get_or_init(|| client))
    }

    fn quirks(&self, model: &str) -> Quirks {
        let learnt = self.inner.learnt.lock().unwrap_or_else(PoisonError::into_inner);
        learnt.quirks.get(model).copied().unwrap_or_default()
    }

    fn remember(&self, model: &str, quirks: Quirks) {
        let mut learnt = self.inner.learnt.lock().unwrap_or_else(PoisonError::into_inner);
        if learnt.quirks.len() < MAX_REMEMBERED {
            learnt.quirks.insert(model.to_owned(), quirks);
        }
    }
}
