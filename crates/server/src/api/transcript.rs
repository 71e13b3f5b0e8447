//! The transcript of a session: a page of it, or all of it as a file.

use std::sync::Arc;

use axum::Json;
use axum::body::{Body, Bytes};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use projection::{Frame, TextOptions, TextProjection, Vocabulary};
use serde::{Deserialize, Serialize};
use store::{EventLog, ReadBudget, ReadPermit, StoreError};
use utoipa::{IntoParams, ToSchema};
use wire::{Seq, SessionId};

use super::document::TranscriptData;
use crate::daemon::load::LoadPermit;
use crate::daemon::vocabulary_snapshots::{SnapshotFormat, SnapshotKey};
use crate::input::{self, Observer, QueryParams, SessionRequest};
use crate::limits::with_stall_timeout;
use crate::problem::Problem;

const DEFAULT_LIMIT: usize = 200;
const MAX_LIMIT: usize = 2000;
/// Events read from the log at once.
const PAGE: usize = 256;
/// A page of the transcript ends after this much, however few events that is.
const MAX_PAGE_BYTES: usize = 4 << 20;

#[derive(Debug, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct TranscriptQuery {
    /// Only what comes after this event.
    after: Option<u64>,
    /// Events, 1 to 2000; 200 if it is left out.
    limit: Option<usize>,
    /// `json` if it is left out.
    #[param(inline)]
    format: Option<TranscriptFormat>,
}

/// A part of a session's log.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TranscriptPage {
    #[schema(value_type = String)]
    session_id: SessionId,
    format: TranscriptFormat,
    /// The session's last event.
    head: u64,
    epoch: String,
    items: Vec<TranscriptItem>,
    /// `after` of the next page; missing on the last page.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<u64>,
}

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct TranscriptItem {
    /// The event that it comes from.
    seq: u64,
    #[schema(value_type = TranscriptData)]
    data: wire::Json,
}

/// The transcript of a session, a page at a time.
#[utoipa::path(get, path = "/v1/sessions/{id}/transcript", operation_id = "getTranscript", tag = "events",
    params(("id" = String, Path, description = "The session"), TranscriptQuery),
    responses((status = 200, description = "A page of it", body = TranscriptPage)))]
pub(crate) async fn transcript(
    session: SessionRequest<Observer>,
    QueryParams(wanted): QueryParams<TranscriptQuery>,
) -> Result<Json<TranscriptPage>, Problem> {
    let (daemon, principal, record) = session.visible().await?;
    let limit = input::limit(wanted.limit, DEFAULT_LIMIT, MAX_LIMIT)?;
    let format = wanted.format.unwrap_or_default();
    let begin = wanted.after.unwrap_or_default();
    let _place = daemon.load.lookup(&principal.name).await;
    let (log, budget) = (daemon.registry.log(), daemon.load.budget(&principal.name));
    let mut taken = Some(budget.take(MAX_PAGE_BYTES).await);
    let snapshots = &daemon.vocabulary_snapshots;
    let key = format.snapshots().map(|format| {
        let (session, epoch) = (record.id, record.epoch);
        SnapshotKey { session, epoch, format }
    });
    let (mut after, mut vocabulary) = match key {
        Some(key) => snapshots.before(key, Seq(begin)).await,
        None => (Seq(0), format.vocabulary(record.id)),
    };
    if format == TranscriptFormat::Json {
        // All others depend on the events before.
        after = Seq(begin);
    }
    let (mut items, mut n_events, mut n_bytes) = (Vec::new(), 0, 0);
    let mut next = None;
    'reading: while after < record.head {
        let mut events = match log.read(record.id, after, PAGE).await {
            // Who reads on is told; what is before the damage is readable.
            Err(StoreError::Corrupt { .. }) if !items.is_empty() => {
                next = Some(after.0);
                break;
            }
            read => read?,
        };
        if events.is_empty() {
            break;
        }
        if ReadBudget::weight(&events) > MAX_PAGE_BYTES {
            if !items.is_empty() {
                next = Some(after.0);
                break;
            }
            // Larger than the budget that was taken: all of that is given back before waiting for
            // more.
            drop((events, taken));
            let read = budget.read(&**log, record.id, after, PAGE).await?;
            (events, taken) = (read.events, read.taken);
        }
        for event in events.iter().filter(|event| event.seq <= record.head) {
            if event.seq.0 > begin && (n_events == limit || n_bytes >= MAX_PAGE_BYTES) {
                next = Some(after.0);
                break 'reading;
            }
            after = event.seq;
            let said = vocabulary.frames(event).into_iter().map(Frame::into_json);
            let said: Vec<_> = said.collect();
            if let Some(key) = key {
                snapshots.keep(key, event.seq, &vocabulary);
            }
            if event.seq.0 > begin {
                n_events += 1;
                n_bytes += said.iter().map(|said| said.as_str().len()).sum::<usize>();
                items
                    .extend(said.into_iter().map(|data| TranscriptItem { seq: event.seq.0, data }));
            }
        }
    }
    drop(taken);
    Ok(Json(TranscriptPage {
        session_id: record.id,
        format,
        head: record.head.0,
        epoch: format!("{:x}", record.epoch),
        items,
        next,
    }))
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct ExportQuery {
    /// `json` if it is left out.
    #[param(inline)]
    format: Option<TranscriptFormat>,
}

