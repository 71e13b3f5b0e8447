//! A reader of a session's events, by SSE or by WebSocket.
//!
//! In: where the daemon listens and what to read. Out: frames, one at a time. Nothing is read
//! before a test asks for it; the socket's own buffer is kept small, so that a reader that does
//! not read soon blocks the daemon. Connections block, one thread each.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};

use rustix::net::{self, AddressFamily, SocketType, sockopt};
use serde_json::Value;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::{Error, Message, WebSocket, client};

use crate::daemon::Daemon;
use crate::test_home::PATIENCE;

/// The size of the socket's receive buffer, small so that a slow reader shows.
const SMALL_BUFFER: usize = 16 << 10;

/// The transport of events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventTransport {
    Sse,
    WebSocket,
}

/// The query of an event stream.
#[derive(Debug, Clone)]
pub struct EventQuery {
    pub carrier: EventTransport,
    pub session: String,
    /// More of the query, such as `format=ui`.
    pub query: String,
    /// The last id that was seen: `Last-Event-ID`, or `after` on a WebSocket, whose clients
    /// in browsers cannot send headers.
    pub after: Option<String>,
}

impl EventQuery {
    pub fn new(carrier: EventTransport, session: &str) -> Self {
        Self { carrier, session: session.to_owned(), query: String::new(), after: None }
    }

    #[must_use]
    pub fn query(mut self, query: &str) -> Self {
        query.clone_into(&mut self.query);
        self
    }

    #[must_use]
    pub fn after(mut self, id: Option<&str>) -> Self {
        self.after = id.map(str::to_owned);
        self
    }

    fn path(&self) -> String {
        let mut path = format!("/v1/sessions/{}/events?{}", self.session, self.query);
        if let (EventTransport::WebSocket, Some(after)) = (self.carrier, &self.after) {
            path.extend(["&after=", after]);
        }
        path
    }
}

/// One frame, whatever carried it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventFrame {
    pub id: Option<String>,
    pub event: String,
    /// JSON, byte for byte.
    pub data: String,
}

impl EventFrame {
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.data).unwrap()
    }
}

#[derive(Debug)]
pub enum EventClient {
    Sse(BufReader<ChunkedDecoder>),
    WebSocket(Box<WebSocket<TcpStream>>),
}

/// The daemon's refusal of a stream.
#[derive(Debug)]
pub struct StreamRefusal {
    pub status: u16,
    pub body: String,
}

impl EventClient {
    #[track_caller]
    pub fn open(daemon: &Daemon, request: &EventQuery) -> Self {
        Self::try_open(daemon, request).expect("a stream of events")
    }

    #[track_caller]
    pub fn try_open(daemon: &Daemon, request: &EventQuery) -> Result<Self, StreamRefusal> {
        let address: SocketAddr = daemon.address().parse().expect("an address");
        Self::try_connect(address, daemon.token(), request)
    }

    /// Opens a stream at an address, for tests in which the daemon may end meanwhile.
    #[track_caller]
    pub fn try_connect(
        address: SocketAddr,
        token: Option<&str>,
        request: &EventQuery,
    ) -> Result<Self, StreamRefusal> {
        let stream = small_socket(address).map_err(|error| StreamRefusal::by_network(&error))?;
        match request.carrier {
            EventTransport::Sse => sse(stream, address, token, request),
            EventTransport::WebSocket => web_socket(stream, address, token, request),
        }
    }

    /// The next frame; nothing when the connection has ended, in one way or another.
    #[track_caller]
    pub fn next_frame(&mut self) -> Option<EventFrame> {
        match self {
            Self::Sse(lines) => next_event(lines),
            Self::WebSocket(socket) => loop {
                match socket.read() {
                    Ok(Message::Text(text)) => return Some(read_object(&text)),
                    Ok(Message::Close(_)) => return None,
                    Ok(_) => {}
                    Err(Error::Io(error)) if is_timeout(&error) => panic!("nothing comes"),
                    Err(_) => return None,
                }
            },
        }
    }

    /// The next frame of that name; others are skipped.
    #[track_caller]
    pub fn frame_named(&mut self, name: &str) -> Option<EventFrame> {
        loop {
            let frame = self.next_frame()?;
            if frame.event == name {
                return Some(frame);
            }
        }
    }

    pub fn ends(&mut self) -> ConnectionEnds {
        let socket = self.socket();
        let (ours, theirs) = (socket.local_addr().unwrap(), socket.peer_addr().unwrap());
        ConnectionEnds { ours: ours.port(), theirs: theirs.port() }
    }

    /// The raw socket, for tests that read bytes.
    pub fn socket(&mut self) -> &mut TcpStream {
        match self {
            Self::Sse(lines) => lines.get_mut().inner.get_mut(),
            Self::WebSocket(socket) => socket.get_mut(),
        }
    }
}

/// Both ends of a connection, to ask the kernel about it.
#[derive(Debug, Clone, Copy)]
pub struct ConnectionEnds {
    ours: u16,
    theirs: u16,
}

impl ConnectionEnds {
    /// Whether the other side still has the connection open, whatever was read of it.
    pub fn is_open_remotely(self) -> bool {
        const ESTABLISHED: &str = "01";
        let table = std::fs::read_to_string("/proc/net/tcp").unwrap();
        // Addresses are `IP:PORT` in hexadecimal; the line is that of the other side.
        let (local, remote) = (format!(":{:04X}", self.theirs), format!(":{:04X}", self.ours));
        table.lines().any(|line| {
            let fields: Vec<&str> = line.split_whitespace().take(4).collect();
            matches!(fields[..], [_, from, to, ESTABLISHED]
                if from.ends_with(&local) && to.ends_with(&remote))
        })
    }
}

