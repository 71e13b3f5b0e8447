//! A client that sends and reads any bytes, valid or not.
//!
//! In: a socket or a pair of pipes. Out: the lines that come, each of which must be JSON-RPC,
//! as text so that ids can be compared byte by byte.
//! Nothing is read before a test asks for it, and nothing waits longer than
//! [`PATIENCE`].

use std::collections::VecDeque;
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{ChildStdin, ChildStdout};
use std::time::Instant;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde_json::{Value, json};

use crate::test_home::PATIENCE;

const READ_BYTES: usize = 1 << 14;

#[derive(Debug)]
enum LineStream {
    Tcp(TcpStream),
    Unix(UnixStream),
    /// The other side's stdin, unless it was closed, and its stdout.
    Pipes(Option<ChildStdin>, ChildStdout),
}

#[derive(Debug)]
pub struct LineClient {
    stream: LineStream,
    unread: Vec<u8>,
    /// The offset in `unread` before which there is no newline.
    searched: usize,
    /// Lines that came while another was waited for.
    skipped_lines: VecDeque<String>,
    n_asked: u64,
    may_be_cut_off: bool,
}

impl LineClient {
    #[track_caller]
    pub fn tcp(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).expect("a TCP listener");
        stream.set_nonblocking(true).unwrap();
        stream.set_nodelay(true).unwrap();
        Self::new(LineStream::Tcp(stream))
    }

    #[track_caller]
    pub fn unix(path: impl AsRef<Path>) -> Self {
        Self::try_unix(path).expect("a unix listener")
    }

    pub fn try_unix(path: impl AsRef<Path>) -> std::io::Result<Self> {
        let stream = UnixStream::connect(path)?;
        stream.set_nonblocking(true)?;
        Ok(Self::new(LineStream::Unix(stream)))
    }

    /// The pipes of a process that was started with both.
    pub fn pipes(stdin: ChildStdin, stdout: ChildStdout) -> Self {
        for end in [stdin.as_fd(), stdout.as_fd()] {
            rustix::io::ioctl_fionbio(end, true).unwrap();
        }
        Self::new(LineStream::Pipes(Some(stdin), stdout))
    }

    fn new(stream: LineStream) -> Self {
        let (unread, skipped_lines) = (Vec::new(), VecDeque::new());
        Self { stream, unread, searched: 0, skipped_lines, n_asked: 0, may_be_cut_off: false }
    }

    /// The same connection for another thread that reads; pipes have one reader.
    #[must_use]
    #[track_caller]
    pub fn reader(&self) -> Self {
        Self::new(match &self.stream {
            LineStream::Tcp(stream) => LineStream::Tcp(stream.try_clone().unwrap()),
            LineStream::Unix(stream) => LineStream::Unix(stream.try_clone().unwrap()),
            LineStream::Pipes(..) => panic!("pipes have one reader"),
        })
    }

    /// Sends one line; the newline is added.
    #[track_caller]
    pub fn send(&mut self, line: &str) {
        self.send_bytes(line.as_bytes());
        self.send_bytes(b"\n");
    }

    #[track_caller]
    pub fn send_bytes(&mut self, bytes: &[u8]) {
        self.try_send_bytes(bytes).expect("the other side still reads");
    }

    /// Sends one line; an error when the other side is gone.
    #[track_caller]
    pub fn try_send_bytes(&mut self, mut bytes: &[u8]) -> std::io::Result<()> {
        let give_up_at = Instant::now() + PATIENCE;
        while !bytes.is_empty() {
            match self.write(bytes) {
                Ok(n) => bytes = &bytes[n..],
                Err(problem) if problem.kind() == ErrorKind::WouldBlock => {
                    let is_ready = wait(self.output(), PollFlags::OUT, give_up_at);
                    assert!(is_ready, "the other side takes nothing");
                }
                Err(problem) if problem.kind() == ErrorKind::Interrupted => {}
                Err(problem) => return Err(problem),
            }
        }
        Ok(())
    }

    /// Sends a request under an id of the test's choice, as raw JSON.
    #[track_caller]
    pub fn request(&mut self, id: &str, method: &str, params: &Value) {
        self.send(&format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#
        ));
    }

    #[track_caller]
    pub fn notify(&mut self, method: &str, params: &Value) {
        self.send(&format!(r#"{{"jsonrpc":"2.0","method":"{method}","params":{params}}}"#));
    }

    /// Closes our sending side; reading goes on.
    pub fn finish_sending(&mut self) {
        match &mut self.stream {
            LineStream::Tcp(stream) => stream.shutdown(Shutdown::Write).unwrap(),
            LineStream::Unix(stream) => stream.shutdown(Shutdown::Write).unwrap(),
            LineStream::Pipes(stdin, _) => drop(stdin.take()),
        }
    }

    /// The next line; nothing when the other side has ended.
    #[track_caller]
    pub fn next_line(&mut self) -> Option<String> {
        self.skipped_lines.pop_front().or_else(|| self.read_line().map(checked))
    }

    /// The next line without a check that it is JSON-RPC.
    #[track_caller]
    pub fn next_raw(&mut self) -> Option<String> {
        self.skipped_lines.pop_front().or_else(|| self.read_line())
    }

    /// The next message.
    #[track_caller]
    pub fn next_message(&mut self) -> Value {
        let line = self.next_line().expect("a message, not the end");
        serde_json::from_str(&line).unwrap()
    }

    /// The next message that fits; the others are kept for later.
    #[track_caller]
    pub fn wait_for(&mut self, mut fits: impl FnMut(&Value) -> bool) -> Value {
        let value_of = |line: &String| serde_json::from_str::<Value>(line).unwrap();
        if let Some(at) = self.skipped_lines.iter().position(|line| fits(&value_of(line))) {
            return value_of(&self.skipped_lines.remove(at).unwrap());
        }
        loop {
            let line = self.read_line().map(checked);
            let line = line.expect("what was waited for, not the end");
            let value = value_of(&line);
            if fits(&value) {
                return value;
            }
            self.skipped_lines.push_back(line);
        }
    }

    /// The answer with this id; requests of the other side are skipped.
    #[track_caller]
    pub fn answer_to(&mut self, id: &Value) -> Value {
        self.wait_for(|message| message["id"] == *id && message.get("method").is_none())
    }

    /// Sends a request and waits for the whole answer, which may be an error.
    #[track_caller]
    pub fn ask(&mut self, method: &str, params: &Value) -> Value {
        let id = self.start(method, params);
        self.answer_to(&id)
    }

    /// Sends a request and gives its result; an error fails the test.
    #[track_caller]
    pub fn result(&mut self, method: &str, params: &Value) -> Value {
        let mut answer = self.ask(method, params);
        assert!(answer.get("error").is_none(), "{method}: {answer}");
        answer["result"].take()
    }

    /// Sends a request without waiting; gives its id.
    #[track_caller]
    pub fn start(&mut self, method: &str, params: &Value) -> Value {
        self.n_asked += 1;
        let id = format!("own-{}", self.n_asked);
        self.request(&json!(id).to_string(), method, params);
        json!(id)
    }

    /// Everything until the other side ends.
    #[track_caller]
    pub fn rest(&mut self) -> Vec<Value> {
        let mut rest = Vec::new();
        while let Some(line) = self.next_line() {
            rest.push(serde_json::from_str(&line).unwrap());
        }
        rest
    }

    /// How many whole lines come until the other side ends, which it may do anywhere.
    #[track_caller]
    pub fn count_until_cut_off(&mut self) -> usize {
        let mut n_lines = self.skipped_lines.len();
        self.may_be_cut_off = true;
        while self.read_line().is_some() {
            n_lines += 1;
        }
        n_lines
    }

    /// The lines that came while another was waited for.
    pub fn put_aside(&self) -> impl Iterator<Item = &str> {
        self.skipped_lines.iter().map(String::as_str)
    }

    #[track_caller]
    fn read_line(&mut self) -> Option<String> {
        let give_up_at = Instant::now() + PATIENCE;
        loop {
            let new = &self.unread[self.searched..];
            if let Some(at) = new.iter().position(|byte| *byte == b'\n') {
                let rest = self.unread.split_off(self.searched + at + 1);
                let mut line = std::mem::replace(&mut self.unread, rest);
                line.pop();
                self.searched = 0;
                return Some(String::from_utf8(line).expect("UTF-8"));
            }
            self.searched = self.unread.len();
            let mut buffer = [0; READ_BYTES];
            match self.read(&mut buffer) {
                Ok(0) => {
                    let left = String::from_utf8_lossy(&self.unread);
                    let is_well = left.is_empty() || self.may_be_cut_off;
                    assert!(is_well, "the end in the middle of a line: {left}");
                    return None;
                }
                Ok(n) => self.unread.extend_from_slice(&buffer[..n]),
                Err(problem) if problem.kind() == ErrorKind::WouldBlock => {
                    let is_ready = wait(self.input(), PollFlags::IN, give_up_at);
                    assert!(is_ready, "nothing comes; put aside: {:?}", self.skipped_lines);
                }
                Err(problem) if problem.kind() == ErrorKind::Interrupted => {}
                // Closed while something of ours was still unread there: an end like another.
                Err(problem) if problem.kind() == ErrorKind::ConnectionReset => return None,
                Err(problem) => panic!("cannot read: {problem}"),
            }
        }
    }

    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        match &mut self.stream {
            LineStream::Tcp(stream) => stream.read(buffer),
            LineStream::Unix(stream) => stream.read(buffer),
            LineStream::Pipes(_, stdout) => stdout.read(buffer),
        }
    }

    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        match &mut self.stream {
            LineStream::Tcp(stream) => stream.write(bytes),
            LineStream::Unix(stream) => stream.write(bytes),
            LineStream::Pipes(Some(stdin), _) => stdin.write(bytes),
            LineStream::Pipes(None, _) => Err(ErrorKind::BrokenPipe.into()),
        }
    }

    fn input(&self) -> BorrowedFd<'_> {
        match &self.stream {
            LineStream::Tcp(stream) => stream.as_fd(),
            LineStream::Unix(stream) => stream.as_fd(),
            LineStream::Pipes(_, stdout) => stdout.as_fd(),
        }
    }

    fn output(&self) -> BorrowedFd<'_> {
        match &self.stream {
            LineStream::Pipes(Some(stdin), _) => stdin.as_fd(),
            _ => self.input(),
        }
    }
}