/// A session's whole log as a file: one JSON value a line, or text.
#[utoipa::path(get, path = "/v1/sessions/{id}/export", operation_id = "exportSession", tag = "events",
    params(("id" = String, Path, description = "The session"), ExportQuery),
    responses((status = 200, description = "The file", content_type = "application/x-ndjson")))]
pub(crate) async fn export(
    session: SessionRequest<Observer>,
    QueryParams(wanted): QueryParams<ExportQuery>,
) -> Result<Response, Problem> {
    let (daemon, principal, record) = session.visible().await?;
    let format = wanted.format.unwrap_or_default();
    let (kind, ending) = match format {
        TranscriptFormat::Text => ("text/plain; charset=utf-8", "txt"),
        _ => ("application/x-ndjson", "ndjson"),
    };
    let name = format!("attachment; filename=\"switchyard-{}.{ending}\"", record.id);
    let reading = LogExport {
        _place: daemon.load.export(&principal.name)?,
        budget: daemon.load.budget(&principal.name),
        taken: None,
        log: daemon.registry.log().clone(),
        session: record.id,
        after: Seq(0),
        until: record.head,
        vocabulary: format.vocabulary(record.id),
    };
    let headers = [
        (header::CONTENT_TYPE, kind.to_owned()),
        (header::CONTENT_DISPOSITION, name),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff".to_owned()),
    ];
    let body = with_stall_timeout(reading.pages(), daemon.settings.pace.evict_after);
    Ok((headers, Body::from_stream(body)).into_response())
}

/// A log that is being exported; at most one page of it is in memory.
struct LogExport {
    _place: LoadPermit,
    budget: ReadBudget,
    /// Memory budget of the page that was last handed out.
    taken: Option<ReadPermit>,
    log: Arc<dyn EventLog>,
    session: SessionId,
    after: Seq,
    until: Seq,
    vocabulary: Vocabulary,
}

impl LogExport {
    fn pages(self) -> impl stream::Stream<Item = Result<Bytes, store::StoreError>> {
        stream::try_unfold(self, async |mut reading| {
            let page = reading.page().await?;
            Ok(page.map(|page| (Bytes::from(page), reading)))
        })
    }

    async fn page(&mut self) -> Result<Option<String>, store::StoreError> {
        let mut page = String::new();
        while page.is_empty() && self.after < self.until {
            self.taken = None;
            let read = self.budget.read(&*self.log, self.session, self.after, PAGE).await?;
            let events = read.events;
            self.taken = read.taken;
            let Some(last) = events.last() else { break };
            self.after = last.seq;
            for event in events.iter().filter(|event| event.seq <= self.until) {
                self.vocabulary.write(event, &mut page);
            }
        }
        Ok(Some(page).filter(|page| !page.is_empty()))
    }
}

/// The format of a transcript.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum TranscriptFormat {
    /// The events as they are in the log.
    #[default]
    Json,
    /// Params of `session/update`, as `session/load` replays them.
    Acp,
    /// Events for a user interface.
    Ui,
    Envelopes,
    /// Items of the conversation as the page shows them, and their changes.
    Conversation,
    /// Plain text for a person.
    Text,
}

impl TranscriptFormat {
    pub(crate) fn vocabulary(self, session: SessionId) -> Vocabulary {
        match (self.snapshots(), self) {
            (Some(format), _) => format.vocabulary(session),
            (None, Self::Text) => {
                let style =
                    TextOptions { color: false, width: 0, verbose: false, show_thinking: true };
                Vocabulary::text(TextProjection::new(style).with_prompts())
            }
            (None, _) => Vocabulary::Events,
        }
    }

    /// The format of its snapshots, if there are any.
    fn snapshots(self) -> Option<SnapshotFormat> {
        match self {
            Self::Acp => Some(SnapshotFormat::Acp),
            Self::Ui => Some(SnapshotFormat::Ui),
            Self::Envelopes => Some(SnapshotFormat::Envelopes),
            Self::Conversation => Some(SnapshotFormat::Conversation),
            Self::Json | Self::Text => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::json;
    use wire::{Draft, Json as Raw, Kind, Millis};

    use super::*;
    use crate::events::testing::One;

    #[tokio::test(start_paused = true)]
    async fn an_event_that_is_larger_than_a_page_waits_for_its_room() {
        let one = One::new().await;
        let text = "x".repeat(MAX_PAGE_BYTES + MAX_PAGE_BYTES / 4);
        let payload = Raw::of(&json!({ "text": text }));
        let large = Draft { at: Millis(9), turn: None, kind: Kind::AgentStderr, payload };
        one.append(vec![large]).await;
        let read = async || {
            let wanted = TranscriptQuery { after: None, limit: Some(MAX_LIMIT), format: None };
            let (daemon, caller) = (one.daemon.clone(), Observer(one.principal.clone()));
            let session = SessionRequest { daemon, caller, id: one.id.to_string() };
            let page = transcript(session, QueryParams(wanted));
            tokio::time::timeout(Duration::from_secs(9), page).await
        };
        // What is left has room for a page, three times over, and not for this event.
        let budget = one.daemon.load.budget(&one.principal.name);
        let held = budget.take((48 << 20) / 3 - MAX_PAGE_BYTES - MAX_PAGE_BYTES / 8).await;

        assert!(read().await.is_err());
        drop(held);

        let page = read().await.unwrap().unwrap().0;
        let last = page.items.last().unwrap();
        assert_eq!((last.seq, page.next), (page.head, None));
        assert!(last.data.as_str().len() > MAX_PAGE_BYTES);
    }
}
