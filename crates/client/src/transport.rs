//! The ways to a daemon: over its private socket, or straight into one inside of this process.

use std::error::Error;
use std::fmt;
use std::io;
use std::os::fd::AsRawFd as _;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Bytes;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::net::UnixStream;
use tokio_util::task::AbortOnDropHandle;

use crate::ClientError;

/// A daemon that answers at all answers its own socket quickly.
const CONNECT_WITHIN: Duration = Duration::from_secs(5);

/// An answer's body, as it comes.
pub type Body = UnsyncBoxBody<Bytes, Box<dyn Error + Send + Sync>>;

/// A daemon inside of this process.
pub trait RequestHandler: fmt::Debug + Send + Sync + 'static {
    fn answer(
        &self,
        request: Request<Full<Bytes>>,
    ) -> Pin<Box<dyn Future<Output = Response<Body>> + Send>>;
}

#[derive(Debug, Clone)]
pub(crate) enum Transport {
    Socket(PathBuf),
    Inside(Arc<dyn RequestHandler>),
}

/// A daemon's response, and the connection that carries it.
#[derive(Debug)]
pub(crate) struct DaemonResponse {
    pub(crate) response: Response<Body>,
    /// Ends the connection with the answer.
    _connection: Option<AbortOnDropHandle<hyper::Result<()>>>,
}

impl Transport {
    pub(crate) async fn send(
        &self,
        request: Request<Full<Bytes>>,
    ) -> Result<DaemonResponse, ClientError> {
        match self {
            Self::Socket(socket) => over_a_connection(connect(socket).await?, request).await,
            Self::Inside(daemon) => {
                Ok(DaemonResponse { response: daemon.answer(request).await, _connection: None })
            }
        }
    }
}

async fn over_a_connection(
    stream: UnixStream,
    request: Request<Full<Bytes>>,
) -> Result<DaemonResponse, ClientError> {
    let (mut sender, connection) =
        hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.map_err(broken_off)?;
    let carrying = AbortOnDropHandle::new(task::spawn(connection));
    let response = sender.send_request(request).await.map_err(broken_off)?;
    let response = response.map(|body| body.map_err(Into::into).boxed_unsync());
    Ok(DaemonResponse { response, _connection: Some(carrying) })
}

fn broken_off(error: hyper::Error) -> ClientError {
    ClientError::ConnectionBroken(error.into())
}

/// A connection to a daemon's socket on which nothing was said yet.
pub async fn connect(socket: &Path) -> Result<UnixStream, ClientError> {
    match tokio::time::timeout(CONNECT_WITHIN, connect_however_long(socket)).await {
        Ok(connected) => connected.map_err(ClientError::Unreachable),
        Err(_) => Err(ClientError::Silent),
    }
}

async fn connect_however_long(socket: &Path) -> io::Result<UnixStream> {
    let none = || io::Error::new(io::ErrorKind::InvalidInput, "this is no socket");
    let (dir, name) = socket.parent().zip(socket.file_name()).ok_or_else(none)?;
    // Through the directory's handle, because a socket's path has room for 107 bytes only.
    let dir = std::fs::File::open(dir)?;
    let short = PathBuf::from(format!("/proc/self/fd/{}", dir.as_raw_fd())).join(name);
    UnixStream::connect(short).await
}
