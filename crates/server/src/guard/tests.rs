use axum::http::Request;

use super::*;
use crate::principal::Role;
use crate::tokens::{BrowserLogin, NewToken};

struct Case {
    _dir: tempfile::TempDir,
    guard: Guard,
    token: String,
    login: BrowserLogin,
    /// Of a page of that login.
    pass: String,
}

fn case() -> Case {
    let dir = tempfile::tempdir().unwrap();
    let tokens = Tokens::open(dir.path()).unwrap();
    let new =
        NewToken { name: "ci".into(), role: Role::Observer, expires: None, own_sessions: true };
    let token = tokens.add(new).unwrap();
    let login = tokens.add_browser(None).unwrap();
    let settings = GuardSettings {
        allow_origins: vec!["https://app.example".into()],
        ..GuardSettings::default()
    };
    let guard = Guard::new(tokens, Routes::default(), &settings).unwrap();
    let pass = guard.passes.issue(&login.name).unwrap();
    Case { _dir: dir, guard, token, login, pass }
}

fn arrival() -> ConnectionInfo {
    let at = |port| std::net::SocketAddr::from(([127, 0, 0, 1], port));
    ConnectionInfo::new(Peer::Net(at(50_000)), Some(at(7433)), false).of_our_user()
}

impl Case {
    fn admit(&self, method: &str, headers: &[(&str, &str)]) -> Result<Principal, u16> {
        let mut request = Request::builder().method(method).uri("/v1/x");
        request = request.header("host", "127.0.0.1:7433");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let parts = request.body(()).unwrap().into_parts().0;
        match self.guard.admit(&parts, &arrival()) {
            Ok(GuardDecision { admitted: Admission::As(principal), .. }) => Ok(principal),
            Ok(decision) => panic!("{decision:?}"),
            Err(problem) => Err(problem.status),
        }
    }
}

#[test]
fn a_token_is_taken_from_the_header_the_subprotocol_or_the_cookie() {
    let case = case();
    let bearer = format!("Bearer {}", case.token);
    let principal = case.admit("POST", &[("authorization", &bearer)]).unwrap();
    assert_eq!((principal.name.as_str(), principal.role), ("ci", Role::Observer));
    assert!(principal.own_sessions && !principal.is_local);
    let loose = format!("bEARER   {} ", case.token);
    assert!(case.admit("GET", &[("authorization", &loose)]).is_ok());

    let offered = format!("acp.v1, {WS_TOKEN}{}", case.token);
    let upgrade = [("upgrade", "websocket"), ("sec-websocket-protocol", offered.as_str())];
    assert!(case.admit("GET", &upgrade).is_ok());
    assert_eq!(case.admit("GET", &upgrade[1..]).unwrap_err(), 401, "only on an upgrade");

    let page = ("x-switchyard-page", case.pass.as_str());
    let others = format!("{COOKIE}_7433=wrong; ").repeat(20);
    let cookie = format!("a=b; {others}{COOKIE}_7433={}", case.login.cookie);
    assert!(case.admit("GET", &[("cookie", &cookie), page]).is_ok());
    for other in ["", "_", "_7434", "_7433_", "_07433"] {
        let cookie = format!("{COOKIE}{other}={}", case.login.cookie);
        assert_eq!(case.admit("GET", &[("cookie", &cookie), page]).unwrap_err(), 401, "{other}");
    }
}

