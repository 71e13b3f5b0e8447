//! The principal, and what else of a request's way in handlers get.

use axum::extract::FromRequestParts;
use axum::http::header;
use axum::http::request::Parts;
use axum::http::uri::Authority;

use super::{Arrival, credentials};
use crate::principal::{Principal, Role};
use crate::problem::Problem;

impl Principal {
    /// The role check of a handler: `principal.require(Role::Operator)?`.
    pub fn require(&self, role: Role) -> Result<(), Problem> {
        if self.may(role) {
            return Ok(());
        }
        let detail = format!("the token `{}` is not allowed to do this", self.name);
        Err(Problem::forbidden(detail).remedy(format!("use a token with the role `{role}`")))
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Principal {
    type Rejection = Problem;

    /// A handler that asks who is there refuses if the guard did not say: a route that was
    /// forgotten on its way here, or that is open to all.
    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        parts.extensions.get::<Self>().cloned().ok_or_else(Problem::unauthorized)
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Arrival {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        let arrival = parts.extensions.get::<Self>().cloned();
        arrival.ok_or_else(|| Problem::internal("the request came in by no listener"))
    }
}

/// How the login's cookie is named for this caller.
#[derive(Debug)]
pub(crate) struct CookieName(pub(crate) String);

impl<S: Send + Sync> FromRequestParts<S> for CookieName {
    type Rejection = std::convert::Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Self::Rejection> {
        Ok(Self(credentials::cookie_name(&parts.headers, &parts.uri)))
    }
}

/// How the page that calls us sees our address: `127.0.0.1:7433`.
#[derive(Debug)]
pub(crate) struct HostName(pub(crate) String);

impl<S: Send + Sync> FromRequestParts<S> for HostName {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        let line = || parts.headers.get(header::HOST)?.to_str().ok();
        let host = parts.uri.authority().map(Authority::as_str).or_else(line);
        let host = host.ok_or_else(|| Problem::bad_request("the request names no host"))?;
        Ok(Self(host.to_ascii_lowercase()))
    }
}

/// The cookies of logins that came with a request, for the routes that make something of them.
#[derive(Debug, Clone)]
pub(crate) struct LoginCookies(pub(crate) Vec<String>);

impl<S: Send + Sync> FromRequestParts<S> for LoginCookies {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        parts.extensions.get::<Self>().cloned().ok_or_else(Problem::unauthorized)
    }
}
