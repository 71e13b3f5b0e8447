//! HTTP clients of all our requests: to model endpoints, pages and MCP servers.

use std::error::Error as _;

use reqwest::header::HeaderValue;
use reqwest::{Client, ClientBuilder, Response};

/// A client with our user agent.
pub(super) fn builder() -> ClientBuilder {
    // Another part of the program may have done so already, which is as good.
    let _ = rustls::crypto::ring::default_provider().install_default();
    Client::builder().user_agent(concat!("switchyard/", env!("CARGO_PKG_VERSION")))
}

/// A client that follows no redirects, repeats nothing and sends no referrer.
pub(super) fn strict_builder() -> ClientBuilder {
    let stay = reqwest::redirect::Policy::none();
    builder().redirect(stay).retry(reqwest::retry::never()).referer(false)
}

/// The value of a header that may hold a key.
pub(super) fn sensitive(value: &str) -> Option<HeaderValue> {
    let mut value = HeaderValue::from_str(value).ok()?;
    value.set_sensitive(true);
    Some(value)
}

/// Reads a body into `body`, but no more than `limit` bytes of it. Says whether that is all.
pub(super) async fn read(
    response: &mut Response,
    limit: usize,
    body: &mut Vec<u8>,
) -> Result<bool, reqwest::Error> {
    while let Some(chunk) = response.chunk().await? {
        let room = limit.saturating_sub(body.len()).min(chunk.len());
        body.extend_from_slice(chunk.get(..room).unwrap_or_default());
        if room < chunk.len() {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The causes of an error, which alone says nothing; without the address, which may hold a token.
pub(super) fn causes(error: &reqwest::Error) -> impl Iterator<Item = String> {
    std::iter::successors(error.source(), |cause| (*cause).source()).map(ToString::to_string)
}

/// The causes in one sentence, if there are any.
pub(super) fn reasons(error: &reqwest::Error) -> Option<String> {
    let all: Vec<String> = causes(error).collect();
    (!all.is_empty()).then(|| all.join(": "))
}