#[test]
fn neither_half_of_a_login_opens_anything() {
    let case = case();
    let other = case.guard.tokens().add_browser(None).unwrap();
    let others_pass = case.guard.passes.issue(&other.name).unwrap();
    let (BrowserLogin { cookie, page, .. }, pass) = (&case.login, &case.pass);
    let line = |cookie: &str| format!("{COOKIE}_7433={cookie}");
    let own = ("origin", "http://127.0.0.1:7433");
    let both = [("cookie", &*line(cookie)), ("x-switchyard-page", pass), own];
    assert!(case.admit("POST", &both).is_ok());

    // So many that some are no longer looked at.
    let is_refused =
        |method, headers: &[(&str, &str)]| matches!(case.admit(method, headers), Err(401 | 429));
    for (cookie, pages) in [
        (cookie, [].as_slice()),
        (cookie, &[""]),
        (cookie, &["wrong"]),
        (cookie, &[cookie]),
        (cookie, &[page]),
        (cookie, &[&other.page]),
        (cookie, &[&others_pass]),
        (cookie, &[pass, pass]),
        (pass, &[cookie]),
        (pass, &[pass]),
        (page, &[pass]),
        (&other.cookie, &[pass]),
        (&case.token, &[pass]),
        (&format!("{cookie}.{page}"), &[""]),
        (&format!("{cookie}.{page}"), &[]),
    ] {
        let line = line(cookie);
        let mut headers = vec![("cookie", line.as_str()), own];
        headers.extend(pages.iter().map(|page| ("x-switchyard-page", *page)));
        assert!(is_refused("GET", &headers) && is_refused("POST", &headers), "{headers:?}");
    }
    // Whoever was sent the cookie cannot show it as a token either.
    for half in [cookie, page, pass] {
        let bearer = format!("Bearer {half}");
        assert!(is_refused("GET", &[("authorization", &bearer)]));
        assert!(case.guard.admit_token(half, &arrival().peer).is_err());
        let offered = format!("{WS_TOKEN}{half}");
        let upgrade = [("upgrade", "websocket"), ("sec-websocket-protocol", offered.as_str())];
        assert!(is_refused("GET", &upgrade));
    }
    assert!(is_refused("GET", &[("x-switchyard-page", pass)]));
    assert!(case.admit("POST", &both).is_ok());
}

#[test]
fn a_login_is_taken_from_processes_of_our_own_user_only() {
    let case = case();
    let cookie = format!("{COOKIE}_7433={}", case.login.cookie);
    let request = Request::builder().uri("/v1/x").header("host", "127.0.0.1:7433");
    let request = request.header("cookie", cookie).header("x-switchyard-page", &case.pass);
    let parts = request.body(()).unwrap().into_parts().0;
    let at = |port| std::net::SocketAddr::from(([127, 0, 0, 1], port));
    let status = |user: PeerUser| {
        let arrival =
            ConnectionInfo::new(Peer::Net(at(50_000)), Some(at(7433)), false).of_user(user);
        case.guard.admit(&parts, &arrival).map_or_else(|problem| problem.status, |_| 200)
    };
    let own = rustix::process::geteuid().as_raw();
    let (proxy, stranger) = (own + 1, own + 2);
    let settings = GuardSettings { proxy_users: vec![proxy], ..GuardSettings::default() };
    assert_eq!(status(PeerUser::Local(proxy)), 403);
    case.guard.reload(&settings).unwrap();
    for (user, expected) in [(own, 200), (0, 200), (proxy, 200), (stranger, 403)] {
        assert_eq!(status(PeerUser::Local(user)), expected, "{user}");
    }
    assert_eq!((status(PeerUser::Unknown), status(PeerUser::Remote)), (403, 200));
}

#[test]
fn our_page_shows_its_pass_to_a_web_socket_as_a_subprotocol() {
    let case = case();
    let (cookie, pass) = (format!("{COOKIE}_7433={}", case.login.cookie), &case.pass);
    let cookie = ("cookie", cookie.as_str());
    let (own, foreign) = (("origin", "http://127.0.0.1:7433"), ("origin", "http://127.0.0.1:1"));
    let allowed = ("origin", "https://app.example");
    let upgrade = ("upgrade", "websocket");
    let offered = format!("switchyard.v1, {WS_PAGE}{pass}");
    let offered = ("sec-websocket-protocol", offered.as_str());
    assert!(case.admit("GET", &[upgrade, cookie, own, offered]).is_ok());

    let guessed = format!("switchyard.v1, {WS_PAGE}guess");
    let guessed = ("sec-websocket-protocol", guessed.as_str());
    let header = ("x-switchyard-page", pass.as_str());
    for (headers, status) in [
        (vec![upgrade, cookie, own], 401),
        (vec![upgrade, cookie, own, guessed], 401),
        (vec![upgrade, own, offered], 401),
        (vec![upgrade, cookie, own, offered, offered], 401),
        (vec![upgrade, cookie, own, offered, guessed], 401),
        (vec![upgrade, cookie, own, guessed, header], 401),
        // Not where headers can be sent.
        (vec![cookie, own, offered], 401),
        // Whoever has both, and is no page of ours.
        (vec![upgrade, cookie, offered], 403),
        (vec![upgrade, cookie, foreign, offered], 403),
        (vec![upgrade, cookie, allowed, offered], 403),
    ] {
        assert_eq!(case.admit("GET", &headers).unwrap_err(), status, "{headers:?}");
    }
}

