use std::sync::Arc;

use axum::body::Body;
use axum::http::{Request, StatusCode};
use axum::response::Response;

use super::*;
use crate::guard::{ConnectionInfo, Guard, GuardSettings, GuardedRouter, Peer};
use crate::limits::HttpLimits;
use crate::tokens::Tokens;

struct Case {
    _dir: tempfile::TempDir,
    guarded: GuardedRouter,
}

fn case() -> Case {
    let dir = tempfile::tempdir().unwrap();
    let tokens = Tokens::open(dir.path()).unwrap();
    let routes = with_page_routes(Routes::default());
    let guard = Arc::new(Guard::new(tokens, routes, &GuardSettings::default()).unwrap());
    let router = router().fallback(no_such_route);
    Case { _dir: dir, guarded: GuardedRouter::new(guard, router, HttpLimits::default()) }
}

impl Case {
    async fn ask(&self, method: &str, path: &str, headers: &[(&str, &str)]) -> Response {
        let at = |port| std::net::SocketAddr::from(([127, 0, 0, 1], port));
        let mut request = Request::builder().method(method).uri(path);
        request = request.header("host", "127.0.0.1:7433");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let arrival = ConnectionInfo::new(Peer::Net(at(50_000)), Some(at(7433)), false);
        let request = request.extension(arrival).body(Body::empty()).unwrap();
        self.guarded.clone().handle(request).await
    }
}

async fn text(response: Response) -> String {
    let body = axum::body::to_bytes(response.into_body(), 8 << 20).await.unwrap();
    String::from_utf8(body.to_vec()).unwrap()
}

#[tokio::test]
async fn every_path_of_the_page_is_its_document_and_needs_no_token() {
    let case = case();
    let home = text(case.ask("GET", "/", &[]).await).await;
    assert!(home.contains("Switchyard"), "{home}");
    let plain = ["/agents", "/approvals", "/sessions/0123abc", "/login", "/sessions"];
    let slashed = ["/agents/", "/approvals/", "/sessions/0123abc/", "/login/", "/sessions/"];
    for path in plain.into_iter().chain(slashed) {
        let response = case.ask("GET", path, &[]).await;
        assert_eq!(response.status(), StatusCode::OK, "{path}");
        assert_eq!(response.headers()["content-type"], "text/html; charset=utf-8");
        assert_eq!(response.headers()["cache-control"], "no-cache");
        let length = response.headers()["content-length"].clone();
        assert_eq!(text(response).await, home, "{path}");
        let head = case.ask("HEAD", path, &[]).await;
        assert_eq!((head.status(), &head.headers()["content-length"]), (StatusCode::OK, &length));
        assert!(text(head).await.is_empty());
        assert_eq!(case.ask("POST", path, &[]).await.status(), 401, "{path}");
    }
}

#[tokio::test]
async fn the_document_asks_for_nothing_but_its_own_assets_which_are_there() {
    let case = case();
    let home = text(case.ask("GET", "/", &[]).await).await;
    assert!(!home.contains("<style") && !home.contains(" style="), "{home}");
    assert!(!home.contains("http://") && !home.contains("https://"), "{home}");
    for script in home.split("<script").skip(1) {
        assert!(script.contains("src=\"/assets/"), "inline script in {home}");
    }
    let assets: Vec<_> =
        home.split(['"', '\'']).filter(|one| one.starts_with("/assets/")).collect();
    assert!(!assets.is_empty(), "{home}");
    for asset in assets {
        let response = case.ask("GET", asset, &[]).await;
        assert_eq!(response.status(), StatusCode::OK, "{asset}");
        assert_ne!(response.headers()["content-type"], "application/octet-stream", "{asset}");
        let tag = response.headers()["etag"].to_str().unwrap().to_owned();
        let again = case.ask("GET", asset, &[("if-none-match", &tag)]).await;
        assert_eq!(again.status(), StatusCode::NOT_MODIFIED, "{asset}");
    }
}

