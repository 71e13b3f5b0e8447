//! Logins of browsers: a link with a one-time code becomes a cookie and a secret.
//!
//! The code stands behind the `#`, which browsers send to nobody; the page takes it out of
//! the address bar and trades it in. The cookie cannot be read by scripts, but browsers send it
//! to every port of our host, and to whoever listens on ours while we do not; the secret is kept
//! by our page, for its origin alone, and never sent again. Together they are a login: a token of
//! its own in the table, listed and revoked like any other.
//!
//! With each daemon that it meets a page first makes sure that this is the one it logged in to:
//! both prove that they know the secret, and the page gets a pass to show beside the cookie, which
//! is good for as long as this daemon runs ([`crate::guard::Passes`]).
//!
//! Where the page has a name of its own ([`crate::page_name`]) a login is good under that name
//! alone. When the name is left, tabs that are still open move their login to the new one: they
//! prove that they know what only a tab knows that was loaded from a daemon, since it is kept
//! nowhere.

mod codes;

use std::sync::Arc;

use axum::Json;
use axum::extract::{FromRequestParts, State};
use axum::http::request::Parts;
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{AppendHeaders, IntoResponse, Response};
use serde::{Deserialize, Serialize};

use crate::endpoints::endpoints;
use crate::guard::{ConnectionInfo, CookieName, Guard, HostName, LoginCookies, ProofSide, proof};
use crate::input::JsonBody;
use crate::principal::Principal;
use crate::problem::{Problem, kinds};
use crate::tokens::{BrowserLogin, BrowserToken, Sha256Sum, TokensError, sha256};
use codes::{CodeLogin, LoginCodes};

/// Lifetime of the cookie: that of the token itself.
const COOKIE_SECONDS: u32 = 7 * 24 * 3600;

/// The state of logins; a clone shares it.
#[derive(Debug, Clone)]
pub struct Login {
    guard: Arc<Guard>,
    codes: Arc<LoginCodes>,
}

impl Login {
    pub fn new(guard: Arc<Guard>) -> Self {
        Self { guard, codes: Arc::default() }
    }

    /// A code that logs one browser in, once, within ten minutes, as long as whoever made it is
    /// let in.
    pub fn new_code(&self, maker: &Principal) -> Result<String, TokensError> {
        self.codes.issue(&maker.revoked)
    }

    /// The page's nonce, if it has proved over it that it knows `key`.
    fn redeem(
        &self,
        browser: &LoggedInBrowser,
        (key, address): (&Sha256Sum, &str),
        ProofRequest { nonce, proof, .. }: &ProofRequest,
    ) -> Result<String, Problem> {
        let redeemed = self.guard.passes.redeem(browser.name(), key, address, nonce, proof);
        let peer = &browser.arrival.peer;
        redeemed.ok_or_else(|| self.guard.note_failure(peer, "wrong proof of a page"))
    }

    /// The link that is printed for a person to open; `base` is like
    /// `http://NAME.localhost:7433`.
    pub fn new_link(&self, base: &str, maker: &Principal) -> Result<String, TokensError> {
        Ok(format!("{base}/login#code={}", self.new_code(maker)?))
    }
}

/// The browser login of a request's cookie; that our page sent it is not proved yet.
#[derive(Debug)]
struct LoggedInBrowser {
    arrival: ConnectionInfo,
    /// The daemon's host, as the page sees it.
    host: String,
    token: BrowserToken,
}

impl LoggedInBrowser {
    fn name(&self) -> &str {
        &self.token.principal.name
    }
}

impl FromRequestParts<Login> for LoggedInBrowser {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, login: &Login) -> Result<Self, Problem> {
        let arrival = ConnectionInfo::from_request_parts(parts, login).await?;
        let HostName(host) = HostName::from_request_parts(parts, login).await?;
        let LoginCookies(cookies) = LoginCookies::from_request_parts(parts, login).await?;
        let guard = &login.guard;
        guard.check_user(&arrival)?;
        match cookies.iter().find_map(|cookie| guard.login_of(cookie, Some(&host))) {
            Some(token) => Ok(Self { arrival, host, token }),
            None if cookies.is_empty() => Err(Problem::unauthorized()),
            None => Err(guard.note_failure(&arrival.peer, "wrong cookie")),
        }
    }
}

// Routes by which the page logs in and out. Logging in is open to everybody.
endpoints! { pub LoginPaths, Login:
    self::log_in,
    self::challenge,
    self::prove,
    self::move_login,
    self::log_out,
}

#[derive(Debug, Deserialize, utoipa::ToSchema)]
struct LoginRequest {
    /// From the link that `switchyard serve` printed.
    code: String,
}

