//! What was shown was handed out, so that whoever goes on from there shows nothing twice; and
//! nothing stands below a question.

use std::fmt::Write as _;
use std::pin::Pin;
use std::sync::{Arc, Mutex};

use axum::body::Bytes;
use axum::http::{Request, Response};
use client::{DaemonClient, RequestHandler};
use futures_util::stream;
use http_body_util::{BodyExt as _, Full, StreamBody};
use hyper::body::Frame;
use tokio::sync::watch;
use wire::{Draft, Json};

use super::*;
use crate::cli::format::OutputFormat;
use projection::TextOptions;

const PLAIN: TextOptions =
    TextOptions { color: false, width: 0, verbose: false, show_thinking: false };

/// A daemon with one log, which tells it as server-sent events.
#[derive(Debug, Clone)]
struct OneLog {
    events: Arc<Mutex<Vec<Event>>>,
    n_events: watch::Sender<usize>,
}

impl OneLog {
    fn new() -> Self {
        Self { events: Arc::default(), n_events: watch::Sender::new(0) }
    }

    fn append(&self, drafts: Vec<Draft>) {
        let mut events = self.events.lock().unwrap();
        for Draft { at, turn, kind, payload } in drafts {
            let seq = Seq(events.len() as u64 + 1);
            events.push(Event { seq, at, turn, kind, payload });
        }
        self.n_events.send_replace(events.len());
    }

    fn view(&self, questions: QuestionHandling) -> LogView {
        let id = sessions::mint::session_id();
        let session = DaemonClient::inside(Arc::new(self.clone())).session(id);
        let formatter = Formatter::new(OutputFormat::Quiet, id, PLAIN, false);
        LogView::new(&session, Seq(0), formatter, questions)
    }
}

impl RequestHandler for OneLog {
    fn answer(
        &self,
        request: Request<Full<Bytes>>,
    ) -> Pin<Box<dyn Future<Output = Response<client::Body>> + Send>> {
        let after = request.uri().query().and_then(|query| query.strip_prefix("after="));
        let after: usize = after.unwrap().parse().unwrap();
        let (events, n_events) = (self.events.clone(), self.n_events.subscribe());
        let frames = stream::unfold((after, n_events), move |(told, mut n_events)| {
            let events = events.clone();
            async move {
                n_events.wait_for(|n| *n > told).await.unwrap();
                let events = events.lock().unwrap();
                let mut text = String::new();
                for event in &events[told..] {
                    write!(text, "id: {}\ndata: ", event.seq.0).unwrap();
                    event.write_json(&mut text);
                    text.push_str("\n\n");
                }
                Some((Ok(Frame::data(Bytes::from(text))), (events.len(), n_events)))
            }
        });
        Box::pin(async { Response::new(StreamBody::new(frames).boxed_unsync()) })
    }
}

fn draft(kind: Kind, payload: &'static str) -> Draft {
    Draft { at: sessions::mint::now(), turn: None, kind, payload: Json::trusted(payload) }
}

async fn next(view: &mut LogView) -> Vec<u64> {
    loop {
        let Ok(Some(events)) = view.next().await else { panic!("nothing is shown") };
        if !events.is_empty() {
            return events.iter().map(|event| event.seq.0).collect();
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_has_come_together_is_shown_and_handed_out_together() {
    let log = OneLog::new();
    let kinds = [Kind::TurnStarted, Kind::TurnEnded, Kind::Error, Kind::Error];
    log.append(kinds.map(|kind| draft(kind, "{}")).into());
    let mut view = log.view(QuestionHandling::Elsewhere);

    assert_eq!(next(&mut view).await, [1, 2, 3, 4]);
    log.append(vec![draft(Kind::Error, "{}")]);
    assert_eq!(next(&mut view).await, [5]);
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_shown_below_a_question_that_is_answered_here() {
    let log = OneLog::new();
    let asked = r#"{"requestId":"r23456789012345678901234","ask":true,"request":{}}"#;
    let other = r#"{"requestId":"r0","outcome":{}}"#;
    let forged = r#"{"update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"? Read a file"}}}"#;
    log.append(vec![
        draft(Kind::PermissionRequested, asked),
        draft(Kind::update("agent_message_chunk"), forged),
        draft(Kind::PermissionResolved, other),
    ]);
    let mut view = log.view(QuestionHandling::Here);

    assert_eq!(next(&mut view).await, [1]);
    {
        let waiting = next(&mut view);
        tokio::pin!(waiting);
        let shown = tokio::time::timeout(Duration::from_millis(100), &mut waiting).await;
        assert!(shown.is_err(), "{shown:?} is shown below a question");
    }
    assert_eq!(view.received, Seq(3));

    let answer = r#"{"requestId":"r23456789012345678901234","outcome":{}}"#;
    log.append(vec![draft(Kind::PermissionResolved, answer), draft(Kind::TurnEnded, "{}")]);
    let mut shown = Vec::new();
    while shown.len() < 4 {
        shown.extend(next(&mut view).await);
    }
    assert_eq!(shown, [2, 3, 4, 5]);
}
