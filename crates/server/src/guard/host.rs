//! The host names at which the daemon serves requests.
//!
//! A page of another site can make its own name resolve to this machine and then be "same
//! origin" with us; its name in `Host` gives it away. So only names that we know are served.
//! They are compared as bytes: whatever a clever spelling may mean to somebody else, here it
//! is unknown.

use std::net::{IpAddr, SocketAddr};

use axum::http::request::Parts;
use axum::http::{Version, header};

use super::GuardError;
use crate::header_lists::single;
use crate::page_name::PageName;
use crate::problem::Problem;

#[derive(Debug)]
pub(super) struct Hosts {
    configured: Vec<AllowedHost>,
}

#[derive(Debug)]
struct AllowedHost {
    host: String,
    /// Without one: the listener's, or none, as behind a proxy.
    port: Option<String>,
}

/// The host name that a request was sent to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum RequestedHost<'a> {
    /// A name at which browsers log in.
    Here(&'a str),
    /// A name where other programs may have listened before us, for clients with tokens; the page
    /// is at `page`. With `was_page` the page had this name before, and tabs may still be open
    /// there.
    Elsewhere { host: &'a str, page: String, was_page: bool },
}

impl<'a> RequestedHost<'a> {
    pub(super) fn host(&self) -> &'a str {
        let (Self::Here(host) | Self::Elsewhere { host, .. }) = self;
        host
    }
}

impl Hosts {
    pub(super) fn new(names: &[String]) -> Result<Self, GuardError> {
        let parsed = names
            .iter()
            .map(|name| AllowedHost::parse(name).ok_or_else(|| GuardError::BadHost(name.clone())));
        Ok(Self { configured: parsed.collect::<Result<_, _>>()? })
    }

    /// The request's host, if it is one of ours.
    pub(super) fn check<'a>(
        &self,
        parts: &'a Parts,
        local: SocketAddr,
        is_tls: bool,
        page_name: Option<&PageName>,
    ) -> Result<RequestedHost<'a>, Problem> {
        let asked = authority(parts)?;
        self.recognise(asked, local, is_tls, page_name).ok_or_else(|| {
            let unknown = Problem::forbidden("the daemon is not known by this host name");
            let (name, port) = split_port(asked).unwrap_or((asked, None));
            let own = format!("{name}:{}", local.port());
            match port.is_some() && self.recognise(&own, local, is_tls, page_name).is_some() {
                // A tunnel, most likely.
                true => unknown.remedy(format!(
                    "the daemon is at port {}; use the same port on both ends of a tunnel, or \
                     start the daemon with `--allow-host HOST:PORT`",
                    local.port()
                )),
                false => unknown.remedy("use its address, or start it with `--allow-host NAME`"),
            }
        })
    }

    pub(super) fn recognise<'a>(
        &self,
        asked: &'a str,
        local: SocketAddr,
        is_tls: bool,
        page_name: Option<&PageName>,
    ) -> Option<RequestedHost<'a>> {
        let port = local.port().to_string();
        if self.configured.iter().any(|name| name.is(asked, &port)) {
            return Some(RequestedHost::Here(asked));
        }
        let Some(page_name) = page_name else {
            return is_own(asked, local, is_tls).then_some(RequestedHost::Here(asked));
        };
        let elsewhere = |was_page| RequestedHost::Elsewhere {
            host: asked,
            page: page_name.in_place_of(asked),
            was_page,
        };
        let (host, rest) = asked.split_at(asked.find(':').unwrap_or(asked.len()));
        match PageName::in_host(host) {
            Some(_) if !is_port_of(rest, local.port(), is_tls) => None,
            Some(name) if name == *page_name => Some(RequestedHost::Here(asked)),
            Some(_) => Some(elsewhere(true)),
            None => is_own(asked, local, is_tls).then(|| elsewhere(false)),
        }
    }
}

/// Whether it is the address of the connection, or a usual name of this machine, with the
/// listener's port.
fn is_own(asked: &str, local: SocketAddr, is_tls: bool) -> bool {
    // The address that the connection was made to cannot have been reached by a name that
    // somebody else controls, if it is spelt as an address.
    let own = match local.ip().to_canonical() {
        IpAddr::V4(ip) => ip.to_string(),
        IpAddr::V6(ip) => format!("[{ip}]"),
    };
    let mut hosts = ["127.0.0.1", "localhost", "[::1]", own.as_str()].into_iter();
    hosts.any(|host| {
        asked.strip_prefix(host).is_some_and(|rest| is_port_of(rest, local.port(), is_tls))
    })
}

/// Whether `rest`, what follows a host, is its port as browsers say it.
fn is_port_of(rest: &str, port: u16, is_tls: bool) -> bool {
    match rest.strip_prefix(':') {
        Some(asked) => asked == port.to_string(),
        None => rest.is_empty() && port == if is_tls { 443 } else { 80 },
    }
}

impl AllowedHost {
    fn parse(text: &str) -> Option<Self> {
        let text = text.to_ascii_lowercase();
        let (host, port) = split_port(&text)?;
        is_host(host).then(|| Self { host: host.to_owned(), port: port.map(str::to_owned) })
    }

    fn is(&self, asked: &str, listening: &str) -> bool {
        let Some(rest) = asked.strip_prefix(self.host.as_str()) else { return false };
        match (&self.port, rest.strip_prefix(':')) {
            (Some(port), Some(asked)) => port == asked,
            (None, Some(asked)) => asked == listening,
            (None, None) => rest.is_empty(),
            (Some(_), None) => false,
        }
    }
}

/// The host that the request names, exactly once.
fn authority(parts: &Parts) -> Result<&str, Problem> {
    let line = single(&parts.headers, &header::HOST);
    let line = line.map_err(|_| Problem::bad_request("there is more than one Host"))?;
    let line = line.map(|line| line.to_str()).transpose();
    let line = line.map_err(|_| Problem::bad_request("Host is not text"))?;
    let target = parts.uri.authority().map(axum::http::uri::Authority::as_str);
    let one = match (target, line) {
        (Some(_), _) if parts.version < Version::HTTP_2 => {
            return Err(Problem::bad_request("the target must be a path, not an address"));
        }
        (Some(target), Some(line)) if target != line => {
            return Err(Problem::bad_request("Host and :authority differ"));
        }
        (Some(one), _) | (None, Some(one)) => one,
        (None, None) => "",
    };
    if one.is_empty() { Err(Problem::bad_request("there is no Host")) } else { Ok(one) }
}

/// Splits `host[:port]`; none if the port is not a plain number.
pub(super) fn split_port(text: &str) -> Option<(&str, Option<&str>)> {
    let after_host = match text.strip_prefix('[') {
        Some(rest) => rest.find(']')? + 2,
        None => text.find(':').unwrap_or(text.len()),
    };
    let (host, rest) = text.split_at_checked(after_host)?;
    if rest.is_empty() {
        return Some((host, None));
    }
    let port = rest.strip_prefix(':')?;
    let number: u16 = port.parse().ok()?;
    (number.to_string() == port).then_some((host, Some(port)))
}

/// A lower-case name or address, spelt as browsers spell it.
pub(super) fn is_host(host: &str) -> bool {
    if let Some(address) = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        return address.parse::<std::net::Ipv6Addr>().is_ok_and(|ip| ip.to_string() == address);
    }
    let is_label = |label: &str| {
        let is_plain =
            |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '_';
        !label.is_empty() && label.chars().all(is_plain)
    };
    host.len() <= 253 && host.split('.').all(is_label)
}

#[cfg(test)]
mod tests;
