mod receiver;
mod settings;
mod trouble;

use std::path::PathBuf;

use serde_json::{Value, json};
use sessions::pending::{ExpectedAnswer, PendingQuestion, QuestionListing};
use sessions::permission::PermissionOption;
use sessions::settings::{SessionSettings, WorkerSetup};
use store::{Batch, EventLog, NewSession};
use testkit::MemoryLog;
use wire::{Draft, Json, Kind, Millis, Seq, TurnId};

use super::settings::DeliveryPace;
use super::*;
use receiver::{Receiver, Reply, SECRET};

/// Sessions without agents, and a webhook that tells about them.
struct Stage {
    context: SessionContext,
    dir: tempfile::TempDir,
    stop: CancellationToken,
    running: Option<JoinHandle<()>>,
}

fn session(name: &str) -> SessionId {
    SessionId::derived(&[name.as_bytes()])
}

fn turn() -> TurnId {
    TurnId::derived(&[b"turn"])
}

fn request_id(name: &str, number: u64) -> CallId {
    CallId::derived(&[name.as_bytes(), &number.to_be_bytes()])
}

fn quick() -> DeliveryPace {
    DeliveryPace {
        first_wait: Duration::from_millis(20),
        longest_wait: Duration::from_millis(40),
        whole: soak::PATIENCE,
        max_tries: 4,
        ..DeliveryPace::default()
    }
}

impl Stage {
    async fn new(sessions: &[&str]) -> Self {
        let log = Arc::new(MemoryLog::new());
        for name in sessions {
            let new = NewSession {
                id: session(name),
                agent: "demo".into(),
                cwd: "/work".into(),
                created: Millis(1),
                details: Json::trusted("{}"),
                origin: None,
            };
            log.create(new).await.unwrap();
        }
        let setup = WorkerSetup {
            keeper_exe: PathBuf::from("/nonexistent"),
            keeper_args: Vec::new(),
            records_dir: None,
            cgroups: false,
            limits: bus::WorkerLimits::default(),
            hurry: tokio_util::sync::CancellationToken::new(),
        };
        let context = SessionContext::new(log, SessionSettings::default(), setup);
        let dir = tempfile::tempdir().unwrap();
        receiver::write_secret(dir.path(), SECRET, 0o600);
        Self { context, dir, stop: CancellationToken::new(), running: None }
    }

    fn announce(&mut self, url: &str, events: &[&str]) {
        self.announce_with(json!({ "url": url, "events": events }), quick());
    }

    fn announce_with(&mut self, mut table: Value, pace: DeliveryPace) {
        table["secret_file"] = json!("secret");
        let table: WebhookTable = serde_json::from_value(table).unwrap();
        let webhook = table.check(self.dir.path()).unwrap().paced(pace);
        self.stop = CancellationToken::new();
        let started =
            start(self.context.clone(), webhook, "http://127.0.0.1:7433/", 0, self.stop.clone());
        self.running = Some(started.unwrap());
    }

    async fn end(&mut self) {
        self.stop.cancel();
        self.running.take().unwrap().await.unwrap();
    }

    /// A question that waits until what is returned is dropped.
    fn ask(&self, name: &str, number: u64) -> QuestionListing {
        let option = |id: &str, kind: &str| PermissionOption {
            id: id.into(),
            name: id.to_uppercase(),
            kind: kind.into(),
        };
        let question = PendingQuestion {
            session: session(name),
            made_by: Some(name.to_owned()),
            agent: "demo".into(),
            request_id: request_id(name, number),
            wants: ExpectedAnswer::Permission,
            title: "Run `ls`".into(),
            kind: "execute".into(),
            options: vec![option("yes", "allow_once"), option("no", "reject_once")],
            request: None,
            seq: Seq(number),
            turn: Some(turn()),
            since: Millis(1000),
            until: Some(Millis(601_000)),
            deadline: Some(Instant::now()),
        };
        self.context.pending.add(question).unwrap()
    }

    async fn log(&self, name: &str, kind: Kind, payload: &Value) -> Seq {
        let draft =
            Draft { at: Millis(2000), turn: Some(turn()), kind, payload: Json::of(payload) };
        let appended = self.context.log.append(Batch::new(session(name), vec![draft])).await;
        appended.unwrap().last
    }

    async fn answer(&self, name: &str, number: u64) {
        let payload = json!({
            "requestId": request_id(name, number),
            "by": { "who": "client", "detail": "token:phone http" },
            "allowed": true,
            "outcome": { "outcome": "selected", "optionId": "yes", "kind": "allow_once" },
            "question": { "title": "Run `ls`", "kind": "execute" },
            "waitedMs": 42,
        });
        let seq = self.log(name, Kind::PermissionResolved, &payload).await;
        self.context.notices.add(session(name), Notice::Answered(seq));
    }

