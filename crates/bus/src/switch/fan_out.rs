//! Fan-out: requests that are sent to every worker of a pool.
//!
//! The answers are merged ([`super::merge`]): arrays are joined in the order of the workers, of
//! any other member the first one counts, and a session that two workers list (they may share
//! a store) is listed once. Workers that fail are left out; if all fail the first error is the
//! answer.
//!
//! Pages: when workers answer with a `nextCursor`, the client gets one cursor that holds each
//! worker's own; with it the next request goes to just those workers. A cursor that is none of
//! ours goes to the client's home. An answer of a pool's only worker is passed on as it is.

use std::borrow::Cow;

use bytes::Bytes;
use serde_json::value::RawValue;
use wire::{Envelope, Json, MessageKind, codes};

use super::ids::{FanOutId, PoolId};
use super::line_edits::{RawId, replaced};
use super::merge::{self, WorkerPage};
use super::refusal::Refusal;
use super::routed_message::{CallKind, RoutedMessage};
use super::session::SwitchSession;
use super::{ClientId, Switch, SwitchOutput, WorkerId};
use crate::hello::id_text;

#[derive(Debug)]
pub(super) struct FanOut {
    pub(super) client: ClientId,
    id: RawId,
    parts: Vec<FanOutPart>,
}

#[derive(Debug)]
struct FanOutPart {
    worker: WorkerId,
    answer: Option<FanOutAnswer>,
}

#[derive(Debug)]
pub(super) enum FanOutAnswer {
    /// A whole response, an error or not, with its parsed envelope.
    Line(Bytes, Envelope),
    Refused(Refusal),
}

impl Switch {
    pub(super) fn fan_out(&mut self, client: ClientId, pool: PoolId, routed: RoutedMessage<'_>) {
        let workers = self.running_workers(pool);
        let targets = match cursor_of(&routed) {
            None => workers.iter().map(|worker| (*worker, None)).collect(),
            Some(raw) => match merge::read_cursor(&raw) {
                Some(cursors) => merge::targets(cursors, &workers),
                None => {
                    let home = self.clients.get(&client).and_then(|client| client.home(pool));
                    let home = home.filter(|home| workers.contains(home));
                    home.or(workers.first().copied()).into_iter().map(|w| (w, None)).collect()
                }
            },
        };
        if targets.is_empty() {
            let why = "the cursor is of workers that are gone; begin without one";
            let refusal = Refusal::new(codes::INVALID_PARAMS, "cursor_lost", why);
            return self.refuse(client, &routed, &refusal);
        }
        self.n_fans += 1;
        let fan = FanOutId(self.n_fans);
        let parts = targets.iter().map(|(worker, _)| FanOutPart { worker: *worker, answer: None });
        let id = RawId::new(routed.raw_id());
        self.fans.insert(fan, FanOut { client, id, parts: parts.collect() });
        for (n, (worker, cursor)) in (0..).zip(targets) {
            let line = match &cursor {
                Some(cursor) => Cow::Owned(with_cursor(&routed, cursor)),
                None => Cow::Borrowed(&*routed.line),
            };
            match Envelope::read(&line) {
                Ok(envelope) => {
                    let part =
                        RoutedMessage::new(line, envelope, CallKind::Fan(fan, n), routed.received);
                    self.send(client, worker, part);
                }
                // It was made from lines that were read before, so it can be read.
                Err(_) => self.fan_refused(fan, n, &Refusal::no_route("unreadable")),
            }
        }
    }

    fn running_workers(&self, pool: PoolId) -> Vec<WorkerId> {
        let Some(pool) = self.pools.get(&pool) else { return Vec::new() };
        pool.workers().filter(|worker| self.is_running(*worker)).collect()
    }

    pub(super) fn fan_refused(&mut self, fan: FanOutId, part: u32, refusal: &Refusal) {
        self.fan_part(fan, part, FanOutAnswer::Refused(refusal.clone()));
    }

    pub(super) fn fan_part(&mut self, id: FanOutId, part: u32, answer: FanOutAnswer) {
        let Some(fan) = self.fans.get_mut(&id) else { return };
        if let Some(part) = fan.parts.get_mut(part as usize) {
            part.answer.get_or_insert(answer);
        }
        if fan.parts.iter().all(|part| part.answer.is_some())
            && let Some(fan) = self.fans.remove(&id)
        {
            self.end_fan(fan);
        }
    }

    fn end_fan(&mut self, FanOut { client, id, parts }: FanOut) {
        let is_alone = matches!(&parts[..], [part] if !self.has_aliases(part.worker));
        let pages = || parts.iter().filter_map(|part| self.page(part)).collect::<Vec<_>>();
        let merged = if is_alone { None } else { merge::merge(&pages()) };
        let first = parts.iter().find_map(|part| part.answer.as_ref());
        let line = match (merged, first) {
            (Some(result), _) => wire::result_line(&id_text(id.as_bytes()), &result).into(),
            (None, Some(FanOutAnswer::Line(line, envelope))) => {
                replaced(line, envelope.id, id.as_bytes())
            }
            (None, Some(FanOutAnswer::Refused(refusal))) => {
                return self.answer_refused(client, id.as_bytes(), refusal);
            }
            (None, None) => return,
        };
        self.counters.answered_by_workers += 1;
        if self.clients.contains_key(&client) {
            self.count_answer(client);
            self.out.push(SwitchOutput::ToClient { client, line });
        }
    }

    fn page<'a>(&'a self, part: &'a FanOutPart) -> Option<WorkerPage<'a>> {
        let Some(FanOutAnswer::Line(line, envelope)) = &part.answer else { return None };
        if envelope.kind != MessageKind::Response {
            return None;
        }
        let result = std::str::from_utf8(envelope.body.of(line)).ok()?;
        let sessions = self.workers.get(&part.worker).map(|worker| &worker.sessions);
        let name_of = Box::new(move |name: &str| {
            let key = *sessions?.get(name.as_bytes())?;
            let session = self.sessions.get(key)?;
            session.has_alias().then(|| session.name.clone())
        });
        Some(WorkerPage { worker: part.worker, result, name_of })
    }

    fn has_aliases(&self, worker: WorkerId) -> bool {
        let Some(worker) = self.workers.get(&worker) else { return false };
        worker
            .sessions
            .values()
            .any(|key| self.sessions.get(*key).is_some_and(SwitchSession::has_alias))
    }
}

fn params<'a>(routed: &'a RoutedMessage<'_>) -> &'a str {
    std::str::from_utf8(routed.envelope.body.of(&routed.line)).unwrap_or_default()
}

fn cursor_of(routed: &RoutedMessage<'_>) -> Option<String> {
    #[derive(serde::Deserialize)]
    struct CursorParams<'a> {
        #[serde(borrow)]
        cursor: Option<&'a RawValue>,
    }
    let params: CursorParams<'_> = serde_json::from_str(params(routed)).ok()?;
    params.cursor.map(|cursor| cursor.get().to_owned()).filter(|cursor| cursor != "null")
}

/// The request with a worker's own cursor in the place of ours.
fn with_cursor(routed: &RoutedMessage<'_>, cursor: &str) -> Vec<u8> {
    let params = Json::trusted(params(routed));
    let Ok(params) = wire::set_member(&params, &["cursor"], &Json::trusted(cursor)) else {
        return routed.line.to_vec();
    };
    let line = replaced(&routed.line, routed.envelope.body, params.as_str().as_bytes());
    line.strip_suffix(b"\n").unwrap_or(&line).to_vec()
}
