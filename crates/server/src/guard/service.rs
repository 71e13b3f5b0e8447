//! The guard as a service around the whole router.
//!
//! It stands outside of routing, so there is no route, known or unknown, and no upgrade that
//! does not pass it. A request that came by no listener of ours is not served at all.

use std::sync::Arc;

use axum::Router;
use axum::body::HttpBody;
use axum::extract::{DefaultBodyLimit, Request};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use tower::ServiceExt;

use super::answer_body::{revocable, revoked_for_long, until_revoked};
use super::connection_info::BusyGuard;
use super::stream_shares::StreamShares;
use super::{
    Admission, ConnectionInfo, Guard, GuardDecision, LoginCookies, answer_body, credentials, routes,
};
use crate::limits::{BodyFault, BodyLimits, HttpLimits, MeteredBody};
use crate::principal::Principal;
use crate::problem::Problem;

/// A script that removes a service worker which another program left in a browser while it had our
/// port: it would answer in our place for ever. Its pages are then loaded again, from us.
const REMOVE_SERVICE_WORKER: &str = "\
addEventListener('install', () => skipWaiting());
addEventListener('activate', (event) => event.waitUntil(leave()));
async function leave() {
  await registration.unregister();
  for (const page of await clients.matchAll({ type: 'window' })) await page.navigate(page.url);
}
";

/// Limit of a body without authentication: only login codes and proofs are sent so, which are
/// smaller.
const MAX_UNAUTHENTICATED_BYTES: u64 = 64 << 10;

/// A router behind the guard.
#[derive(Debug, Clone)]
pub struct GuardedRouter {
    guard: Arc<Guard>,
    router: Router,
    pub(crate) limits: HttpLimits,
    shares: Arc<StreamShares>,
}

impl GuardedRouter {
    pub fn new(guard: Arc<Guard>, router: Router, limits: HttpLimits) -> Self {
        // The framework's own limit is lower than ours and would not tell uploads apart.
        let router = router.layer(DefaultBodyLimit::disable());
        let shares = Arc::new(StreamShares::new(limits.max_connections));
        Self { guard, router, limits, shares }
    }

    /// Answers a request; its extensions say by which connection it came.
    pub async fn handle(self, request: Request) -> Response {
        let mut response = match request.extensions().get::<ConnectionInfo>().cloned() {
            None => Problem::internal("a request came in by no listener").into_response(),
            Some(arrival) => self.decide(arrival, request).await,
        };
        if response.status() == StatusCode::UNAUTHORIZED {
            let scheme = HeaderValue::from_static("Bearer realm=\"switchyard\"");
            response.headers_mut().insert(header::WWW_AUTHENTICATE, scheme);
        }
        response
    }

    async fn decide(self, arrival: ConnectionInfo, request: Request) -> Response {
        let busy = arrival.activity.enter();
        let (parts, body) = request.into_parts();
        let decision = self.guard.admit(&parts, &arrival);
        let (mut response, readable_by) = match decision {
            Err(problem) => (problem.into_response(), None),
            Ok(GuardDecision { admitted, readable_by }) => {
                let request = Request::from_parts(parts, body);
                (self.proceed(admitted, arrival, busy, request).await, readable_by)
            }
        };
        protect(response.headers_mut());
        if let Some(origin) = readable_by {
            allow_origin(response.headers_mut(), origin);
        }
        response
    }

    async fn proceed(
        self,
        admitted: Admission,
        arrival: ConnectionInfo,
        busy: BusyGuard,
        request: Request,
    ) -> Response {
        let principal = match admitted {
            Admission::Preflight => {
                let mut response = StatusCode::NO_CONTENT.into_response();
                answer_preflight(response.headers_mut());
                return response;
            }
            Admission::Redirect(there) => {
                let there = [(header::LOCATION, there)];
                return (StatusCode::TEMPORARY_REDIRECT, there).into_response();
            }
            Admission::NoServiceWorker => {
                let kind = (header::CONTENT_TYPE, HeaderValue::from_static("text/javascript"));
                return ([kind], REMOVE_SERVICE_WORKER).into_response();
            }
            Admission::Anyone => None,
            Admission::As(principal) => {
                arrival.activity.note_client(&principal.name);
                Some(principal)
            }
        };
        let (shares, method) = (self.shares.clone(), request.method().clone());
        let answers = self.guard.answers.clone();
        let served = self.serve(request, principal.as_ref()).await;
        let response = served.unwrap_or_else(Problem::into_response);
        let is_upgrade = response.status() == StatusCode::SWITCHING_PROTOCOLS;
        // Refusing an answer does not undo what the request did, so only requests that change
        // nothing are refused.
        let is_begun = method != Method::GET;
        // A body that is complete is sent before anybody could revoke the token.
        if let Some(n_bytes) = response.body().size_hint().exact().filter(|_| !is_upgrade) {
            // Without authentication only static files and small answers are served.
            let is_free = principal.as_ref().is_none_or(|one| one.is_local);
            let name = principal.as_ref().map(|one| one.name.as_str()).unwrap_or_default();
            return answer_body::count_unread(
                response,
                n_bytes,
                &answers,
                name,
                is_begun || is_free,
            );
        }
        let share = match shares.take(&arrival.activity.share, principal.as_ref(), is_begun) {
            Ok(share) => share,
            Err(problem) => return problem.into_response(),
        };
        // The daemon's own user has no token that could be revoked.
        let revoked = principal.filter(|one| !one.is_local).map(|one| one.revoked);
        if is_upgrade {
            task::spawn(async move {
                tokio::select! {
                    () = revoked_for_long(revoked) => arrival.cut.cancel(),
                    () = arrival.cut.cancelled() => {}
                }
                drop(share);
            });
            return response;
        }
        response.map(|body| revocable(body, revoked, (busy, share)))
    }

