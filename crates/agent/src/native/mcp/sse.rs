//! The transport of 2024: a stream of events that names an address, and messages posted there.
//!
//! In: a URL. Out: a transport for `rmcp`, which has dropped its own. Everything that is posted
//! goes to the origin of the stream: the headers hold keys.

use std::collections::VecDeque;
use std::time::Duration;

use bytes::Bytes;
use futures_util::StreamExt as _;
use futures_util::stream::BoxStream;
use reqwest::header::{self, HeaderMap};
use reqwest::{Client, Response, Url};
use rmcp::RoleClient;
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::Transport;
use wire::sse;

use super::http;
use super::message_filter::{FilterVerdict, MAX_MESSAGE_BYTES, MessageFilter};
use super::spec::SecretValues;
use super::stdio::EndReason;

/// Time limit of a post: it is only acknowledged; its answer comes by the stream.
const POST_WITHIN: Duration = Duration::from_secs(30);

/// What went wrong, for people.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(super) struct SseFailure(String);

impl From<reqwest::Error> for SseFailure {
    fn from(error: reqwest::Error) -> Self {
        Self(http::why(&error))
    }
}

pub(super) struct SseTransport {
    client: Client,
    headers: HeaderMap,
    address: Url,
    chunks: BoxStream<'static, reqwest::Result<Bytes>>,
    events: sse::SseParser,
    read: VecDeque<sse::SseEvent>,
    filter: MessageFilter,
    reason: EndReason,
}

impl SseTransport {
    /// Opens the stream and waits for the address.
    pub(super) async fn open(
        url: &str,
        headers: &SecretValues,
        reason: EndReason,
    ) -> Result<Self, SseFailure> {
        let client = http::client().map_err(SseFailure)?;
        let headers: HeaderMap = http::headers(headers).into_iter().collect();
        let request = client.get(url).headers(headers.clone());
        let response = request.header(header::ACCEPT, http::EVENT_STREAM).send().await?;
        check_status(&response)?;
        if !http::has_type(&response, http::EVENT_STREAM) {
            return Err(failed("the server did not answer with a stream of events"));
        }
        let base = response.url().clone();
        let mut link = Self {
            client,
            headers,
            address: base.clone(),
            chunks: response.bytes_stream().boxed(),
            events: sse::SseParser::new(MAX_MESSAGE_BYTES),
            read: VecDeque::new(),
            filter: MessageFilter::default(),
            reason,
        };
        let named = loop {
            match link.next().await? {
                Some(event) if event.name == "endpoint" => break event.data,
                Some(_early) => {}
                None => {
                    return Err(failed("the stream of events ended before it named an address"));
                }
            }
        };
        let unusable = |_invalid| failed("the server named an address that cannot be used");
        link.address = base.join(named.trim()).map_err(unusable)?;
        if link.address.origin() != base.origin() {
            let other = link.address.origin().ascii_serialization();
            return Err(SseFailure(format!(
                "the server wants messages to be sent to another origin, {other}"
            )));
        }
        Ok(link)
    }

    /// The next event of the stream. Dropping the future loses nothing.
    async fn next(&mut self) -> Result<Option<sse::SseEvent>, SseFailure> {
        loop {
            if let Some(event) = self.read.pop_front() {
                return Ok(Some(event));
            }
            let Some(chunk) = self.chunks.next().await else { return Ok(None) };
            self.events.feed(&chunk?, &mut self.read).map_err(failed)?;
        }
    }
}

fn failed(why: impl std::fmt::Display) -> SseFailure {
    SseFailure(why.to_string())
}

fn check_status(response: &Response) -> Result<(), SseFailure> {
    match response.status() {
        status if status.is_success() => Ok(()),
        status => Err(SseFailure(format!("the server refused with HTTP {status}"))),
    }
}

impl Transport<RoleClient> for SseTransport {
    type Error = SseFailure;

    fn send(
        &mut self,
        message: ClientJsonRpcMessage,
    ) -> impl Future<Output = Result<(), SseFailure>> + Send + 'static {
        self.filter.note_sent(&message);
        let post = self.client.post(self.address.clone()).headers(self.headers.clone());
        let post = post.header(header::CONTENT_TYPE, "application/json").timeout(POST_WITHIN);
        async move {
            let body = serde_json::to_vec(&message)
                .map_err(|error| failed(format_args!("a message cannot be written: {error}")))?;
            check_status(&post.body(body).send().await?)
        }
    }

    async fn receive(&mut self) -> Option<ServerJsonRpcMessage> {
        loop {
            let event = match self.next().await {
                Ok(event) => event?,
                Err(error) => {
                    let _ = self.reason.set(error.to_string());
                    return None;
                }
            };
            if !matches!(event.name.as_str(), "" | "message") {
                continue;
            }
            match self.filter.admit(event.data.as_bytes()) {
                FilterVerdict::Pass(message) => return Some(*message),
                FilterVerdict::Skip => {}
                FilterVerdict::Disconnect(why) => {
                    let _ = self.reason.set(why.to_owned());
                    return None;
                }
            }
        }
    }

    async fn close(&mut self) -> Result<(), SseFailure> {
        self.chunks = futures_util::stream::empty().boxed();
        Ok(())
    }
}
