//! The daemon's listeners: opened together, served together.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use axum::Router;
use server::acp::lines;
use server::daemon::Daemon;
use server::guard::Guard;
use server::limits::HttpLimits;
use server::listen::{Bound, Http, Listener};
use server::principal::Principal;
use server::tls::{Inside, Tls};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::presence::private_socket;
use crate::activation::Inherited;
use crate::config_serve::Wanted;
use crate::outcome::{ERROR, Failure};

/// Open, and nobody is let in yet.
#[derive(Debug)]
pub(crate) struct Doors {
    http: Bound,
    private: Bound,
    tcp: Vec<Bound>,
    unix: Vec<(PathBuf, Bound)>,
}

/// What serves them.
pub(super) struct Serving {
    tasks: TaskTracker,
    stop: CancellationToken,
}

impl Serving {
    /// Closes all doors and waits until everybody has gone.
    pub(super) async fn end(self) {
        self.stop.cancel();
        self.tasks.close();
        self.tasks.wait().await;
    }
}

impl Doors {
    /// Listeners that were opened for us come first; the addresses of their kind that are
    /// configured are not opened as well.
    pub(super) async fn open(
        wanted: &Wanted,
        run: &Path,
        inherited: Inherited,
    ) -> Result<Self, Failure> {
        let tls = |inside| match &wanted.tls {
            None => Ok(None),
            Some((cert, key)) => Tls::load(cert, key, inside).map(Some),
        };
        let cannot = |error: &dyn std::fmt::Display| Failure::new(ERROR, error.to_string());
        let http = tls(Inside::Http).map_err(|error| cannot(&error))?;
        let forced = wanted.is_insecure;
        let mut given = inherited.http.into_iter();
        let http = match given.next() {
            Some(listener) => Bound::inherited_tcp(listener, http, forced),
            None => Bound::tcp(wanted.host, http, forced).await,
        };
        let http = http.map_err(|error| cannot(&error))?;
        if given.next().is_some() {
            return Err(cannot(&"more than one socket named `http` was passed to the daemon"));
        }
        let mut tcp = Vec::new();
        let has_tcp = !inherited.acp_tcp.is_empty();
        for listener in inherited.acp_tcp {
            let tls = tls(Inside::Lines).map_err(|error| cannot(&error))?;
            let bound = Bound::inherited_tcp(listener, tls, forced);
            tcp.push(bound.map_err(|error| cannot(&error))?);
        }
        for address in wanted.tcp.iter().filter(|_| !has_tcp) {
            let tls = tls(Inside::Lines).map_err(|error| cannot(&error))?;
            tcp.push(Bound::tcp(*address, tls, forced).await.map_err(|error| cannot(&error))?);
        }
        let mut unix = Vec::new();
        let has_unix = !inherited.acp_unix.is_empty();
        for listener in inherited.acp_unix {
            let path = path_of(&listener);
            let bound = Bound::inherited_unix(listener).map_err(|error| cannot(&error))?;
            unix.push((path, bound));
        }
        for path in wanted.unix.iter().filter(|_| !has_unix) {
            let path = std::path::absolute(path).map_err(|error| cannot(&error))?;
            let bound = Bound::private_unix(&path).await.map_err(|error| cannot(&error))?;
            unix.push((path, bound));
        }
        let private = match inherited.private.into_iter().next() {
            Some(listener) => Bound::inherited_private_unix(listener),
            None => Bound::private_unix(&private_socket(run)).await,
        };
        let private = private.map_err(|error| cannot(&error))?;
        Ok(Self { http, private, tcp, unix })
    }

    /// Where HTTP is, for people.
    pub(super) fn base(&self) -> String {
        let scheme = if self.http.has_tls() { "https" } else { "http" };
        self.http.local_addr().map(|address| format!("{scheme}://{address}")).unwrap_or_default()
    }

    pub(super) fn tcp_addresses(&self) -> Vec<String> {
        let address = |bound: &Bound| bound.local_addr().map(|address| address.to_string());
        self.tcp.iter().filter_map(address).collect()
    }

    pub(super) fn unix_paths(&self) -> Vec<PathBuf> {
        self.unix.iter().map(|(path, _)| path.clone()).collect()
    }

    pub(super) fn serve(self, daemon: &Arc<Daemon>, guard: &Arc<Guard>, router: Router) -> Serving {
        let (tasks, stop) = (TaskTracker::new(), CancellationToken::new());
        for bound in [self.http, self.private] {
            let http = Http {
                bound,
                router: router.clone(),
                guard: guard.clone(),
                limits: HttpLimits::default(),
                stop: stop.clone(),
            };
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
        Serving { tasks, stop }
    }
}

fn path_of(listener: &std::os::unix::net::UnixListener) -> PathBuf {
    let address = listener.local_addr().ok();
    address.and_then(|address| Some(address.as_pathname()?.to_owned())).unwrap_or_default()
}

async fn serve_lines(
    bound: Bound,
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
            let known = |_: &Principal| arrival.activity.note_known();
            match guard.admit_local(&peer).inspect(known) {
                Some(principal) => lines::serve_local(daemon, principal, None, stream).await,
                None => {
                    let admit = |token: &str| guard.admit_token(token, &peer).ok().inspect(known);
                    lines::serve_guarded(daemon, None, stream, admit).await;
                }
            }
        });
    }
    listener.drain().await;
}
