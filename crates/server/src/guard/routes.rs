//! The guard's rules for routes: which are open to all, which of these other sites may link to, and
//! which take other bodies than JSON.
//!
//! A route that nobody named here needs a token and takes JSON. Patterns are those of the
//! router: `{name}` is one segment, `{*rest}` at the end is all that follows. Paths are
//! compared as they came, undecoded, as the router does.
//!
//! Browsers send text and forms to anybody without asking first, so a body of one of these types is
//! refused unread, but where a form is what is wanted.

use axum::http::request::Parts;
use axum::http::{Method, header};

use crate::header_lists::single;
use crate::input::media_type;
use crate::problem::{Problem, kinds};

/// First segments of the API's paths.
const API_PREFIXES: [&str; 5] = ["v1", "api", "acp", "metrics", "healthz"];

/// Routes by which browsers log in.
pub(super) const LOGIN_ROUTES: [&str; 4] =
    ["/v1/login", "/v1/login/challenge", "/v1/login/prove", "/v1/login/move"];

/// Whether a request to this path may revoke its own token.
pub(super) fn is_about_access(path: &str) -> bool {
    path == "/v1/logout" || path.starts_with("/v1/tokens")
}

#[derive(Debug, Clone)]
pub struct Routes {
    open: Vec<(Method, String)>,
    documents: Vec<String>,
    bodies: Vec<(String, BodyRule)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BodyKind {
    Json,
    /// `application/octet-stream` and images.
    Upload,
    /// `multipart/form-data`. A page of any origin can send one, so it does nothing without a
    /// token or a login, as everywhere.
    Form,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BodyRule {
    pub kind: BodyKind,
    /// Without one, the listener's.
    pub max_bytes: Option<u64>,
}

impl Default for Routes {
    /// The routes without a token: whether the daemon runs, and the login.
    fn default() -> Self {
        let login = LOGIN_ROUTES.map(|path| (Method::POST, path.to_owned()));
        let open = [(Method::GET, "/healthz".to_owned())].into_iter().chain(login).collect();
        Self { open, documents: Vec::new(), bodies: Vec::new() }
    }
}

impl Routes {
    /// Opens a route to all. Meant for static files.
    #[must_use]
    pub fn open(mut self, method: Method, pattern: impl Into<String>) -> Self {
        self.open.push((method, pattern.into()));
        self
    }

    /// Opens a document of the page to all, and lets pages of other sites link to it.
    #[must_use]
    pub fn document(mut self, pattern: &str) -> Self {
        self.documents.push(pattern.to_owned());
        self.open(Method::GET, pattern)
    }

    /// Lets a route take another body than JSON of the usual size.
    #[must_use]
    pub fn body(mut self, pattern: impl Into<String>, rule: BodyRule) -> Self {
        self.bodies.push((pattern.into(), rule));
        self
    }

    pub(super) fn is_open(&self, method: &Method, path: &str) -> bool {
        let method = if *method == Method::HEAD { &Method::GET } else { method };
        self.open.iter().any(|(open, pattern)| open == method && fits(pattern, path))
    }

    pub(super) fn is_document(&self, path: &str) -> bool {
        self.documents.iter().any(|pattern| fits(pattern, path))
    }

    /// Whether a browser asks for a page that does not exist. Everybody may know which paths the
    /// page has; which paths the API has is told to nobody without a token.
    pub(super) fn is_nowhere(&self, parts: &Parts) -> bool {
        let path = parts.uri.path();
        let first = path.split('/').nth(1).unwrap_or_default();
        let accepts = parts.headers.get_all(header::ACCEPT).into_iter();
        let mut accepts = accepts.filter_map(|one| one.to_str().ok());
        [Method::GET, Method::HEAD].contains(&parts.method)
            && !API_PREFIXES.contains(&first)
            && !self.is_open(&parts.method, path)
            && accepts.any(|one| one.contains("text/html"))
    }

    pub(super) fn body_rule(&self, path: &str) -> BodyRule {
        let rule = self.bodies.iter().find(|(pattern, _)| fits(pattern, path));
        rule.map_or(BodyRule { kind: BodyKind::Json, max_bytes: None }, |(_, rule)| *rule)
    }
}

fn fits(pattern: &str, path: &str) -> bool {
    let (mut pattern, mut path) = (pattern.split('/'), path.split('/'));
    loop {
        match (pattern.next(), path.next()) {
            (None, None) => return true,
            (Some(part), Some(rest)) if part.starts_with("{*") => return !rest.is_empty(),
            (Some(part), Some(segment)) if part.starts_with('{') => {
                if segment.is_empty() {
                    return false;
                }
            }
            (Some(part), Some(segment)) if part == segment => {}
            _ => return false,
        }
    }
}

pub(super) fn check_body(parts: &Parts, has_body: bool, kind: BodyKind) -> Result<(), Problem> {
    let headers = &parts.headers;
    let is_safe = [Method::GET, Method::HEAD, Method::OPTIONS].contains(&parts.method);
    // `curl -X POST …/cancel` sends neither a body nor a type, and there is nothing to parse.
    if !has_body && (!headers.contains_key(header::CONTENT_TYPE) || is_safe) {
        return Ok(());
    }
    let is_said_once = single(headers, &header::CONTENT_TYPE).is_ok();
    if is_said_once && media_type(headers).is_some_and(|said| kind.takes(said)) {
        return Ok(());
    }
    let wanted = match kind {
        BodyKind::Json => "application/json",
        BodyKind::Upload => "application/octet-stream, or the image's type",
        BodyKind::Form => "multipart/form-data",
    };
    Err(Problem::of(kinds::UNSUPPORTED_MEDIA_TYPE).remedy(format!("send `Content-Type: {wanted}`")))
}

impl BodyKind {
    fn takes(self, essence: &str) -> bool {
        match self {
            Self::Json => essence.eq_ignore_ascii_case("application/json"),
            Self::Upload => {
                let image =
                    essence.get(..6).is_some_and(|kind| kind.eq_ignore_ascii_case("image/"));
                image || essence.eq_ignore_ascii_case("application/octet-stream")
            }
            Self::Form => essence.eq_ignore_ascii_case("multipart/form-data"),
        }
    }
}

#[cfg(test)]
mod tests;
