//! Each event is heard once and in order, whatever becomes of the way to the daemon.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::{Arc, Mutex};

use http_body_util::{BodyExt as _, Full};
use hyper::body::Bytes;
use hyper::{Request, Response, StatusCode};

use super::*;
use crate::{Body, RequestHandler};

/// A daemon whose answers are known beforehand.
#[derive(Debug, Default)]
struct Script {
    answers: Mutex<VecDeque<(StatusCode, String)>>,
    asked: Mutex<Vec<String>>,
}

impl RequestHandler for Script {
    fn answer(
        &self,
        request: Request<Full<Bytes>>,
    ) -> Pin<Box<dyn Future<Output = Response<Body>> + Send>> {
        self.asked.lock().unwrap().push(request.uri().to_string());
        let (status, text) = self.answers.lock().unwrap().pop_front().unwrap();
        let body = Full::new(Bytes::from(text)).map_err(|never| match never {}).boxed_unsync();
        let mut response = Response::new(body);
        *response.status_mut() = status;
        Box::pin(async { response })
    }
}

const OPENED: &str = "event: stream\ndata: {}\n\n";

fn event(seq: u64) -> String {
    let data = format!(r#"{{"seq":{seq},"time":0,"kind":"error","payload":{{}}}}"#);
    format!("id: {seq}-aa\ndata: {data}\n\n")
}

fn remark(name: &str, data: &str) -> String {
    format!("event: {name}\ndata: {data}\n\n")
}

/// What is heard until the end, in words, and what was asked for.
async fn heard(answers: Vec<(u16, String)>) -> (Vec<String>, Vec<String>) {
    let status = |status| StatusCode::from_u16(status).unwrap();
    let answers = answers.into_iter().map(|(code, text)| (status(code), text)).collect();
    let script = Arc::new(Script { answers: Mutex::new(answers), ..Script::default() });
    let mut follower = DaemonClient::inside(script.clone()).follow("s", Seq(0));
    let mut all = Vec::new();
    loop {
        all.push(match follower.next().await {
            FollowerMessage::Live => "live".to_owned(),
            FollowerMessage::Event(event) => event.seq.0.to_string(),
            FollowerMessage::Restarted => "anew".to_owned(),
            FollowerMessage::Halted(why) => format!("halted: {why}"),
            FollowerMessage::Lost(why) => format!("lost: {why}"),
            FollowerMessage::Over(error) => {
                all.push(format!("over: {error}"));
                return (all, script.asked.lock().unwrap().clone());
            }
        });
    }
}

fn gone() -> (u16, String) {
    let problem = r#"{"type":"urn:x:not-found","title":"no","detail":"there is no session `s`"}"#;
    (404, problem.to_owned())
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_is_cut_is_opened_again_behind_what_was_heard() {
    let first = [OPENED, &event(1), &event(2), &event(3)].concat();
    // In the middle of an event.
    let cut = first.get(..first.len() - 9).unwrap().to_owned();
    let rest = [OPENED, &event(3), &remark("daemon_stopping", "{}"), &event(9)].concat();
    let (heard, asked) = heard(vec![(200, cut), (503, String::new()), (200, rest), gone()]).await;

    let ended = "lost: the daemon has ended the stream";
    let away = "lost: the daemon answered with 503";
    let stops = "lost: the daemon stops";
    let over = "over: there is no session `s`";
    assert_eq!(heard, ["live", "1", "2", ended, away, "live", "3", stops, over]);
    let after: Vec<&str> = asked.iter().filter_map(|path| path.split("after=").nth(1)).collect();
    assert_eq!(after, ["0", "2-aa", "2-aa", "3-aa"]);
}

#[tokio::test(start_paused = true)]
async fn what_happens_to_the_session_is_heard_in_its_place() {
    let told = [
        OPENED,
        &event(7),
        &remark("slow_client_warning", "{}"),
        &remark("session_halted", r#"{"detail":"the disk is full"}"#),
        &remark("state_resync_required", "{}"),
        &event(1),
        &remark("session_deleted", "{}"),
    ];
    let (heard, _) = heard(vec![(200, told.concat())]).await;

    let halted = "halted: the disk is full";
    assert_eq!(heard, ["live", "7", halted, "anew", "1", "over: the session was deleted"]);
}

#[tokio::test(start_paused = true)]
async fn whoever_goes_back_hears_again_what_came_since() {
    let script = Script::default();
    let told = || (StatusCode::OK, [OPENED, &event(4), &event(5)].concat());
    script.answers.lock().unwrap().extend([told(), told()]);
    let script = Arc::new(script);
    let mut follower = DaemonClient::inside(script.clone()).follow("s", Seq(3));
    for _ in 0..2 {
        assert!(matches!(follower.next().await, FollowerMessage::Live));
        assert!(
            matches!(follower.next().await, FollowerMessage::Event(event) if event.seq == Seq(4))
        );
        assert!(
            matches!(follower.try_next(), Some(FollowerMessage::Event(event)) if event.seq == Seq(5))
        );
        follower.rewind(Seq(3));
    }
    assert!(script.asked.lock().unwrap().iter().all(|path| path.ends_with("after=3")));
}

#[tokio::test]
async fn a_damaged_log_ends_the_stream_for_good_and_one_that_fails_does_not() {
    let fails = remark("stream_error", r#"{"status":503,"detail":"the disk refuses"}"#);
    let damaged = r#"{"type":"urn:x:damaged","status":409,"detail":"event 2 is damaged"}"#;
    let damaged = remark("stream_error", damaged);

    let (heard, _) = heard(vec![
        (200, format!("{OPENED}{}{fails}", event(1))),
        (200, format!("{OPENED}{damaged}")),
    ])
    .await;

    let expected = ["live", "1", "lost: the disk refuses", "live", "over: event 2 is damaged"];
    assert_eq!(heard, expected);
}