    async fn serve(
        self,
        request: Request,
        principal: Option<&Principal>,
    ) -> Result<Response, Problem> {
        let (mut parts, body) = request.into_parts();
        let rule = self.guard.routes.body_rule(parts.uri.path());
        routes::check_body(&parts, !body.is_end_stream(), rule.kind)?;
        let max_bytes = match principal {
            Some(_) => rule.max_bytes.unwrap_or(self.limits.max_body_bytes),
            None => MAX_UNAUTHENTICATED_BYTES,
        };
        // The hint is exact for a body whose length the client has announced.
        if body.size_hint().lower() > max_bytes {
            return Err(BodyFault::TooLarge.problem(max_bytes));
        }
        // A route with a limit of its own does not keep the body in memory.
        let keeping = principal.filter(|_| rule.max_bytes.is_none());
        let reservation = keeping.map(|one| Arc::new(self.guard.requests().reserve(&one.name)));
        let revoked = principal.filter(|one| !one.is_local).map(|one| one.revoked.clone());
        // Whoever logs out, or revokes its own token, is told that it is done.
        let may_end = revoked.clone().filter(|_| !routes::is_about_access(parts.uri.path()));
        let terms = BodyLimits { max_bytes, reservation: reservation.clone(), revoked };
        let (body, fault) = MeteredBody::wrap(body, terms, &self.limits);
        if principal.is_none() {
            let cookies = credentials::login_cookies(&parts.headers, &parts.uri);
            parts.extensions.insert(LoginCookies(cookies));
        }
        credentials::strip(&mut parts.headers);
        if let Some(principal) = principal {
            parts.extensions.insert(principal.clone());
            // What it sends over a WebSocket counts against the same quota.
            parts.extensions.insert(self.guard.requests().clone());
        }
        let response = tokio::select! {
            biased;
            Ok(response) = self.router.oneshot(Request::from_parts(parts, body)) => response,
            () = until_revoked(may_end) => return Err(Problem::unauthorized()),
        };
        drop(reservation);
        // Handlers see a body that broke off; the client is told why it was broken off.
        match fault.get() {
            Some(fault) if !response.status().is_success() => Err(fault.problem(max_bytes)),
            _ => Ok(response),
        }
    }
}

/// Scripts, styles and connections of our own origin and nothing else; no frame around us, and
/// no text that becomes markup or script. Pictures may also be made by the page itself.
const CSP: &str = "default-src 'none'; script-src 'self'; style-src 'self'; \
                   img-src 'self' blob: data:; font-src 'self'; connect-src 'self'; \
                   base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
                   require-trusted-types-for 'script'";

/// The page uses none of these, and neither shall what it shows.
const PERMISSIONS: &str = "camera=(), display-capture=(), geolocation=(), hid=(), microphone=(), \
                           midi=(), payment=(), serial=(), usb=()";

const SECURITY_HEADERS: [(HeaderName, &str); 7] = [
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, "no-referrer"),
    (header::CONTENT_SECURITY_POLICY, CSP),
    (header::X_FRAME_OPTIONS, "DENY"),
    (HeaderName::from_static("permissions-policy"), PERMISSIONS),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
];

/// A preflight's answer may be kept for as long as it takes a user to change a setting.
const PREFLIGHT_SECONDS: &str = "600";

pub(super) fn protect(headers: &mut HeaderMap) {
    // Attachments are stricter, and static files may be kept; what a session says belongs on no
    // disk.
    for (name, value) in SECURITY_HEADERS.into_iter().chain([(header::CACHE_CONTROL, "no-store")]) {
        headers.entry(name).or_insert_with(|| HeaderValue::from_static(value));
    }
}

/// Lets a page of an allowed origin read the answer. It gets no cookies: it has to bring a
/// token, which a page cannot send without its author's doing.
pub(super) fn allow_origin(headers: &mut HeaderMap, origin: HeaderValue) {
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    let exposed = HeaderValue::from_static(
        "location, retry-after, etag, content-disposition, acp-connection-id",
    );
    headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, exposed);
    headers.append(header::VARY, HeaderValue::from_static("origin"));
    let policy = HeaderName::from_static("cross-origin-resource-policy");
    headers.insert(policy, HeaderValue::from_static("cross-origin"));
}

pub(super) fn answer_preflight(headers: &mut HeaderMap) {
    let lines = [
        (header::ACCESS_CONTROL_ALLOW_METHODS, "GET, HEAD, POST, PUT, PATCH, DELETE"),
        (
            header::ACCESS_CONTROL_ALLOW_HEADERS,
            "authorization, content-type, accept, last-event-id, acp-connection-id, \
             acp-session-id, acp-protocol-version, traceparent",
        ),
        (header::ACCESS_CONTROL_MAX_AGE, PREFLIGHT_SECONDS),
        (header::VARY, "access-control-request-method, access-control-request-headers"),
    ];
    for (name, value) in lines {
        headers.append(name, HeaderValue::from_static(value));
    }
}
