//! The way in for browsers: a link with a one-time code becomes a cookie and a secret.
//!
//! The code stands behind the `#`, which browsers send to nobody; the page takes it out of
//! the address bar and trades it in. The cookie cannot be read by scripts, but browsers send it
//! to every port of our host; the secret is kept by our page, for its origin alone. Together
//! they are a token of their own in the table, listed and revoked like any other.

mod codes;

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::extract::rejection::JsonRejection;
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{AppendHeaders, IntoResponse, Response};
use serde::{Deserialize, Serialize};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::guard::{Arrival, CookieName, Guard};
use crate::principal::Principal;
use crate::problem::Problem;
use crate::tokens::TokensError;
use codes::Codes;

/// As long as the token itself lives.
const COOKIE_SECONDS: u32 = 7 * 24 * 3600;

/// What logins share; a clone is the same.
#[derive(Debug, Clone)]
pub struct Login {
    guard: Arc<Guard>,
    codes: Arc<Codes>,
}

impl Login {
    pub fn new(guard: Arc<Guard>) -> Self {
        Self { guard, codes: Arc::default() }
    }

    /// A code that logs one browser in, once, within ten minutes.
    pub fn new_code(&self) -> Result<String, TokensError> {
        self.codes.issue()
    }

    /// The link that is printed for a person to open; `base` is like `http://127.0.0.1:7433`.
    pub fn new_link(&self, base: &str) -> Result<String, TokensError> {
        Ok(format!("{base}/login#code={}", self.new_code()?))
    }
}

/// What the page calls to come in and to leave. Coming in is open to everybody.
pub fn routes(login: Login) -> OpenApiRouter {
    OpenApiRouter::new().routes(routes!(log_in)).routes(routes!(log_out)).with_state(login)
}

#[derive(Debug, Deserialize, utoipa::ToSchema)]
struct LoginRequest {
    /// From the link that `switchyard serve` printed.
    code: String,
}

#[derive(Debug, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
struct LoggedIn {
    /// To be sent as `X-Switchyard-Page` with every request that comes with the cookie.
    page_secret: String,
}

/// Trades a one-time code for a cookie, and a secret to be shown beside it.
#[utoipa::path(
    post,
    path = "/v1/login",
    tag = "access",
    request_body = LoginRequest,
    responses(
        (status = 200, description = "The cookie is set.", body = LoggedIn),
        (status = 401, description = "The code is wrong, used or too old.", body = Problem),
        (status = 429, description = "Too many wrong codes.", body = Problem),
    )
)]
async fn log_in(
    State(login): State<Login>,
    arrival: Arrival,
    name: CookieName,
    body: Result<Json<LoginRequest>, JsonRejection>,
) -> Result<Response, Problem> {
    let Json(LoginRequest { code }) =
        body.map_err(|rejection| Problem::bad_request(rejection.body_text()))?;
    if !login.codes.redeem(&code) {
        let problem = login.guard.note_failure(&arrival.peer, "wrong login code");
        return Err(problem.remedy("`switchyard token login` prints a new link"));
    }
    let tokens = login.guard.tokens().clone();
    let made = tokio::task::spawn_blocking(move || tokens.add_browser()).await;
    let made = made
        .map_err(|error| Problem::internal(error.to_string()))?
        .map_err(|error| Problem::internal(error.to_string()))?;
    tracing::info!(peer = %arrival.peer, "a browser logged in");
    let line = cookie(&name, &made.cookie, COOKIE_SECONDS, arrival.is_tls)?;
    Ok((line, Json(LoggedIn { page_secret: made.page })).into_response())
}

/// Ends the login that the request came with.
#[utoipa::path(
    post,
    path = "/v1/logout",
    tag = "access",
    responses((status = 204, description = "The cookie is gone and opens nothing any more."))
)]
async fn log_out(
    State(login): State<Login>,
    principal: Principal,
    arrival: Arrival,
    name: CookieName,
) -> Result<Response, Problem> {
    let tokens = login.guard.tokens().clone();
    let revoking = move || {
        let is_browser =
            tokens.list().iter().any(|token| token.is_browser && token.name == principal.name);
        // Another kind of token stays: whoever uses one did not log in.
        if is_browser { tokens.revoke(&principal.name) } else { Ok(()) }
    };
    match tokio::task::spawn_blocking(revoking).await {
        Ok(Ok(()) | Err(TokensError::NoSuch(_))) => {
            let line = cookie(&name, "", 0, arrival.is_tls)?;
            Ok((StatusCode::NO_CONTENT, line).into_response())
        }
        Ok(Err(error)) => Err(Problem::internal(error.to_string())),
        Err(error) => Err(Problem::internal(error.to_string())),
    }
}

fn cookie(
    CookieName(name): &CookieName,
    token: &str,
    max_age: u32,
    is_tls: bool,
) -> Result<AppendHeaders<[(HeaderName, HeaderValue); 1]>, Problem> {
    let secure = if is_tls { "; Secure" } else { "" };
    let line =
        format!("{name}={token}; HttpOnly; SameSite=Strict; Path=/; Max-Age={max_age}{secure}");
    let mut line =
        HeaderValue::try_from(line).map_err(|error| Problem::internal(error.to_string()))?;
    line.set_sensitive(true);
    Ok(AppendHeaders([(header::SET_COOKIE, line)]))
}

#[cfg(test)]
mod tests;
