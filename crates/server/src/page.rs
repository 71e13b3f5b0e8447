//! The web page, served from inside the binary.
//!
//! In: `GET` of the page's documents and assets. Out: the files of `web/dist` as they were when
//! the binary was built, or a small page that says how to get them: in which form, for how long, or
//! not again. They are for everybody: they hold no secrets, and all that they show comes from the
//! API, which asks for a login.
//!
//! Every file has a route of its own, made from the table. So there is no path that a request
//! could name which is not in it.

use axum::Router;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use bytes::Bytes;

use crate::guard::Routes;
use crate::header_lists::list_items;
use crate::input::no_such_route;

/// Paths that the page itself routes, also as people type them; all of them are the same document.
const DOCUMENTS: [&str; 11] = [
    "/",
    "/agents",
    "/agents/",
    "/approvals",
    "/approvals/",
    "/sessions",
    "/sessions/",
    "/sessions/{id}",
    "/sessions/{id}/",
    "/login",
    "/login/",
];
const DOCUMENT: &str = "index.html";
/// The route of assets: unknown names are answered with 404 also without a login.
const ASSETS: &str = "/assets/{*file}";

/// Whether the page is in this binary.
pub fn is_built() -> bool {
    IS_BUILT
}

/// Lets everybody have the page, and other sites link to it.
#[must_use]
pub fn with_page_routes(routes: Routes) -> Routes {
    let routes = DOCUMENTS.into_iter().fold(routes, Routes::document);
    let routes = assets().fold(routes, |routes, file| routes.open(Method::GET, address(file)));
    routes.open(Method::GET, ASSETS)
}

pub(crate) fn router() -> Router {
    let mut router = Router::new().route(ASSETS, get(no_such_route));
    if let Some(document) = FILES.iter().find(|file| file.path == DOCUMENT) {
        for path in DOCUMENTS {
            router = router.route(path, served(document));
        }
    }
    assets().fold(router, |router, file| router.route(&address(file), served(file)))
}

fn assets() -> impl Iterator<Item = &'static PageFile> {
    FILES.iter().filter(|file| file.path != DOCUMENT)
}

fn address(file: &PageFile) -> String {
    format!("/{}", file.path)
}

fn served(file: &'static PageFile) -> axum::routing::MethodRouter {
    get(async move |headers: HeaderMap| answer(file, &headers))
}

/// A file, and its compressed copies where they are smaller.
#[derive(Debug)]
struct PageFile {
    /// Below the page's root, without a slash in front: `assets/index-Dk3v0a1b.js`.
    path: &'static str,
    /// Changes with the content.
    digest: &'static str,
    plain: &'static [u8],
    brotli: Option<&'static [u8]>,
    gzip: Option<&'static [u8]>,
}

include!(concat!(env!("OUT_DIR"), "/page.rs"));

/// A name with a digest in it never means anything else: asking again is not needed.
const IMMUTABLE: &str = "public, max-age=31536000, immutable";
/// Everything else may be kept, and is asked about each time.
const REVALIDATE: &str = "no-cache";
/// Letters of the digest in the names that the page's build makes.
const DIGEST_LETTERS: usize = 8;

fn answer(file: &'static PageFile, asked: &HeaderMap) -> Response {
    let (bytes, encoding) = encoded(file, asked);
    let tag = match encoding {
        Some(encoding) => format!("\"{}-{encoding}\"", file.digest),
        None => format!("\"{}\"", file.digest),
    };
    let lasting = if is_named_by_content(file.path) { IMMUTABLE } else { REVALIDATE };
    let is_known = knows(asked, &tag);
    let mut response = match is_known {
        true => StatusCode::NOT_MODIFIED.into_response(),
        false => Bytes::from_static(bytes).into_response(),
    };
    let headers = response.headers_mut();
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static(lasting));
    headers.insert(header::VARY, HeaderValue::from_static("accept-encoding"));
    if let Ok(tag) = HeaderValue::try_from(tag) {
        headers.insert(header::ETAG, tag);
    }
    if is_known {
        return response;
    }
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type(file.path)));
    if let Some(encoding) = encoding {
        headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static(encoding));
    }
    response
}

/// The smallest form that the client can read: its bytes, and its encoding if it is compressed.
fn encoded(file: &PageFile, asked: &HeaderMap) -> (&'static [u8], Option<&'static str>) {
    let copies = [("br", file.brotli), ("gzip", file.gzip)];
    let fitting = copies.into_iter().find_map(|(encoding, copy)| {
        let bytes = copy.filter(|_| takes(asked, encoding))?;
        Some((bytes, Some(encoding)))
    });
    fitting.unwrap_or((file.plain, None))
}

/// Whether an encoding is named, and not with the weight zero.
fn takes(asked: &HeaderMap, encoding: &str) -> bool {
    list_items(asked, &header::ACCEPT_ENCODING, ',').any(|one| {
        let mut parts = one.split(';').map(str::trim);
        let is_named = parts.next().is_some_and(|name| name.eq_ignore_ascii_case(encoding));
        let weight = parts.find_map(|part| part.strip_prefix("q=").or(part.strip_prefix("Q=")));
        is_named && weight.is_none_or(|weight| weight.parse::<f32>().is_ok_and(|q| q > 0.0))
    })
}

/// Whether the client has this form already.
fn knows(asked: &HeaderMap, tag: &str) -> bool {
    list_items(asked, &header::IF_NONE_MATCH, ',')
        .any(|one| one == "*" || one.strip_prefix("W/").unwrap_or(one) == tag)
}

/// `assets/index-Dk3v0a1b.js`, as the page's build names what it makes.
fn is_named_by_content(path: &str) -> bool {
    let name = path.strip_prefix("assets/").and_then(|name| name.split_once('.'));
    let tail = name.and_then(|(stem, _)| {
        let (rest, tail) = stem.split_at_checked(stem.len().checked_sub(DIGEST_LETTERS)?)?;
        rest.ends_with('-').then_some(tail)
    });
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    tail.is_some_and(|tail| tail.bytes().all(is_letter))
}

/// The content type by extension; given for all files, as browsers are told not to guess.
fn content_type(path: &str) -> &'static str {
    match path.rsplit_once('.').map_or("", |(_, extension)| extension) {
        "html" => "text/html; charset=utf-8",
        "js" | "mjs" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "ico" => "image/x-icon",
        "woff2" => "font/woff2",
        "json" | "map" => "application/json",
        "webmanifest" => "application/manifest+json",
        "txt" => "text/plain; charset=utf-8",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests;
