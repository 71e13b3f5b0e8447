//! What every answer says to browsers.

use axum::http::{HeaderMap, HeaderName, HeaderValue, header};

/// Scripts, styles and connections of our own origin and nothing else; no frame around us, and
/// no text that becomes markup or script. Pictures may also be made by the page itself.
const CSP: &str = "default-src 'none'; script-src 'self'; style-src 'self'; \
                   img-src 'self' blob: data:; font-src 'self'; connect-src 'self'; \
                   base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
                   require-trusted-types-for 'script'";

/// The page uses none of these, and neither shall what it shows.
const PERMISSIONS: &str = "camera=(), display-capture=(), geolocation=(), hid=(), microphone=(), \
                           midi=(), payment=(), serial=(), usb=()";

const ALWAYS: [(HeaderName, &str); 7] = [
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
    for (name, value) in ALWAYS.into_iter().chain([(header::CACHE_CONTROL, "no-store")]) {
        headers.entry(name).or_insert_with(|| HeaderValue::from_static(value));
    }
}

/// Lets a page of an allowed origin read the answer. It gets no cookies: it has to bring a
/// token, which a page cannot send without its author's doing.
pub(super) fn share(headers: &mut HeaderMap, origin: HeaderValue) {
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
