//! Where a request may carry its token.
//!
//! `Authorization: Bearer`; on a WebSocket upgrade also a subprotocol; else the cookie of a
//! login together with the pass of its page, which is a header, or a subprotocol of a
//! WebSocket. Never the address: addresses end up in logs, histories and `Referer`. The first
//! that is present decides; a bad one is not made good by another.
//!
//! Browsers do not tell the ports of a host apart when they keep and send cookies. So the
//! cookie has the port in its name, and logins at several daemons do not end each other.

use axum::http::request::Parts;
use axum::http::uri::Authority;
use axum::http::{HeaderMap, HeaderValue, Uri, header};

use super::{COOKIE, PAGE_PASS, WS_PAGE, WS_TOKEN, is_upgrade};
use crate::header_lists::{list_items, single};

/// A page of another port may leave cookies of our name beside ours, and browsers send those
/// of narrower paths first. This many do not keep a user out; more are not worth hashing.
const MAX_COOKIES: usize = 64;

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Credentials<'a> {
    Nothing,
    Malformed,
    Token(&'a str),
    Cookies {
        cookies: Vec<&'a str>,
        /// The pass of the page; sent exactly once, or none.
        pass: Option<&'a str>,
    },
}

pub(super) fn find(parts: &Parts) -> Credentials<'_> {
    let headers = &parts.headers;
    if headers.contains_key(header::AUTHORIZATION) {
        return only(headers, &header::AUTHORIZATION)
            .and_then(bearer)
            .map_or(Credentials::Malformed, Credentials::Token);
    }
    if is_upgrade(parts) {
        let mut tokens = protocols(headers).filter_map(|name| name.strip_prefix(WS_TOKEN));
        match (tokens.next(), tokens.next()) {
            (Some(token), None) => return Credentials::Token(token),
            (Some(_), Some(_)) => return Credentials::Malformed,
            (None, _) => {}
        }
    }
    let name = cookie_name(headers, &parts.uri);
    let cookies: Vec<_> = cookies(headers, &name).take(MAX_COOKIES).collect();
    match cookies.is_empty() {
        true => Credentials::Nothing,
        false => Credentials::Cookies { cookies, pass: page_pass(parts) },
    }
}

/// The pass that the page sends beside the cookie; none if it is sent twice or in two ways.
fn page_pass(parts: &Parts) -> Option<&str> {
    let headers = &parts.headers;
    if !is_upgrade(parts) {
        return only(headers, &PAGE_PASS);
    }
    let mut offered = protocols(headers).filter_map(|name| name.strip_prefix(WS_PAGE));
    match (offered.next(), offered.next(), headers.contains_key(PAGE_PASS)) {
        (Some(pass), None, false) => Some(pass),
        (None, _, true) => only(headers, &PAGE_PASS),
        _ => None,
    }
}

/// The host that the request names, if it does: `127.0.0.1:7433`.
pub(super) fn host_of<'a>(headers: &'a HeaderMap, uri: &'a Uri) -> Option<&'a str> {
    let line = || headers.get(header::HOST)?.to_str().ok();
    uri.authority().map(Authority::as_str).or_else(line)
}

/// The name of the login's cookie at the host and port of this request.
pub(super) fn cookie_name(headers: &HeaderMap, uri: &Uri) -> String {
    let host = host_of(headers, uri);
    match host.and_then(|host| host.rsplit_once(':')) {
        Some((_, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => {
            format!("{COOKIE}_{port}")
        }
        _ => COOKIE.to_owned(),
    }
}

/// The cookies of logins here.
pub(super) fn login_cookies(headers: &HeaderMap, uri: &Uri) -> Vec<String> {
    let name = cookie_name(headers, uri);
    cookies(headers, &name).take(MAX_COOKIES).map(str::to_owned).collect()
}

/// Takes the secrets out of a request that was let in, so that nothing behind the guard can
/// log or forward them by accident.
pub(super) fn strip(headers: &mut HeaderMap) {
    headers.remove(header::AUTHORIZATION);
    headers.remove(header::COOKIE);
    headers.remove(PAGE_PASS);
    let is_secret = |name: &&str| name.starts_with(WS_TOKEN) || name.starts_with(WS_PAGE);
    if !protocols(headers).any(|name| is_secret(&name)) {
        return;
    }
    let rest: Vec<_> = protocols(headers).filter(|name| !is_secret(name)).collect();
    let rest = rest.join(", ");
    headers.remove(header::SEC_WEBSOCKET_PROTOCOL);
    if let Ok(rest) = HeaderValue::from_str(&rest)
        && !rest.is_empty()
    {
        headers.insert(header::SEC_WEBSOCKET_PROTOCOL, rest);
    }
}

fn only<'a>(headers: &'a HeaderMap, name: &header::HeaderName) -> Option<&'a str> {
    single(headers, name).ok()??.to_str().ok()
}

fn bearer(value: &str) -> Option<&str> {
    let (scheme, token) = value.split_once(' ')?;
    let token = token.trim_matches(' ');
    let is_token = !token.is_empty() && !token.contains(' ');
    (scheme.eq_ignore_ascii_case("bearer") && is_token).then_some(token)
}

fn protocols(headers: &HeaderMap) -> impl Iterator<Item = &str> {
    list_items(headers, &header::SEC_WEBSOCKET_PROTOCOL, ',')
}

fn cookies<'a>(headers: &'a HeaderMap, name: &str) -> impl Iterator<Item = &'a str> {
    let pairs = list_items(headers, &header::COOKIE, ';');
    pairs.filter_map(move |pair| pair.strip_prefix(name)?.strip_prefix('='))
}
