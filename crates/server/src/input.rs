//! Extractors: the principal of a request with its role, and what clients send, read strictly.
//!
//! In: requests. Out: principals, bodies, queries and paths as values, or a problem that says what
//! is wrong with them. Handlers extract the principal first: one without the role is refused before
//! the request is looked at. A member that nobody knows is refused by its name: a client that
//! misspells one is told so instead of being half obeyed.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{FromRequest, FromRequestParts, Path, Query, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, header};
use http_body_util::LengthLimitError;
use serde::de::DeserializeOwned;
use serde_json::Value;
use store::SessionRecord;

use crate::daemon::Daemon;
use crate::principal::{Principal, Role};
use crate::problem::{Problem, kinds};

/// Room for a prompt with images in it. The listener may take less.
const MAX_JSON_BYTES: usize = 32 << 20;
/// Unknown members that one error names.
const MAX_NAMED: usize = 16;

/// A JSON body.
#[derive(Debug)]
pub(crate) struct JsonBody<T>(pub(crate) T);

/// A JSON body that may be left out.
#[derive(Debug)]
pub(crate) struct OptionalJsonBody<T>(pub(crate) T);

/// The query.
#[derive(Debug)]
pub(crate) struct QueryParams<T>(pub(crate) T);

/// The variable parts of the path.
#[derive(Debug)]
pub(crate) struct PathParams<T>(pub(crate) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for JsonBody<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, _: &S) -> Result<Self, Problem> {
        check_type(request.headers())?;
        Ok(Self(read_json(&read_body(request).await?)?))
    }
}

impl<T: DeserializeOwned + Default, S: Send + Sync> FromRequest<S> for OptionalJsonBody<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, _: &S) -> Result<Self, Problem> {
        let is_typed = check_type(request.headers());
        let body = read_body(request).await?;
        if body.is_empty() {
            return Ok(Self(T::default()));
        }
        is_typed?;
        Ok(Self(read_json(&body)?))
    }
}

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for QueryParams<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        let Query(params) = Query::try_from_uri(&parts.uri)
            .map_err(|error| Problem::bad_request(error.body_text()))?;
        Ok(Self(params))
    }
}

impl<T: DeserializeOwned + Send, S: Send + Sync> FromRequestParts<S> for PathParams<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let found = Path::from_request_parts(parts, state).await;
        // A segment that is not UTF-8 names nothing.
        found
            .map(|Path(at)| Self(at))
            .map_err(|_| Problem::not_found("this path names nothing here"))
    }
}

/// A request of a caller about one session.
#[derive(Debug)]
pub(crate) struct SessionRequest<C> {
    pub(crate) daemon: Arc<Daemon>,
    pub(crate) caller: C,
    pub(crate) id: String,
}

impl<C> FromRequestParts<Arc<Daemon>> for SessionRequest<C>
where
    C: FromRequestParts<Arc<Daemon>, Rejection = Problem> + Send,
{
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, daemon: &Arc<Daemon>) -> Result<Self, Problem> {
        let caller = C::from_request_parts(parts, daemon).await?;
        let PathParams(id) = PathParams::from_request_parts(parts, daemon).await?;
        Ok(Self { daemon: daemon.clone(), caller, id })
    }
}

impl<C: Into<Principal>> SessionRequest<C> {
    /// The session, if the caller may see it. All of the request is read before, so that what is
    /// wrong with it is said first.
    pub(crate) async fn visible(self) -> Result<(Arc<Daemon>, Principal, SessionRecord), Problem> {
        let principal = self.caller.into();
        let record = self.daemon.visible(&self.id, &principal).await?;
        Ok((self.daemon, principal, record))
    }
}

fn check_type(headers: &HeaderMap) -> Result<(), Problem> {
    match is_json(headers) {
        true => Ok(()),
        false => Err(Problem::of(kinds::UNSUPPORTED_MEDIA_TYPE)
            .remedy("send `Content-Type: application/json`")),
    }
}

pub(crate) fn is_json(headers: &HeaderMap) -> bool {
    media_type(headers).is_some_and(|kind| kind.eq_ignore_ascii_case("application/json"))
}

/// The type of a body, without its parameters.
pub(crate) fn media_type(headers: &HeaderMap) -> Option<&str> {
    let said = headers.get(header::CONTENT_TYPE)?.to_str().ok()?;
    Some(said.split(';').next().unwrap_or_default().trim())
}