#[derive(Debug, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
struct LoginResponse {
    /// To be kept by the page, and sent to nobody: proofs are made with it.
    page_secret: String,
    /// To be sent as `X-Switchyard-Page` with every request that comes with the cookie.
    pass: String,
    /// To be kept in memory only, and sent to nobody: with it this tab moves its login when the
    /// page has moved to another host name.
    tab_secret: String,
}

/// The secret that both sides prove to know. A tab that has its own takes no proof of another:
/// whoever had a page loaded at our address may know what is stored.
#[derive(Debug, Clone, Copy, Default, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
enum ProofSecret {
    /// The page's secret.
    #[default]
    Page,
    /// The tab's.
    Tab,
}

#[derive(Debug, Deserialize, utoipa::ToSchema)]
struct ChallengeRequest {
    /// The nonce for the daemon's proof; made anew for each challenge.
    nonce: String,
    #[serde(default)]
    by: ProofSecret,
}

#[derive(Debug, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
struct ChallengeResponse {
    /// The nonce for the page's proof.
    nonce: String,
    /// Base64url of HMAC-SHA-256, keyed with the SHA-256 of the page's or the tab's secret, over
    /// `daemon`, the address as the page has it, its nonce and ours, one in each line. If the page
    /// has moved: keyed with that of the tab's, and the address is followed by `>` and the new one.
    proof: String,
    /// Where the page is now, if no longer where it was asked from: `NAME.localhost:7433`.
    #[serde(skip_serializing_if = "Option::is_none")]
    moved_to: Option<String>,
}

#[derive(Debug, Deserialize, utoipa::ToSchema)]
struct ProofRequest {
    /// The daemon's, from the challenge.
    nonce: String,
    /// As the daemon's, with `page` in place of `daemon`.
    proof: String,
    /// As in the challenge.
    #[serde(default)]
    by: ProofSecret,
}

#[derive(Debug, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
struct PassResponse {
    /// To be sent as `X-Switchyard-Page` with every request that comes with the cookie; good for
    /// as long as this daemon runs.
    pass: String,
    /// As the login gave it.
    tab_secret: String,
}

/// Trades a one-time code for a cookie, and a secret to be shown beside it.
#[utoipa::path(post, path = "/v1/login", operation_id = "logIn", tag = "access", security(()), request_body = LoginRequest,
    responses((status = 200, description = "The cookie is set.", body = LoginResponse),
        (status = 401, description = "The code is wrong, used or too old.", body = Problem, content_type = "application/problem+json"),
        (status = 429, description = "Too many wrong codes.", body = Problem, content_type = "application/problem+json")))]
async fn log_in(
    State(login): State<Login>,
    arrival: ConnectionInfo,
    HostName(host): HostName,
    cookies: LoginCookies,
    name: CookieName,
    JsonBody(LoginRequest { code }): JsonBody<LoginRequest>,
) -> Result<Response, Problem> {
    // A code that another program received while it listened here is of no use to it.
    login.guard.check_user(&arrival)?;
    let (tokens, place) = (login.guard.tokens().clone(), login.guard.page_name_in(&host));
    // All tabs of a browser are one login, also those that were there before.
    let own = cookies.0.iter().find_map(|cookie| login.guard.login_of(cookie, Some(&host)));
    let own = own.map(|own| own.principal.name);
    let adding = move |redeemed| match redeemed {
        CodeLogin::New => tokens.login_again(own.as_deref(), place.as_ref()).map(Some),
        CodeLogin::Existing(name) => Ok(tokens.browser_at(&name, place.as_ref())),
    };
    // The codes of a token that another process has just revoked are not good any more.
    login.guard.tokens().refresh();
    let made = match login.codes.redeem(&code) {
        None => None,
        Some(redeemed) => tokio::task::spawn_blocking(move || adding(redeemed)).await??,
    };
    let Some(made) = made else {
        let problem = login.guard.note_failure(&arrival.peer, "wrong login code");
        return Err(problem.remedy("`switchyard token login` prints a new link"));
    };
    tracing::info!(peer = %arrival.peer, "a browser logged in");
    let line = cookie(&name, &made.cookie, COOKIE_SECONDS, arrival.is_tls)?;
    let pass = login.guard.passes.issue(&made.name)?;
    let given = LoginResponse { page_secret: made.page, pass, tab_secret: made.tab };
    Ok((line, Json(given)).into_response())
}

/// Proves that this is the daemon that the page logged in to.
#[utoipa::path(post, path = "/v1/login/challenge", operation_id = "challengeLogin", tag = "access", security(()), request_body = ChallengeRequest,
    responses((status = 200, description = "The proof.", body = ChallengeResponse),
        (status = 401, description = "There is no such login.", body = Problem, content_type = "application/problem+json")))]
