//! The one guard on every way in.
//!
//! In: a request's head, or a token from a line protocol, and where it came from. Out: who
//! it is and may go on, or a problem to answer with. Nothing behind it runs before it has
//! said yes; a WebSocket upgrade is a request like any other. Host, Origin and
//! `Sec-Fetch-Site` are checked before the token, so a web page elsewhere learns nothing, not
//! even whether its guess was near. Roles come from the token table alone: nothing that a
//! client says about itself is believed.

mod answer_body;
mod connection_info;
mod credentials;
mod failures;
mod host;
mod origin;
mod passes;
mod peer_user;
mod routes;
mod service;
mod stream_shares;

use std::sync::{Arc, PoisonError, RwLock};
use std::time::Instant;

use axum::http::request::Parts;
use axum::http::{HeaderName, HeaderValue, Method, StatusCode, Version};

use crate::limits::ByteQuota;
use crate::metrics::Metrics;
use crate::page_name::PageName;
use crate::principal::Principal;
use crate::problem::{Problem, kinds};
use crate::tokens::{BrowserToken, Tokens};
pub use connection_info::{BusyGuard, ConnectionActivity, ConnectionInfo, Peer};
pub(crate) use connection_info::{CookieName, HostName, LoginCookies};
use credentials::Credentials;
use failures::{FailureVerdict, Failures};
use host::{Hosts, RequestedHost};
use origin::{Origins, RequestOrigin};
pub(crate) use passes::{Passes, ProofSide, proof};
use peer_user::PeerUser;
pub use routes::{BodyKind, BodyRule, Routes};
pub use service::GuardedRouter;

/// The cookie that a login leaves in the browser; `_` and the port follow, where there is one.
pub const COOKIE: &str = "switchyard_session";
/// The header in which our page sends its pass, beside the cookie.
pub const PAGE_PASS: HeaderName = HeaderName::from_static("x-switchyard-page");
/// How a browser's WebSocket, which cannot send headers, shows its token: as a subprotocol.
pub const WS_TOKEN: &str = "switchyard-token.";
/// How our page shows its pass there, for the same reason.
pub const WS_PAGE: &str = "switchyard-page.";
/// Routes by which an open page moves its login from an earlier host name of the page.
const MOVE_ROUTES: [&str; 2] = ["/v1/login/challenge", "/v1/login/move"];
/// More than any client of ours sends; HTTP/1.1 has this limit in its parser already.
const MAX_HEADERS: usize = 100;
/// Nothing that we serve has a longer address.
const MAX_TARGET_BYTES: usize = 8 << 10;

#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GuardError {
    #[error("`{0}` is no host name; use `name`, `name:port` or `[address]:port`")]
    BadHost(String),
    #[error(
        "`{0}` is no origin; use `scheme://host` or `scheme://host:port`, nothing more, and no `*`"
    )]
    BadOrigin(String),
}

/// The guard's settings: what the operator allows beyond the default.
#[derive(Debug, Clone, Default)]
pub struct GuardSettings {
    /// Names under which the daemon is reached, besides its address and `localhost`; browsers
    /// may log in there.
    pub allow_hosts: Vec<String>,
    /// Web pages of other origins that may call us, with a token.
    pub allow_origins: Vec<String>,
    /// Users of this machine whose processes pass requests of browsers on to us.
    pub proxy_users: Vec<u32>,
}

#[derive(Debug)]
pub struct Guard {
    tokens: Tokens,
    routes: Routes,
    failures: Failures,
    pub(crate) passes: Passes,
    page_name: Option<PageName>,
    allowed: RwLock<Arc<AllowedCallers>>,
    metrics: Option<Metrics>,
    requests: Arc<ByteQuota>,
    /// Quota of answers, which count until they were read.
    answers: Arc<ByteQuota>,
}

#[derive(Debug)]
struct AllowedCallers {
    hosts: Hosts,
    origins: Origins,
    proxy_users: Vec<u32>,
}

/// The guard's decision about a request that it does not refuse.
#[derive(Debug)]
pub enum Admission {
    /// The route is open to all.
    Anyone,
    As(Principal),
    /// A CORS preflight of an allowed page; answered here.
    Preflight,
    /// A redirect of a browser to the page's own host name; answered here.
    Redirect(HeaderValue),
    /// A browser updates a service worker that another program left at this address; answered here.
    NoServiceWorker,
}

