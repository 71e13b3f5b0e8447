//! The bytes of a connection, whatever carries them.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpStream, UnixStream};
use tokio_rustls::server::TlsStream;

use crate::limits::Steady;

/// A connection that was let through the door: TLS is done, stalls and cuts are watched.
#[derive(Debug)]
pub enum Stream {
    Tcp(Steady<TcpStream>),
    Unix(Steady<UnixStream>),
    Tls(Box<TlsStream<Steady<TcpStream>>>),
}

macro_rules! on_each {
    ($this:expr, $inner:ident => $do:expr) => {
        match $this.get_mut() {
            Stream::Tcp($inner) => $do,
            Stream::Unix($inner) => $do,
            Stream::Tls($inner) => $do,
        }
    };
}

impl AsyncRead for Stream {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        on_each!(self, inner => Pin::new(inner).poll_read(cx, buf))
    }
}

impl AsyncWrite for Stream {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        on_each!(self, inner => Pin::new(inner).poll_write(cx, buf))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        on_each!(self, inner => Pin::new(inner).poll_write_vectored(cx, bufs))
    }

    fn is_write_vectored(&self) -> bool {
        match self {
            Self::Tcp(inner) => inner.is_write_vectored(),
            Self::Unix(inner) => inner.is_write_vectored(),
            Self::Tls(inner) => inner.is_write_vectored(),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        on_each!(self, inner => Pin::new(inner).poll_flush(cx))
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        on_each!(self, inner => Pin::new(inner).poll_shutdown(cx))
    }
}
