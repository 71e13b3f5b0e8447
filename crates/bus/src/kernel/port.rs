//! A client inside the same program.
//!
//! One end of a socket pair whose other end the bus serves like any other client: the same
//! limits, the same pressure, no second path.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream as StdUnixStream;

use bytes::{Buf as _, Bytes, BytesMut};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use wire::LineSplitter;

const READ_BYTES: usize = 64 << 10;

/// A connection to a bus, for one task that sends and one that receives. Dropping it disconnects
/// the client; the bus cancels its open requests.
#[derive(Debug)]
pub struct Port {
    pub sender: PortSender,
    pub receiver: PortReceiver,
}

#[derive(Debug)]
pub struct PortSender {
    stream: OwnedWriteHalf,
    /// Bytes that an earlier, dropped call had still to write.
    unsent: BytesMut,
}

#[derive(Debug)]
pub struct PortReceiver {
    stream: OwnedReadHalf,
    lines: LineSplitter,
}

impl Port {
    /// The port, and the bus's end of it.
    pub(super) fn open(max_line_bytes: usize) -> io::Result<(Self, OwnedFd)> {
        let (ours, theirs) = StdUnixStream::pair()?;
        ours.set_nonblocking(true)?;
        theirs.set_nonblocking(true)?;
        let (reader, writer) = UnixStream::from_std(ours)?.into_split();
        let port = Self {
            sender: PortSender { stream: writer, unsent: BytesMut::new() },
            receiver: PortReceiver { stream: reader, lines: LineSplitter::new(max_line_bytes) },
        };
        Ok((port, theirs.into()))
    }

    /// The bare stream, for callers that frame lines themselves.
    pub fn into_stream(self) -> io::Result<UnixStream> {
        self.receiver.stream.reunite(self.sender.stream).map_err(io::Error::other)
    }
}

impl PortSender {
    /// Sends one message, without line end. If the call is dropped before it is done, the
    /// rest goes out with the next one.
    pub async fn send(&mut self, message: &[u8]) -> io::Result<()> {
        if memchr::memchr(b'\n', message).is_some() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "a message is one line"));
        }
        self.unsent.reserve(message.len() + 1);
        self.unsent.extend_from_slice(message);
        self.unsent.extend_from_slice(b"\n");
        while self.unsent.has_remaining() {
            self.stream.write_buf(&mut self.unsent).await?;
        }
        Ok(())
    }
}

impl PortReceiver {
    /// The next message for this client; `None` when the bus closed the port. May be dropped
    /// at any time.
    pub async fn receive(&mut self) -> io::Result<Option<Bytes>> {
        loop {
            match self.lines.next_line() {
                Some(Ok(line)) => return Ok(Some(line)),
                Some(Err(error)) => {
                    return Err(io::Error::new(io::ErrorKind::InvalidData, error));
                }
                None => {}
            }
            let buffer = self.lines.buffer();
            buffer.reserve(READ_BYTES);
            if self.stream.read_buf(buffer).await? == 0 {
                return Ok(None);
            }
        }
    }
}