/// The decision, and the page of an allowed foreign origin that must be able to read the answer.
#[derive(Debug)]
pub struct GuardDecision {
    pub admitted: Admission,
    pub(crate) readable_by: Option<HeaderValue>,
}

impl Guard {
    pub fn new(
        tokens: Tokens,
        routes: Routes,
        settings: &GuardSettings,
    ) -> Result<Self, GuardError> {
        let allowed = RwLock::new(Arc::new(AllowedCallers::of(settings)?));
        Ok(Self {
            tokens,
            routes,
            failures: Failures::default(),
            passes: Passes::default(),
            page_name: None,
            allowed,
            metrics: None,
            requests: Arc::default(),
            answers: Arc::default(),
        })
    }

    /// Browsers have the page at this name, and log in nowhere else but at names that are
    /// configured.
    #[must_use]
    pub fn with_page_at(self, name: PageName) -> Self {
        Self { page_name: Some(name), ..self }
    }

    /// Counts refused requests.
    #[must_use]
    pub fn counting(self, metrics: Metrics) -> Self {
        Self { metrics: Some(metrics), ..self }
    }

    /// Takes new settings for the requests to come.
    pub fn reload(&self, settings: &GuardSettings) -> Result<(), GuardError> {
        let allowed = Arc::new(AllowedCallers::of(settings)?);
        *self.allowed.write().unwrap_or_else(PoisonError::into_inner) = allowed;
        Ok(())
    }

    pub fn tokens(&self) -> &Tokens {
        &self.tokens
    }

    /// Decides about an HTTP request by its head.
    pub fn admit(&self, parts: &Parts, arrival: &ConnectionInfo) -> Result<GuardDecision, Problem> {
        self.decide(parts, arrival).inspect_err(|problem| self.count(problem))
    }

    fn count(&self, problem: &Problem) {
        // A wrong path is no refusal.
        if let Some(metrics) = &self.metrics
            && problem.status != StatusCode::NOT_FOUND.as_u16()
        {
            metrics.auth_failed(problem.kind.rsplit(':').next().unwrap_or_default());
        }
    }

    fn decide(&self, parts: &Parts, arrival: &ConnectionInfo) -> Result<GuardDecision, Problem> {
        check_shape(parts)?;
        let allowed = self.allowed();
        let answered_here = |admitted| Ok(GuardDecision { admitted, readable_by: None });
        // Unix sockets cannot be reached by a browser, and have no host name.
        let (page, called) = match arrival.local {
            None => (RequestOrigin::None, None),
            Some(local) => {
                let (is_tls, name) = (arrival.is_tls, self.page_name.as_ref());
                let called = allowed.hosts.check(parts, local, is_tls, name)?;
                let is_document = self.routes.is_document(parts.uri.path());
                let page = allowed.origins.check(parts, called.host(), is_tls, is_document)?;
                // Our page has no service worker.
                if parts.headers.get("service-worker").is_some_and(|what| what == "script") {
                    return answered_here(Admission::NoServiceWorker);
                }
                if let RequestedHost::Elsewhere { page: there, was_page, .. } = &called {
                    if is_document {
                        return answered_here(Admission::Redirect(address(there, parts)?));
                    }
                    check_elsewhere(parts, there, *was_page)?;
                }
                (page, Some(called))
            }
        };
        let readable_by = match &page {
            RequestOrigin::Allowed(origin) => Some(origin.clone()),
            RequestOrigin::None | RequestOrigin::Own => None,
        };
        let is_preflight = parts.method == Method::OPTIONS
            && parts.headers.contains_key("access-control-request-method");
        let admitted = if is_preflight && readable_by.is_some() {
            Admission::Preflight
        } else if self.routes.is_open(&parts.method, parts.uri.path()) {
            Admission::Anyone
        } else if self.routes.is_nowhere(parts) {
            let path = crate::problem::shown(parts.uri.path());
            return Err(Problem::not_found(format!("nothing is served at `{path}`")));
        } else {
            let host = called.as_ref().map(RequestedHost::host);
            Admission::As(self.identify(parts, arrival, &page, host)?)
        };
        Ok(GuardDecision { admitted, readable_by })
    }

    /// The page's host now, if `host` is an earlier name of it.
    pub(crate) fn moved_to(&self, host: &str) -> Option<String> {
        let name = self.page_name.as_ref()?;
        let former = self.page_name_in(host).filter(|former| former != name);
        former.map(|_| name.in_place_of(host))
    }