async fn read_body(request: Request) -> Result<Bytes, Problem> {
    axum::body::to_bytes(request.into_body(), MAX_JSON_BYTES).await.map_err(|error| {
        let source = std::error::Error::source(&error);
        match source.and_then(|source| source.downcast_ref::<LengthLimitError>()).is_some() {
            true => Problem::of(kinds::BODY_TOO_LARGE)
                .detail(format!("at most {MAX_JSON_BYTES} bytes are taken here")),
            false => Problem::bad_request("the body broke off"),
        }
    })
}

fn read_json<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Problem> {
    if wire::has_too_many_values(bytes) {
        return Err(Problem::bad_request("there are too many values in the body"));
    }
    let read = serde_json::from_slice(bytes).map_err(|error| {
        let unknown = unknown_members::<T>(bytes);
        Problem::bad_request(match unknown.is_empty() {
            true => error.to_string(),
            false => format!("unknown members: {}", unknown.join(", ")),
        })
    })?;
    // Of a member that is there twice, another parser could take the other value.
    let text =
        std::str::from_utf8(bytes).map_err(|error| Problem::bad_request(error.to_string()))?;
    match wire::check_unambiguous(text) {
        Ok(()) => Ok(read),
        Err(why) => Err(Problem::bad_request(why.to_string())),
    }
}

/// The members that `T` does not know, found by leaving out one after the other.
fn unknown_members<T: DeserializeOwned>(bytes: &[u8]) -> Vec<String> {
    let Ok(Value::Object(mut object)) = serde_json::from_slice::<Value>(bytes) else {
        return Vec::new();
    };
    let mut unknown = Vec::new();
    while unknown.len() < MAX_NAMED {
        let Err(error) = serde_json::from_value::<T>(Value::Object(object.clone())) else { break };
        let error = error.to_string();
        let named = error.strip_prefix("unknown field `").and_then(|rest| rest.split_once("`, "));
        let Some((name, _)) = named.filter(|(name, _)| object.contains_key(*name)) else { break };
        object.remove(name);
        unknown.push(format!("`{}`", crate::problem::shown(name)));
    }
    unknown
}

/// `1`, `true` or nothing at all for yes.
pub(crate) fn deserialize_flag<'de, D: serde::Deserializer<'de>>(
    deserializer: D,
) -> Result<bool, D::Error> {
    let text = <String as serde::Deserialize>::deserialize(deserializer)?;
    match text.as_str() {
        "1" | "true" | "" => Ok(true),
        "0" | "false" => Ok(false),
        _ => Err(serde::de::Error::custom("expected 1 or 0")),
    }
}

/// The limit that a client asked for, checked.
pub(crate) fn limit(wanted: Option<usize>, default: usize, most: usize) -> Result<usize, Problem> {
    match wanted.unwrap_or(default) {
        limit if (1..=most).contains(&limit) => Ok(limit),
        _ => Err(Problem::bad_request(format!("`limit` is a number from 1 to {most}"))),
    }
}

/// The answer where no route has this path.
pub(crate) async fn no_such_route(request: Request) -> Problem {
    let path = crate::problem::shown(request.uri().path());
    Problem::not_found(format!("nothing is served at `{path}`"))
        .remedy("`/v1/openapi.json` lists what is")
}

/// The answer where the route has other methods.
pub(crate) async fn no_such_method(request: Request) -> Problem {
    Problem::of(kinds::METHOD_NOT_SERVED_HERE).detail(format!("`{}` is not", request.method()))
}

macro_rules! callers {
    ($($(#[$doc:meta])* $caller:ident)+) => {$(
        $(#[$doc])*
        #[derive(Debug)]
        pub(crate) struct $caller(pub(crate) Principal);

        impl From<$caller> for Principal {
            fn from($caller(principal): $caller) -> Self {
                principal
            }
        }

        impl<S: Send + Sync> FromRequestParts<S> for $caller {
            type Rejection = Problem;

            async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
                let principal = Principal::from_request_parts(parts, state).await?;
                principal.require(Role::$caller)?;
                Ok(Self(principal))
            }
        }
    )+};
}

callers! {
    /// A principal of any role.
    Observer
    /// A principal that may make, prompt, cancel and answer.
    Operator
    /// A principal that may do everything.
    Admin
}

#[cfg(test)]
mod tests;
