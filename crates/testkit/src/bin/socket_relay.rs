//! Stdin and stdout on a socket, for clients that only know how to start a command.
//!
//! `socket-relay tcp ADDRESS` or `socket-relay unix PATH`. The end of stdin is passed on as the
//! end of what we send; the relay ends when the other side has said everything.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a relay without a socket is none")]

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::unix::net::UnixStream;

fn main() {
    let mut args = std::env::args().skip(1);
    let (kind, place) = (args.next().expect("tcp or unix"), args.next().expect("an address"));
    if kind == "tcp" {
        let socket = TcpStream::connect(place).expect("a listener");
        let end = socket.try_clone().unwrap();
        relay(socket.try_clone().unwrap(), socket, move || end.shutdown(Shutdown::Write));
    } else {
        let socket = UnixStream::connect(place).expect("a listener");
        let end = socket.try_clone().unwrap();
        relay(socket.try_clone().unwrap(), socket, move || end.shutdown(Shutdown::Write));
    }
}

fn relay(
    from: impl Read,
    mut to: impl Write + Send + 'static,
    end: impl FnOnce() -> std::io::Result<()> + Send + 'static,
) {
    std::thread::spawn(move || {
        carry(std::io::stdin(), &mut to);
        let _ = end();
    });
    carry(from, &mut std::io::stdout());
}

/// Copies bytes as they come, without waiting for a full buffer.
fn carry(mut from: impl Read, to: &mut impl Write) {
    let mut buffer = vec![0; 1 << 16];
    while let Ok(n @ 1..) = from.read(&mut buffer) {
        if to.write_all(&buffer[..n]).and_then(|()| to.flush()).is_err() {
            break;
        }
    }
}