/// Whether the descriptor became ready in time.
fn wait(descriptor: BorrowedFd<'_>, flags: PollFlags, give_up_at: Instant) -> bool {
    let left = give_up_at.saturating_duration_since(Instant::now());
    let timeout = Timespec::try_from(left).unwrap();
    let mut waited = [PollFd::new(&descriptor, flags)];
    match poll(&mut waited, Some(&timeout)) {
        Ok(n) => n > 0,
        Err(rustix::io::Errno::INTR) => true,
        Err(problem) => panic!("cannot wait: {problem}"),
    }
}

/// A line as text. Whoever sends us anything but JSON-RPC has failed the test.
#[track_caller]
fn checked(line: String) -> String {
    let shown: String = line.chars().take(300).collect();
    let message: Value = serde_json::from_str(&line).unwrap_or_else(|why| panic!("{why}: {shown}"));
    let has = |name: &str| message.get(name).is_some();
    assert_eq!(message["jsonrpc"], "2.0", "{shown}");
    match (has("method"), has("result"), has("error")) {
        (true, false, false) => assert!(message["method"].is_string(), "{shown}"),
        (false, true, false) => assert!(has("id"), "{shown}"),
        (false, false, true) => {
            assert!(has("id"), "{shown}");
            assert!(message["error"]["code"].is_i64(), "{shown}");
            assert!(message["error"]["message"].is_string(), "{shown}");
        }
        _ => panic!("neither a request nor an answer: {shown}"),
    }
    line
}
