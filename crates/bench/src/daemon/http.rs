//! Just enough of an HTTP/1.1 client to measure with: one connection, one request at a time,
//! and streams of events that are read as they come.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};

use super::body::{Body, Chunked};

/// Longer than any answer here takes; also the slow agent's.
const PATIENCE: Duration = Duration::from_secs(60);
const READ_BYTES: usize = 256 << 10;
const MAX_HEAD_BYTES: usize = 64 << 10;

#[derive(Debug)]
pub(super) struct Connection {
    stream: TcpStream,
    address: SocketAddr,
    token: Option<String>,
    /// Room for one read.
    buffer: Vec<u8>,
    /// Bytes that were read and belong to no answer yet.
    unread: Vec<u8>,
}

#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) body: Vec<u8>,
}

impl Connection {
    pub(super) fn open(address: SocketAddr, token: Option<&str>) -> anyhow::Result<Self> {
        Ok(Self {
            stream: connect(address)?,
            address,
            token: token.map(str::to_owned),
            buffer: vec![0; READ_BYTES],
            unread: Vec::new(),
        })
    }

    pub(super) fn post(&mut self, path: &str, body: &str) -> anyhow::Result<Answer> {
        self.send_post(path, body)?;
        self.answer()
    }

    pub(super) fn get(&mut self, path: &str) -> anyhow::Result<Answer> {
        self.send("GET", path, "Accept: application/json\r\n", "")?;
        self.answer()
    }

    /// Sends a request whose [`answer`](Self::answer) is read later.
    pub(super) fn send_post(&mut self, path: &str, body: &str) -> anyhow::Result<()> {
        self.send("POST", path, "Content-Type: application/json\r\n", body)
    }

    fn send(&mut self, method: &str, path: &str, headers: &str, body: &str) -> anyhow::Result<()> {
        // Servers close connections that were idle for a while, and are right to.
        if self.unread.is_empty() && self.peek()? == SocketState::End {
            self.stream = connect(self.address)?;
        }
        let Self { address, token, .. } = self;
        let token = token.as_ref().map(|token| format!("Authorization: Bearer {token}\r\n"));
        let token = token.unwrap_or_default();
        let n_bytes = body.len();
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: {address}\r\n{token}{headers}\
             Content-Length: {n_bytes}\r\n\r\n{body}"
        );
        self.stream.write_all(request.as_bytes()).with_context(|| format!("{method} {path}"))
    }

    pub(super) fn answer(&mut self) -> anyhow::Result<Answer> {
        let mut head = self.head()?;
        let mut body = Vec::new();
        loop {
            let n_taken = head.body.take(&self.unread, &mut body)?;
            self.unread.drain(..n_taken);
            if head.body.is_done() {
                return Ok(Answer { status: head.status, body });
            }
            ensure!(self.read()? == SocketState::Some, "the answer did not end");
        }
    }

    /// Asks for a stream of events, and is it from then on.
    pub(super) fn events(mut self, path: &str) -> anyhow::Result<EventStream> {
        self.send("GET", path, "Accept: text/event-stream\r\n", "")?;
        let mut head = self.head()?;
        ensure!(head.status == 200, "GET {path}: {}", head.status);
        let mut text = Vec::new();
        head.body.take(&self.unread, &mut text)?;
        self.unread.clear();
        let (body, patience) = (head.body, PATIENCE);
        Ok(EventStream { connection: self, body, text, start: 0, searched: 0, patience })
    }

    /// Whether the answer to what was sent has begun to come.
    pub(super) fn has_answer(&self) -> anyhow::Result<bool> {
        Ok(!self.unread.is_empty() || self.peek()? != SocketState::Nothing)
    }

    /// The state of the socket without reading it: data, end, or nothing yet.
    fn peek(&self) -> anyhow::Result<SocketState> {
        self.stream.set_nonblocking(true)?;
        let peeked = self.stream.peek(&mut [0]);
        self.stream.set_nonblocking(false)?;
        match peeked {
            Ok(0) => Ok(SocketState::End),
            Ok(_) => Ok(SocketState::Some),
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(SocketState::Nothing),
            Err(error) if error.kind() == ErrorKind::ConnectionReset => Ok(SocketState::End),
            Err(error) => Err(error.into()),
        }
    }

    fn head(&mut self) -> anyhow::Result<Head> {
        loop {
            if let Some((head, n_bytes)) = Head::read(&self.unread)? {
                self.unread.drain(..n_bytes);
                return Ok(head);
            }
            ensure!(self.unread.len() < MAX_HEAD_BYTES, "the head of the answer does not end");
            ensure!(self.read()? == SocketState::Some, "no answer");
        }
    }

    fn read(&mut self) -> anyhow::Result<SocketState> {
        loop {
            return match self.stream.read(&mut self.buffer) {
                Ok(0) => Ok(SocketState::End),
                Ok(n_bytes) => {
                    self.unread.extend(self.buffer.iter().take(n_bytes));
                    Ok(SocketState::Some)
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error)
                    if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) =>
                {
                    Ok(SocketState::Nothing)
                }
                Err(error) => Err(error.into()),
            };
        }
    }
}