#[tokio::test]
async fn what_is_not_in_the_table_is_not_served() {
    let case = case();
    for path in [
        "/assets/nothing.js",
        "/assets/../index.html",
        "/assets/..%2f..%2fCargo.toml",
        "/assets/%2e%2e/index.html",
        "/assets/no-page.css/",
        "/assets/index.html",
    ] {
        assert_eq!(case.ask("GET", path, &[]).await.status(), 404, "{path}");
    }
    // Everything else is the API's, where nobody learns what there is.
    let html = [("accept", "text/html,application/xhtml+xml;q=0.9,*/*;q=0.8")];
    let others = ["/index.html", "/assets", "/assets/", "/assets//etc/passwd", "/favicon.gif"];
    for path in others.into_iter().chain(["/sessions/a/b", "/agents/x", "//", "/v1x"]) {
        assert_eq!(case.ask("GET", path, &[]).await.status(), 401, "{path}");
        assert_eq!(case.ask("POST", path, &html).await.status(), 401, "{path}");
        // But a person who mistyped an address is not asked for a token.
        let response = case.ask("GET", path, &html).await;
        assert_eq!(response.status(), 404, "{path}");
        assert_eq!(response.headers()["content-type"], "application/problem+json", "{path}");
    }
    for path in ["/v1/sessions", "/v1/nothing", "/v1", "/api/x", "/acp", "/metrics"] {
        assert_eq!(case.ask("GET", path, &html).await.status(), 401, "{path}");
    }
}

#[tokio::test]
async fn every_answer_of_the_page_has_the_strict_headers() {
    let case = case();
    for path in ["/", "/login", "/sessions/x", "/assets/nothing.js"] {
        let response = case.ask("GET", path, &[]).await;
        let said = |name: &str| response.headers()[name].to_str().unwrap();
        let policy = said("content-security-policy");
        for part in [
            "default-src 'none'",
            "script-src 'self'",
            "style-src 'self'",
            "img-src 'self' blob: data:",
            "font-src 'self'",
            "connect-src 'self'",
            "base-uri 'none'",
            "form-action 'none'",
            "frame-ancestors 'none'",
            "require-trusted-types-for 'script'",
        ] {
            assert!(policy.split("; ").any(|one| one == part), "{part}: {policy}");
        }
        assert!(!policy.contains("unsafe") && !policy.contains('*'), "{policy}");
        assert_eq!(said("x-content-type-options"), "nosniff");
        assert_eq!(said("referrer-policy"), "no-referrer");
        assert_eq!(said("cross-origin-opener-policy"), "same-origin");
        assert_eq!(said("cross-origin-resource-policy"), "same-origin");
        assert_eq!(said("x-frame-options"), "DENY");
        assert!(said("permissions-policy").contains("camera=()"));
    }
}

#[tokio::test]
async fn other_sites_may_link_to_the_page_and_do_nothing_else() {
    let case = case();
    let visit = [
        ("sec-fetch-site", "cross-site"),
        ("sec-fetch-mode", "navigate"),
        ("sec-fetch-dest", "document"),
    ];
    for path in ["/", "/sessions/x", "/login"] {
        assert_eq!(case.ask("GET", path, &visit).await.status(), 200, "{path}");
        assert_eq!(case.ask("POST", path, &visit).await.status(), 403, "{path}");
        let with = |name: &'static str, value: &'static str| {
            let mut headers = visit.to_vec();
            headers.retain(|(one, _)| *one != name);
            headers.push((name, value));
            headers
        };
        for headers in [
            with("sec-fetch-dest", "iframe"),
            with("sec-fetch-dest", "object"),
            with("sec-fetch-dest", "empty"),
            with("sec-fetch-mode", "no-cors"),
            with("sec-fetch-mode", "cors"),
            with("origin", "http://evil.test"),
            with("origin", "null"),
            with("host", "evil.test"),
            visit[..1].to_vec(),
        ] {
            let status = case.ask("GET", path, &headers).await.status();
            assert!(status == 403 || status == 400, "{path} {headers:?}: {status}");
        }
    }
    for path in ["/assets/no-page.css", "/v1/sessions", "/healthz", "/metrics"] {
        assert_eq!(case.ask("GET", path, &visit).await.status(), 403, "{path}");
    }
}

