//! Filters a server's messages before they reach `rmcp`.
//!
//! In: single messages as bytes, and a look at what we send. Out: messages for `rmcp`. Whoever
//! waits for an answer that cannot be read, or that was too long, gets an error instead of
//! waiting; notifications that nobody looks at are dropped here, so that a flood of them costs
//! nothing; a server that asks on and on without reading our answers is disconnected.

use rmcp::ErrorData;
use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, ClientRequest, RequestId, ServerJsonRpcMessage,
    ServerNotification,
};
use serde_json::Value;

/// Largest message, on every transport: screenshots and whole files are in the answers.
pub(super) const MAX_MESSAGE_BYTES: usize = 16 << 20;
/// Most unanswered requests of a server: servers ask little, a ping or roots.
const MAX_OPEN_QUESTIONS: usize = 64;
/// Characters of a line that is no message, for the log.
const SHOWN_CHARS: usize = 200;

#[derive(Debug, Default)]
pub(super) struct MessageFilter {
    /// Requests of ours that wait for an answer.
    waiting: Vec<RequestId>,
    /// The id of the request that asks whether the server speaks the newer protocol; and whether
    /// that was given up, so that a late answer to it must not be taken for that to `initialize`.
    probe: Option<RequestId>,
    is_probe_over: bool,
    n_open_questions: usize,
}

pub(super) enum FilterVerdict {
    Pass(Box<ServerJsonRpcMessage>),
    Skip,
    /// Why the connection has to end.
    Disconnect(&'static str),
}

impl MessageFilter {
    /// Looks at what is about to be sent.
    pub(super) fn note_sent(&mut self, message: &ClientJsonRpcMessage) {
        match message {
            ClientJsonRpcMessage::Request(request) => {
                match &request.request {
                    ClientRequest::DiscoverRequest(_) => self.probe = Some(request.id.clone()),
                    ClientRequest::InitializeRequest(_) => self.is_probe_over = true,
                    _ => {}
                }
                self.waiting.push(request.id.clone());
            }
            ClientJsonRpcMessage::Notification(notification) => {
                if let ClientNotification::CancelledNotification(gone) = &notification.notification
                    && let Some(id) = &gone.params.request_id
                {
                    self.waiting.retain(|waiting| waiting != id);
                }
            }
            ClientJsonRpcMessage::Response(_) | ClientJsonRpcMessage::Error(_) => {
                self.n_open_questions = self.n_open_questions.saturating_sub(1);
            }
        }
    }

    pub(super) fn admit(&mut self, bytes: &[u8]) -> FilterVerdict {
        let message: ServerJsonRpcMessage = match serde_json::from_slice(bytes) {
            Ok(message) => message,
            Err(error) => return self.take_unreadable(bytes, &error),
        };
        match &message {
            ServerJsonRpcMessage::Notification(notification) => {
                let is_wanted = matches!(
                    notification.notification,
                    ServerNotification::ToolListChangedNotification(_)
                        | ServerNotification::CancelledNotification(_)
                        | ServerNotification::ProgressNotification(_)
                        | ServerNotification::SubscriptionsAcknowledgedNotification(_)
                );
                if !is_wanted {
                    return FilterVerdict::Skip;
                }
            }
            ServerJsonRpcMessage::Request(_) => {
                self.n_open_questions += 1;
                if self.n_open_questions > MAX_OPEN_QUESTIONS {
                    return FilterVerdict::Disconnect(
                        "asked too many questions without reading the answers",
                    );
                }
            }
            ServerJsonRpcMessage::Response(response) => {
                return self.answered(response.id.clone(), message);
            }
            ServerJsonRpcMessage::Error(error) => {
                if let Some(id) = error.id.clone() {
                    return self.answered(id, message);
                }
            }
        }
        FilterVerdict::Pass(Box::new(message))
    }

    /// Fails all requests that wait, because a message was too long and is gone: one of them would
    /// wait for it for ever, and nobody knows which.
    pub(super) fn fail_all(&mut self, why: &str) -> Vec<ServerJsonRpcMessage> {
        let error = |id| {
            ServerJsonRpcMessage::error(ErrorData::internal_error(why.to_owned(), None), Some(id))
        };
        self.waiting.drain(..).map(error).collect()
    }

    fn answered(&mut self, id: RequestId, message: ServerJsonRpcMessage) -> FilterVerdict {
        if self.is_probe_over && self.probe.as_ref() == Some(&id) {
            return FilterVerdict::Skip;
        }
        self.waiting.retain(|waiting| *waiting != id);
        FilterVerdict::Pass(Box::new(message))
    }

    fn take_unreadable(&mut self, bytes: &[u8], error: &serde_json::Error) -> FilterVerdict {
        let shown: String = String::from_utf8_lossy(bytes).chars().take(SHOWN_CHARS).collect();
        tracing::debug!(%error, line = shown, "an MCP server sent what is no message");
        let Ok(value) = serde_json::from_slice::<Value>(bytes) else { return FilterVerdict::Skip };
        if value.get("method").is_some() {
            return FilterVerdict::Skip;
        }
        let id =
            value.get("id").and_then(|id| serde_json::from_value::<RequestId>(id.clone()).ok());
        let Some(id) = id else { return FilterVerdict::Skip };
        let why =
            ErrorData::internal_error(format!("an answer that cannot be read: {error}"), None);
        self.answered(id.clone(), ServerJsonRpcMessage::error(why, Some(id)))
    }
}

#[cfg(test)]
mod tests;
