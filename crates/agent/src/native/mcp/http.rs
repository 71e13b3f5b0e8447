//! HTTP towards servers: the client, and the requests of streamable HTTP.
//!
//! `rmcp` keeps sessions, versions and streams; this makes its requests, because its own client
//! reads answers of any length. Redirects stay on their origin: headers hold keys.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream::{self, BoxStream};
use reqwest::header::{self, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, RequestBuilder, Response, StatusCode, Url};
use rmcp::ErrorData;
use rmcp::model::{ClientJsonRpcMessage, ClientRequest, ServerJsonRpcMessage};
use rmcp::transport::streamable_http_client::{
    AuthRequiredError, HttpStatusError, SseError, StreamableHttpClient, StreamableHttpError,
    StreamableHttpPostResponse,
};
use sse_stream::Sse;
use wire::sse;

use super::message_filter::MAX_MESSAGE_BYTES;
use super::spec::SecretValues;
use crate::native::http;
use crate::native::secret::Secret;

pub(super) const EVENT_STREAM: &str = "text/event-stream";
const JSON: &str = "application/json";
const BOTH: &str = "application/json, text/event-stream";
const SESSION_ID: &str = "mcp-session-id";
const LAST_EVENT_ID: &str = "last-event-id";

/// A host that can be reached accepts at once.
const CONNECT_WITHIN: Duration = Duration::from_secs(15);
const MAX_REDIRECTS: usize = 5;
/// Bytes read of the body of a refusal: a sentence, or a page of a proxy.
const MAX_REFUSAL_BYTES: usize = 64 * 1024;
/// Characters of it in a message for people.
const SHOWN_CHARS: usize = 200;

type TransportFailure = StreamableHttpError<reqwest::Error>;
type SseStream = BoxStream<'static, Result<Sse, SseError>>;

/// A client for one server of one session: connections and cookies are not shared.
pub(super) fn client() -> Result<Client, String> {
    let stay = reqwest::redirect::Policy::custom(|attempt| {
        let is_far = attempt.previous().len() > MAX_REDIRECTS;
        let is_same = |from: &Url| from.origin() == attempt.url().origin();
        match attempt.previous().first().is_some_and(is_same) && !is_far {
            true => attempt.follow(),
            false => attempt.stop(),
        }
    });
    let building = http::builder().connect_timeout(CONNECT_WITHIN).redirect(stay);
    building.build().map_err(|error| format!("no HTTP client can be made: {}", why(&error)))
}

/// The configured headers; they were checked when the server was named.
pub(super) fn headers(headers: &SecretValues) -> HashMap<HeaderName, HeaderValue> {
    let header = |(name, value): (&String, &Secret)| {
        Some((HeaderName::from_bytes(name.as_bytes()).ok()?, http::sensitive(value.reveal())?))
    };
    headers.iter().filter_map(header).collect()
}

/// An error with its causes, and without the URL, which may hold a token.
pub(super) fn why(error: &reqwest::Error) -> String {
    let what = match error {
        error if error.is_connect() => "cannot connect",
        error if error.is_timeout() => "no answer in time",
        _ => "the request failed",
    };
    http::reasons(error).map_or_else(|| what.to_owned(), |why| format!("{what}: {why}"))
}

pub(super) fn has_type(response: &Response, wanted: &str) -> bool {
    let value = response.headers().get(header::CONTENT_TYPE);
    let value = value.and_then(|value| value.to_str().ok()).unwrap_or_default();
    value.get(..wanted.len()).is_some_and(|start| start.eq_ignore_ascii_case(wanted))
}

/// Makes the requests of `rmcp`'s transport, with bounded answers.
#[derive(Debug, Clone)]
pub(super) struct BoundedHttpClient(pub(super) Client);

impl StreamableHttpClient for BoundedHttpClient {
    type Error = reqwest::Error;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        token: Option<String>,
        custom: HashMap<HeaderName, HeaderValue>,
    ) -> Result<StreamableHttpPostResponse, TransportFailure> {
        let had_session = session.is_some();
        let request = self.0.post(uri.as_ref()).header(header::ACCEPT, BOTH);
        let request = with_headers(request, session, token, custom).json(&message);
        let response = request.send().await.map_err(TransportFailure::Client)?;
        let status = response.status();
        check_access(&response)?;
        if matches!(status, StatusCode::ACCEPTED | StatusCode::NO_CONTENT) {
            return Ok(StreamableHttpPostResponse::Accepted);
        }
        if status == StatusCode::NOT_FOUND && had_session {
            return Err(TransportFailure::SessionExpired);
        }
        let session = text_of(response.headers(), SESSION_ID);
        if !status.is_success() {
            return refusal(response, &message, had_session, session).await;
        }
        let is_request = matches!(message, ClientJsonRpcMessage::Request(_));
        if has_type(&response, EVENT_STREAM) {
            return Ok(StreamableHttpPostResponse::Sse(events(response), session));
        }
        if !is_request {
            // A response to a message that wants none.
            return Ok(StreamableHttpPostResponse::Accepted);
        }
        if !has_type(&response, JSON) {
            let found = text_of(response.headers(), header::CONTENT_TYPE.as_str());
            return Err(TransportFailure::UnexpectedContentType(found));
        }
        let body = whole(response, MAX_MESSAGE_BYTES).await?;
        Ok(StreamableHttpPostResponse::Json(serde_json::from_slice(&body)?, session))
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session: Arc<str>,
        token: Option<String>,
        custom: HashMap<HeaderName, HeaderValue>,
    ) -> Result<(), TransportFailure> {
        let request = with_headers(self.0.delete(uri.as_ref()), Some(session), token, custom);
        let response = request.send().await.map_err(TransportFailure::Client)?;
        match response.status() {
            StatusCode::METHOD_NOT_ALLOWED => Ok(()),
            _ => response.error_for_status().map(drop).map_err(TransportFailure::Client),
        }
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session: Option<Arc<str>>,
        last_event: Option<String>,
        token: Option<String>,
        custom: HashMap<HeaderName, HeaderValue>,
    ) -> Result<SseStream, TransportFailure> {
        let mut request = self.0.get(uri.as_ref()).header(header::ACCEPT, EVENT_STREAM);
        if let Some(last_event) = last_event {
            request = request.header(LAST_EVENT_ID, last_event);
        }
        let request = with_headers(request, session, token, custom);
        let response = request.send().await.map_err(TransportFailure::Client)?;
        check_access(&response)?;
        if response.status() == StatusCode::METHOD_NOT_ALLOWED {
            return Err(TransportFailure::ServerDoesNotSupportSse);
        }
        let response = response.error_for_status().map_err(TransportFailure::Client)?;
        match has_type(&response, EVENT_STREAM) {
            true => Ok(events(response)),
            false => {
                let found = text_of(response.headers(), header::CONTENT_TYPE.as_str());
                Err(TransportFailure::UnexpectedContentType(found))
            }
        }
    }
}