static SCRIPT: PageFile = PageFile {
    path: "assets/index-Dk3v_a-b.js",
    digest: "d1",
    plain: b"plain",
    brotli: Some(b"b"),
    gzip: Some(b"gz"),
};
static ICON: PageFile =
    PageFile { path: "assets/icon.svg", digest: "d2", plain: b"<svg/>", brotli: None, gzip: None };

fn asked(headers: &[(&'static str, &str)]) -> HeaderMap {
    let pairs = headers.iter().map(|(name, value)| {
        (header::HeaderName::from_static(name), HeaderValue::from_str(value).unwrap())
    });
    pairs.collect()
}

async fn body(response: Response) -> Vec<u8> {
    axum::body::to_bytes(response.into_body(), 1 << 20).await.unwrap().to_vec()
}

#[tokio::test]
async fn the_smallest_form_that_the_client_reads_is_sent() {
    for (accepts, encoding, bytes) in [
        ("gzip, deflate, br, zstd", Some("br"), b"b".as_slice()),
        ("br;q=1.0", Some("br"), b"b"),
        ("br;q=0, gzip", Some("gzip"), b"gz"),
        ("BR; Q=0.001", Some("br"), b"b"),
        ("gzip", Some("gzip"), b"gz"),
        ("br;q=0", None, b"plain"),
        ("br;q=nonsense", None, b"plain"),
        ("identity", None, b"plain"),
        ("brotli", None, b"plain"),
        ("", None, b"plain"),
    ] {
        let response = answer(&SCRIPT, &asked(&[("accept-encoding", accepts)]));
        let said = response.headers().get("content-encoding").map(|said| said.to_str().unwrap());
        assert_eq!(said, encoding, "{accepts}");
        assert_eq!(response.headers()["vary"], "accept-encoding");
        assert_eq!(response.headers()["content-type"], "text/javascript; charset=utf-8");
        assert_eq!(body(response).await, bytes, "{accepts}");
    }
    let response = answer(&ICON, &asked(&[("accept-encoding", "br, gzip")]));
    assert!(!response.headers().contains_key("content-encoding"));
    assert_eq!(response.headers()["content-type"], "image/svg+xml");
}

#[tokio::test]
async fn what_the_client_has_is_not_sent_again() {
    let known = |tag: &str, accepts: &str| {
        answer(&SCRIPT, &asked(&[("if-none-match", tag), ("accept-encoding", accepts)]))
    };
    for (tag, accepts, status) in [
        ("\"d1\"", "", 304),
        ("W/\"d1\"", "", 304),
        ("\"x\", \"d1\"", "", 304),
        ("*", "", 304),
        ("\"d1-br\"", "br", 304),
        // Another form is another thing.
        ("\"d1\"", "br", 200),
        ("\"d1-br\"", "gzip", 200),
        ("\"d2\"", "", 200),
        ("d1", "", 200),
    ] {
        let response = known(tag, accepts);
        assert_eq!(response.status(), status, "{tag} {accepts}");
        assert!(response.headers().contains_key("etag"));
        assert!(response.headers().contains_key("cache-control"));
        if status == 304 {
            assert!(body(response).await.is_empty());
        }
    }
}

#[test]
fn only_names_that_hold_a_digest_are_kept_for_ever() {
    for (path, is_lasting) in [
        ("assets/index-Dk3v_a-b.js", true),
        ("assets/session-view-0a1b2c3d.css", true),
        ("assets/index-Dk3v0a1b.js.map", true),
        ("assets/icon.svg", false),
        ("assets/no-page.css", false),
        ("assets/index-short.js", false),
        ("assets/Dk3v0a1b.js", false),
        ("assets/é-ééééé.js", false),
        ("index-Dk3v0a1b.html", false),
        ("index.html", false),
    ] {
        assert_eq!(is_named_by_content(path), is_lasting, "{path}");
    }
}
