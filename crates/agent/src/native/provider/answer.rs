//! One answer, from its request to its end.
//!
//! A state machine that owns its connection: it sends, reads, waits and sends again, and gives
//! out pieces as they come.
//!
//! Always true: after a piece of the answer was given out nothing is sent again; an answer
//! that was not whole ends with a [`ModelFailure`], never as if it were.

use std::collections::VecDeque;
use std::time::Duration;

use futures_util::stream::{BoxStream, StreamExt as _, unfold};
use jiff::Timestamp;
use reqwest::header::{CONTENT_LENGTH, HeaderMap, TRANSFER_ENCODING};
use reqwest::{Response, Url, Version};
use tokio::time::{Instant, timeout};
use wire::Category;

use super::chunk::{ChunkError, ChunkParser};
use super::failure::{RequestFault, Retry, error_in_answer, refusal};
use super::quirks::EndpointQuirks;
use super::reader::{BodyError, BodyPiece, BodyReader};
use super::{ModelFailure, Provider, backoff, body, client};
use crate::native::chat::{ChatRequest, Delta, TokenUsage};
use crate::native::cost;
use crate::native::endpoint::shown;
use crate::native::http;

/// Time for what follows the last token (usage, `[DONE]`): it comes at once, if it comes.
const TAIL_WITHIN: Duration = Duration::from_secs(5);
const DRAIN_WITHIN: Duration = Duration::from_secs(1);
/// Bytes read of the body of a refusal.
const MAX_ERROR_BYTES: usize = 64 << 10;
const ERROR_WITHIN: Duration = Duration::from_secs(5);

/// An answer on its way, piece by piece. Dropping it closes the connection; dropping the future of
/// its next piece loses nothing.
pub type AnswerStream = BoxStream<'static, Result<Delta, ModelFailure>>;

pub(super) fn begin(provider: Provider, request: ChatRequest) -> AnswerStream {
    let way = AnswerMachine::new(provider, request);
    // The future that waits belongs to the stream, so that who stops polling can come back.
    unfold(way, |mut way| async move { Some((way.next().await?, way)) }).boxed()
}

/// The state machine of one answer.
struct AnswerMachine {
    provider: Provider,
    request: ChatRequest,
    url: Url,
    quirks: EndpointQuirks,
    stage: AnswerStage,
    ready: VecDeque<Delta>,
    /// Repetitions so far, and the time that was waited for them.
    n_retries: u32,
    waited: Duration,
    /// A piece of the answer was given out.
    has_token: bool,
    /// The cost in billionths of a US dollar, where it was reported ahead of the answer.
    header_cost: Option<u64>,
}

enum AnswerStage {
    Send,
    Wait(Duration),
    Read(Box<AnswerBody>),
    Failed(ModelFailure),
    Over,
}

struct AnswerBody {
    response: Response,
    reader: BodyReader,
    chunks: ChunkParser,
    first_by: Instant,
    /// Whether the transport itself marks the end of the body.
    is_framed: bool,
    is_done: bool,
    /// The body has nothing more to read.
    is_over: bool,
    pieces: Vec<BodyPiece>,
}

impl AnswerMachine {
    fn new(provider: Provider, request: ChatRequest) -> Self {
        let url = client::chat_url(provider.endpoint(), &request.model);
        let quirks = provider.quirks(&request.model);
        Self {
            provider,
            request,
            url,
            quirks,
            stage: AnswerStage::Send,
            ready: VecDeque::new(),
            n_retries: 0,
            waited: Duration::ZERO,
            has_token: false,
            header_cost: None,
        }
    }

    async fn next(&mut self) -> Option<Result<Delta, ModelFailure>> {
        loop {
            if let Some(mut delta) = self.ready.pop_front() {
                self.has_token |= !matches!(delta, Delta::Retrying { .. });
                if let Delta::Usage(usage) = &mut delta {
                    self.price(usage);
                }
                return Some(Ok(delta));
            }
            let stage = match std::mem::replace(&mut self.stage, AnswerStage::Over) {
                AnswerStage::Over => return None,
                AnswerStage::Failed(failure) => return Some(Err(failure)),
                AnswerStage::Wait(wait) => {
                    tokio::time::sleep(wait).await;
                    Ok(AnswerStage::Send)
                }
                AnswerStage::Send => self.send().await,
                AnswerStage::Read(reading) => self.read(reading).await,
            };
            self.stage = stage.unwrap_or_else(|trouble| self.retry_or_fail(trouble));
        }
    }