async fn challenge(
    State(login): State<Login>,
    browser: LoggedInBrowser,
    JsonBody(ChallengeRequest { nonce, by }): JsonBody<ChallengeRequest>,
) -> Result<Json<ChallengeResponse>, Problem> {
    let moved_to = login.guard.moved_to(&browser.host);
    let (key, address) = match &moved_to {
        None => (by.key(&browser.token.login), browser.host.clone()),
        Some(there) => (sha256(&browser.token.login.tab), move_address(&browser.host, there)),
    };
    let made = login.guard.passes.challenge(browser.name(), &key, &address, &nonce)?;
    let (nonce, proof) =
        made.ok_or_else(|| Problem::bad_request("`nonce` is empty or too long"))?;
    Ok(Json(ChallengeResponse { nonce, proof, moved_to }))
}

impl ProofSecret {
    fn key(self, login: &BrowserLogin) -> Sha256Sum {
        match self {
            Self::Page => sha256(&login.page),
            Self::Tab => sha256(&login.tab),
        }
    }
}

/// The address in the proofs of a page that moves: from which host to which.
fn move_address(from: &str, to: &str) -> String {
    format!("{from}>{to}")
}

/// Trades the page's proof for a pass.
#[utoipa::path(post, path = "/v1/login/prove", operation_id = "proveLogin", tag = "access", security(()), request_body = ProofRequest,
    responses((status = 200, description = "The pass.", body = PassResponse),
        (status = 401, description = "There is no such login, or the proof is wrong.", body = Problem, content_type = "application/problem+json")))]
async fn prove(
    State(login): State<Login>,
    browser: LoggedInBrowser,
    JsonBody(proved): JsonBody<ProofRequest>,
) -> Result<Json<PassResponse>, Problem> {
    let key = proved.by.key(&browser.token.login);
    login.redeem(&browser, (&key, &browser.host), &proved)?;
    let pass = login.guard.passes.issue(browser.name())?;
    Ok(Json(PassResponse { pass, tab_secret: browser.token.login.tab }))
}

/// Lets a tab log in where the page is now, by a code that is not sent: it is made as a proof is,
/// with `code` in the place of `page`.
#[utoipa::path(post, path = "/v1/login/move", operation_id = "moveLogin", tag = "access", security(()), request_body = ProofRequest,
    responses((status = 204, description = "The code is taken, once, within ten minutes."),
        (status = 401, description = "There is no such login, or the proof is wrong.", body = Problem, content_type = "application/problem+json"),
        (status = 409, description = "The page is still where it was.", body = Problem, content_type = "application/problem+json")))]
async fn move_login(
    State(login): State<Login>,
    browser: LoggedInBrowser,
    JsonBody(proved): JsonBody<ProofRequest>,
) -> Result<StatusCode, Problem> {
    let there = login.guard.moved_to(&browser.host);
    let there = there.ok_or_else(|| Problem::of(kinds::NOT_MOVED))?;
    let (key, address) = (sha256(&browser.token.login.tab), move_address(&browser.host, &there));
    let nonce = login.redeem(&browser, (&key, &address), &proved)?;
    let code = proof(&key, ProofSide::Code, &address, &nonce, &proved.nonce);
    login.codes.take(&code, browser.name());
    Ok(StatusCode::NO_CONTENT)
}

/// Ends the login that the request came with.
#[utoipa::path(post, path = "/v1/logout", operation_id = "logOut", tag = "access",
    responses((status = 204, description = "The login has ended and its cookie is removed.")))]
async fn log_out(
    State(login): State<Login>,
    principal: Principal,
    arrival: ConnectionInfo,
    name: CookieName,
) -> Result<Response, Problem> {
    let tokens = login.guard.tokens().clone();
    let revoking = move || {
        let is_browser =
            tokens.list().iter().any(|token| token.is_browser && token.name == principal.name);
        // Another kind of token stays: whoever uses one did not log in.
        if is_browser { tokens.revoke(&principal.name) } else { Ok(()) }
    };
    match tokio::task::spawn_blocking(revoking).await? {
        Ok(()) | Err(TokensError::NoSuch(_)) => {
            let line = cookie(&name, "", 0, arrival.is_tls)?;
            Ok((StatusCode::NO_CONTENT, line).into_response())
        }
        Err(error) => Err(error.into()),
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
    let mut line = HeaderValue::try_from(line).map_err(Problem::internal)?;
    line.set_sensitive(true);
    Ok(AppendHeaders([(header::SET_COOKIE, line)]))
}

#[cfg(test)]
mod tests;
