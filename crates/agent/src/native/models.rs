//! The models that sessions can choose from, and the endpoints behind them.
//!
//! Nothing is asked before somebody needs it: the first session does. Where nothing is
//! configured, this machine is looked at; where nothing is found, the next turn looks again.

use std::borrow::Cow;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use wire::Category;

use super::config::ModelSetup;
use super::discovery::{self, Advice, Candidate};
use super::provider::{ModelFailure, Provider};
use super::providers::{OfferedModel, Providers};
use super::{endpoint, lock};

/// Time for lists of models. One that takes longer is done without: models can still be named.
const LIST_WITHIN: Duration = Duration::from_secs(3);
/// Window in tokens, where nobody knows better. Endpoints on this machine often have a small one.
const USUAL_WINDOW: u64 = 128_000;
const USUAL_WINDOW_HERE: u64 = 32_768;

/// The id of the model of a session while nothing is known.
const NO_MODEL: &str = "none";

#[derive(Debug)]
pub struct Models {
    setup: Result<ModelSetup, ModelFailure>,
    candidates: Vec<Candidate>,
    advice: Advice,
    ready: Mutex<Option<Arc<ReadyModels>>>,
    looking: tokio::sync::Mutex<()>,
}

/// The endpoints and models that were found.
#[derive(Debug)]
pub struct ReadyModels {
    pub providers: Providers,
    pub offers: Vec<OfferedModel>,
    /// Why some endpoints list nothing, by the name of the provider.
    pub failures: Vec<(String, ModelFailure)>,
    /// One line about an endpoint that nobody configured.
    pub found: Option<String>,
    /// One line about a model that nobody named.
    pub picked: Option<String>,
}

/// Whether a model has tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ToolUse {
    /// It is to have tools, as far as that was configured.
    pub is_wanted: bool,
    /// Its endpoint said that it takes none.
    pub is_refused: bool,
}

/// A model, ready to be asked.
#[derive(Debug, Clone)]
pub struct ChosenModel {
    pub provider: Provider,
    pub model: String,
    /// Tokens.
    pub context: u64,
    pub takes_images: bool,
}

impl ReadyModels {
    /// The model that an id stands for, also an id from when there was nothing to choose from.
    fn resolved_id<'a>(&self, id: &'a str) -> Cow<'a, str> {
        match id {
            NO_MODEL => self.providers.default_id(&self.offers).into(),
            id => id.into(),
        }
    }
}

impl Models {
    pub fn new(setup: ModelSetup, candidates: Vec<Candidate>) -> Self {
        Self {
            setup: Ok(setup),
            candidates,
            advice: Advice::default(),
            ready: Mutex::default(),
            looking: tokio::sync::Mutex::default(),
        }
    }

    /// No models, because the configuration cannot be understood: whoever asks for one gets the
    /// failure.
    pub fn none_because(failure: ModelFailure) -> Self {
        Self { setup: Err(failure), ..Self::new(ModelSetup::default(), Vec::new()) }
    }

    /// Sets the advice for errors, which depends on who runs the agent.
    #[must_use]
    pub fn advising(self, advice: Advice) -> Self {
        Self { advice, ..self }
    }

    /// The endpoints and models; looks for them if nobody has.
    pub async fn ready(&self) -> Result<Arc<ReadyModels>, ModelFailure> {
        if let Some(ready) = self.known() {
            return Ok(ready);
        }
        let _alone = self.looking.lock().await;
        if let Some(ready) = self.known() {
            return Ok(ready);
        }
        let ready = Arc::new(self.look().await?);
        *lock(&self.ready) = Some(ready.clone());
        Ok(ready)
    }

    fn known(&self) -> Option<Arc<ReadyModels>> {
        lock(&self.ready).clone()
    }

    async fn look(&self) -> Result<ReadyModels, ModelFailure> {
        let setup = self.setup.as_ref().map_err(Clone::clone)?;
        let (providers, found) = match Providers::new(setup) {
            Some(providers) => (providers, None),
            None => {
                let found = discovery::look(&self.candidates, &self.advice).await;
                let found = found.map_err(|nothing| {
                    ModelFailure::new(Category::BadInput, nothing.to_string())
                })?;
                let says = discovery::summary(&found);
                let mut setup = setup.clone();
                setup.adopt(found);
                let none = || ModelFailure::new(Category::Internal, "no endpoint");
                (Providers::new(&setup).ok_or_else(none)?, Some(says))
            }
        };
        let listing = tokio::time::timeout(LIST_WITHIN, providers.offers()).await;
        let (offers, failures) = listing.unwrap_or_default();
        let picked = providers.default_summary(&offers);
        Ok(ReadyModels { providers, offers, failures, found, picked })
    }

    /// Whether the model of a session has tools; as usual, while nothing is known about it.
    pub fn tool_use(&self, id: &str) -> ToolUse {
        let configured = self.setup.as_ref().ok().and_then(|setup| setup.tools);
        let Some(ready) = self.known() else {
            return ToolUse { is_wanted: configured.unwrap_or(true), is_refused: false };
        };
        let (provider, model) = ready.providers.find(&ready.resolved_id(id));
        ToolUse {
            is_wanted: configured.unwrap_or_else(|| provider.wants_tools(&model)),
            is_refused: provider.refuses_tools(&model),
        }
    }

    /// Forgets that the model refused tools, when somebody switches them on again.
    pub fn try_tools_again(&self, id: &str) {
        let Some(ready) = self.known() else { return };
        let (provider, model) = ready.providers.find(&ready.resolved_id(id));
        provider.try_tools_again(&model);
    }

    /// The models that a session can choose from; none if nothing is known.
    pub async fn offers(&self) -> Vec<OfferedModel> {
        self.ready().await.map(|ready| ready.offers.clone()).unwrap_or_default()
    }

    /// The model of a session that has chosen none.
    pub async fn default_id(&self) -> String {
        match self.ready().await {
            Ok(ready) => ready.providers.default_id(&ready.offers),
            Err(_) => NO_MODEL.to_owned(),
        }
    }

    pub async fn choose(&self, id: &str) -> Result<ChosenModel, ModelFailure> {
        let ready = self.ready().await?;
        let id = &*ready.resolved_id(id);
        let (provider, model) = ready.providers.find(id);
        let endpoint = provider.endpoint();
        let offered = ready.offers.iter().find(|offer| offer.id == id);
        let usual = match endpoint::is_loopback(&endpoint.base) {
            true => USUAL_WINDOW_HERE,
            false => USUAL_WINDOW,
        };
        let listed = offered.and_then(|offer| offer.model.context);
        Ok(ChosenModel {
            provider: provider.clone(),
            context: endpoint.table.context_window.or(listed).unwrap_or(usual).max(1),
            takes_images: provider.takes_images(&model),
            model,
        })
    }
}