    /// Tries again, if that can help and nothing has come yet; what has come is given out first.
    fn retry_or_fail(&mut self, trouble: RequestFault) -> AnswerStage {
        let RequestFault { failure, retry } = trouble;
        let waits = self.provider.endpoint().waits;
        let asked = match retry {
            Retry::After(asked) if !self.has_token && self.ready.is_empty() => asked,
            _ => return AnswerStage::Failed(failure),
        };
        let attempt = self.n_retries + 1;
        let wait = backoff::wait(waits.retry_first, attempt, asked);
        let is_too_long = asked.is_some_and(|asked| asked > backoff::MAX_WAITED);
        if is_too_long || attempt > waits.max_retries || self.waited + wait > backoff::MAX_WAITED {
            return AnswerStage::Failed(failure);
        }
        tracing::warn!(
            attempt,
            ?wait,
            category = failure.category.as_str(),
            "asking the model again"
        );
        self.n_retries = attempt;
        self.waited += wait;
        self.ready.push_back(Delta::Retrying { attempt, wait, why: failure.message });
        AnswerStage::Wait(wait)
    }

    /// Sets the cost: as the endpoint reports it, else from the prices that are known.
    fn price(&self, usage: &mut TokenUsage) {
        let told = usage.nano_usd.or(self.header_cost);
        let price = || self.provider.price(&self.request.model);
        usage.nano_usd = told.or_else(|| price().map(|price| price.of(*usage)));
    }

    async fn send(&mut self) -> Result<AnswerStage, RequestFault> {
        let provider = self.provider.clone();
        let endpoint = provider.endpoint();
        let waits = endpoint.waits;
        let headers = client::headers(endpoint)?;
        loop {
            let takes_images = self.provider.takes_images(&self.request.model);
            let body = body::body(&self.request, endpoint, takes_images, self.quirks);
            let first_by = Instant::now() + waits.first_byte;
            let asking =
                self.provider.client()?.post(self.url.clone()).headers(headers.clone()).json(&body);
            let response = match timeout(waits.first_byte, asking.send()).await {
                Ok(Ok(response)) => response,
                Ok(Err(error)) => {
                    let failure = ModelFailure::network(endpoint, &self.url, &error);
                    let retry = if error.is_builder() { Retry::Never } else { Retry::After(None) };
                    return Err(RequestFault { failure, retry });
                }
                // An endpoint that is so slow would only begin anew.
                Err(_) => {
                    return Err(ModelFailure::silence(endpoint, &self.url, waits.first_byte).into());
                }
            };
            let status = response.status();
            if status.is_success() {
                if self.quirks != self.provider.quirks(&self.request.model) {
                    self.provider.remember(&self.request.model, self.quirks);
                }
                self.header_cost = cost::of_headers(response.headers());
                return Ok(AnswerStage::Read(Box::new(AnswerBody::new(response, first_by))));
            }
            let retry_after = retry_after(response.headers());
            let said = explanation(response).await;
            let trouble = refusal(endpoint, &self.url, status.as_u16(), &said, retry_after);
            match self.quirks.learn(&body, status.as_u16(), &said) {
                Some(quirks) if quirks.no_tools && !self.quirks.no_tools => {
                    // Known from now on; whoever asked decides what to ask without tools.
                    self.provider.remember(&self.request.model, quirks);
                    self.ready.push_back(Delta::ToolsRefused { why: trouble.failure.message });
                    return Ok(AnswerStage::Over);
                }
                Some(quirks) if !trouble.failure.is_too_long() => {
                    tracing::debug!(?quirks, "the endpoint does not take a parameter");
                    self.quirks = quirks;
                }
                _ => return Err(trouble),
            }
        }
    }

    /// Reads once, and gives what is to be done next.
    async fn read(&mut self, mut reading: Box<AnswerBody>) -> Result<AnswerStage, RequestFault> {
        let provider = self.provider.clone();
        let endpoint = provider.endpoint();
        let limit = reading.limit(endpoint.waits.idle);
        let read = timeout(limit, reading.response.chunk()).await;
        let has_finish = reading.chunks.has_finish();
        match read {
            Ok(Ok(Some(bytes))) => {
                let fed = reading.reader.feed(&bytes, &mut reading.pieces);
                self.take(&mut reading, fed)?;
            }
            // The answer was whole before the connection was lost or fell silent.
            Ok(Err(_)) | Err(_) if has_finish => {
                reading.is_done = true;
                reading.is_over = true;
            }
            Ok(Ok(None)) => {
                reading.is_over = true;
                self.end(&mut reading)?;
            }
            Ok(Err(error)) => {
                let failure = match self.has_token {
                    true => {
                        let why = "the connection was lost in the middle of the answer";
                        ModelFailure::lost(endpoint, &self.url, why)
                    }
                    false => ModelFailure::network(endpoint, &self.url, &error),
                };
                return Err(RequestFault { failure, retry: Retry::After(None) });
            }
            Err(_) => {
                let within = match reading.reader.is_empty() {
                    true => endpoint.waits.first_byte,
                    false => endpoint.waits.idle,
                };
                return Err(ModelFailure::silence(endpoint, &self.url, within).into());
            }
        }
        if !reading.is_done {
            return Ok(AnswerStage::Read(reading));
        }
        reading.chunks.end(&mut self.ready);
        reading.drain();
        Ok(AnswerStage::Over)
    }

