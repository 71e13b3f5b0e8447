//! The four wires on which agents talk to models.
//!
//! In: a path and a JSON body; later a reply. Out: the request as all vendors mean it; later the
//! reply as this vendor sends it, in pieces or whole.
//! A wire does no I/O and decides nothing: it reads and writes one vendor's format.

mod anthropic;
mod chat;
mod gemini;
mod responses;

use super::request::Request;
use super::scenario::Reply;
use super::tools::ToolAction;
use super::tools::{Call, Tool, call};
use serde_json::{Value, json};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wire {
    /// `…/chat/completions` of `OpenAI`.
    Chat,
    /// `…/responses` of `OpenAI`.
    Responses,
    /// `…/messages` of Anthropic.
    Anthropic,
    /// `…/models/MODEL:generateContent` and `:streamGenerateContent` of Google.
    Gemini,
}

/// One server-sent event.
#[derive(Debug, Clone)]
pub struct Event {
    pub name: Option<&'static str>,
    pub data: String,
    /// A piece of the answer's text, by which faults are placed.
    pub is_text: bool,
}

/// The context in which a reply is written: the model, the request's tools, a number for its ids.
#[derive(Debug, Clone, Copy)]
pub struct Context<'a> {
    pub model: &'a str,
    pub tools: &'a [Tool],
    /// Makes the ids of one reply different from those of another.
    pub n: u64,
}

impl Context<'_> {
    fn id(&self, prefix: &str, index: usize) -> String {
        format!("{prefix}_live{:04}_{index}", self.n)
    }

    fn call(&self, deed: &ToolAction) -> Call {
        call(deed, self.tools)
    }
}

impl Wire {
    pub fn of_path(path: &str) -> Option<Self> {
        let is_gemini =
            || path.ends_with(":generateContent") || path.ends_with(":streamGenerateContent");
        match path {
            _ if path.ends_with("/chat/completions") => Some(Self::Chat),
            _ if path.ends_with("/responses") => Some(Self::Responses),
            _ if path.ends_with("/messages") => Some(Self::Anthropic),
            _ if is_gemini() => Some(Self::Gemini),
            _ => None,
        }
    }

    pub fn read(self, path: &str, body: &Value) -> Request {
        match self {
            Self::Chat => chat::read(body),
            Self::Responses => responses::read(body),
            Self::Anthropic => anthropic::read(body),
            Self::Gemini => gemini::read(path, body),
        }
    }

    pub fn stream(self, reply: &Reply, context: &Context) -> Vec<Event> {
        match self {
            Self::Chat => chat::stream(reply, context),
            Self::Responses => responses::stream(reply, context),
            Self::Anthropic => anthropic::stream(reply, context),
            Self::Gemini => gemini::stream(reply, context),
        }
    }

    pub fn whole(self, reply: &Reply, context: &Context) -> Value {
        match self {
            Self::Chat => chat::whole(reply, context),
            Self::Responses => responses::whole(reply, context),
            Self::Anthropic => anthropic::whole(reply, context),
            Self::Gemini => gemini::whole(reply, context),
        }
    }

    /// The body of an HTTP error.
    pub fn error(self, code: u16) -> Value {
        let (kind, words) = match code {
            400 => ("invalid_request_error", "bad request"),
            401 => ("authentication_error", "invalid API key"),
            403 => ("permission_error", "forbidden"),
            404 => ("not_found_error", "model not found"),
            429 => ("rate_limit_error", "rate limit reached"),
            503 | 529 => ("overloaded_error", "overloaded"),
            _ => ("api_error", "internal server error"),
        };
        let message = format!("model {code}: {words}");
        match self {
            Self::Anthropic => {
                json!({ "type": "error", "error": { "type": kind, "message": message } })
            }
            Self::Gemini => json!({ "error": {
                "code": code, "message": message, "status": gemini::status(code) } }),
            Self::Chat | Self::Responses => {
                let code = if code == 401 { "invalid_api_key" } else { kind };
                json!({ "error": { "message": message, "type": kind, "param": null, "code": code } })
            }
        }
    }

    /// An error in the middle of a stream.
    pub fn stream_error(self) -> Event {
        match self {
            Self::Responses => responses::failure(),
            Self::Anthropic => event("error", &self.error(529)),
            Self::Chat | Self::Gemini => unnamed(&self.error(500)),
        }
    }

    /// The bytes of one event.
    pub fn frame(self, event: &Event) -> String {
        let name = event.name.map(|name| format!("event: {name}\n")).unwrap_or_default();
        match self {
            // Google's client splits lines at U+2028 too, and ends events with CRLF.
            Self::Gemini => {
                let data = event.data.replace('\u{2028}', "\\u2028").replace('\u{2029}', "\\u2029");
                format!("{name}data: {data}\r\n\r\n")
            }
            _ => format!("{name}data: {}\n\n", event.data),
        }
    }
}

fn event(name: &'static str, data: &Value) -> Event {
    Event { name: Some(name), data: data.to_string(), is_text: false }
}

fn unnamed(data: &Value) -> Event {
    Event { name: None, data: data.to_string(), is_text: false }
}

fn as_text(event: Event) -> Event {
    Event { is_text: true, ..event }
}

/// Arguments are streamed in a few pieces, cut anywhere between two characters.
fn pieces(text: &str) -> Vec<String> {
    const N_PIECES: usize = 3;
    let letters: Vec<char> = text.chars().collect();
    let size = letters.len().div_ceil(N_PIECES).max(1);
    letters.chunks(size).map(|piece| piece.iter().collect()).collect()
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn model_of(body: &Value) -> String {
    body["model"].as_str().unwrap_or_default().to_owned()
}

fn name_of(tool: &Value) -> String {
    let name = tool["name"].as_str().or(tool["type"].as_str());
    name.unwrap_or_default().to_owned()
}

fn given(value: &Value) -> Option<Value> {
    (!value.is_null()).then(|| value.clone())
}
