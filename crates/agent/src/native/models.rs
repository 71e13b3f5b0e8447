//! The models that sessions can choose from, and the endpoints behind them.
//!
//! Nothing is asked before somebody needs it: the first session does. Where nothing is
//! configured, this machine is looked at; where nothing is found, the next turn looks again.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::config::Setup;
use super::discover::{self, Candidate};
use super::endpoint;
use super::options;
use super::provider::{Failure, Provider};
use super::providers::{Offer, Providers};

/// A list that takes longer is done without: models can still be named.
const LIST_WITHIN: Duration = Duration::from_secs(3);
/// Where nobody knows better. Endpoints on this machine are often run with a small one.
const USUAL_WINDOW: u64 = 128_000;
const USUAL_WINDOW_HERE: u64 = 32_768;

#[derive(Debug)]
pub struct Models {
    setup: Setup,
    candidates: Vec<Candidate>,
    ready: Mutex<Option<Arc<Ready>>>,
    looking: tokio::sync::Mutex<()>,
}

/// What was found.
#[derive(Debug)]
pub struct Ready {
    pub providers: Providers,
    pub offers: Vec<Offer>,
    /// Why some endpoints list nothing, by the name of the provider.
    pub failures: Vec<(String, Failure)>,
    /// One line about an endpoint that nobody configured.
    pub found: Option<String>,
}

/// A model, ready to be asked.
#[derive(Debug, Clone)]
pub struct Chosen {
    pub provider: Provider,
    pub model: String,
    pub max_tokens: Option<u32>,
    pub temperature: Option<f64>,
    /// Tokens.
    pub context: u64,
    pub takes_images: bool,
}

impl Models {
    pub fn new(setup: Setup, candidates: Vec<Candidate>) -> Self {
        Self { setup, candidates, ready: Mutex::default(), looking: tokio::sync::Mutex::default() }
    }

    /// What there is; looks for it if nobody has.
    pub async fn ready(&self) -> Result<Arc<Ready>, Failure> {
        if let Some(ready) = self.known() {
            return Ok(ready);
        }
        let _alone = self.looking.lock().await;
        if let Some(ready) = self.known() {
            return Ok(ready);
        }
        let ready = Arc::new(self.look().await?);
        *self.ready.lock().unwrap_or_else(PoisonError::into_inner) = Some(ready.clone());
        Ok(ready)
    }

    fn known(&self) -> Option<Arc<Ready>> {
        self.ready.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    async fn look(&self) -> Result<Ready, Failure> {
        let (providers, found) = match Providers::new(&self.setup) {
            Some(providers) => (providers, None),
            None => {
                let found = discover::look(&self.candidates).await.map_err(|nothing| Failure {
                    category: "bad_input",
                    message: nothing.to_string(),
                })?;
                let says = found.says();
                let mut setup = self.setup.clone();
                setup.adopt(&found);
                let none = || Failure { category: "internal", message: "no endpoint".to_owned() };
                (Providers::new(&setup).ok_or_else(none)?, Some(says))
            }
        };
        let listing = tokio::time::timeout(LIST_WITHIN, providers.offers()).await;
        let (offers, failures) = listing.unwrap_or_default();
        Ok(Ready { providers, offers, failures, found })
    }

    /// What a session can choose from; nothing if nothing is known.
    pub async fn offers(&self) -> Vec<options::Offer> {
        let Ok(ready) = self.ready().await else { return Vec::new() };
        let offer = |offer: &Offer| options::Offer {
            id: offer.id.clone(),
            name: offer.model.name.clone().unwrap_or_else(|| offer.id.clone()),
        };
        ready.offers.iter().map(offer).collect()
    }

    /// The model of a session that has chosen none.
    pub async fn default_id(&self) -> String {
        match self.ready().await {
            Ok(ready) => ready.providers.default_id(&ready.offers),
            Err(_) => "none".to_owned(),
        }
    }

    pub async fn choose(&self, id: &str) -> Result<Chosen, Failure> {
        let ready = self.ready().await?;
        let is_none = id == "none";
        let default;
        let id = match is_none {
            // Chosen when there was nothing to choose from.
            true => {
                default = ready.providers.default_id(&ready.offers);
                &default
            }
            false => id,
        };
        let missing = || Failure { category: "internal", message: "no endpoint".to_owned() };
        let (provider, model) = ready.providers.find(id).ok_or_else(missing)?;
        let endpoint = provider.endpoint();
        let offered = ready.offers.iter().find(|offer| offer.id == id);
        let usual = match endpoint::is_loopback(&endpoint.base) {
            true => USUAL_WINDOW_HERE,
            false => USUAL_WINDOW,
        };
        let listed = offered.and_then(|offer| offer.model.context);
        Ok(Chosen {
            provider: provider.clone(),
            max_tokens: endpoint.max_tokens,
            temperature: endpoint.temperature,
            context: endpoint.context_window.or(listed).unwrap_or(usual).max(1),
            takes_images: provider.takes_images(&model),
            model,
        })
    }
}
