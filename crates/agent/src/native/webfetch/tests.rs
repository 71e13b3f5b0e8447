//! Against a server of our own, which the settings allow.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use super::tool;
use crate::native::client::ClientAbilities;
use crate::native::settings::FetchSettings;
use crate::native::testing::rehearsal::{Rehearsal, work};
use crate::native::tool::{CallNeed, PreparedCall, ToolError};

struct Server {
    address: SocketAddr,
    requests: Arc<Mutex<Vec<String>>>,
}

impl Server {
    async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let requests = Arc::<Mutex<Vec<String>>>::default();
        let noted = Arc::clone(&requests);
        tokio::spawn(async move {
            let n = Arc::new(AtomicUsize::new(0));
            while let Ok((mut stream, _)) = listener.accept().await {
                let (noted, n) = (Arc::clone(&noted), Arc::clone(&n));
                tokio::spawn(async move {
                    let mut head = Vec::new();
                    while !head.ends_with(b"\r\n\r\n") {
                        match stream.read_u8().await {
                            Ok(byte) => head.push(byte),
                            Err(_) => return,
                        }
                    }
                    let head = String::from_utf8(head).unwrap();
                    let path = head.split(' ').nth(1).unwrap().to_owned();
                    noted.lock().unwrap().push(head);
                    let answer = answer(&path, address, n.fetch_add(1, Ordering::Relaxed));
                    let _ = stream.write_all(&answer).await;
                    if path == "/hang" {
                        std::future::pending::<()>().await;
                    }
                });
            }
        });
        Self { address, requests }
    }

    fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    fn n_asked(&self) -> usize {
        self.requests.lock().unwrap().len()
    }
}

fn answer(path: &str, address: SocketAddr, n: usize) -> Vec<u8> {
    let page = |kind: &str, body: &[u8]| {
        let head = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ncontent-length: {}\r\n\
             connection: close\r\n\r\n",
            body.len()
        );
        [head.as_bytes(), body].concat()
    };
    let redirect = |to: &str| {
        format!("HTTP/1.1 302 Found\r\nlocation: {to}\r\ncontent-length: 0\r\n\r\n").into_bytes()
    };
    let port = address.port();
    match path {
        "/page" => page("text/html; charset=utf-8", "<h1>Über</h1><p>text".as_bytes()),
        "/latin" => page("text/plain; charset=ISO-8859-1", b"gr\xfc\xdfe"),
        "/json" => page("application/json", b"{\"a\": 1}"),
        "/image" => page("image/png", b"\x89PNG"),
        "/zip" => b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-encoding: gzip\r\n\
            content-length: 1\r\n\r\nx"
            .to_vec(),
        "/large" => page("text/plain", &vec![b'x'; 3 << 20]),
        "/missing" => b"HTTP/1.1 404 Not Found\r\ncontent-type: text/plain\r\n\
            content-length: 7\r\n\r\nno such"
            .to_vec(),
        "/hang" => b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n\
            content-length: 10\r\n\r\nabc"
            .to_vec(),
        "/cut" => b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nabc".to_vec(),
        "/once" => redirect("/page"),
        "/loop" => redirect(&format!("/loop?{n}")),
        path if path.starts_with("/loop") => redirect(&format!("/loop?{n}")),
        "/file" => redirect("file:///etc/passwd"),
        "/metadata" => redirect("http://169.254.169.254/latest"),
        "/name" => redirect(&format!("http://localhost:{port}/page")),
        "/public" => redirect("https://example.org/next"),
        "/user" => redirect(&format!("http://user:secret@127.0.0.1:{port}/page")),
        "/nonsense" => redirect("http://[::"),
        _ => page("text/plain", path.as_bytes()),
    }
}

/// Only the server's own address is allowed, by its name in URLs.
fn rehearse() -> Rehearsal {
    Rehearsal::new(ClientAbilities::default(), |settings| {
        settings.webfetch = FetchSettings {
            private_hosts: vec!["127.0.0.1".into()],
            max_bytes: 1 << 20,
            ..FetchSettings::default()
        };
    })
}

async fn prepare(stage: &Rehearsal, url: &str, format: &str) -> Result<PreparedCall, ToolError> {
    tool().prepare(json!({ "url": url, "format": format }), &stage.context).await
}

async fn fetch(stage: &Rehearsal, url: &str) -> String {
    work(prepare(stage, url, "markdown").await.unwrap()).await
}

async fn refusal(stage: &Rehearsal, url: &str) -> String {
    match prepare(stage, url, "text").await {
        Err(error) => error.to_string(),
        Ok(prepared) => prepared.work.await.unwrap_err().to_string(),
    }
}

#[tokio::test]
async fn a_page_is_asked_about_by_its_host_and_read_as_markdown() {
    let (stage, server) = (rehearse(), Server::start().await);
    let url = server.url("/page");
    let prepared = prepare(&stage, &url, "markdown").await.unwrap();
    let key = format!("fetch:{}", server.address);
    assert_eq!(prepared.need, CallNeed::Permission { key });
    assert_eq!(prepared.shown.title, url);
    assert_eq!(server.n_asked(), 0, "nothing is fetched before somebody has allowed it");
    assert_eq!(work(prepared).await, format!("{url} (text/html)\n\n# Über\n\ntext"));
    let html = work(prepare(&stage, &url, "html").await.unwrap()).await;
    assert!(html.ends_with("<h1>Über</h1><p>text"), "{html}");
    let request = server.requests.lock().unwrap()[0].to_ascii_lowercase();
    assert!(!request.contains("referer") && !request.contains("accept-encoding"), "{request}");
}

