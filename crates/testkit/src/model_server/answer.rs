//! The answers of the model server: their content, and every way to spoil it.
//!
//! An answer is built by chaining: first its content, then the way it is sent. Places in a stream
//! are counted in events, from 0; an answer whose place is never reached is sent whole.

use std::time::Duration;

use serde_json::{Value, json};

#[derive(Debug, Clone)]
pub struct ScriptedAnswer {
    pub(super) status: u16,
    pub(super) headers: Vec<(String, String)>,
    pub(super) content: AnswerContent,
    pub(super) finish: Option<String>,
    pub(super) usage: Option<Value>,
    pub(super) manner: AnswerDelivery,
    pub(super) spoilt: Vec<(usize, StreamFault)>,
}

#[derive(Debug, Clone)]
pub(super) enum AnswerContent {
    /// Streamed, or as one document.
    Said(Vec<AnswerPart>),
    /// Byte for byte.
    Raw(Vec<u8>),
}

#[derive(Debug, Clone)]
pub(super) enum AnswerPart {
    Text(String),
    Thought(String),
    /// Arguments as they are written.
    Call {
        id: Option<String>,
        name: String,
        arguments: String,
    },
    /// A delta as it is.
    Delta(Value),
}

/// The way in which an answer is sent.
#[derive(Debug, Clone)]
pub(super) struct AnswerDelivery {
    pub(super) is_streamed: bool,
    pub(super) line_end: &'static str,
    pub(super) space: &'static str,
    pub(super) thought_member: &'static str,
    pub(super) has_done: bool,
    pub(super) has_open_end: bool,
    pub(super) has_comments: bool,
    pub(super) has_index: bool,
    pub(super) is_interleaved: bool,
    pub(super) is_framed: bool,
    /// Characters of text and arguments in one event; 0 means words.
    pub(super) piece_chars: usize,
    /// Bytes in one write; 0 means whole events.
    pub(super) write_bytes: usize,
    pub(super) pause: Duration,
    pub(super) hang: Option<HangPoint>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HangPoint {
    BeforeHead,
    AfterHead,
}

/// A fault before an event of the stream.
#[derive(Debug, Clone)]
pub(super) enum StreamFault {
    Insert(Vec<u8>),
    Hang,
    Cut,
    Reset,
    /// The body ends as if it were whole.
    End,
}

/// An answer with this text.
pub fn text(text: impl Into<String>) -> ScriptedAnswer {
    ScriptedAnswer::new(vec![]).text(text)
}

/// An answer with this thought; a text can be added.
pub fn thought(thought: impl Into<String>) -> ScriptedAnswer {
    ScriptedAnswer::new(vec![]).thought(thought)
}

/// An answer with these tool calls.
pub fn calls<'a>(calls: impl IntoIterator<Item = (&'a str, Value)>) -> ScriptedAnswer {
    calls.into_iter().fold(ScriptedAnswer::new(vec![]), |answer, (name, arguments)| {
        answer.call(name, &arguments)
    })
}

/// Answers with an HTTP status; add a body with [`ScriptedAnswer::json`] or
/// [`ScriptedAnswer::body`].
pub fn status(status: u16) -> ScriptedAnswer {
    let mut answer = raw("").content_type("application/json");
    answer.status = status;
    answer
}

/// Answers with these bytes as an event stream.
pub fn raw(bytes: impl Into<Vec<u8>>) -> ScriptedAnswer {
    let mut answer = ScriptedAnswer::new(vec![]);
    answer.content = AnswerContent::Raw(bytes.into());
    answer
}

impl From<&str> for ScriptedAnswer {
    fn from(said: &str) -> Self {
        text(said)
    }
}

