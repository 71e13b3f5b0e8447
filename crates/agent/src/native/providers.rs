//! All endpoints of one agent: which model is whose, and what models are called.
//!
//! Always true: with one endpoint models are called what it calls them; with several
//! `provider/model`, and [`Providers::find`] is the inverse of [`Providers::show`].

use futures_util::future::join_all;

use super::config::ModelSetup;
use super::provider::{Model, ModelFailure, Provider};

/// The model that is asked where an endpoint neither lists one nor was given one.
const LAST_RESORT: &str = "gpt-4o";

/// All endpoints of one agent. Cheap to clone. Never empty.
#[derive(Debug, Clone)]
pub struct Providers {
    all: Vec<Provider>,
    /// One of them.
    default: Provider,
}

/// A model as clients see it.
#[derive(Debug, Clone, PartialEq)]
pub struct OfferedModel {
    /// `model`, or `provider/model` where there are several providers.
    pub id: String,
    pub provider: String,
    pub model: Model,
}

impl OfferedModel {
    /// The name for people.
    pub fn name(&self) -> &str {
        self.model.name.as_deref().unwrap_or(&self.id)
    }
}

impl Providers {
    /// `None` if there is no endpoint.
    pub fn new(setup: &ModelSetup) -> Option<Self> {
        let all: Vec<_> = setup.endpoints.iter().cloned().map(Provider::new).collect();
        let default = all.get(setup.default).or(all.last())?.clone();
        Some(Self { all, default })
    }

    pub fn all(&self) -> &[Provider] {
        &self.all
    }

    /// The provider that is used where nobody chooses.
    pub fn first(&self) -> &Provider {
        &self.default
    }

    /// The id of a provider's model.
    pub fn show(&self, provider: &str, model: &str) -> String {
        match self.all.len() {
            0 | 1 => model.to_owned(),
            _ => format!("{provider}/{model}"),
        }
    }

    /// The provider of a model, and what it calls the model. A name that belongs to nobody is
    /// one of the default provider: not all endpoints list what they have.
    pub fn find(&self, id: &str) -> (&Provider, String) {
        if self.all.len() > 1
            && let Some((prefix, model)) = id.split_once('/')
            && let Some(provider) = self.all.iter().find(|provider| provider.name() == prefix)
        {
            return (provider, model.to_owned());
        }
        (&self.default, id.to_owned())
    }

    /// The models of all endpoints that answer, the default provider's first, and why the others
    /// did not, by the name of the provider. What was configured is offered even if its endpoint is
    /// silent.
    pub async fn offers(&self) -> (Vec<OfferedModel>, Vec<(String, ModelFailure)>) {
        let mut failures = Vec::new();
        let lists = join_all(self.all.iter().map(Provider::models)).await;
        let mut lists: Vec<_> = self.all.iter().zip(lists).collect();
        lists.sort_by_key(|(provider, _)| provider.name() != self.default.name());
        let mut offers = Vec::new();
        for (provider, list) in lists {
            let models = list.unwrap_or_else(|failure| {
                failures.push((provider.name().to_owned(), failure));
                provider.own_models()
            });
            offers.extend(models.into_iter().map(|model| OfferedModel {
                id: self.show(provider.name(), &model.id),
                provider: provider.name().to_owned(),
                model,
            }));
        }
        (offers, failures)
    }

    /// The id of the model that is used where nobody chooses: the configured one, else the
    /// first of the default provider that can probably be talked with.
    pub fn default_id(&self, offers: &[OfferedModel]) -> String {
        let provider = &self.default;
        let configured = provider.endpoint().table.model.as_deref();
        let model = configured.or_else(|| self.picked(offers).map(|offer| &*offer.model.id));
        self.show(provider.name(), model.unwrap_or(LAST_RESORT))
    }

    /// One line about the model that is used, where nobody named one.
    pub fn default_summary(&self, offers: &[OfferedModel]) -> Option<String> {
        let provider = self.unnamed()?;
        let id = self.default_id(offers);
        let why = match offers.iter().filter(|offer| offer.provider == provider.name()).count() {
            0 => "the endpoint lists none".to_owned(),
            n => format!("one of {n}"),
        };
        Some(format!("using the model `{id}` ({why}); `--model` and OPENAI_MODEL choose another"))
    }

    /// The default provider, where nobody named a model of it.
    fn unnamed(&self) -> Option<&Provider> {
        Some(&self.default).filter(|provider| provider.endpoint().table.model.is_none())
    }

    /// The model that was taken because nobody named one.
    fn picked<'a>(&self, offers: &'a [OfferedModel]) -> Option<&'a OfferedModel> {
        let provider = self.unnamed()?;
        let mut own = offers.iter().filter(|offer| offer.provider == provider.name());
        own.clone().find(|offer| offer.model.seems_to_chat()).or_else(|| own.next())
    }
}

#[cfg(test)]
mod tests;
