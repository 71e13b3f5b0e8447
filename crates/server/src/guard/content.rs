//! What kind of body a request may have.
//!
//! Browsers send text and forms to anybody without asking first, so a body that says it is
//! one of these is refused unread, but where a form is what is wanted.

use axum::http::request::Parts;
use axum::http::{Method, header};

use super::routes::BodyKind;
use crate::problem::{Problem, kinds};

pub(super) fn check(parts: &Parts, has_body: bool, kind: BodyKind) -> Result<(), Problem> {
    let mut types = parts.headers.get_all(header::CONTENT_TYPE).iter();
    let (first, second) = (types.next(), types.next());
    let is_safe = [Method::GET, Method::HEAD, Method::OPTIONS].contains(&parts.method);
    // `curl -X POST …/cancel` sends neither a body nor a type, and there is nothing to parse.
    if !has_body && (first.is_none() || is_safe) {
        return Ok(());
    }
    let said = first.filter(|_| second.is_none()).and_then(|value| value.to_str().ok());
    if said.is_some_and(|said| kind.takes(essence(said))) {
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

/// The type without its parameters.
fn essence(said: &str) -> &str {
    said.split_once(';').map_or(said, |(essence, _)| essence).trim()
}
