use super::*;

#[test]
fn the_open_routes_are_a_short_list() {
    let routes = Routes::default();
    for path in ["/", "/healthz", "/login", "/login.js", "/login.css"] {
        assert!(
            routes.is_open(&Method::GET, path) && routes.is_open(&Method::HEAD, path),
            "{path}"
        );
        assert!(!routes.is_open(&Method::POST, path), "{path}");
    }
    assert!(routes.is_open(&Method::POST, "/v1/login"));
    for path in [
        "",
        "//",
        "/v1/health",
        "/v1/sessions",
        "/metrics",
        "/v1/openapi.json",
        "/healthz/",
        "//healthz",
        "/healthz/../v1/sessions",
        "/Healthz",
        "/%68ealthz",
        "/healthz%2f",
        "/v1/login",
        "/login/x",
    ] {
        assert!(!routes.is_open(&Method::GET, path), "{path}");
    }
}

#[test]
fn patterns_are_those_of_the_router() {
    let upload = BodyRule { kind: BodyKind::Upload, max_bytes: Some(9) };
    let routes = Routes::default()
        .open(Method::GET, "/assets/{*file}")
        .body("/v1/sessions/{id}/attachments", upload);
    assert!(routes.is_open(&Method::GET, "/assets/a/b.js"));
    assert!(!routes.is_open(&Method::GET, "/assets/") && !routes.is_open(&Method::GET, "/assets"));
    assert_eq!(routes.body_rule("/v1/sessions/x/attachments"), upload);
    for path in [
        "/v1/sessions//attachments",
        "/v1/sessions/x/attachments/y",
        "/v1/sessions/x/y/attachments",
        "/v1/sessions/x",
    ] {
        assert_eq!(
            routes.body_rule(path),
            BodyRule { kind: BodyKind::Json, max_bytes: None },
            "{path}"
        );
    }
}