    /// Decides about a token that came over a line protocol.
    pub fn admit_token(&self, token: &str, peer: &Peer) -> Result<Principal, Problem> {
        self.evaluate(token, peer).inspect_err(|problem| self.count(problem))
    }

    /// The daemon's own user on the private socket needs no token; nor do agents, which run as
    /// the same user and are not that one.
    pub fn admit_local(&self, peer: &Peer) -> Option<Principal> {
        let own_uid = rustix::process::geteuid().as_raw();
        match peer {
            Peer::Private { uid, is_worker: false } if *uid == own_uid => Some(Principal::local()),
            Peer::Private { uid, is_worker: true } if *uid == own_uid => Some(Principal::worker()),
            _ => None,
        }
    }

    /// Counts a wrong login code like a wrong token.
    pub(crate) fn note_failure(&self, peer: &Peer, what: &'static str) -> Problem {
        match self.failures.note(peer, Instant::now()) {
            FailureVerdict::Counted => {
                tracing::warn!(%peer, what, "refused");
                Problem::unauthorized()
            }
            FailureVerdict::Limited { retry_after, is_first } => {
                if is_first {
                    tracing::warn!(%peer, "too many failures; further ones are not logged for a while");
                }
                Problem::of(kinds::TOO_MANY_FAILURES)
                    .detail(
                        "from this address; requests with a valid token or login are still served",
                    )
                    .retry_after(retry_after)
            }
        }
    }

    fn identify(
        &self,
        parts: &Parts,
        arrival: &ConnectionInfo,
        page: &RequestOrigin,
        host: Option<&str>,
    ) -> Result<Principal, Problem> {
        match credentials::find(parts) {
            Credentials::Nothing => {
                self.admit_local(&arrival.peer).ok_or_else(Problem::unauthorized)
            }
            Credentials::Malformed => {
                Err(self.note_failure(&arrival.peer, "malformed credentials"))
            }
            Credentials::Token(token) => self.evaluate(token, &arrival.peer),
            Credentials::Cookies { cookies, pass } => {
                check_cookie_use(parts, page)?;
                self.check_user(arrival)?;
                // Other programs of this host are sent the cookie too. They have no pass, which
                // only a page gets that has the login's secret.
                let login = pass.and_then(|pass| self.passes.login_of(pass));
                let known = cookies.iter().filter_map(|one| self.login_of(one, host));
                let known: Vec<_> = known.map(|login| login.principal).collect();
                match known.iter().find(|one| Some(&one.name) == login.as_ref()) {
                    Some(principal) => Ok(principal.clone()),
                    None if known.is_empty() => {
                        Err(self.note_failure(&arrival.peer, "wrong cookie"))
                    }
                    // A page that was open while the daemon was restarted; no guess.
                    None => Err(login_unproved()),
                }
            }
        }
    }

    /// The login that a cookie is of, where the daemon is called `host`.
    pub(crate) fn login_of(&self, cookie: &str, host: Option<&str>) -> Option<BrowserToken> {
        let place = host.and_then(|host| self.page_name_in(host));
        self.tokens.check_cookie(cookie, place.as_ref())
    }

    /// The page's name in `host`, now or before; none where the page has no name of its own.
    pub(crate) fn page_name_in(&self, host: &str) -> Option<PageName> {
        self.page_name.as_ref().and_then(|_| PageName::in_host(host))
    }

    /// A good token is let in however many bad ones came from its address: all clients of a
    /// machine share one, and a token cannot be guessed.
    fn evaluate(&self, token: &str, peer: &Peer) -> Result<Principal, Problem> {
        if let Some(principal) = self.tokens.check(token) {
            return Ok(principal);
        }
        Err(match self.tokens.why_removed(token) {
            Some(why) => Problem::of(kinds::FILES_UNAVAILABLE).detail(why),
            None => self.note_failure(peer, "wrong token"),
        })
    }

