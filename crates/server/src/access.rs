//! Tokens and login links over HTTP, for admins.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::{Json, Router};
use serde::{Deserialize, Serialize};

use crate::daemon::{Daemon, DaemonSettings};
use crate::endpoints::endpoints;
use crate::guard::Guard;
use crate::input::{JsonBody, PathParams};
use crate::login::Login;
use crate::principal::{Principal, Role};
use crate::problem::{Problem, kinds};
use crate::tokens::{NewToken, TokenInfo, Tokens, TokensError};

#[derive(Debug, Clone)]
pub(crate) struct Access {
    guard: Arc<Guard>,
    login: Login,
    daemon: Arc<Daemon>,
}

pub(crate) fn router(guard: &Arc<Guard>, login: &Login, daemon: &Arc<Daemon>) -> Router {
    let (guard, login, daemon) = (guard.clone(), login.clone(), daemon.clone());
    routes().with_state(Access { guard, login, daemon })
}

endpoints! { pub(crate) AccessPaths, Access:
    self::list,
    self::add,
    self::revoke,
    self::rotate,
    self::link,
}

/// A token to be made.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct TokenRequest {
    name: String,
    /// `observer`, `operator` or `admin`.
    #[schema(value_type = String)]
    role: Role,
    /// Seconds until the token expires.
    expires_in: Option<u32>,
    #[serde(default)]
    own_sessions: bool,
}

/// A token in plain; it is shown this once.
#[derive(Debug, Serialize, utoipa::ToSchema)]
struct TokenSecret {
    token: String,
}

/// A link that logs one browser in, once, within ten minutes.
#[derive(Debug, Serialize, utoipa::ToSchema)]
struct LoginLink {
    link: String,
    /// Links for other devices, each with a code of its own, if the daemon can be reached from
    /// them.
    elsewhere: Vec<String>,
}

/// All tokens, without their secrets.
#[utoipa::path(get, path = "/v1/tokens", operation_id = "listTokens", tag = "access",
    responses((status = 200, description = "All of them", body = Vec<TokenInfo>)))]
async fn list(
    State(access): State<Access>,
    principal: Principal,
) -> Result<Json<Vec<TokenInfo>>, Problem> {
    let_in(&principal)?;
    Ok(Json(access.guard.tokens().list()))
}

/// Makes a token.
#[utoipa::path(post, path = "/v1/tokens", operation_id = "createToken", tag = "access",
    request_body = TokenRequest,
    responses((status = 201, description = "The token", body = TokenSecret)))]
async fn add(
    State(access): State<Access>,
    principal: Principal,
    JsonBody(wanted): JsonBody<TokenRequest>,
) -> Result<(StatusCode, Json<TokenSecret>), Problem> {
    let_in(&principal)?;
    let expires = wanted.expires_in.map(|seconds| {
        let life = jiff::SignedDuration::from_secs(i64::from(seconds));
        jiff::Timestamp::now().checked_add(life).unwrap_or(jiff::Timestamp::MAX)
    });
    let TokenRequest { name, role, own_sessions, .. } = wanted;
    let new = NewToken { name, role, expires, own_sessions };
    let token = change(&access, move |tokens| tokens.add(new)).await?;
    Ok((StatusCode::CREATED, Json(TokenSecret { token })))
}

/// Ends a token and every connection that it opened.
#[utoipa::path(delete, path = "/v1/tokens/{name}", operation_id = "revokeToken", tag = "access",
    params(("name" = String, Path, description = "The token")),
    responses((status = 204, description = "The token is revoked")))]
async fn revoke(
    State(access): State<Access>,
    principal: Principal,
    PathParams(name): PathParams<String>,
) -> Result<StatusCode, Problem> {
    let_in(&principal)?;
    change(&access, move |tokens| tokens.revoke(&name)).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Gives a token a new secret; the old one is no longer accepted.
#[utoipa::path(post, path = "/v1/tokens/{name}/rotate", operation_id = "rotateToken", tag = "access",
    params(("name" = String, Path, description = "The token")),
    responses((status = 200, description = "The new secret", body = TokenSecret)))]
async fn rotate(
    State(access): State<Access>,
    principal: Principal,
    PathParams(name): PathParams<String>,
) -> Result<Json<TokenSecret>, Problem> {
    let_in(&principal)?;
    let token = change(&access, move |tokens| tokens.rotate(&name)).await?;
    Ok(Json(TokenSecret { token }))
}

/// A new login link for the page.
#[utoipa::path(post, path = "/v1/login-link", operation_id = "createLoginLink", tag = "access",
    responses((status = 200, description = "The link", body = LoginLink)))]
async fn link(
    State(access): State<Access>,
    principal: Principal,
) -> Result<Json<LoginLink>, Problem> {
    let_in(&principal)?;
    let new_link = |base: &String| access.login.new_link(base, &principal);
    let DaemonSettings { page_base, other_bases, .. } = &access.daemon.settings;
    let elsewhere = other_bases.iter().map(new_link).collect::<Result<_, _>>()?;
    Ok(Json(LoginLink { link: new_link(page_base)?, elsewhere }))
}

/// Lets only admins who see all sessions manage tokens: a token limited to its own sessions could
/// make itself one that sees them all.
fn let_in(principal: &Principal) -> Result<(), Problem> {
    principal.require(Role::Admin)?;
    match principal.own_sessions {
        true => Err(Problem::forbidden("this token is for its own sessions only")),
        false => Ok(()),
    }
}

/// Runs a change of the token table on a blocking thread: its files are locked and synced.
async fn change<T: Send + 'static>(
    access: &Access,
    act: impl FnOnce(&Tokens) -> Result<T, TokensError> + Send + 'static,
) -> Result<T, Problem> {
    let tokens = access.guard.tokens().clone();
    let done = tokio::task::spawn_blocking(move || act(&tokens)).await;
    Ok(done??)
}

/// Seconds after which another process has changed the tokens: that takes milliseconds.
const LOCK_RETRY_AFTER: u32 = 1;

impl From<TokensError> for Problem {
    fn from(error: TokensError) -> Self {
        let said = error.to_string();
        match error {
            TokensError::NoSuch(_) => Self::not_found(said),
            TokensError::Taken(_) => Self::of(kinds::NAME_TAKEN).detail(said),
            TokensError::BadName(_) | TokensError::Admin => Self::bad_request(said),
            TokensError::Full => Self::of(kinds::TOO_MANY_TOKENS).detail(said),
            TokensError::Io { source, .. } if wire::fault::is_out_of_descriptors(&source) => {
                Self::too_many_open_files(said)
            }
            TokensError::Io { source, .. } => Self::of_file(source.kind(), said),
            TokensError::DirGone { .. }
            | TokensError::NotPrivate { .. }
            | TokensError::Unreadable { .. } => Self::of(kinds::FILES_UNAVAILABLE).detail(said),
            TokensError::Busy { .. } => {
                Self::of(kinds::FILES_UNAVAILABLE).detail(said).retry_after(LOCK_RETRY_AFTER)
            }
            TokensError::Entropy(_) => Self::internal(said),
        }
    }
}
