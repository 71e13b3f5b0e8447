//! Which web pages may call the daemon.
//!
//! Our own, and those that the operator named, letter by letter. A browser says with
//! `Origin` and `Sec-Fetch-Site` who asks, and pages cannot forge either; programs that are
//! no browsers send neither and are known by their token.

use axum::http::request::Parts;
use axum::http::{HeaderName, HeaderValue, Method, header};

use super::GuardError;
use super::host::{is_host, split_port};
use crate::header_lists::single;
use crate::problem::Problem;

const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
const SEC_FETCH_MODE: HeaderName = HeaderName::from_static("sec-fetch-mode");
const SEC_FETCH_DEST: HeaderName = HeaderName::from_static("sec-fetch-dest");

#[derive(Debug)]
pub(super) struct Origins {
    allowed: Vec<String>,
}

/// The page that a request came from.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum RequestOrigin {
    /// No page, or none that said so.
    None,
    Own,
    Allowed(HeaderValue),
}

impl Origins {
    pub(super) fn new(origins: &[String]) -> Result<Self, GuardError> {
        let parsed = origins
            .iter()
            .map(|origin| parse(origin).ok_or_else(|| GuardError::BadOrigin(origin.clone())));
        Ok(Self { allowed: parsed.collect::<Result<_, _>>()? })
    }

    /// `host` is the name that the request was sent to, already known to be ours. What is a
    /// document for people may be the target of a link on somebody else's page.
    pub(super) fn check(
        &self,
        parts: &Parts,
        host: &str,
        is_tls: bool,
        is_document: bool,
    ) -> Result<RequestOrigin, Problem> {
        let page = match only(parts, &header::ORIGIN)? {
            None => RequestOrigin::None,
            Some(origin) => self.recognise(origin, host, is_tls).ok_or_else(|| {
                Problem::forbidden("this page may not call the daemon")
                    .remedy("start the daemon with `--allow-origin ORIGIN`")
            })?,
        };
        let site = only(parts, &SEC_FETCH_SITE)?.map(HeaderValue::as_bytes);
        let is_ours = matches!(site, None | Some(b"same-origin" | b"none"));
        let is_visit = is_document && page == RequestOrigin::None && is_visit(parts)?;
        if is_ours || is_visit || matches!(page, RequestOrigin::Allowed(_)) {
            return Ok(page);
        }
        Err(Problem::forbidden("requests from pages of other sites are not served"))
    }

    pub(super) fn recognise(
        &self,
        origin: &HeaderValue,
        host: &str,
        is_tls: bool,
    ) -> Option<RequestOrigin> {
        let text = origin.to_str().ok()?;
        let scheme = if is_tls { "https://" } else { "http://" };
        if text.strip_prefix(scheme) == Some(host) {
            return Some(RequestOrigin::Own);
        }
        let is_allowed = self.allowed.iter().any(|allowed| allowed == text);
        is_allowed.then(|| RequestOrigin::Allowed(origin.clone()))
    }
}

/// Whether a whole tab navigates here: not a frame, not a script's request.
fn is_visit(parts: &Parts) -> Result<bool, Problem> {
    let mode = only(parts, &SEC_FETCH_MODE)?.map(HeaderValue::as_bytes);
    let dest = only(parts, &SEC_FETCH_DEST)?.map(HeaderValue::as_bytes);
    let is_navigation = mode == Some(b"navigate") && dest == Some(b"document");
    Ok(parts.method == Method::GET && is_navigation)
}

fn only<'a>(parts: &'a Parts, name: &HeaderName) -> Result<Option<&'a HeaderValue>, Problem> {
    let twice = |_| Problem::bad_request(format!("there is more than one {name}"));
    single(&parts.headers, name).map_err(twice)
}

/// An origin as a browser would send it; `null`, `*` and anything with a path is none.
pub(super) fn parse(text: &str) -> Option<String> {
    let text = text.to_ascii_lowercase();
    let (scheme, authority) = text.split_once("://")?;
    let is_scheme = scheme.starts_with(|c: char| c.is_ascii_lowercase())
        && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c));
    let (host, port) = split_port(authority)?;
    if !is_scheme || !is_host(host) {
        return None;
    }
    let is_default = matches!((scheme, port), ("http", Some("80")) | ("https", Some("443")));
    let port = port.filter(|_| !is_default).map(|port| format!(":{port}")).unwrap_or_default();
    Some(format!("{scheme}://{host}{port}"))
}

#[cfg(test)]
mod tests;