/// The content of an answer.
impl ScriptedAnswer {
    fn new(said: Vec<AnswerPart>) -> Self {
        Self {
            status: 200,
            headers: vec![("content-type".to_owned(), "text/event-stream".to_owned())],
            content: AnswerContent::Said(said),
            finish: None,
            usage: Some(json!({
                "prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15,
            })),
            manner: AnswerDelivery {
                is_streamed: true,
                line_end: "\n",
                space: " ",
                thought_member: "reasoning_content",
                has_done: true,
                has_open_end: false,
                has_comments: false,
                has_index: true,
                is_interleaved: false,
                is_framed: true,
                piece_chars: 0,
                write_bytes: 0,
                pause: Duration::ZERO,
                hang: None,
            },
            spoilt: Vec::new(),
        }
    }

    #[must_use]
    pub fn text(self, text: impl Into<String>) -> Self {
        self.say(AnswerPart::Text(text.into()))
    }

    #[must_use]
    pub fn thought(self, thought: impl Into<String>) -> Self {
        self.say(AnswerPart::Thought(thought.into()))
    }

    #[must_use]
    pub fn call(self, name: &str, arguments: &Value) -> Self {
        self.raw_call(name, arguments.to_string())
    }

    /// With arguments that need not be JSON.
    #[must_use]
    pub fn raw_call(self, name: &str, arguments: impl Into<String>) -> Self {
        let n = match &self.content {
            AnswerContent::Said(said) => said.len(),
            AnswerContent::Raw(_) => 0,
        };
        // Different in every answer, as those of real models are.
        static NEXT: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);
        let answer = NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let id = Some(format!("call_{answer}_{n}"));
        self.say(AnswerPart::Call { id, name: name.to_owned(), arguments: arguments.into() })
    }

    /// A call without an id.
    #[must_use]
    pub fn call_without_id(self, name: &str, arguments: &Value) -> Self {
        let arguments = arguments.to_string();
        self.say(AnswerPart::Call { id: None, name: name.to_owned(), arguments })
    }

    /// A `delta` of any shape.
    #[must_use]
    pub fn delta(self, delta: Value) -> Self {
        self.say(AnswerPart::Delta(delta))
    }

    fn say(mut self, said: AnswerPart) -> Self {
        match &mut self.content {
            AnswerContent::Said(all) => all.push(said),
            AnswerContent::Raw(_) => self.content = AnswerContent::Said(vec![said]),
        }
        self
    }

    #[must_use]
    pub fn usage(mut self, input: u64, output: u64) -> Self {
        self.usage = Some(json!({
            "prompt_tokens": input, "completion_tokens": output, "total_tokens": input.saturating_add(output),
        }));
        self
    }

    /// A further member of its usage, such as a cost.
    #[must_use]
    pub fn usage_member(mut self, name: &str, value: Value) -> Self {
        self.usage.get_or_insert_with(|| json!({}))[name] = value;
        self
    }

    #[must_use]
    pub fn no_usage(mut self) -> Self {
        self.usage = None;
        self
    }

    /// `stop` and `tool_calls` come by themselves; `""` for none at all.
    #[must_use]
    pub fn finish(mut self, reason: &str) -> Self {
        self.finish = Some(reason.to_owned());
        self
    }

    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.retain(|(known, _)| known != name);
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    #[must_use]
    pub fn content_type(self, value: &str) -> Self {
        self.header("content-type", value)
    }

    #[must_use]
    pub fn retry_after(self, value: &str) -> Self {
        self.header("retry-after", value)
    }

    #[must_use]
    pub fn json(self, body: &Value) -> Self {
        self.body(body.to_string()).content_type("application/json")
    }

    #[must_use]
    pub fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.content = AnswerContent::Raw(body.into());
        self
    }
}

/// The way in which it is sent.
impl ScriptedAnswer {
    /// As one JSON document, although a stream was asked for.
    #[must_use]
    pub fn whole(mut self) -> Self {
        self.manner.is_streamed = false;
        self.content_type("application/json")
    }

    #[must_use]
    pub fn crlf(mut self) -> Self {
        self.manner.line_end = "\r\n";
        self
    }

    #[must_use]
    pub fn cr(mut self) -> Self {
        self.manner.line_end = "\r";
        self
    }

    /// `data:{…}` instead of `data: {…}`.
    #[must_use]
    pub fn no_space(mut self) -> Self {
        self.manner.space = "";
        self
    }

