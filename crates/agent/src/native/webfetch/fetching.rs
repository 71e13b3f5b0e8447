//! Fetches a page, and nothing but a page.
//!
//! Every hop is checked anew: its scheme, its name and every address that the name has. The
//! connection goes to the addresses that were checked, so a name that changes its mind is not
//! asked a second time. No proxy has a say in it, because it would resolve names itself.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use reqwest::header::{ACCEPT, CONTENT_ENCODING, CONTENT_TYPE, HeaderMap, LOCATION};
use reqwest::{Response, Url};

use super::addresses::not_public;
use crate::native::http;
use crate::native::settings::FetchSettings;
use crate::native::tool_call::ToolError;

const MAX_REDIRECTS: usize = 5;
/// Names with more addresses than this do not need them all.
const MAX_ADDRESSES: usize = 16;
const CONNECT_WITHIN: Duration = Duration::from_secs(10);

/// The result of a fetch.
#[derive(Debug)]
pub(super) enum FetchOutcome {
    Page(FetchedPage),
    /// A redirect to another host, which nobody was asked about.
    Elsewhere(Url),
}

#[derive(Debug)]
pub(super) struct FetchedPage {
    pub(super) url: Url,
    /// Lower case, without parameters.
    pub(super) kind: String,
    pub(super) text: String,
    /// The page was longer.
    pub(super) is_cut: bool,
}

/// Reads a URL and checks all that can be checked without asking anybody.
pub(super) fn read_url(text: &str, settings: &FetchSettings) -> Result<Url, ToolError> {
    let text = text.trim();
    let url = Url::parse(text).map_err(|_| {
        ToolError(format!(
            "`{text}` is not a URL; give a whole one, such as https://example.org/page"
        ))
    })?;
    check(&url, settings)?;
    Ok(url)
}

fn check(url: &Url, settings: &FetchSettings) -> Result<(), ToolError> {
    if !matches!(url.scheme(), "http" | "https") {
        let scheme = url.scheme();
        return Err(ToolError(format!("only http and https can be fetched, not `{scheme}`")));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(ToolError::new("the URL has a user name or password in it; fetch it without"));
    }
    let host = host_of(url)?;
    match literal(host) {
        Some(address) => check_address(host, address, settings),
        None => Ok(()),
    }
}

fn host_of(url: &Url) -> Result<&str, ToolError> {
    let host = url.host_str().filter(|host| !host.is_empty());
    host.ok_or_else(|| ToolError::new("the URL names no host"))
}

fn failed(url: &Url, error: &reqwest::Error) -> ToolError {
    let why = http::reasons(error).unwrap_or_else(|| error.to_string());
    ToolError(format!("{url} could not be fetched: {why}"))
}

pub(super) async fn fetch(
    url: Url,
    accept: &str,
    settings: &FetchSettings,
) -> Result<FetchOutcome, ToolError> {
    let asked = url.to_string();
    let getting = get(url, accept, settings);
    tokio::time::timeout(settings.timeout, getting).await.unwrap_or_else(|_| {
        let limit = settings.timeout.as_secs();
        Err(ToolError(format!("{asked} took longer than {limit} s")))
    })
}

async fn get(
    first: Url,
    accept: &str,
    settings: &FetchSettings,
) -> Result<FetchOutcome, ToolError> {
    let mut url = first.clone();
    for _ in 0..=MAX_REDIRECTS {
        check(&url, settings)?;
        let response = ask(&url, accept, settings).await?;
        let Some(next) = redirection(&url, &response)? else {
            return read(url, response, settings).await.map(FetchOutcome::Page);
        };
        if url.scheme() == "https" && next.scheme() == "http" {
            return Err(ToolError(format!("{url} redirects from https to http; not followed")));
        }
        check(&next, settings)?;
        if !is_same_site(&first, &next) {
            return Ok(FetchOutcome::Elsewhere(next));
        }
        url = next;
    }
    Err(ToolError(format!(
        "{first} redirects more than {MAX_REDIRECTS} times; not followed further"
    )))
}

/// One request, to addresses that are checked here.
async fn ask(url: &Url, accept: &str, settings: &FetchSettings) -> Result<Response, ToolError> {
    let host = host_of(url)?;
    let addresses = resolve(url, host, settings).await?;
    let failed = |error| failed(url, &error);
    let client = http::strict_builder()
        .no_proxy()
        .connect_timeout(CONNECT_WITHIN)
        .resolve_to_addrs(host, &addresses)
        .build()
        .map_err(failed)?;
    let response = client.get(url.clone()).header(ACCEPT, accept).send().await.map_err(failed)?;
    match response.remote_addr() {
        Some(address) if !addresses.iter().any(|known| known.ip() == address.ip()) => {
            Err(ToolError(format!("{url} answered from an address that was not checked; not read")))
        }
        _ => Ok(response),
    }
}

