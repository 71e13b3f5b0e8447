//! `bus-echo`: a worker that costs as little as possible.
//!
//! In: JSON-RPC lines on stdin. Out: each request's `params`, echoed under its id and with its
//! session. The answers to everything that one `read` brought leave in one `write`.

use bench::inbox::{FillOutcome, Inbox};
use bench::outbox::{FlushOutcome, Outbox};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::stdio::{stdin, stdout};

fn main() -> anyhow::Result<()> {
    let (mut inbox, mut outbox) = (Inbox::default(), Outbox::default());
    loop {
        match inbox.fill(stdin())? {
            FillOutcome::Some => {}
            FillOutcome::NothingYet => wait_for(PollFd::from_borrowed_fd(stdin(), PollFlags::IN))?,
            FillOutcome::End => return Ok(()),
        }
        while let Some(line) = inbox.next_line() {
            answer(line, &mut outbox);
        }
        while !outbox.is_empty() && outbox.flush(stdout())? == FlushOutcome::Part {
            wait_for(PollFd::from_borrowed_fd(stdout(), PollFlags::OUT))?;
        }
    }
}

/// Waits for a pipe: a bus may hand over pipes in non-blocking mode.
fn wait_for(mut pipe: PollFd<'_>) -> anyhow::Result<()> {
    poll(std::slice::from_mut(&mut pipe), None)?;
    Ok(())
}

/// Answers a request; other lines get no answer.
fn answer(line: &[u8], outbox: &mut Outbox) {
    let Some(message) = Message::read(line) else { return };
    let (Some(id), Some(_)) = (message.id, message.method) else { return };
    outbox.push(b"{\"jsonrpc\":\"2.0\",\"id\":");
    outbox.push(id);
    if let Some(session) = message.session {
        outbox.push(b",\"sessionId\":");
        outbox.push(session);
    }
    outbox.push(b",\"result\":{\"echo\":");
    outbox.push(message.params.unwrap_or(b"null"));
    outbox.push(b"}}\n");
}

/// Members of a message as they stand in its line.
#[derive(Default)]
struct Message<'a> {
    id: Option<&'a [u8]>,
    session: Option<&'a [u8]>,
    method: Option<&'a [u8]>,
    params: Option<&'a [u8]>,
}

impl<'a> Message<'a> {
    fn read(line: &'a [u8]) -> Option<Self> {
        let mut message = Self::default();
        let mut rest = trim(line).strip_prefix(b"{")?;
        loop {
            rest = trim(rest);
            match rest.first()? {
                b'}' => return Some(message),
                b',' => rest = rest.get(1..)?,
                _ => {
                    let (name, after) = rest.split_at_checked(string_end(rest)?)?;
                    let value = trim(trim(after).strip_prefix(b":")?);
                    let (value, after) = value.split_at_checked(value_end(value)?)?;
                    rest = after;
                    match name {
                        b"\"id\"" => message.id = Some(value),
                        b"\"sessionId\"" => message.session = Some(value),
                        b"\"method\"" => message.method = Some(value),
                        b"\"params\"" => message.params = Some(value),
                        _ => {}
                    }
                }
            }
        }
    }
}

fn trim(text: &[u8]) -> &[u8] {
    text.trim_ascii_start()
}

/// Where the string that `text` starts with ends.
fn string_end(text: &[u8]) -> Option<usize> {
    let mut at = text.starts_with(b"\"").then_some(1)?;
    loop {
        at += memchr::memchr2(b'"', b'\\', text.get(at..)?)?;
        match text.get(at)? {
            b'"' => return Some(at + 1),
            _ => at += 2,
        }
    }
}

fn value_end(text: &[u8]) -> Option<usize> {
    let (mut at, mut depth) = (0_usize, 0_u32);
    loop {
        match text.get(at)? {
            b'"' => at += string_end(text.get(at..)?)?,
            b'{' | b'[' => {
                depth += 1;
                at += 1;
                continue;
            }
            b'}' | b']' => {
                depth = depth.checked_sub(1)?;
                at += 1;
            }
            _ if depth > 0 => {
                at += 1;
                continue;
            }
            _ => {
                let end =
                    |byte: &u8| matches!(byte, b',' | b'}' | b']') || byte.is_ascii_whitespace();
                return text.get(at..)?.iter().position(end).map(|n| at + n);
            }
        }
        if depth == 0 {
            return Some(at);
        }
    }
}
