//! Opens stdin and stdout for a line protocol.
//!
//! The runtime's own stdin and stdout pass every byte through a helper thread. A pipe can do
//! without: it is opened again under a description of its own, so that making it
//! non-blocking changes nothing for whoever shares it with us.

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::unix::pipe;

pub(crate) type StdinReader = Box<dyn AsyncRead + Send + Unpin>;
pub(crate) type StdoutWriter = Box<dyn AsyncWrite + Send + Unpin>;

pub(crate) fn open() -> (StdinReader, StdoutWriter) {
    let reader: StdinReader = match pipe::OpenOptions::new().open_receiver("/proc/self/fd/0") {
        Ok(receiver) => Box::new(receiver),
        // A terminal, a file or a socket.
        Err(_) => Box::new(tokio::io::stdin()),
    };
    let writer: StdoutWriter = match pipe::OpenOptions::new().open_sender("/proc/self/fd/1") {
        Ok(sender) => Box::new(sender),
        Err(_) => Box::new(tokio::io::stdout()),
    };
    (reader, writer)
}
