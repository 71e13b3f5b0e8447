//! The daemon's listeners: opened together, served together.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context as _;
use axum::Router;
use server::acp::lines;
use server::daemon::Daemon;
use server::guard::{Guard, GuardedRouter};
use server::limits::HttpLimits;
use server::listen::{BoundSocket, HttpListener, ListenError, Listener, UnixKind};
use server::page_name::PageName;
use server::principal::Principal;
use server::tls::{Tls, TlsProtocol};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::addresses;
use crate::config::serve::ServeConfig;
use crate::daemon::activation::InheritedListeners;
use crate::outcome::{ERROR, Failure};

/// Login links for other devices: more are of no use to anybody, and each has a code of its own.
const MAX_ELSEWHERE: usize = 3;

/// Listeners that are open and do not accept connections yet.
#[derive(Debug)]
pub(crate) struct Listeners {
    /// Listening at one address, or at both loopback addresses.
    http: Vec<BoundSocket>,
    /// The host name of the page, if not its address; with a port or not.
    page_host: Option<String>,
    private: BoundSocket,
    tcp: Vec<BoundSocket>,
    pub(super) unix: Vec<(PathBuf, BoundSocket)>,
}

/// The tasks that serve the listeners.
pub(super) struct ServingTasks {
    tasks: TaskTracker,
    stop: CancellationToken,
}

impl ServingTasks {
    /// Closes all listeners and waits until everybody has gone.
    pub(super) async fn end(self) {
        self.stop.cancel();
        self.tasks.close();
        self.tasks.wait().await;
    }
}

impl Listeners {
    /// Listeners that were opened for us come first; the addresses of their kind that are
    /// configured are not opened as well.
    pub(super) async fn open(
        wanted: &ServeConfig,
        private: &Path,
        inherited: InheritedListeners,
    ) -> Result<Self, Failure> {
        let tls = |inside| {
            let loaded = wanted.tls().map(|(cert, key)| Tls::load(cert, key, inside));
            loaded.transpose().map_err(|error| Failure::new(ERROR, error.to_string()))
        };
        let http = tls(TlsProtocol::Http)?;
        let forced = wanted.insecure;
        let http = match inherited.http.is_empty() {
            true => BoundSocket::tcp_for_browsers(wanted.host, http, forced).await,
            false => inherited_http(inherited.http, http.as_ref(), forced).await,
        }?;
        let mut tcp = Vec::new();
        let has_tcp = !inherited.acp_tcp.is_empty();
        for listener in inherited.acp_tcp {
            tcp.push(BoundSocket::inherited_tcp(listener, tls(TlsProtocol::Lines)?, forced)?);
        }
        for address in wanted.tcp.iter().filter(|_| !has_tcp) {
            tcp.push(BoundSocket::tcp(*address, tls(TlsProtocol::Lines)?, forced).await?);
        }
        let mut unix = Vec::new();
        let has_unix = !inherited.acp_unix.is_empty();
        for listener in inherited.acp_unix {
            unix.push((
                path_of(&listener),
                BoundSocket::inherited_unix(listener, UnixKind::Shared)?,
            ));
        }
        for path in wanted.unix.iter().filter(|_| !has_unix) {
            let path = std::path::absolute(path).map_err(anyhow::Error::from)?;
            let bound = BoundSocket::unix(&path, UnixKind::Private).await?;
            unix.push((path, bound));
        }
        let private = match inherited.private.into_iter().next() {
            Some(listener) => BoundSocket::inherited_unix(listener, UnixKind::Private),
            None => BoundSocket::unix(private, UnixKind::Private).await,
        }?;
        Ok(Self { http, page_host: None, private, tcp, unix })
    }

    /// Gives the page a host name of its own, where other users could listen at its address while
    /// no daemon runs, unless a loopback name is configured for it.
    pub(super) fn name_page(
        &mut self,
        wanted: &ServeConfig,
        state: &Path,
    ) -> Result<Option<PageName>, Failure> {
        if let Some(name) = wanted.loopback_name() {
            self.page_host = Some(name.to_owned());
            return Ok(None);
        }
        let plain = self.http.iter().filter(|bound| !bound.has_tls());
        let addresses: Vec<SocketAddr> = plain.filter_map(BoundSocket::local_addr).collect();
        // Then the page is reached by many names, of which the loopback one is only one.
        if addresses.iter().any(|at| at.ip().is_unspecified()) {
            return Ok(None);
        }
        let mut loopbacks = addresses.iter().filter(|at| at.ip().to_canonical().is_loopback());
        let Some(address) = loopbacks.next() else { return Ok(None) };
        if !self.http.iter().any(BoundSocket::is_plain_localhost) {
            let ip = address.ip();
            let why = format!("browsers cannot log in safely at {ip}: others can listen there too");
            let hint = "listen on 127.0.0.1 or [::1], or use TLS";
            return Err(Failure::new(ERROR, why).hint(format!(
                "{hint}, or say `--allow-host {ip}` if this machine is yours alone"
            )));
        }
        let numbers: Option<Vec<_>> = self.http.iter().map(BoundSocket::socket_number).collect();
        let name = PageName::choose(state, &numbers.unwrap_or_default());
        let name = name.context("the system gives no random bytes")?;
        self.page_host = Some(name.to_string());
        Ok(Some(name))
    }

