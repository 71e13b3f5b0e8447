//! Announces waiting approvals, and what else the configuration names, to a URL of the
//! user's, signed.
//!
//! In: the questions that wait and the notices of what happened. Out: one POST per event, tried
//! again while the receiver is down. What an announcement says is read when it is sent, from the
//! list of questions and from the log: a question that was answered meanwhile is not announced.
//! Always true: what waits to be sent is bounded, an event keeps its id over all tries, and neither
//! the secret nor the URL's path is ever logged.

mod announcement;
mod delivery;
mod queue;
mod settings;

pub use settings::{Webhook, WebhookError, WebhookTable, WebhookTopic};

use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use sessions::context::SessionContext;
use sessions::notices::Notice;
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::sleep_until;
use tokio_util::sync::CancellationToken;
use wire::{CallId, SessionId};

use announcement::{AnnouncementCause, AnnouncementSubject, AnnouncementWriter};
use delivery::{DeliveryAttempt, WebhookSender};
use queue::{AnnouncementQueue, NextAnnouncement};

/// Time for announcements that are being sent when the daemon stops.
const STOP_WITHIN: Duration = Duration::from_secs(2);

/// Starts announcing. `link_base` is where the daemon is reached (`http://127.0.0.1:7433`), unless
/// the configuration names another address. Notices up to `after_note` are left out: 0 at the start
/// of the daemon, `context.notices.next_number()` when the webhook is replaced by another.
///
/// Every question that waits is announced, also if it was announced before; receivers recognise it
/// by its id.
pub fn start(
    context: SessionContext,
    webhook: Webhook,
    link_base: &str,
    after_note: u64,
    stop: CancellationToken,
) -> Result<JoinHandle<()>, WebhookError> {
    let sender = Arc::new(WebhookSender::new(&webhook)?);
    let link_base = webhook.public_url.as_deref().unwrap_or(link_base);
    let writer = Arc::new(AnnouncementWriter::new(context.clone(), link_base));
    let announcer = Announcer {
        queue: AnnouncementQueue::new(webhook.pace),
        context,
        webhook,
        sender,
        writer,
        next_note: after_note,
        seen_version: None,
        known: HashSet::new(),
        is_behind: false,
        in_flight: JoinSet::new(),
    };
    Ok(task::spawn(announcer.run(stop)))
}

struct Announcer {
    context: SessionContext,
    webhook: Webhook,
    sender: Arc<WebhookSender>,
    writer: Arc<AnnouncementWriter>,
    queue: AnnouncementQueue<AnnouncementSubject>,
    next_note: u64,
    /// The version of the list of questions that was looked at.
    seen_version: Option<u64>,
    /// Questions that wait and were queued, whatever became of their announcement.
    known: HashSet<(SessionId, CallId)>,
    /// There are questions that found no room in the queue.
    is_behind: bool,
    in_flight: JoinSet<(u64, DeliveryAttempt)>,
}

impl Announcer {
    async fn run(mut self, stop: CancellationToken) {
        let asks = self.webhook.topics.contains(&WebhookTopic::PermissionRequested);
        loop {
            if asks {
                self.look_at_questions();
            }
            self.read_notices();
            let due = self.send_due();
            let (pending, notices) = (self.context.pending.clone(), self.context.notices.clone());
            tokio::select! {
                () = stop.cancelled() => break,
                _ = pending.changed(self.seen_version.unwrap_or_default()), if asks => {}
                () = notices.wait_after(self.next_note) => {}
                Some(done) = self.in_flight.join_next() => match done {
                    Ok((number, attempt)) => self.settle(number, attempt),
                    Err(error) => tracing::error!(%error, "the task of a notification failed"),
                },
                () = sleep_until(due.unwrap_or_else(Instant::now).into()), if due.is_some() => {}
            }
        }
        self.stop().await;
    }

