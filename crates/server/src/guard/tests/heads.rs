//! Heads of requests as nobody sends them: none panics, and none gets in.

use axum::http::{HeaderName, HeaderValue, Request};
use proptest::prelude::*;
use proptest::sample::select;

use super::{Admission, Case, ConnectionInfo, GuardDecision, Peer, case};

/// All that the guard looks at, and some that it must not.
const NAMES: [&str; 16] = [
    "host",
    "origin",
    "cookie",
    "authorization",
    "sec-fetch-site",
    "sec-fetch-mode",
    "sec-websocket-protocol",
    "upgrade",
    "connection",
    "x-switchyard-page",
    "content-type",
    "content-length",
    "transfer-encoding",
    "x-forwarded-host",
    "access-control-request-method",
    "referer",
];

/// What stands there when all is well, and what comes close. `C` is a login's cookie and `S` its
/// secret, which are both not enough.
const PARTS: [&str; 28] = [
    "127.0.0.1:7433",
    "localhost:7433",
    "[::1]:7433",
    "127.0.0.1",
    "127.1:7433",
    "evil.test:7433",
    "http://127.0.0.1:7433",
    "http://evil.test",
    "https://app.example",
    "null",
    "Bearer ",
    "Basic ",
    "sy_",
    "C",
    "S",
    "switchyard_session_7433=",
    "switchyard_session=",
    "switchyard-token.",
    "switchyard-page.",
    "same-origin",
    "cross-site",
    "websocket",
    "Upgrade",
    "; ",
    ", ",
    " ",
    "POST",
    "\u{e9}",
];

fn value() -> impl Strategy<Value = Vec<u8>> {
    let whole = prop::collection::vec(select(&PARTS[..]), 0..5)
        .prop_map(|parts| parts.concat().into_bytes());
    prop_oneof![4 => whole, 1 => prop::collection::vec(any::<u8>(), 0..60)]
}

fn lines() -> impl Strategy<Value = Vec<(&'static str, Vec<u8>)>> {
    prop::collection::vec((select(&NAMES[..]), value()), 0..10)
}

fn filled(value: &[u8], case: &Case) -> Option<HeaderValue> {
    let text = String::from_utf8_lossy(value);
    let text = text.replace('C', &case.login.cookie).replace('S', &case.login.page);
    HeaderValue::from_bytes(text.as_bytes()).ok()
}

#[test]
fn no_head_panics_or_gets_in_without_a_token() {
    let case = case();
    let at = |port| std::net::SocketAddr::from(([127, 0, 0, 1], port));
    let mut config = ProptestConfig::with_cases(soak::size(2_000, 200_000));
    config.failure_persistence = None;
    let methods = select(&["GET", "POST", "DELETE", "OPTIONS", "HEAD", "CONNECT"][..]);
    let paths = select(&["/v1/sessions", "/", "/acp", "/v1/events", "/%00", "*"][..]);
    proptest!(config, |(lines in lines(), method in methods, path in paths, is_tls: bool)| {
        let arrival = ConnectionInfo::new(Peer::Net(at(50_000)), Some(at(7433)), is_tls);
        let arrival = arrival.of_our_user();
        let Ok(request) = Request::builder().method(method).uri(path).body(()) else {
            return Ok(());
        };
        let mut parts = request.into_parts().0;
        for (name, value) in &lines {
            if let Some(value) = filled(value, &case) {
                parts.headers.append(HeaderName::from_static(name), value);
            }
        }
        match case.guard.admit(&parts, &arrival) {
            Ok(GuardDecision { admitted: Admission::As(principal), .. }) => {
                prop_assert!(false, "{} got in by {:?}", principal.name, parts.headers);
            }
            Ok(GuardDecision { readable_by: Some(origin), .. }) => {
                prop_assert_eq!(origin, "https://app.example");
            }
            Ok(_) | Err(_) => {}
        }
    });
}
