use super::*;

#[test]
fn the_open_routes_are_a_short_list() {
    let routes = Routes::default();
    assert!(routes.is_open(&Method::GET, "/healthz") && routes.is_open(&Method::HEAD, "/healthz"));
    assert!(!routes.is_open(&Method::POST, "/healthz"));
    assert!(routes.is_open(&Method::POST, "/v1/login"));
    for path in [
        "",
        "/",
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
        "/login",
    ] {
        assert!(!routes.is_open(&Method::GET, path), "{path}");
    }
}

#[test]
fn only_documents_may_be_led_to() {
    let routes = Routes::default().document("/sessions/{id}").open(Method::GET, "/assets/{*file}");
    assert!(routes.is_open(&Method::GET, "/sessions/x") && routes.is_document("/sessions/x"));
    for path in ["/sessions/", "/sessions/x/y", "/assets/x", "/healthz", "/v1/login", "/"] {
        assert!(!routes.is_document(path), "{path}");
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
