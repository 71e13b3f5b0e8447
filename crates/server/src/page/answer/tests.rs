use super::*;

static SCRIPT: File = File {
    path: "assets/index-Dk3v_a-b.js",
    digest: "d1",
    plain: b"plain",
    brotli: Some(b"b"),
    gzip: Some(b"gz"),
};
static ICON: File =
    File { path: "assets/icon.svg", digest: "d2", plain: b"<svg/>", brotli: None, gzip: None };

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
        let response = of(&SCRIPT, &asked(&[("accept-encoding", accepts)]));
        let said = response.headers().get("content-encoding").map(|said| said.to_str().unwrap());
        assert_eq!(said, encoding, "{accepts}");
        assert_eq!(response.headers()["vary"], "accept-encoding");
        assert_eq!(response.headers()["content-type"], "text/javascript; charset=utf-8");
        assert_eq!(body(response).await, bytes, "{accepts}");
    }
    let response = of(&ICON, &asked(&[("accept-encoding", "br, gzip")]));
    assert!(!response.headers().contains_key("content-encoding"));
    assert_eq!(response.headers()["content-type"], "image/svg+xml");
}

#[tokio::test]
async fn what_the_client_has_is_not_sent_again() {
    let known = |tag: &str, accepts: &str| {
        of(&SCRIPT, &asked(&[("if-none-match", tag), ("accept-encoding", accepts)]))
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