    /// Queues the questions that are new, and forgets those that have their answer.
    fn look_at_questions(&mut self) {
        let version = self.context.pending.version();
        if self.seen_version == Some(version) && !self.is_behind {
            return;
        }
        self.seen_version = Some(version);
        let waiting = self.context.pending.list();
        let keys: HashSet<_> = waiting.iter().map(|one| (one.session, one.request_id)).collect();
        self.known.retain(|key| keys.contains(key));
        self.queue.retain(|subject| match subject.cause {
            AnnouncementCause::Question(request_id) => {
                keys.contains(&(subject.session, request_id))
            }
            AnnouncementCause::Event(_) | AnnouncementCause::Halted { .. } => true,
        });
        let was_behind = std::mem::replace(&mut self.is_behind, false);
        for question in waiting {
            let (session, request_id) = (question.session, question.request_id);
            if self.known.contains(&(session, request_id)) {
                continue;
            }
            let cause = AnnouncementCause::Question(request_id);
            let topic = WebhookTopic::PermissionRequested;
            if !self.queue.push(session, AnnouncementSubject { session, topic, cause }) {
                self.is_behind = true;
                break;
            }
            self.known.insert((session, request_id));
        }
        if self.is_behind && !was_behind {
            tracing::warn!(
                to = self.webhook.shown(),
                "the notification queue is full; questions are sent when there is room"
            );
        }
    }

    fn read_notices(&mut self) {
        let batch = self.context.notices.after(self.next_note);
        self.next_note = batch.next;
        if batch.n_missed > 0 {
            tracing::warn!(n_missed = batch.n_missed, "some events are not delivered");
        }
        for note in batch.notes {
            let session = note.session;
            let topics: &[WebhookTopic] = match note.notice {
                Notice::Answered(_) => &[WebhookTopic::PermissionResolved],
                Notice::TurnEnded(_) => &[WebhookTopic::TurnEnded, WebhookTopic::SessionFailed],
                Notice::Halted { .. } => &[WebhookTopic::SessionFailed],
            };
            for topic in topics.iter().copied().filter(|topic| self.webhook.topics.contains(topic))
            {
                let cause = match note.notice.clone() {
                    Notice::Answered(seq) | Notice::TurnEnded(seq) => AnnouncementCause::Event(seq),
                    Notice::Halted { turn, why } => {
                        AnnouncementCause::Halted { at: note.at, turn, why }
                    }
                };
                if !self.queue.push(session, AnnouncementSubject { session, topic, cause }) {
                    tracing::warn!(
                        %session, topic = topic.name(), to = self.webhook.shown(),
                        "the notification queue is full; this one is dropped"
                    );
                }
            }
        }
    }

    /// Sends what is due; says when to look again.
    fn send_due(&mut self) -> Option<Instant> {
        loop {
            match self.queue.next(Instant::now()) {
                NextAnnouncement::Send { number, subject, n_tries } => {
                    let (sender, writer) = (self.sender.clone(), self.writer.clone());
                    self.in_flight.spawn(task::boxed(async move {
                        let attempt = match writer.write(&subject).await {
                            Ok(Some(announcement)) => sender.send(&announcement).await,
                            Ok(None) => DeliveryAttempt::Moot,
                            Err(error) => {
                                DeliveryAttempt::failed(format!("cannot read it: {error}"))
                            }
                        };
                        tracing::debug!(number, n_tries, ?attempt, "tried to deliver");
                        (number, attempt)
                    }));
                }
                NextAnnouncement::At(due) => return Some(due),
                NextAnnouncement::Nothing => return None,
            }
        }
    }

    fn settle(&mut self, number: u64, attempt: DeliveryAttempt) {
        match attempt {
            DeliveryAttempt::Delivered | DeliveryAttempt::Moot => self.queue.done(number),
            DeliveryAttempt::Refused { why } => {
                self.queue.done(number);
                tracing::warn!(to = self.webhook.shown(), why, "the notification is refused");
            }
            DeliveryAttempt::Failed { why, retry_after } => {
                let to = self.webhook.shown();
                match self.queue.failed(number, Instant::now(), retry_after) {
                    Some(wait) => {
                        tracing::info!(to, why, ?wait, "not delivered; will be tried again");
                    }
                    None => tracing::warn!(to, why, "not delivered, and not tried again"),
                }
            }
        }
    }

    async fn stop(mut self) {
        let on_the_way = async {
            while let Some(done) = self.in_flight.join_next().await {
                if let Ok((number, attempt)) = done {
                    self.settle(number, attempt);
                }
            }
        };
        let _ = tokio::time::timeout(STOP_WITHIN, on_the_way).await;
        let n_left = self.queue.len();
        if n_left > 0 {
            tracing::warn!(n_left, to = self.webhook.shown(), "stopped before all was delivered");
        }
    }
}

#[cfg(test)]
mod tests;
