//! Attachments of a session: uploaded, listed, read, removed.

use std::sync::Arc;

use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures_util::StreamExt as _;
use serde::{Deserialize, Serialize};
use tokio::io::AsyncReadExt as _;
use tokio_util::io::ReaderStream;
use utoipa::{IntoParams, ToSchema};
use wire::uri::percent_encoded;

use crate::attachments::Attachment;
use crate::daemon::Daemon;
use crate::input::{
    Observer, Operator, PathParams, QueryParams, SessionRequest, is_json, media_type,
};
use crate::limits::with_stall_timeout;
use crate::problem::{Problem, kinds};

/// Bytes of a file that are in memory at once.
const CHUNK: usize = 64 << 10;

#[derive(Debug, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct UploadQuery {
    /// The file's name, for display.
    name: Option<String>,
}

/// Uploads a file to the session; a prompt can then name it.
#[utoipa::path(post, path = "/v1/sessions/{id}/attachments", operation_id = "uploadAttachment", tag = "attachments",
    params(("id" = String, Path, description = "The session"), UploadQuery),
    request_body(content = Vec<u8>, content_type = "application/octet-stream", description = "The file"),
    responses((status = 201, description = "It is there", body = Attachment)))]
pub(crate) async fn upload(
    session: SessionRequest<Operator>,
    QueryParams(wanted): QueryParams<UploadQuery>,
    headers: HeaderMap,
    body: Body,
) -> Result<(StatusCode, Json<Attachment>), Problem> {
    let (daemon, principal, record) = session.visible().await?;
    check_type(&headers)?;
    let _place = daemon.load.transfer(&principal.name)?;
    let length = headers.get(header::CONTENT_LENGTH);
    let n_bytes = length.and_then(|length| length.to_str().ok()?.parse().ok());
    let name = wanted.name.unwrap_or_default();
    let files = &daemon.attachments;
    let mut upload = files.begin(record.id, &name, &principal.name, n_bytes).await?;
    let mut chunks = body.into_data_stream();
    while let Some(chunk) = chunks.next().await {
        let chunk = chunk.map_err(|_| Problem::bad_request("the body broke off"))?;
        upload = upload.write(chunk).await?;
    }
    let attachment = upload.finish().await?;
    // The session may have been deleted meanwhile, and its files with it.
    if daemon.registry.record(record.id).await.is_err() {
        files.remove_all(record.id).await?;
        return Err(Problem::not_found("the session was deleted"));
    }
    Ok((StatusCode::CREATED, Json(attachment)))
}

/// Refuses JSON, which was meant for another route.
fn check_type(headers: &HeaderMap) -> Result<(), Problem> {
    match media_type(headers).is_some() && !is_json(headers) {
        true => Ok(()),
        false => Err(Problem::of(kinds::UNSUPPORTED_MEDIA_TYPE)
            .remedy("send the bytes with `Content-Type: application/octet-stream`")),
    }
}

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct AttachmentList {
    /// The oldest first.
    attachments: Vec<Attachment>,
}

/// The attachments of a session.
#[utoipa::path(get, path = "/v1/sessions/{id}/attachments", operation_id = "listAttachments", tag = "attachments",
    params(("id" = String, Path, description = "The session")),
    responses((status = 200, description = "All of them", body = AttachmentList)))]
pub(crate) async fn list(
    session: SessionRequest<Observer>,
) -> Result<Json<AttachmentList>, Problem> {
    let (daemon, _, record) = session.visible().await?;
    let attachments = daemon.attachments.list(record.id).await?;
    Ok(Json(AttachmentList { attachments }))
}

/// The bytes of a file.
#[utoipa::path(get, path = "/v1/sessions/{id}/attachments/{attachment}", operation_id = "getAttachment", tag = "attachments",
    params(("id" = String, Path, description = "The session"),
        ("attachment" = String, Path, description = "The file")),
    responses((status = 200, description = "The file", content_type = "application/octet-stream")))]
pub(crate) async fn get(
    State(daemon): State<Arc<Daemon>>,
    Observer(principal): Observer,
    PathParams((id, attachment)): PathParams<(String, String)>,
) -> Result<Response, Problem> {
    let record = daemon.visible(&id, &principal).await?;
    let place = daemon.load.transfer(&principal.name)?;
    let (attachment, file) = daemon.attachments.open(record.id, &attachment).await?;
    // Whatever its type, a browser must not show it as a page of the daemon's origin.
    let headers = [
        (header::CONTENT_TYPE, "application/octet-stream".to_owned()),
        (header::CONTENT_DISPOSITION, disposition(&attachment.name)),
        (header::CONTENT_LENGTH, attachment.size.to_string()),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff".to_owned()),
        (header::CONTENT_SECURITY_POLICY, "sandbox; default-src 'none'".to_owned()),
    ];
    let file = tokio::fs::File::from_std(file).take(attachment.size);
    let chunks = ReaderStream::with_capacity(file, CHUNK).map(move |chunk| {
        // Dropped with the stream.
        let _ = &place;
        chunk
    });
    let body = with_stall_timeout(chunks, daemon.settings.pace.evict_after);
    Ok((headers, Body::from_stream(body)).into_response())
}

fn disposition(name: &str) -> String {
    let encoded = percent_encoded(name.as_bytes(), b".-_");
    format!("attachment; filename*=UTF-8''{encoded}")
}

/// Removes a file.
#[utoipa::path(delete, path = "/v1/sessions/{id}/attachments/{attachment}", operation_id = "deleteAttachment", tag = "attachments",
    params(("id" = String, Path, description = "The session"),
        ("attachment" = String, Path, description = "The file")),
    responses((status = 204, description = "Gone")))]
pub(crate) async fn delete(
    State(daemon): State<Arc<Daemon>>,
    Operator(principal): Operator,
    PathParams((id, attachment)): PathParams<(String, String)>,
) -> Result<StatusCode, Problem> {
    let record = daemon.visible(&id, &principal).await?;
    daemon.attachments.remove(record.id, &attachment).await?;
    Ok(StatusCode::NO_CONTENT)
}
