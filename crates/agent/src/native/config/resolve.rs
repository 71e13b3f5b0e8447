//! Resolves the table and the variables to endpoints.

use std::collections::BTreeMap;

use reqwest::Url;
use reqwest::header::{HeaderName, HeaderValue};

use super::{Config, ConfigError};
use crate::native::endpoint::{Endpoint, EndpointKind, ModelSettings, ProviderTable, shown};
use crate::native::lenient;
use crate::native::secret::Secret;
use crate::native::settings::EnabledContextTools;

/// Longest name of a provider: more than anybody types.
const MAX_NAME_CHARS: usize = 64;

/// The resolved configuration, before any endpoint was asked. Without endpoints nothing is
/// configured, and one may be found on this machine ([`discovery`](crate::native::discovery)).
#[derive(Debug, Clone, Default)]
pub struct ModelSetup {
    pub endpoints: Vec<Endpoint>,
    /// Which of them is used where nobody chooses.
    pub default: usize,
    pub system_prompt: Option<String>,
    /// Whether models get tools, if a variable says so, whatever the table says.
    pub tools: Option<bool>,
    /// The same for the context tools.
    pub context_tools: Option<EnabledContextTools>,
    /// `tools` of the table, for endpoints that are only found.
    tools_of_table: Option<bool>,
    model_settings: BTreeMap<String, ModelSettings>,
    defaults: ModelDefaults,
}

/// Model settings that were given without naming a provider.
#[derive(Debug, Clone, Default)]
struct ModelDefaults {
    model: Option<String>,
    max_tokens: Option<u32>,
    temperature: Option<f64>,
}

/// The address and the key in the variables.
struct EndpointVariables {
    base_url: Option<String>,
    api_key: Option<Secret>,
}

/// Reads the variables, those that are empty left out: a setup without endpoints, and what makes
/// one.
fn read_variables(
    lookup: &dyn Fn(&str) -> Option<String>,
) -> Result<(ModelSetup, EndpointVariables), ConfigError> {
    let get = |name: &str| lookup(name).filter(|value| !value.trim().is_empty());
    let trimmed = |name: &str| get(name).map(|value| value.trim().to_owned());
    let tokens = "a number of tokens that is more than 0";
    let max_tokens = read(&get, "OPENAI_MAX_TOKENS", tokens, lenient::max_tokens)?;
    let warmth =
        |text: &str| lenient::temperature(text).filter(|warmth| (0.0..=2.0).contains(warmth));
    let temperature = read(&get, "OPENAI_TEMPERATURE", "a number from 0 to 2", warmth)?;
    let either = "one of on, off, true and false";
    let tools = read(&get, "OPENAI_TOOLS", either, lenient::is_on)?;
    let or_names = "on, off, or names of context tools with commas between them";
    let context_tools = read(&get, "OPENAI_CONTEXT_TOOLS", or_names, EnabledContextTools::read)?;
    let setup = ModelSetup {
        system_prompt: get("OPENAI_SYSTEM_PROMPT"),
        tools,
        context_tools,
        defaults: ModelDefaults { model: trimmed("OPENAI_MODEL"), max_tokens, temperature },
        ..ModelSetup::default()
    };
    let api_key = trimmed("OPENAI_API_KEY").map(Secret::new);
    Ok((setup, EndpointVariables { base_url: trimmed("OPENAI_BASE_URL"), api_key }))
}

/// Reads a variable: one that is set has a value that can be parsed, or is an error.
fn read<T>(
    get: &dyn Fn(&str) -> Option<String>,
    name: &'static str,
    wanted: &'static str,
    parse: impl Fn(&str) -> Option<T>,
) -> Result<Option<T>, ConfigError> {
    const LONGEST_SHOWN: usize = 40;
    let Some(text) = get(name) else { return Ok(None) };
    match parse(&text) {
        Some(value) => Ok(Some(value)),
        None => {
            let value = text.trim().chars().take(LONGEST_SHOWN).collect();
            Err(ConfigError::BadVariable { name, wanted, value })
        }
    }
}

impl ModelDefaults {
    fn or(self, other: &Self) -> Self {
        Self {
            model: self.model.or_else(|| other.model.clone()),
            max_tokens: self.max_tokens.or(other.max_tokens),
            temperature: self.temperature.or(other.temperature),
        }
    }
}

