//! Who asks, and whether they may.
//!
//! Named first in a handler: whoever may not is told so before the request is looked at.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;

use crate::principal::{Principal, Role};
use crate::problem::Problem;

/// Anybody who was let in.
#[derive(Debug)]
pub(crate) struct Observer(pub(crate) Principal);

/// Somebody who may make, prompt, cancel and answer.
#[derive(Debug)]
pub(crate) struct Operator(pub(crate) Principal);

/// Somebody who may do everything.
#[derive(Debug)]
pub(crate) struct Admin(pub(crate) Principal);

fn caller(parts: &Parts, role: Role) -> Result<Principal, Problem> {
    // The guard has put it there; where it has not, nobody is let in.
    let principal = parts.extensions.get::<Principal>().ok_or_else(Problem::unauthorized)?;
    principal.require(role)?;
    Ok(principal.clone())
}

impl<S: Send + Sync> FromRequestParts<S> for Observer {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        caller(parts, Role::Observer).map(Self)
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Operator {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        caller(parts, Role::Operator).map(Self)
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Admin {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        caller(parts, Role::Admin).map(Self)
    }
}