#[tokio::test]
async fn other_text_comes_as_it_is_and_other_things_not_at_all() {
    let (stage, server) = (rehearse(), Server::start().await);
    assert!(fetch(&stage, &server.url("/json")).await.ends_with("{\"a\": 1}"));
    assert!(fetch(&stage, &server.url("/latin")).await.ends_with("grüße"));
    let refused = refusal(&stage, &server.url("/image")).await;
    assert!(refused.contains("image/png of 4 bytes"), "{refused}");
    assert!(refusal(&stage, &server.url("/zip")).await.contains("compressed (gzip)"));
    let missing = refusal(&stage, &server.url("/missing")).await;
    assert!(missing.contains("404 Not Found: no such"), "{missing}");
    assert!(refusal(&stage, &server.url("/cut")).await.contains("could not be fetched"));
}

#[tokio::test]
async fn what_is_too_large_is_cut_and_what_takes_too_long_is_left() {
    let stage = Rehearsal::new(ClientAbilities::default(), |settings| {
        settings.webfetch.allow_private = true;
        settings.webfetch.max_bytes = 100_000;
        settings.webfetch.timeout = Duration::from_secs(2);
    });
    let server = Server::start().await;
    let told = fetch(&stage, &server.url("/large")).await;
    assert!(told.len() < 31_000, "{}", told.len());
    assert!(told.contains("cut after 30000 of 100000 characters"));
    assert!(told.ends_with("the rest is missing …]"));
    assert!(refusal(&stage, &server.url("/hang")).await.contains("took longer than 2 s"));
}

#[tokio::test]
async fn redirections_are_followed_as_far_as_they_were_allowed() {
    let (stage, server) = (rehearse(), Server::start().await);
    assert!(fetch(&stage, &server.url("/once")).await.contains("# Über"));
    let told = fetch(&stage, &server.url("/public")).await;
    assert!(told.contains("fetch https://example.org/next if"), "{told}");

    let n_before = server.n_asked();
    assert!(refusal(&stage, &server.url("/loop")).await.contains("more than 5 times"));
    assert_eq!(server.n_asked() - n_before, 6);

    let refused = [
        ("/file", "only http and https"),
        ("/metadata", "not on the public internet (link-local)"),
        ("/user", "user name or password"),
        ("/nonsense", "not a URL"),
    ];
    for (path, why) in refused {
        let told = refusal(&stage, &server.url(path)).await;
        assert!(told.contains(why), "{path}: {told}");
    }
    // A name is another host, whatever it resolves to.
    let told = fetch(&stage, &server.url("/name")).await;
    assert!(told.contains("redirects to another host"), "{told}");
}

#[tokio::test]
async fn no_spelling_of_an_inside_address_is_fetched() {
    let stage = Rehearsal::new(ClientAbilities::default(), |_| {});
    let server = Server::start().await;
    let port = server.address.port();
    let hosts = [
        "127.0.0.1",
        "127.1",
        "2130706433",
        "0x7f000001",
        "0177.0.0.1",
        "0x7f.1",
        "localhost",
        "LOCALHOST",
        "localhost.",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "[0:0:0:0:0:ffff:7f00:1]",
        "[64:ff9b::7f00:1]",
        "[::]",
        "0.0.0.0",
        "0",
        "１２７.0.0.1",
        "127。0。0。1",
        "10.0.0.1",
        "169.254.169.254",
        "[fe80::1]",
        "[fd00:ec2::254]",
        "%31%32%37.0.0.1",
    ];
    for host in hosts {
        let told = refusal(&stage, &format!("http://{host}:{port}/page")).await;
        assert!(
            told.contains("not on the public internet") || told.contains("cannot be resolved"),
            "{host}: {told}"
        );
    }
    assert_eq!(server.n_asked(), 0);
}

#[tokio::test]
async fn a_name_is_judged_by_its_address_and_connected_to_there() {
    let server = Server::start().await;
    let stage = Rehearsal::new(ClientAbilities::default(), |settings| {
        settings.webfetch.private_hosts = vec!["LocalHost".into()];
    });
    let url = format!("http://localhost:{}/page", server.address.port());
    // Where it also has an address that nobody listens at, the other is tried.
    assert!(fetch(&stage, &url).await.contains("# Über"));
}

#[tokio::test]
async fn what_is_no_url_of_the_web_is_refused_before_anybody_is_asked() {
    let stage = rehearse();
    let bad = [
        "",
        "example.org",
        "file:///etc/passwd",
        "ftp://example.org",
        "javascript:alert(1)",
        "data:text/plain,x",
        "http://",
        "http://user@example.org/",
        "https://a:b@example.org/",
        "http://ex ample.org/",
        "gopher://x",
        "http://10.0.0.1/",
        "http://exa\0mple.org/",
    ];
    for url in bad {
        assert!(prepare(&stage, url, "text").await.is_err(), "{url}");
    }
    assert!(prepare(&stage, "https://example.org/", "pdf").await.is_err());
    let prepared = prepare(&stage, "https://EXAMPLE.org:443/a\u{202e}b", "text").await.unwrap();
    assert_eq!(prepared.need, CallNeed::Permission { key: "fetch:example.org".into() });
    assert!(prepared.shown.title.is_ascii(), "{}", prepared.shown.title);
}