async fn resolve(
    url: &Url,
    host: &str,
    settings: &FetchSettings,
) -> Result<Vec<SocketAddr>, ToolError> {
    let port = url.port_or_known_default().unwrap_or(80);
    let addresses: Vec<SocketAddr> = match literal(host) {
        Some(address) => vec![SocketAddr::new(address, port)],
        None => tokio::net::lookup_host((host, port))
            .await
            .map_err(|why| ToolError(format!("the name {host} cannot be resolved: {why}")))?
            .take(MAX_ADDRESSES)
            .collect(),
    };
    if addresses.is_empty() {
        return Err(ToolError(format!("the name {host} has no address")));
    }
    // One private address is enough to refuse: a name with both kinds is made to get past a check.
    for address in &addresses {
        check_address(host, address.ip(), settings)?;
    }
    Ok(addresses)
}

fn check_address(host: &str, address: IpAddr, settings: &FetchSettings) -> Result<(), ToolError> {
    let is_allowed = settings.allow_private
        || settings.private_hosts.iter().any(|allowed| allowed.eq_ignore_ascii_case(host));
    match not_public(address) {
        Some(what) if !is_allowed => Err(ToolError(format!(
            "{host} is at {address}, which is not on the public internet ({what}); not fetched"
        ))),
        _ => Ok(()),
    }
}

/// The IP address in a URL's host, if it is one; every spelling was normalised by parsing.
fn literal(host: &str) -> Option<IpAddr> {
    host.trim_start_matches('[').trim_end_matches(']').parse().ok()
}

fn redirection(url: &Url, response: &Response) -> Result<Option<Url>, ToolError> {
    if !response.status().is_redirection() {
        return Ok(None);
    }
    let Some(location) = response.headers().get(LOCATION) else { return Ok(None) };
    let next = location.to_str().ok().and_then(|location| url.join(location).ok());
    let bad = || ToolError(format!("{url} redirects to something that is not a URL"));
    next.map(Some).ok_or_else(bad)
}

/// Whether permission for one URL holds for the other.
fn is_same_site(first: &Url, next: &Url) -> bool {
    let bare = |url: &Url| {
        let host = url.host_str().unwrap_or_default();
        host.strip_prefix("www.").unwrap_or(host).to_owned()
    };
    // From http to https the usual port changes with the scheme.
    let is_same_port = first.port() == next.port();
    bare(first) == bare(next) && is_same_port
}

async fn read(
    url: Url,
    mut response: Response,
    settings: &FetchSettings,
) -> Result<FetchedPage, ToolError> {
    let (kind, charset) = content_type(response.headers());
    let status = response.status();
    let size = response.content_length();
    if let Some(encoding) = response.headers().get(CONTENT_ENCODING)
        && encoding != "identity"
    {
        let encoding = String::from_utf8_lossy(encoding.as_bytes());
        return Err(ToolError(format!(
            "{url} came compressed ({encoding}) though it was asked for plain"
        )));
    }
    if !is_text(&kind) && status.is_success() {
        let size = size.map(|n| format!(" of {n} bytes")).unwrap_or_default();
        return Err(ToolError(format!("{url} is {kind}{size}, which cannot be read as text")));
    }
    let mut bytes = Vec::new();
    let is_whole = http::read(&mut response, settings.max_bytes, &mut bytes).await;
    let is_cut = !is_whole.map_err(|error| failed(&url, &error))?;
    let text = decode(&bytes, charset.as_deref());
    if !status.is_success() {
        let said: String = match is_text(&kind) && !is_html(&kind) {
            true => text.chars().take(500).collect(),
            false => String::new(),
        };
        let said = if said.trim().is_empty() { String::new() } else { format!(": {said}") };
        return Err(ToolError(format!("{url} answered {status}{said}")));
    }
    Ok(FetchedPage { url, kind, text, is_cut })
}

fn content_type(headers: &HeaderMap) -> (String, Option<String>) {
    let value = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let value = value.unwrap_or("text/plain").to_ascii_lowercase();
    let mut parts = value.split(';').map(str::trim);
    let kind = parts.next().unwrap_or_default().to_owned();
    let charset = parts.find_map(|part| part.strip_prefix("charset="));
    (kind, charset.map(|charset| charset.trim_matches('"').to_owned()))
}

pub(super) fn is_html(kind: &str) -> bool {
    matches!(kind, "text/html" | "application/xhtml+xml")
}

fn is_text(kind: &str) -> bool {
    // Subtypes of `application`.
    const OTHERS: &str = "json xml xhtml+xml javascript yaml x-yaml toml x-ndjson x-sh";
    let is_other = |name| OTHERS.split(' ').any(|other| other == name);
    kind.starts_with("text/")
        || kind.ends_with("+json")
        || kind.ends_with("+xml") && !kind.starts_with("image/")
        || kind.strip_prefix("application/").is_some_and(is_other)
}

fn decode(bytes: &[u8], charset: Option<&str>) -> String {
    match charset {
        // Each byte is the character of its number.
        Some("iso-8859-1" | "latin1" | "us-ascii") => {
            bytes.iter().map(|&b| char::from(b)).collect()
        }
        _ => String::from_utf8_lossy(bytes).into_owned(),
    }
}