    async fn end_turn(&self, name: &str, payload: &Value) {
        let seq = self.log(name, Kind::TurnEnded, payload).await;
        self.context.notices.add(session(name), Notice::TurnEnded(seq));
    }
}

const APPROVALS: [&str; 2] = ["permission_requested", "permission_resolved"];

#[tokio::test]
async fn a_question_and_its_answer_are_announced_once_and_signed() {
    let receiver = Receiver::start(|_, _| Reply::Status(204)).await;
    let mut stage = Stage::new(&["a"]).await;
    stage.announce(&receiver.url(), &APPROVALS);

    let listed = stage.ask("a", 1);
    let asked = receiver.nth(0).await;
    stage.answer("a", 1).await;
    drop(listed);
    let answered = receiver.nth(1).await;
    stage.end().await;

    let id = asked.body["id"].as_str().unwrap().to_owned();
    assert_eq!(asked.event_id, id);
    assert_eq!(
        asked.body,
        json!({
            "id": id,
            "type": "permission_requested",
            "session": session("a"),
            "agent": "demo",
            "cwd": "/work",
            "title": null,
            "time": 1000,
            "turn": turn(),
            "requestId": request_id("a", 1),
            "question": {
                "wants": "permission",
                "title": "Run `ls`",
                "kind": "execute",
                "options": [
                    { "id": "yes", "name": "YES", "kind": "allow_once" },
                    { "id": "no", "name": "NO", "kind": "reject_once" },
                ],
                "until": 601_000,
            },
            "link": format!("http://127.0.0.1:7433/sessions/{}", session("a")),
            "api": format!(
                "http://127.0.0.1:7433/v1/sessions/{}/permissions/{}",
                session("a"),
                request_id("a", 1)
            ),
        })
    );
    assert_eq!(answered.body["type"], "permission_resolved");
    assert_eq!(answered.body["decision"]["by"]["detail"], "token:phone http");
    assert_eq!(answered.body["decision"]["optionId"], "yes");
    assert_eq!(answered.body["requestId"], asked.body["requestId"]);
    assert_ne!(answered.event_id, asked.event_id);
    assert_eq!(receiver.all().len(), 2);
}

#[tokio::test]
async fn only_what_was_asked_for_is_announced() {
    let receiver = Receiver::start(|_, _| Reply::Status(200)).await;
    let mut stage = Stage::new(&["a"]).await;
    stage.announce(&receiver.url(), &["turn_ended", "session_failed"]);

    let _listed = stage.ask("a", 1);
    stage.answer("a", 1).await;
    stage.end_turn("a", &json!({ "stopReason": "end_turn" })).await;
    stage.end_turn("a", &json!({ "stopReason": "error", "error": { "category": "auth" } })).await;
    let why = "the disk is full".to_owned();
    stage.context.notices.add(session("a"), Notice::Halted { turn: None, why });
    receiver.nth(3).await;
    stage.end().await;

    let types = |body: &Value| body["type"].as_str().unwrap().to_owned();
    let told: Vec<_> = receiver.all().iter().map(|one| types(&one.body)).collect();
    assert_eq!(told, ["turn_ended", "turn_ended", "session_failed", "session_failed"]);
    let all = receiver.all();
    assert_eq!(all[0].body["stopReason"], "end_turn");
    assert_eq!(all[2].body["error"]["category"], "auth");
    assert_eq!(all[3].body["error"]["message"], "the disk is full");
}

#[tokio::test]
async fn questions_that_wait_are_announced_again_after_a_restart_under_the_same_id() {
    let receiver = Receiver::start(|_, _| Reply::Status(200)).await;
    let mut stage = Stage::new(&["a", "b"]).await;
    let _listed = stage.ask("a", 1);
    stage.announce(&receiver.url(), &APPROVALS);
    let first = receiver.nth(0).await;
    stage.end().await;
    let _other = stage.ask("b", 1);

    stage.announce(&receiver.url(), &APPROVALS);
    receiver.nth(2).await;
    stage.end().await;

    let later: Vec<_> = receiver.all().drain(1..).map(|one| one.event_id).collect();
    assert!(later.contains(&first.event_id), "{later:?}");
    assert_eq!(later.len(), 2);
}

#[tokio::test]
async fn more_questions_than_the_queue_holds_are_all_announced_once() {
    let receiver = Receiver::start(|_, _| Reply::Status(200)).await;
    let names: Vec<String> = (0..40).map(|n| format!("s{n}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut stage = Stage::new(&names).await;
    let n_questions = queue::MAX_QUEUED + 200;
    let listed: Vec<_> =
        (0..n_questions).map(|n| stage.ask(names[n % names.len()], n as u64)).collect();

    stage.announce(&receiver.url(), &APPROVALS);
    receiver.nth(n_questions - 1).await;
    stage.end().await;

    let ids: HashSet<_> = receiver.all().into_iter().map(|one| one.event_id).collect();
    assert_eq!((ids.len(), receiver.all().len()), (n_questions, n_questions));
    drop(listed);
}
