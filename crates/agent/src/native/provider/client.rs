//! Connections to an endpoint, and where on it things are.
//!
//! Redirects are not followed: they would take the conversation and the key to a place that
//! nobody named. Proxies come from the environment, never for this machine itself.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderName};
use reqwest::{Client, ClientBuilder, Url};

use super::ModelFailure;
use crate::native::endpoint::{Endpoint, EndpointKind, is_loopback};
use crate::native::http;

/// The first of Azure's versions that streams usage and is not a preview.
const AZURE_VERSION: &str = "2024-10-21";

pub(super) fn build(endpoint: &Endpoint) -> Result<Client, reqwest::Error> {
    if endpoint.key.is_some() && endpoint.base.scheme() == "http" && !is_loopback(&endpoint.base) {
        tracing::warn!(provider = endpoint.name, "the key goes over the network unencrypted");
    }
    builder_for(&endpoint.base).connect_timeout(endpoint.waits.connect).build()
}

/// A client for an address, which knows no endpoint and no key.
pub(in crate::native) fn builder_for(url: &Url) -> ClientBuilder {
    let mut builder = http::strict_builder();
    if is_loopback(url) {
        // No name server and no proxy has a say in what this machine is.
        let here = [IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)];
        let here = here.map(|address| SocketAddr::new(address, 0));
        builder = builder.no_proxy().resolve_to_addrs("localhost", &here);
    }
    match url.scheme() {
        "https" => builder,
        // A machine without certificates can still talk over http.
        _ => builder.tls_certs_only([]),
    }
}

/// The URL of chat completions for a model.
pub(super) fn chat_url(endpoint: &Endpoint, model: &str) -> Url {
    let path = base_path(endpoint);
    let is_azure = endpoint.kind == EndpointKind::Azure;
    if !is_azure || !has_deployments(endpoint) || path.contains("/deployments/") {
        return url_at(endpoint, &format!("{path}/chat/completions"));
    }
    let deployment = endpoint.table.deployment.as_deref().unwrap_or(model);
    let resource = path.strip_suffix("/openai").unwrap_or(path);
    let mut url = url_at(endpoint, &format!("{resource}/openai/deployments"));
    // As one segment, whatever is in the name.
    if let Ok(mut segments) = url.path_segments_mut() {
        segments.push(deployment).push("chat").push("completions");
    }
    url
}

/// The URL of the list of models; none if the endpoint would list those that it does not serve.
pub(super) fn models_url(endpoint: &Endpoint) -> Option<Url> {
    let lists_others = endpoint.kind == EndpointKind::Azure && has_deployments(endpoint);
    (!lists_others).then(|| url_at(endpoint, &format!("{}/models", base_path(endpoint))))
}

/// The URL where an Azure resource lists what could be deployed in it.
pub(super) fn resource_url(endpoint: &Endpoint) -> Url {
    let path = base_path(endpoint);
    let resource = path.split("/openai").next().unwrap_or(path);
    url_at(endpoint, &format!("{resource}/openai/models"))
}

/// The URL of another path on the same server.
pub(super) fn sibling_url(endpoint: &Endpoint, path: &str) -> Url {
    let own = base_path(endpoint);
    url_at(endpoint, &format!("{}{path}", own.strip_suffix("/v1").unwrap_or(own)))
}

/// The URL of a path on the endpoint's server, with the version where Azure wants it.
fn url_at(endpoint: &Endpoint, path: &str) -> Url {
    let mut url = endpoint.base.clone();
    url.set_path(path);
    let has_version = url.query_pairs().any(|(name, _)| name == "api-version");
    let needed = has_deployments(endpoint).then_some(AZURE_VERSION);
    if endpoint.kind == EndpointKind::Azure
        && !has_version
        && let Some(version) = endpoint.table.api_version.as_deref().or(needed)
    {
        url.query_pairs_mut().append_pair("api-version", version);
    }
    url
}

fn base_path(endpoint: &Endpoint) -> &str {
    endpoint.base.path().trim_end_matches('/')
}

/// Azure's newer endpoints take the model's name like everybody else.
fn has_deployments(endpoint: &Endpoint) -> bool {
    !base_path(endpoint).ends_with("/v1")
}

/// The headers of a request: the key, where there is one, and what else was configured.
pub(super) fn headers(endpoint: &Endpoint) -> Result<HeaderMap, ModelFailure> {
    let mut headers = HeaderMap::new();
    if let Some(key) = &endpoint.key {
        let key = key.reveal().trim();
        let (name, value) = match endpoint.kind {
            EndpointKind::Azure => (HeaderName::from_static("api-key"), key.to_owned()),
            _ => (AUTHORIZATION, format!("Bearer {key}")),
        };
        headers
            .insert(name, http::sensitive(&value).ok_or_else(|| ModelFailure::bad_key(endpoint))?);
    }
    for (name, value) in &endpoint.table.headers {
        let name = HeaderName::from_bytes(name.as_bytes()).ok();
        if let (Some(name), Some(value)) = (name, http::sensitive(value.reveal())) {
            headers.insert(name, value);
        }
    }
    Ok(headers)
}

#[cfg(test)]
mod tests;