impl StreamRefusal {
    fn by_network(error: &io::Error) -> Self {
        Self { status: 0, body: error.to_string() }
    }
}

/// The size has to be set before the connection is made.
fn small_socket(address: SocketAddr) -> io::Result<TcpStream> {
    let socket = net::socket(AddressFamily::INET, SocketType::STREAM, None)?;
    sockopt::set_socket_recv_buffer_size(&socket, SMALL_BUFFER)?;
    net::connect(&socket, &address)?;
    let stream = TcpStream::from(socket);
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

fn sse(
    mut stream: TcpStream,
    address: SocketAddr,
    token: Option<&str>,
    request: &EventQuery,
) -> Result<EventClient, StreamRefusal> {
    let mut head = format!("GET {} HTTP/1.1\r\nHost: {address}\r\n", request.path());
    for (name, value) in [
        ("Authorization", token.map(|t| format!("Bearer {t}"))),
        ("Last-Event-ID", request.after.clone()),
    ] {
        if let Some(value) = value {
            head.extend([name, ": ", &value, "\r\n"]);
        }
    }
    let failed = |error: io::Error| StreamRefusal::by_network(&error);
    stream.write_all(format!("{head}\r\n").as_bytes()).map_err(failed)?;
    let mut reader = BufReader::new(stream);
    let mut status = String::new();
    reader.read_line(&mut status).map_err(failed)?;
    let status = status.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
    let mut length = None;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).map_err(failed)?;
        if line.trim().is_empty() {
            break;
        }
        let line = line.to_ascii_lowercase();
        length =
            line.strip_prefix("content-length: ").map(|n| n.trim().parse().unwrap()).or(length);
    }
    if status != 200 {
        let mut body = vec![0; length.unwrap_or(0)];
        reader.read_exact(&mut body).map_err(failed)?;
        return Err(StreamRefusal { status, body: String::from_utf8_lossy(&body).into_owned() });
    }
    Ok(EventClient::Sse(BufReader::new(ChunkedDecoder { inner: reader, left: 0, is_first: true })))
}

fn web_socket(
    stream: TcpStream,
    address: SocketAddr,
    token: Option<&str>,
    request: &EventQuery,
) -> Result<EventClient, StreamRefusal> {
    let url = format!("ws://{address}{}", request.path());
    let mut handshake = url.into_client_request().unwrap();
    if let Some(token) = token {
        let value = format!("Bearer {token}").parse().unwrap();
        handshake.headers_mut().insert("authorization", value);
    }
    match client(handshake, stream) {
        Ok((socket, _)) => Ok(EventClient::WebSocket(Box::new(socket))),
        Err(error) => match error {
            tokio_tungstenite::tungstenite::HandshakeError::Failure(Error::Http(response)) => {
                let body = response.body().clone().unwrap_or_default();
                let body = String::from_utf8_lossy(&body).into_owned();
                Err(StreamRefusal { status: response.status().as_u16(), body })
            }
            other => Err(StreamRefusal { status: 0, body: other.to_string() }),
        },
    }
}

/// One event of a stream. What was cut off in the middle is no event.
#[track_caller]
fn next_event(lines: &mut BufReader<ChunkedDecoder>) -> Option<EventFrame> {
    let mut frame = EventFrame { id: None, event: "message".to_owned(), data: String::new() };
    let mut line = String::new();
    loop {
        line.clear();
        match lines.read_line(&mut line) {
            Ok(0) => return None,
            Ok(_) if !line.ends_with('\n') => return None,
            Ok(_) => {}
            Err(error) if is_timeout(&error) => panic!("nothing comes"),
            Err(_) => return None,
        }
        let text = line.trim_end_matches('\n');
        if text.is_empty() {
            if !frame.data.is_empty() {
                return Some(frame);
            }
        } else if let Some(id) = text.strip_prefix("id: ") {
            frame.id = Some(id.to_owned());
        } else if let Some(name) = text.strip_prefix("event: ") {
            name.clone_into(&mut frame.event);
        } else if let Some(data) = text.strip_prefix("data: ") {
            data.clone_into(&mut frame.data);
        }
    }
}

#[track_caller]
fn read_object(text: &str) -> EventFrame {
    #[derive(serde::Deserialize)]
    struct Object<'a> {
        id: Option<String>,
        event: String,
        #[serde(borrow)]
        data: &'a serde_json::value::RawValue,
    }
    let Object { id, event, data } = serde_json::from_str(text).expect("a frame");
    EventFrame { id, event, data: data.get().to_owned() }
}

fn is_timeout(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
}

/// A decoder of HTTP's chunked bodies.
#[derive(Debug)]
pub struct ChunkedDecoder {
    inner: BufReader<TcpStream>,
    left: usize,
    is_first: bool,
}

impl Read for ChunkedDecoder {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        if self.left == 0 {
            let mut line = String::new();
            if !std::mem::take(&mut self.is_first) {
                self.inner.read_line(&mut line)?;
                line.clear();
            }
            self.inner.read_line(&mut line)?;
            // Nothing here is an end that was cut short.
            self.left = usize::from_str_radix(line.trim(), 16).unwrap_or(0);
            if self.left == 0 {
                return Ok(0);
            }
        }
        let n = buf.len().min(self.left);
        let n = self.inner.read(buf.get_mut(..n).unwrap_or_default())?;
        self.left -= n;
        Ok(n)
    }
}
