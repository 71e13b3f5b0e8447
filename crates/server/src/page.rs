//! The page that people see, from inside the binary.
//!
//! In: `GET` of the page's documents and assets. Out: the files of `web/dist` as they were when
//! the binary was built, or a small page that says how to get them. They are for everybody:
//! they hold no secrets, and all that they show comes from the API, which asks for a login.
//!
//! Every file has a route of its own, made from the table. So there is no path that a request
//! could name which is not in it.

mod answer;

use axum::Router;
use axum::http::{HeaderMap, Method};
use axum::routing::get;

use crate::api::no_such_route;
use crate::guard::Routes;

/// What the page itself looks at the address for, as people type it, too; all of them are the
/// same document.
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
/// Here unknown names are told so, also to those who are not logged in.
const ASSETS: &str = "/assets/{*file}";

/// Whether the page is in this binary.
pub fn is_built() -> bool {
    IS_BUILT
}

/// Lets everybody have the page, and other sites link to it.
#[must_use]
pub fn opened(routes: Routes) -> Routes {
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

fn assets() -> impl Iterator<Item = &'static File> {
    FILES.iter().filter(|file| file.path != DOCUMENT)
}

fn address(file: &File) -> String {
    format!("/{}", file.path)
}

fn served(file: &'static File) -> axum::routing::MethodRouter {
    get(async move |headers: HeaderMap| answer::of(file, &headers))
}

/// A file, and its compressed copies where they are smaller.
#[derive(Debug)]
struct File {
    /// Below the page's root, without a slash in front: `assets/index-Dk3v0a1b.js`.
    path: &'static str,
    /// Changes with the content.
    digest: &'static str,
    plain: &'static [u8],
    brotli: Option<&'static [u8]>,
    gzip: Option<&'static [u8]>,
}

include!(concat!(env!("OUT_DIR"), "/page.rs"));

#[cfg(test)]
mod tests;