impl Config {
    /// The endpoints of the table, and of the variables that `lookup` finds.
    pub fn resolve(
        &self,
        lookup: &dyn Fn(&str) -> Option<String>,
    ) -> Result<ModelSetup, ConfigError> {
        self.check()?;
        check_numbers("native", self.max_tokens, self.temperature)?;
        let (mut setup, variables) = read_variables(lookup)?;
        let (default, model) = self.default_provider()?;
        let own =
            ModelDefaults { model, max_tokens: self.max_tokens, temperature: self.temperature };
        let chosen = setup.defaults.clone();
        setup.defaults = chosen.clone().or(&own);
        setup.system_prompt = setup.system_prompt.or_else(|| self.system_prompt.clone());
        setup.tools_of_table = self.tools;
        setup.model_settings.clone_from(&self.models);
        for (name, table) in &self.providers {
            let is_default = default == Some(name.as_str());
            let mut endpoint = match (&variables.base_url, is_default) {
                (Some(base), true) => moved_endpoint(name, table, base, &variables)?,
                _ => endpoint(name, table, is_default, lookup)?,
            };
            // The variables win, then the provider's own, then what holds for all; of models the
            // one that was named for all comes before the provider's own.
            let mut defaults = ModelDefaults {
                model: None,
                max_tokens: table.max_tokens.or(self.max_tokens),
                temperature: table.temperature.or(self.temperature),
            };
            if is_default {
                setup.default = setup.endpoints.len();
                defaults.model = own.model.clone().or_else(|| table.model.clone());
                defaults = chosen.clone().or(&defaults);
            }
            endpoint.apply_defaults(defaults);
            setup.endpoints.push(endpoint);
        }
        if self.providers.is_empty() {
            setup.endpoints.extend(of_variables(&variables, &setup.defaults)?);
        }
        for endpoint in &mut setup.endpoints {
            endpoint.table.tools = endpoint.table.tools.or(self.tools);
            endpoint.model_settings.clone_from(&self.models);
        }
        Ok(setup)
    }

    /// The name of the default provider, and the model without it.
    fn default_provider(&self) -> Result<(Option<&str>, Option<String>), ConfigError> {
        let prefix = self.model.as_deref().and_then(|model| model.split_once('/'));
        let named = match (&self.provider, prefix) {
            (Some(name), Some((prefix, rest))) if name == prefix && self.providers.len() > 1 => {
                return Ok((self.known(name)?, Some(rest.to_owned())));
            }
            (Some(name), _) => self.known(name)?,
            (None, Some((prefix, rest))) if self.providers.len() > 1 => {
                // The prefix alone says which provider is meant.
                return Ok((self.known(prefix)?, Some(rest.to_owned())));
            }
            _ => None,
        };
        let first = || self.providers.keys().next().map(String::as_str);
        Ok((named.or_else(first), self.model.clone()))
    }

    fn known(&self, name: &str) -> Result<Option<&str>, ConfigError> {
        match self.providers.get_key_value(name) {
            Some((name, _)) => Ok(Some(name)),
            None => {
                let known: Vec<_> = self.providers.keys().cloned().collect();
                let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
                Err(ConfigError::NoSuchProvider { name: name.to_owned(), known })
            }
        }
    }
}

impl ModelSetup {
    /// Adds the endpoint that was found on this machine, as the default.
    pub fn adopt(&mut self, mut endpoint: Endpoint) {
        endpoint.apply_defaults(self.defaults.clone());
        endpoint.table.tools = self.tools_of_table;
        endpoint.model_settings.clone_from(&self.model_settings);
        self.default = self.endpoints.len();
        self.endpoints.push(endpoint);
    }
}

impl Endpoint {
    fn apply_defaults(&mut self, defaults: ModelDefaults) {
        let table = &mut self.table;
        table.model = defaults.model.or(table.model.take());
        table.max_tokens = defaults.max_tokens.or(table.max_tokens);
        table.temperature = defaults.temperature.or(table.temperature);
    }
}

fn of_variables(
    variables: &EndpointVariables,
    defaults: &ModelDefaults,
) -> Result<Option<Endpoint>, ConfigError> {
    if variables.base_url.is_none() && variables.api_key.is_none() {
        return Ok(None);
    }
    let base = variables.base_url.as_deref().or(EndpointKind::Openai.usual_base());
    let base = address("OPENAI_BASE_URL", base.unwrap_or_default())?;
    let kind = EndpointKind::guess(&base);
    let mut endpoint = Endpoint::new(kind.word(), kind, whole_base(kind, base));
    endpoint.key.clone_from(&variables.api_key);
    endpoint.apply_defaults(defaults.clone());
    Ok(Some(endpoint))
}

/// The default provider at the address of a variable: keys and headers for its own address stay
/// there.
fn moved_endpoint(
    name: &str,
    table: &ProviderTable,
    base: &str,
    variables: &EndpointVariables,
) -> Result<Endpoint, ConfigError> {
    check_name(name)?;
    let base = address("OPENAI_BASE_URL", base)?;
    let own = table.base_url.as_deref().or(table.kind.usual_base());
    let own = own.and_then(|own| Url::parse(own).ok());
    let is_same = own.is_some_and(|own| own.origin() == base.origin());
    let kind = if is_same { table.kind } else { EndpointKind::guess(&base) };
    let mut endpoint = Endpoint::new(name, kind, whole_base(kind, base));
    fill(&mut endpoint, name, table)?;
    endpoint.key.clone_from(&variables.api_key);
    if is_same && endpoint.key.is_none() {
        endpoint.key.clone_from(&table.api_key);
    }
    if !is_same {
        endpoint.table.headers.clear();
    }
    Ok(endpoint)
}