#[test]
fn a_bad_credential_is_not_made_good_by_another() {
    let case = case();
    let bearer = format!("Bearer {}", case.token);
    let cookie = format!("{COOKIE}_7433={}", case.login.cookie);
    let page = ("x-switchyard-page", case.pass.as_str());
    for bad in ["Bearer wrong", "Basic x", "Bearer", "Bearer ", "", case.token.as_str()] {
        let both = [("authorization", bad), ("cookie", &cookie), page];
        assert_eq!(case.admit("GET", &both).unwrap_err(), 401, "{bad}");
    }
    let twice = [("authorization", bearer.as_str()), ("authorization", bearer.as_str())];
    assert_eq!(case.admit("GET", &twice).unwrap_err(), 401);
    let one = format!("{WS_TOKEN}{}", case.token);
    let twice = [
        ("upgrade", "websocket"),
        ("sec-websocket-protocol", one.as_str()),
        ("sec-websocket-protocol", one.as_str()),
    ];
    assert_eq!(case.admit("GET", &twice).unwrap_err(), 401);
}

#[test]
fn a_cookie_changes_something_for_our_own_page_only() {
    let case = case();
    let cookie = format!("{COOKIE}_7433={}", case.login.cookie);
    let cookie = ("cookie", cookie.as_str());
    let page = ("x-switchyard-page", case.pass.as_str());
    let own = ("origin", "http://127.0.0.1:7433");
    let allowed = ("origin", "https://app.example");
    let upgrade = ("upgrade", "websocket");

    for method in ["POST", "PUT", "PATCH", "DELETE", "OPTIONS", "PURGE"] {
        assert_eq!(case.admit(method, &[cookie, page]).unwrap_err(), 403, "{method}");
        assert_eq!(case.admit(method, &[cookie, page, allowed]).unwrap_err(), 403, "{method}");
        assert!(case.admit(method, &[cookie, page, own]).is_ok(), "{method}");
    }
    assert!(case.admit("GET", &[cookie, page]).is_ok());
    assert!(case.admit("GET", &[cookie, page, own, upgrade]).is_ok());
    assert_eq!(case.admit("GET", &[cookie, own, upgrade]).unwrap_err(), 401);
    assert_eq!(case.admit("GET", &[cookie, page, upgrade]).unwrap_err(), 403);
    assert_eq!(case.admit("GET", &[cookie, page, allowed]).unwrap_err(), 403);

    let bearer = format!("Bearer {}", case.token);
    assert!(case.admit("POST", &[("authorization", &bearer), allowed]).is_ok());
}

#[test]
fn nothing_that_a_client_claims_gives_it_power() {
    let case = case();
    let bearer = format!("Bearer {}", case.token);
    let claims = [
        ("authorization", bearer.as_str()),
        ("x-role", "admin"),
        ("x-scopes", "operator.admin"),
        ("x-forwarded-for", "127.0.0.1"),
        ("x-forwarded-user", "admin"),
        ("x-real-ip", "127.0.0.1"),
    ];
    assert_eq!(case.admit("GET", &claims).unwrap().role, Role::Observer);
    assert_eq!(case.admit("GET", &claims[1..]).unwrap_err(), 401);
}

#[test]
fn strange_requests_are_refused_before_anything_else() {
    let case = case();
    let bearer = format!("Bearer {}", case.token);
    let auth = ("authorization", bearer.as_str());
    for method in ["CONNECT", "TRACE"] {
        assert_eq!(case.admit(method, &[auth]).unwrap_err(), 405);
    }
    let many = vec![("x-a", "b"); MAX_HEADERS];
    assert_eq!(case.admit("GET", &many).unwrap_err(), 431);
    let long = format!("/v1/{}", "x".repeat(MAX_TARGET_BYTES));
    let parts = Request::builder().uri(long).body(()).unwrap().into_parts().0;
    assert_eq!(case.guard.admit(&parts, &arrival()).unwrap_err().status, 414);
}