    /// `reasoning` instead of `reasoning_content`.
    #[must_use]
    pub fn thought_member(mut self, name: &'static str) -> Self {
        self.manner.thought_member = name;
        self
    }

    #[must_use]
    pub fn no_done(mut self) -> Self {
        self.manner.has_done = false;
        self
    }

    /// Without the newlines after the last event.
    #[must_use]
    pub fn open_end(mut self) -> Self {
        self.manner.has_open_end = true;
        self
    }

    #[must_use]
    pub fn comments(mut self) -> Self {
        self.manner.has_comments = true;
        self
    }

    /// Calls without `index`.
    #[must_use]
    pub fn no_index(mut self) -> Self {
        self.manner.has_index = false;
        self
    }

    /// Fragments of all calls by turns.
    #[must_use]
    pub fn interleaved(mut self) -> Self {
        self.manner.is_interleaved = true;
        self
    }

    /// Without chunks and length: only the end of the connection ends the body.
    #[must_use]
    pub fn unframed(mut self) -> Self {
        self.manner.is_framed = false;
        self
    }

    /// So many characters of text or arguments in one event; by default words.
    #[must_use]
    pub fn pieces(mut self, chars: usize) -> Self {
        self.manner.piece_chars = chars;
        self
    }

    /// So many bytes in one write, wherever that cuts.
    #[must_use]
    pub fn writes(mut self, bytes: usize) -> Self {
        self.manner.write_bytes = bytes;
        self
    }

    #[must_use]
    pub fn split_every_byte(self) -> Self {
        self.writes(1)
    }

    /// Sets the pause between two writes.
    #[must_use]
    pub fn pause(mut self, pause: Duration) -> Self {
        self.manner.pause = pause;
        self
    }

    #[must_use]
    pub fn hang_before_headers(mut self) -> Self {
        self.manner.hang = Some(HangPoint::BeforeHead);
        self
    }

    #[must_use]
    pub fn hang_after_headers(mut self) -> Self {
        self.manner.hang = Some(HangPoint::AfterHead);
        self
    }

    /// Hangs after so many events, and keeps the connection.
    #[must_use]
    pub fn hang_after(self, events: usize) -> Self {
        self.spoil(events, StreamFault::Hang)
    }

    /// Closes the connection after so many events, in the middle of the body.
    #[must_use]
    pub fn cut_after(self, events: usize) -> Self {
        self.spoil(events, StreamFault::Cut)
    }

    /// Resets the connection after so many events.
    #[must_use]
    pub fn reset_after(self, events: usize) -> Self {
        self.spoil(events, StreamFault::Reset)
    }

    /// Ends the body after so many events, as if that were all.
    #[must_use]
    pub fn end_after(self, events: usize) -> Self {
        self.spoil(events, StreamFault::End)
    }

    /// Puts these bytes before an event; they are not framed as one.
    #[must_use]
    pub fn insert(self, at: usize, bytes: impl Into<Vec<u8>>) -> Self {
        self.spoil(at, StreamFault::Insert(bytes.into()))
    }

    /// An event that is not JSON.
    #[must_use]
    pub fn garbage(self, at: usize) -> Self {
        self.insert(at, "data: {\"choices\":[{\"delta\":{\"content\":\"lost\n\n")
    }

    /// An event with an error in it.
    #[must_use]
    pub fn error(self, at: usize, error: &Value) -> Self {
        let event = json!({ "error": error });
        self.insert(at, format!("data: {event}\n\n"))
    }

    /// A line of so many bytes that does not end.
    #[must_use]
    pub fn giant_line(self, at: usize, bytes: usize) -> Self {
        let mut line = b"data: {\"choices\":[{\"delta\":{\"content\":\"".to_vec();
        line.resize(bytes.max(line.len()), b'x');
        self.insert(at, line).spoil(at, StreamFault::Hang)
    }

    fn spoil(mut self, at: usize, spoil: StreamFault) -> Self {
        self.spoilt.push((at, spoil));
        self
    }
}