fn endpoint(
    name: &str,
    table: &ProviderTable,
    is_default: bool,
    lookup: &dyn Fn(&str) -> Option<String>,
) -> Result<Endpoint, ConfigError> {
    check_name(name)?;
    let region = || table.region.clone().or_else(|| lookup("AWS_REGION"));
    let base = match (&table.base_url, table.kind.usual_base(), table.kind) {
        (Some(base), _, _) => base.clone(),
        (None, Some(usual), _) => usual.to_owned(),
        (None, None, EndpointKind::Bedrock) => {
            let Some(region) = region() else {
                return Err(ConfigError::Missing { name: name.to_owned(), member: "region" });
            };
            format!("https://bedrock-runtime.{region}.amazonaws.com")
        }
        _ => return Err(ConfigError::Missing { name: name.to_owned(), member: "base_url" }),
    };
    let base = address(&format!("`base_url` of the provider `{name}`"), &base)?;
    let kind = match table.kind {
        EndpointKind::Other => EndpointKind::guess(&base),
        kind => kind,
    };
    let mut endpoint = Endpoint::new(name, kind, whole_base(kind, base));
    fill(&mut endpoint, name, table)?;
    // The usual variable is not looked at for another's address: its key is not for it.
    let is_usual = kind.usual_base().is_none_or(|usual| {
        Url::parse(usual).is_ok_and(|usual| usual.origin() == endpoint.base.origin())
    });
    let usual = kind.usual_key().filter(|_| is_usual && (is_default || table.api_key.is_none()));
    let variable = table.api_key_env.as_deref().or(usual);
    let value = variable.and_then(lookup).map(|key| key.trim().to_owned());
    endpoint.key =
        value.filter(|key| !key.is_empty()).map(Secret::new).or_else(|| table.api_key.clone());
    endpoint.key_name = match variable {
        Some(variable) => variable.to_owned(),
        None => format!("`api_key` of the provider `{name}`"),
    };
    Ok(endpoint)
}

fn fill(endpoint: &mut Endpoint, name: &str, table: &ProviderTable) -> Result<(), ConfigError> {
    check_numbers(&format!("native.providers.{name}"), table.max_tokens, table.temperature)?;
    check_headers(name, &table.headers)?;
    let model = table.model.clone().or(endpoint.table.model.take());
    endpoint.table = ProviderTable { model, api_key: None, ..table.clone() };
    endpoint.send_thoughts = table.send_thoughts.unwrap_or(endpoint.send_thoughts);
    let waits = &mut endpoint.waits;
    for (slot, wait) in [
        (&mut waits.connect, table.connect),
        (&mut waits.first_byte, table.first_byte),
        (&mut waits.idle, table.idle),
        (&mut waits.retry_first, table.retry_wait),
    ] {
        *slot = wait.map_or(*slot, |wait| wait.0);
    }
    waits.max_retries = table.retries.unwrap_or(waits.max_retries);
    Ok(())
}

fn check_name(name: &str) -> Result<(), ConfigError> {
    let is_fine = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    match !name.is_empty() && name.len() <= MAX_NAME_CHARS && name.chars().all(is_fine) {
        true => Ok(()),
        false => Err(ConfigError::BadName { name: name.to_owned() }),
    }
}

fn check_headers(name: &str, headers: &BTreeMap<String, Secret>) -> Result<(), ConfigError> {
    for (header, value) in headers {
        let is_fine = HeaderName::from_bytes(header.as_bytes()).is_ok()
            && HeaderValue::from_str(value.reveal()).is_ok();
        if !is_fine {
            return Err(ConfigError::BadHeader { name: name.to_owned(), header: header.clone() });
        }
    }
    Ok(())
}

fn check_numbers(
    place: &str,
    max_tokens: Option<u32>,
    temperature: Option<f64>,
) -> Result<(), ConfigError> {
    if max_tokens == Some(0) {
        return Err(ConfigError::Zero { place: format!("{place}.max_tokens") });
    }
    match temperature.is_none_or(|temperature| (0.0..=2.0).contains(&temperature)) {
        true => Ok(()),
        false => Err(ConfigError::BadTemperature { place: format!("{place}.temperature") }),
    }
}

/// An address as people give it: with slashes at its end, or with the path that we add ourselves.
fn address(place: &str, text: &str) -> Result<Url, ConfigError> {
    let trimmed = text.trim().trim_end_matches('/');
    let trimmed = trimmed.strip_suffix("/chat/completions").unwrap_or(trimmed);
    let is_web = |url: &Url| matches!(url.scheme(), "http" | "https") && url.has_host();
    match Url::parse(trimmed) {
        Ok(url) if is_web(&url) => Ok(url),
        parsed => {
            // What cannot be parsed may hold a password anywhere.
            let value = parsed.map_or_else(|_| "…".to_owned(), |url| shown(&url));
            Err(ConfigError::BadUrl { place: place.to_owned(), value })
        }
    }
}

/// Bedrock speaks Chat Completions under a path that people leave out.
fn whole_base(kind: EndpointKind, mut base: Url) -> Url {
    if kind == EndpointKind::Bedrock && matches!(base.path(), "" | "/") {
        base.set_path("/openai/v1");
    }
    base
}