    /// The base URL of HTTP, for programs of this machine.
    pub(super) fn base(&self) -> String {
        self.url(|address| here(address).to_string())
    }

    /// The base URLs of the page for other devices, if it listens at all addresses: those that
    /// browsers can open, and that the daemon accepts as its own.
    pub(super) fn bases_elsewhere(&self, wanted: &ServeConfig) -> Vec<String> {
        let address = self.http.first().and_then(BoundSocket::local_addr);
        let Some(address) = address.filter(|at| at.ip().is_unspecified()) else {
            return Vec::new();
        };
        let names = wanted.names_elsewhere().map(|name| with_port(name, address.port()));
        let own = addresses::of_this_machine().into_iter();
        let own = own.filter(|ip| address.is_ipv6() || ip.is_ipv4());
        let own = own.map(|ip| SocketAddr::new(ip, address.port()).to_string());
        names.chain(own).take(MAX_ELSEWHERE).map(|host| self.url(|_| host.clone())).collect()
    }

    /// The base URL of the page, for people.
    pub(super) fn page_base(&self) -> String {
        let Some(host) = &self.page_host else { return self.base() };
        self.url(|address| with_port(host, address.port()))
    }

    fn url(&self, host: impl Fn(SocketAddr) -> String) -> String {
        let Some(first) = self.http.first() else { return String::new() };
        let Some(address) = first.local_addr() else { return String::new() };
        let scheme = if first.has_tls() { "https" } else { "http" };
        format!("{scheme}://{}", host(address))
    }

    pub(super) fn tcp_addresses(&self) -> Vec<String> {
        let address = |bound: &BoundSocket| bound.local_addr().map(|address| address.to_string());
        self.tcp.iter().filter_map(address).collect()
    }

    pub(super) fn serve(
        self,
        daemon: &Arc<Daemon>,
        guard: &Arc<Guard>,
        router: Router,
    ) -> ServingTasks {
        let (tasks, stop) = (TaskTracker::new(), CancellationToken::new());
        for bound in self.http.into_iter().chain([self.private]) {
            let guarded = GuardedRouter::new(guard.clone(), router.clone(), HttpLimits::default());
            let http = HttpListener { bound, guarded, stop: stop.clone() };
            tasks.spawn(task::boxed(http.serve()));
        }
        for bound in self.tcp.into_iter().chain(self.unix.into_iter().map(|(_, bound)| bound)) {
            tasks.spawn(task::boxed(serve_lines(
                bound,
                daemon.clone(),
                guard.clone(),
                stop.clone(),
            )));
        }
        ServingTasks { tasks, stop }
    }
}

/// The address at which this machine reaches a listener: nothing can be sent to "all addresses".
fn here(address: SocketAddr) -> SocketAddr {
    let ip: IpAddr = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(ip, address.port())
}

/// The host with its own port, or else this one.
fn with_port(host: &str, port: u16) -> String {
    match host.rsplit_once(':').is_some_and(|(_, port)| !port.ends_with(']')) {
        true => host.to_owned(),
        false => format!("{host}:{port}"),
    }
}

/// Binds inherited HTTP sockets: one of them, or one for each loopback address.
async fn inherited_http(
    listeners: Vec<TcpListener>,
    tls: Option<&Tls>,
    forced: bool,
) -> Result<Vec<BoundSocket>, ListenError> {
    let open = |listener| BoundSocket::inherited_tcp(listener, tls.cloned(), forced);
    let mut bound = listeners.into_iter().map(open).collect::<Result<Vec<_>, _>>()?;
    match bound.as_slice() {
        [only] => bound.extend(only.bind_localhost_pair().await?),
        [first, second] if first.is_localhost_pair_of(second) => {}
        _ => return Err(ListenError::InheritedMismatch),
    }
    Ok(bound)
}

fn path_of(listener: &std::os::unix::net::UnixListener) -> PathBuf {
    let address = listener.local_addr().ok();
    address.and_then(|address| Some(address.as_pathname()?.to_owned())).unwrap_or_default()
}

async fn serve_lines(
    bound: BoundSocket,
    daemon: Arc<Daemon>,
    guard: Arc<Guard>,
    stop: CancellationToken,
) {
    let listener = Listener::new(bound, HttpLimits::default());
    loop {
        let connection = tokio::select! {
            () = stop.cancelled() => break,
            connection = listener.next() => connection,
        };
        let (daemon, guard) = (daemon.clone(), guard.clone());
        task::spawn(async move {
            let peer = connection.peer();
            let Ok((stream, arrival)) = connection.secure().await else { return };
            let known = |one: &Principal| arrival.activity.note_client(&one.name);
            match guard.admit_local(&peer).inspect(known) {
                Some(principal) => lines::serve_local(daemon, principal, None, stream).await,
                None => {
                    let admit = |token: &str| guard.admit_token(token, &peer).ok().inspect(known);
                    lines::serve_guarded(daemon, None, stream, guard.requests(), admit).await;
                }
            }
        });
    }
    listener.drain().await;
}