    /// Takes what was read, up to where the reading failed.
    fn take(
        &mut self,
        reading: &mut AnswerBody,
        read: Result<(), BodyError>,
    ) -> Result<(), RequestFault> {
        let endpoint = self.provider.endpoint();
        for piece in reading.pieces.drain(..) {
            if reading.is_done {
                break;
            }
            let taken = match piece {
                BodyPiece::Chunk(chunk) => reading.chunks.take(&chunk, &mut self.ready),
                BodyPiece::Error(error) => Err(ChunkError::Error(error)),
                BodyPiece::Done => {
                    reading.is_done = true;
                    Ok(())
                }
            };
            match taken {
                Ok(()) => {}
                Err(ChunkError::Error(error)) => {
                    return Err(error_in_answer(endpoint, &self.url, &error));
                }
                Err(ChunkError::TooMuch) => {
                    let why = "it is longer than any answer";
                    return Err(ModelFailure::protocol(endpoint, &self.url, why).into());
                }
            }
        }
        let failed =
            |error: BodyError| ModelFailure::protocol(endpoint, &self.url, &error.to_string());
        Ok(read.map_err(failed)?)
    }

    /// The body is over, with or without `[DONE]`.
    fn end(&mut self, reading: &mut AnswerBody) -> Result<(), RequestFault> {
        let provider = self.provider.clone();
        let endpoint = provider.endpoint();
        let finished = reading.reader.finish(&mut reading.pieces);
        self.take(reading, finished)?;
        if reading.is_done || reading.chunks.has_finish() {
            reading.is_done = true;
            return Ok(());
        }
        if !self.has_token && self.ready.is_empty() {
            let message = format!("No response body from {}.", shown(&self.url));
            let failure = ModelFailure { category: Category::UpstreamUnavailable, message };
            return Err(RequestFault { failure, retry: Retry::After(None) });
        }
        if reading.is_framed {
            // Only the transport reports the end, which is reliable.
            tracing::debug!("an answer ended without a reason");
            reading.is_done = true;
            return Ok(());
        }
        let why = "the connection was closed in the middle of the answer";
        let failure = ModelFailure::lost(endpoint, &self.url, why);
        Err(RequestFault { failure, retry: Retry::After(None) })
    }
}

impl AnswerBody {
    fn new(response: Response, first_by: Instant) -> Self {
        let is_framed = response.version() >= Version::HTTP_2
            || response.headers().contains_key(TRANSFER_ENCODING)
            || response.headers().contains_key(CONTENT_LENGTH);
        Self {
            response,
            reader: BodyReader::default(),
            chunks: ChunkParser::default(),
            first_by,
            is_framed,
            is_done: false,
            is_over: false,
            pieces: Vec::new(),
        }
    }

    /// Reads the end of the body in the background, right behind the last event: the connection can
    /// be used again after that, and nobody should wait for it.
    fn drain(self: Box<Self>) {
        let mut response = self.response;
        if self.is_framed && !self.is_over {
            task::spawn(async move {
                let _ = timeout(DRAIN_WITHIN, response.chunk()).await;
            });
        }
    }

    /// Time to wait for more.
    fn limit(&self, idle: Duration) -> Duration {
        if self.reader.is_empty() {
            return self.first_by.saturating_duration_since(Instant::now());
        }
        match self.chunks.has_finish() {
            true => idle.min(TAIL_WITHIN),
            false => idle,
        }
    }
}

/// The body of a refusal, or as much of it as comes soon.
async fn explanation(mut response: Response) -> String {
    let mut body = Vec::new();
    let reading = http::read(&mut response, MAX_ERROR_BYTES, &mut body);
    let _ = timeout(ERROR_WITHIN, reading).await;
    String::from_utf8_lossy(&body).into_owned()
}

fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let get = |name: &str| headers.get(name)?.to_str().ok();
    if let Some(millis) = get("retry-after-ms").and_then(|value| value.trim().parse().ok()) {
        return Some(Duration::from_millis(millis));
    }
    backoff::asked(get("retry-after")?, Timestamp::now())
}
