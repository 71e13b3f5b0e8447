//! Opens stdin and stdout for a line protocol.
//!
//! The runtime's own stdin and stdout pass every byte through a helper thread. A pipe can do
//! without: it is opened again under a description of its own, so that making it
//! non-blocking changes nothing for whoever shares it with us.

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::unix::pipe;

pub(crate) type Reader = Box<dyn AsyncRead + Send + Unpin>;
pub(crate) type Writer = Box<dyn AsyncWrite + Send + Unpin>;

pub(crate) fn open() -> (Reader, Writer) {
    let reader: Reader = match pipe::OpenOptions::new().open_receiver("/proc/self/fd/0") {
        Ok(receiver) => Box::new(receiver),
        // A terminal, a file or a socket.
        Err(_) => Box::new(tokio::io::stdin()),
    };
    let writer: Writer = match pipe::OpenOptions::new().open_sender("/proc/self/fd/1") {
        Ok(sender) => Box::new(sender),
        Err(_) => Box::new(tokio::io::stdout()),
    };
    (reader, writer)
}