fn with_headers(
    mut request: RequestBuilder,
    session: Option<Arc<str>>,
    token: Option<String>,
    custom: HashMap<HeaderName, HeaderValue>,
) -> RequestBuilder {
    request = request.headers(custom.into_iter().collect());
    if let Some(token) = token {
        request = request.bearer_auth(token);
    }
    if let Some(session) = session {
        request = request.header(SESSION_ID, session.as_ref());
    }
    request
}

fn text_of(headers: &HeaderMap, name: &str) -> Option<String> {
    headers.get(name)?.to_str().ok().map(str::to_owned)
}

fn check_access(response: &Response) -> Result<(), TransportFailure> {
    let status = response.status();
    if !matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) {
        return Ok(());
    }
    match text_of(response.headers(), header::WWW_AUTHENTICATE.as_str()) {
        Some(challenge) => Err(TransportFailure::AuthRequired(AuthRequiredError::new(challenge))),
        None => Err(HttpStatusError::new(status.as_u16(), None).into()),
    }
}

/// A refusal may hold an error of the protocol, which says more than its status.
async fn refusal(
    response: Response,
    message: &ClientJsonRpcMessage,
    had_session: bool,
    session: Option<String>,
) -> Result<StreamableHttpPostResponse, TransportFailure> {
    let status = response.status();
    let retry_after = text_of(response.headers(), header::RETRY_AFTER.as_str());
    let is_json = has_type(&response, JSON);
    let body = whole(response, MAX_REFUSAL_BYTES).await.unwrap_or_default();
    let told = match serde_json::from_slice(&body) {
        Ok(ServerJsonRpcMessage::Error(error)) if is_json => Some(error),
        _ => None,
    };
    // A server of the older protocol refuses the probe in its own way, often without its id;
    // that it did is all that is to be known.
    if let ClientJsonRpcMessage::Request(request) = message
        && matches!(request.request, ClientRequest::DiscoverRequest(_))
        && !had_session
        && status.is_client_error()
    {
        let error = told.map_or_else(
            || ErrorData::invalid_request(format!("refused with HTTP {status}"), None),
            |told| told.error,
        );
        let answer = ServerJsonRpcMessage::error(error, Some(request.id.clone()));
        return Ok(StreamableHttpPostResponse::Json(answer, None));
    }
    if let Some(told) = told {
        return Ok(StreamableHttpPostResponse::Json(ServerJsonRpcMessage::Error(told), session));
    }
    if status == StatusCode::TOO_MANY_REQUESTS || status.is_server_error() {
        return Err(HttpStatusError::new(status.as_u16(), retry_after).into());
    }
    let shown: String = String::from_utf8_lossy(&body).chars().take(SHOWN_CHARS).collect();
    Err(TransportFailure::UnexpectedServerResponse(Cow::Owned(format!("HTTP {status}: {shown}"))))
}

async fn whole(mut response: Response, limit: usize) -> Result<Vec<u8>, TransportFailure> {
    let mut body = Vec::new();
    if http::read(&mut response, limit, &mut body).await.map_err(TransportFailure::Client)? {
        return Ok(body);
    }
    let why = format!("an answer is longer than {limit} bytes");
    Err(TransportFailure::UnexpectedServerResponse(Cow::Owned(why)))
}

fn events(response: Response) -> SseStream {
    let mut reader = sse::SseParser::new(MAX_MESSAGE_BYTES);
    let parsed = response.bytes_stream().map(move |chunk| {
        let mut events = Vec::new();
        let fed = match chunk {
            Ok(chunk) => {
                reader.feed(&chunk, &mut events).map_err(|long| SseError::Body(long.into()))
            }
            Err(error) => Err(SseError::Body(error.into())),
        };
        let event = |sse::SseEvent { name, data, id, retry }| {
            Ok(Sse { event: (!name.is_empty()).then_some(name), data: Some(data), id, retry })
        };
        stream::iter(events.into_iter().map(event).chain(fed.err().map(Err)))
    });
    // After an error nothing that follows could be trusted.
    let until_error = parsed.flatten().scan(false, |has_failed, item| {
        let is_over = std::mem::replace(has_failed, item.is_err());
        std::future::ready((!is_over).then_some(item))
    });
    until_error.boxed()
}