fn connect(address: SocketAddr) -> anyhow::Result<TcpStream> {
    let stream = TcpStream::connect(address)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    Ok(stream)
}

#[derive(Debug, PartialEq, Eq)]
enum SocketState {
    Some,
    Nothing,
    End,
}

impl Answer {
    pub(super) fn json(&self) -> anyhow::Result<serde_json::Value> {
        let text = String::from_utf8_lossy(&self.body);
        ensure!((200..300).contains(&self.status), "{}: {text}", self.status);
        serde_json::from_slice(&self.body).with_context(|| format!("no JSON: {text}"))
    }
}

/// The result of waiting for an event.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum StreamEvent<'a> {
    Data(&'a [u8]),
    /// Nothing but signs of life for as long as was waited.
    Quiet,
}

#[derive(Debug)]
pub(super) struct EventStream {
    connection: Connection,
    body: Body,
    /// The body's text that was not handed out, from `start` on.
    text: Vec<u8>,
    start: usize,
    /// Up to where there is no line end.
    searched: usize,
    patience: Duration,
}

impl EventStream {
    /// Waits at most about so long for an event.
    pub(super) fn wait_at_most(&mut self, patience: Duration) -> anyhow::Result<()> {
        self.patience = patience;
        Ok(self.connection.stream.set_read_timeout(Some(patience))?)
    }

    /// The data of the next event. Those whose data has several lines come line by line, but
    /// nobody here sends such.
    pub(super) fn next(&mut self) -> anyhow::Result<StreamEvent<'_>> {
        let mut waiting_since = None;
        loop {
            if let Some((from, to)) = self.next_data() {
                return Ok(StreamEvent::Data(self.text.get(from..to).unwrap_or_default()));
            }
            ensure!(!self.body.is_done(), "the stream of events has ended");
            self.text.drain(..self.start);
            self.searched -= self.start;
            self.start = 0;
            let waiting_since = *waiting_since.get_or_insert_with(Instant::now);
            if waiting_since.elapsed() > self.patience {
                return Ok(StreamEvent::Quiet);
            }
            match self.connection.read()? {
                SocketState::Nothing => return Ok(StreamEvent::Quiet),
                SocketState::End => bail!("the stream of events broke off"),
                SocketState::Some => {
                    self.body.take(&self.connection.unread, &mut self.text)?;
                    self.connection.unread.clear();
                }
            }
        }
    }

    fn next_data(&mut self) -> Option<(usize, usize)> {
        loop {
            let unsearched = self.text.get(self.searched..)?;
            let Some(at) = memchr::memchr(b'\n', unsearched) else {
                self.searched = self.text.len();
                return None;
            };
            let (from, to) = (self.start, self.searched + at);
            (self.start, self.searched) = (to + 1, to + 1);
            let line = self.text.get(from..to)?;
            if let Some(data) = line.strip_prefix(b"data:") {
                let data = data.trim_ascii_start();
                let n_end = data.len() - data.trim_ascii_end().len();
                return Some((to - data.len(), to - n_end));
            }
        }
    }
}

#[derive(Debug)]
struct Head {
    status: u16,
    body: Body,
}

impl Head {
    /// The head that `bytes` start with and its length, if it is complete.
    fn read(bytes: &[u8]) -> anyhow::Result<Option<(Self, usize)>> {
        let Some(end) = memchr::memmem::find(bytes, b"\r\n\r\n") else { return Ok(None) };
        let text = std::str::from_utf8(bytes.get(..end).unwrap_or_default())?;
        let mut lines = text.split("\r\n");
        let status = lines.next().and_then(|line| line.split(' ').nth(1)?.parse().ok());
        let status = status.with_context(|| format!("no HTTP: {text}"))?;
        let mut body = Body::Length(0);
        for (name, value) in lines.filter_map(|line| line.split_once(':')) {
            let value = value.trim();
            if name.eq_ignore_ascii_case("content-length") {
                body = Body::Length(value.parse()?);
            } else if name.eq_ignore_ascii_case("transfer-encoding") {
                body = Body::Chunked(Chunked::default());
            }
        }
        Ok(Some((Self { status, body }, end + 4)))
    }
}

#[cfg(test)]
mod tests;
