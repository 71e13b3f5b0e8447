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
use reqwest::{Client, StatusCode, Url};
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

#[derive(Debug, thiserror::Error)]
pub(super) enum SseTransportError {
    #[error("{}", http::why(.0))]
    Http(reqwest::Error),
    #[error("the server refused with HTTP {0}")]
    Status(StatusCode),
    #[error("the server did not answer with a stream of events")]
    NoStream,
    #[error("the stream of events ended before it named an address")]
    NoAddress,
    #[error("the server named an address that cannot be used")]
    BadAddress,
    #[error("the server wants messages to be sent to another origin, {0}")]
    Elsewhere(String),
    #[error("{0}")]
    TooLong(sse::SseTooLong),
    #[error("a message cannot be written: {0}")]
    Json(serde_json::Error),
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
    ) -> Result<Self, String> {
        let client = http::client()?;
        let headers = http::headers(headers).into_iter().collect();
        Self::open_with(client, url, headers, reason).await.map_err(|error| error.to_string())
    }

    async fn open_with(
        client: Client,
        url: &str,
        headers: HeaderMap,
        reason: EndReason,
    ) -> Result<Self, SseTransportError> {
        let request = client.get(url).headers(headers.clone());
        let request = request.header(header::ACCEPT, http::EVENT_STREAM);
        let response = request.send().await.map_err(SseTransportError::Http)?;
        if !response.status().is_success() {
            return Err(SseTransportError::Status(response.status()));
        }
        if !http::has_type(&response, http::EVENT_STREAM) {
            return Err(SseTransportError::NoStream);
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
                None => return Err(SseTransportError::NoAddress),
            }
        };
        link.address = base.join(named.trim()).map_err(|_invalid| SseTransportError::BadAddress)?;
        if link.address.origin() != base.origin() {
            return Err(SseTransportError::Elsewhere(link.address.origin().ascii_serialization()));
        }
        Ok(link)
    }

    /// The next event of the stream. Dropping the future loses nothing.
    async fn next(&mut self) -> Result<Option<sse::SseEvent>, SseTransportError> {
        loop {
            if let Some(event) = self.read.pop_front() {
                return Ok(Some(event));
            }
            let Some(chunk) = self.chunks.next().await else { return Ok(None) };
            let chunk = chunk.map_err(SseTransportError::Http)?;
            self.events.feed(&chunk, &mut self.read).map_err(SseTransportError::TooLong)?;
        }
    }
}

impl Transport<RoleClient> for SseTransport {
    type Error = SseTransportError;

    fn send(
        &mut self,
        message: ClientJsonRpcMessage,
    ) -> impl Future<Output = Result<(), SseTransportError>> + Send + 'static {
        self.filter.note_sent(&message);
        let post = self.client.post(self.address.clone()).headers(self.headers.clone());
        let post = post.header(header::CONTENT_TYPE, "application/json").timeout(POST_WITHIN);
        async move {
            let body = serde_json::to_vec(&message).map_err(SseTransportError::Json)?;
            let response = post.body(body).send().await.map_err(SseTransportError::Http)?;
            match response.status().is_success() {
                true => Ok(()),
                false => Err(SseTransportError::Status(response.status())),
            }
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

    async fn close(&mut self) -> Result<(), SseTransportError> {
        self.chunks = futures_util::stream::empty().boxed();
        Ok(())
    }
}