#[test]
fn only_our_own_user_is_local_and_only_on_the_private_socket() {
    let case = case();
    let uid = rustix::process::geteuid().as_raw();
    let local = case.guard.admit_local(&Peer::Private { uid, is_worker: false }).unwrap();
    assert!(local.is_local && local.role == Role::Admin);
    assert!(case.guard.admit_local(&Peer::Private { uid: uid + 1, is_worker: false }).is_none());
    assert!(case.guard.admit_local(&Peer::Unix { uid }).is_none());
    assert!(case.guard.admit_local(&arrival().peer).is_none());

    let parts = Request::builder().uri("/v1/x").body(()).unwrap().into_parts().0;
    let by = |peer| case.guard.admit(&parts, &ConnectionInfo::new(peer, None, false));
    assert!(by(Peer::Private { uid, is_worker: false }).is_ok());
    assert_eq!(by(Peer::Private { uid: uid + 1, is_worker: false }).unwrap_err().status, 401);
    assert_eq!(by(Peer::Unix { uid }).unwrap_err().status, 401);
}

#[test]
fn a_token_on_the_private_socket_decides_over_the_user() {
    let case = case();
    let uid = rustix::process::geteuid().as_raw();
    let bearer = |token: &str| {
        let request = Request::builder().uri("/v1/x");
        let request = request.header("authorization", format!("Bearer {token}"));
        request.body(()).unwrap().into_parts().0
    };
    let by = |token: &str| {
        case.guard.admit(
            &bearer(token),
            &ConnectionInfo::new(Peer::Private { uid, is_worker: false }, None, false),
        )
    };
    let Ok(GuardDecision { admitted: Admission::As(principal), .. }) = by(&case.token) else {
        panic!()
    };
    assert_eq!(principal.role, Role::Observer);
    assert_eq!(by("wrong").unwrap_err().status, 401);
}

#[test]
fn secrets_are_taken_out_of_what_handlers_see() {
    let request = Request::builder()
        .header("authorization", "Bearer x")
        .header("cookie", "a=b")
        .header("x-switchyard-page", "x")
        .header("sec-websocket-protocol", "acp.v1, switchyard-token.x")
        .header("sec-websocket-protocol", "switchyard-page.x, other")
        .header("accept", "*/*");
    let mut headers = request.body(()).unwrap().into_parts().0.headers;
    credentials::strip(&mut headers);
    let left: Vec<_> =
        headers.iter().map(|(name, value)| (name.as_str(), value.to_str().unwrap())).collect();
    assert_eq!(left.len(), 2);
    assert!(left.contains(&("sec-websocket-protocol", "acp.v1, other")));

    let request = Request::builder().header("sec-websocket-protocol", "switchyard-token.x");
    let mut headers = request.body(()).unwrap().into_parts().0.headers;
    credentials::strip(&mut headers);
    assert!(headers.is_empty());
}

#[test]
fn settings_can_be_changed_while_it_stands() {
    let case = case();
    let bearer = format!("Bearer {}", case.token);
    let from = [("authorization", bearer.as_str()), ("origin", "https://new.example")];
    assert_eq!(case.admit("GET", &from).unwrap_err(), 403);

    let settings = |origin: &str| GuardSettings {
        allow_origins: vec![origin.into()],
        ..GuardSettings::default()
    };
    case.guard.reload(&settings("https://new.example")).unwrap();
    assert!(case.admit("GET", &from).is_ok());
    assert!(case.guard.reload(&settings("*")).is_err());
    assert!(case.admit("GET", &from).is_ok(), "bad settings change nothing");
}

#[test]
fn roles_are_checked_with_a_remedy() {
    let case = case();
    let observer = case.guard.admit_token(&case.token, &arrival().peer).unwrap();
    assert!(observer.require(Role::Observer).is_ok());
    let refused = observer.require(Role::Admin).unwrap_err();
    assert_eq!(refused.status, 403);
    assert!(refused.remedy.unwrap().contains("admin"));
}

mod heads;
