use axum::http::Request;
use proptest::prelude::*;

use super::*;

const HOST: &str = "127.0.0.1:7433";

fn origins() -> Origins {
    Origins::new(&["https://app.example".to_owned(), "http://localhost:5173".to_owned()]).unwrap()
}

fn check(headers: &[(&str, &str)]) -> Result<RequestOrigin, u16> {
    let mut request = Request::builder().uri("/");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let parts = request.body(()).unwrap().into_parts().0;
    origins().check(&parts, HOST, false, false).map_err(|problem| problem.status)
}

#[test]
fn our_own_page_and_named_ones_may_call() {
    assert_eq!(check(&[]), Ok(RequestOrigin::None));
    assert_eq!(check(&[("origin", "http://127.0.0.1:7433")]), Ok(RequestOrigin::Own));
    let own = [("origin", "http://127.0.0.1:7433"), ("sec-fetch-site", "same-origin")];
    assert_eq!(check(&own), Ok(RequestOrigin::Own));
    assert_eq!(check(&[("sec-fetch-site", "none")]), Ok(RequestOrigin::None));
    assert_eq!(check(&[("sec-fetch-site", "same-origin")]), Ok(RequestOrigin::None));
    for site in ["cross-site", "same-site"] {
        for origin in ["https://app.example", "http://localhost:5173"] {
            let page = check(&[("origin", origin), ("sec-fetch-site", site)]);
            assert_eq!(page, Ok(RequestOrigin::Allowed(HeaderValue::from_static(origin))));
        }
    }
}

#[test]
fn no_other_page_may() {
    for origin in [
        "null",
        "*",
        "",
        "http://evil.test",
        "http://evil.test:7433",
        "https://127.0.0.1:7433",
        "http://127.0.0.1",
        "http://127.0.0.1:7434",
        "http://127.0.0.1:7433/",
        "http://127.0.0.1:7433.evil.test",
        "http://localhost:7433",
        "http://[::1]:7433",
        "HTTP://127.0.0.1:7433",
        "http://user@127.0.0.1:7433",
        "file://",
        "chrome-extension://abcdef",
        "https://app.example.evil.test",
        "https://evil.test/https://app.example",
        "http://app.example",
        "https://app.example:443",
        "https://APP.example",
        "https://app.example, http://127.0.0.1:7433",
    ] {
        assert_eq!(check(&[("origin", origin)]), Err(403), "{origin}");
    }
    let two = [("origin", "http://127.0.0.1:7433"), ("origin", "http://127.0.0.1:7433")];
    assert_eq!(check(&two), Err(400));
}

#[test]
fn what_a_browser_marks_as_foreign_is_refused() {
    for site in ["cross-site", "same-site", "Cross-Site", "", "whatever", "none, same-origin"] {
        assert_eq!(check(&[("sec-fetch-site", site)]), Err(403), "{site}");
        let own = [("origin", "http://127.0.0.1:7433"), ("sec-fetch-site", site)];
        assert_eq!(check(&own), Err(403), "{site}");
    }
    assert_eq!(check(&[("sec-fetch-site", "none"), ("sec-fetch-site", "none")]), Err(400));
}

#[test]
fn origins_are_configured_as_browsers_send_them() {
    assert_eq!(parse("HTTPS://App.Example:443").as_deref(), Some("https://app.example"));
    assert_eq!(parse("http://a:8080").as_deref(), Some("http://a:8080"));
    assert_eq!(parse("tauri://localhost").as_deref(), Some("tauri://localhost"));
    for text in [
        "",
        "*",
        "null",
        "https://*",
        "https://*.example",
        "app.example",
        "https://",
        "https://a/",
        "https://a/b",
        "https://u@a",
        "://a",
        "https://a:x",
        "https://a b",
    ] {
        assert_eq!(parse(text), None, "{text}");
    }
}

proptest! {
    #[test]
    fn only_known_origins_pass(text in "[ -~]{0,40}") {
        let known = ["http://127.0.0.1:7433", "https://app.example", "http://localhost:5173"];
        let value = HeaderValue::from_str(&text).unwrap();
        let page = origins().recognise(&value, HOST, false);
        prop_assert_eq!(page.is_some(), known.contains(&text.as_str()));
    }

    #[test]
    fn bytes_never_pass_for_an_origin(bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
        if let Ok(value) = HeaderValue::from_bytes(&bytes) {
            let page = origins().recognise(&value, HOST, false);
            prop_assert!(page.is_none() || bytes.is_ascii());
        }
    }

    #[test]
    fn what_is_configured_is_what_passes(text in "[a-zA-Z]{1,6}://[a-zA-Z0-9.:/*@-]{0,20}") {
        if let Some(parsed) = parse(&text) {
            let origins = Origins::new(&[text]).unwrap();
            let value = HeaderValue::from_str(&parsed).unwrap();
            prop_assert_eq!(origins.recognise(&value, HOST, false), Some(RequestOrigin::Allowed(value)));
        }
    }
}