    /// Refuses logins of browsers from processes of other users of this machine.
    pub(crate) fn check_user(&self, arrival: &ConnectionInfo) -> Result<(), Problem> {
        let (Peer::Net(peer), Some(local)) = (arrival.peer, arrival.local) else { return Ok(()) };
        let own = rustix::process::geteuid().as_raw();
        let is_trusted =
            |user: u32| user == own || user == 0 || self.allowed().proxy_users.contains(&user);
        match *arrival.activity.user.get_or_init(|| PeerUser::of(peer, local)) {
            PeerUser::Remote => Ok(()),
            PeerUser::Local(user) if is_trusted(user) => Ok(()),
            PeerUser::Local(_) | PeerUser::Unknown => Err(Problem::forbidden(
                "logins are taken from browsers of the daemon's own user only",
            )
            .remedy("a reverse proxy that runs as another user is named in [serve] proxy_users")),
        }
    }

    /// Quota of what clients send, which counts until it was served.
    pub fn requests(&self) -> &Arc<ByteQuota> {
        &self.requests
    }

    fn allowed(&self) -> Arc<AllowedCallers> {
        self.allowed.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl AllowedCallers {
    fn of(settings: &GuardSettings) -> Result<Self, GuardError> {
        Ok(Self {
            hosts: Hosts::new(&settings.allow_hosts)?,
            origins: Origins::new(&settings.allow_origins)?,
            proxy_users: settings.proxy_users.clone(),
        })
    }
}

fn check_shape(parts: &Parts) -> Result<(), Problem> {
    if [Method::CONNECT, Method::TRACE].contains(&parts.method) {
        return Err(Problem::of(kinds::METHOD_NOT_SERVED));
    }
    if parts.headers.len() > MAX_HEADERS {
        return Err(Problem::of(kinds::HEADERS_TOO_LARGE));
    }
    let target = parts.uri.path_and_query().map_or(0, |target| target.as_str().len());
    if target > MAX_TARGET_BYTES {
        return Err(Problem::of(kinds::TARGET_TOO_LONG));
    }
    Ok(())
}

/// The browser sends a cookie by itself, so the cookie alone does not show that our page
/// asked. What changes something, and a WebSocket, must come from our page by name.
fn check_cookie_use(parts: &Parts, page: &RequestOrigin) -> Result<(), Problem> {
    let is_safe = [Method::GET, Method::HEAD].contains(&parts.method) && !is_upgrade(parts);
    match page {
        RequestOrigin::Own => Ok(()),
        RequestOrigin::None if is_safe => Ok(()),
        RequestOrigin::None => {
            Err(Problem::forbidden("a cookie is accepted from our own page only"))
        }
        RequestOrigin::Allowed(_) => {
            Err(Problem::forbidden("pages of other origins must use a token, not the cookie"))
        }
    }
}

/// The refusal of a login without a pass; a page that has the login's secret can get one.
fn login_unproved() -> Problem {
    Problem::of(kinds::LOGIN_UNPROVED)
        .detail("a login's cookie is accepted only with a pass, which its page gets by a proof")
        .remedy("load the page again, or log in by a new link; `switchyard token login` prints one")
}

/// The refusal of a tab that is open at an earlier name of the page; it can move its login.
fn page_moved() -> Problem {
    Problem::of(kinds::PAGE_MOVED)
        .remedy("load the page again, or open a new link; `switchyard token login` prints one")
}

/// The requested address at the page's own host name.
fn address(page: &str, parts: &Parts) -> Result<HeaderValue, Problem> {
    let target = parts.uri.path_and_query().map_or("/", |target| target.as_str());
    let there = HeaderValue::try_from(format!("http://{page}{target}"));
    there.map_err(Problem::internal)
}

/// Refuses logins at host names where other programs may have listened before us.
fn check_elsewhere(parts: &Parts, page: &str, was_page: bool) -> Result<(), Problem> {
    let path = parts.uri.path();
    let is_login = parts.method == Method::POST && routes::LOGIN_ROUTES.contains(&path);
    match was_page {
        // A page that is still open there can move its login, and do nothing else.
        true if MOVE_ROUTES.contains(&path) => Ok(()),
        true => Err(page_moved()),
        false if is_login || matches!(credentials::find(parts), Credentials::Cookies { .. }) => {
            let why = "browsers log in at the host name that is the daemon's alone";
            let remedy = format!("open http://{page}/; `switchyard token login` prints a link");
            Err(Problem::forbidden(why).remedy(remedy))
        }
        false => Ok(()),
    }
}

pub(crate) fn is_upgrade(parts: &Parts) -> bool {
    let asks = parts.headers.contains_key("upgrade") || parts.method == Method::CONNECT;
    asks && parts.version <= Version::HTTP_11
}

#[cfg(test)]
mod tests;
