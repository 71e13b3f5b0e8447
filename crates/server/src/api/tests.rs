//! Who may do what: every route of the document, tried by every role.

use std::sync::Arc;

use async_trait::async_trait;
use axum::Extension;
use axum::body::Body;
use axum::http::{Request, StatusCode, header};
use serde_json::{Value, json};
use sessions::context::SessionContext;
use sessions::host::AgentCommand;
use sessions::mint;
use sessions::order::SessionOrder;
use sessions::permission::{PermissionMode, PermissionPolicy};
use sessions::pools::WarmSettings;
use sessions::registry::{AgentSource, SessionRegistry};
use sessions::settings::WorkerSetup;
use store::{EventLog, NewSession};
use testkit::MemoryLog;
use tower::ServiceExt as _;
use utoipa::OpenApi as _;
use wire::{Category, Fault, SessionId};

use super::{SessionPaths, router};
use crate::daemon::{Daemon, DaemonSettings};
use crate::metrics::Metrics;
use crate::principal::{Principal, Role};

struct NoAgents;

#[async_trait]
impl AgentSource for NoAgents {
    async fn command(&self, _: &SessionOrder, _: PermissionMode) -> Result<AgentCommand, Fault> {
        Err(Fault::new(Category::BadInput, "there are no agents"))
    }

    fn found(&self, _: bool) -> tokio::sync::mpsc::Receiver<wire::Json> {
        tokio::sync::mpsc::channel(1).1
    }
}

struct Served {
    daemon: Arc<Daemon>,
    _home: tempfile::TempDir,
}

impl Served {
    fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        let setup = WorkerSetup {
            keeper_exe: "/nonexistent".into(),
            keeper_args: Vec::new(),
            records_dir: None,
            cgroups: false,
            limits: bus::WorkerLimits::default(),
            hurry: tokio_util::sync::CancellationToken::new(),
        };
        let log: Arc<dyn EventLog> = Arc::new(MemoryLog::new());
        let settings = sessions::settings::SessionSettings::default();
        let context = SessionContext::new(log, settings, setup);
        let warm = WarmSettings { is_on: false, ..WarmSettings::default() };
        let policy = PermissionPolicy::default();
        let registry = SessionRegistry::new(context, Arc::new(NoAgents), policy, warm);
        let sessions_dir = home.path().join("sessions");
        let settings = DaemonSettings { sessions_dir, ..DaemonSettings::default() };
        Self { daemon: Daemon::new(registry, settings, Metrics::new(["demo"])), _home: home }
    }

    /// A session that `made_by` made.
    async fn session(&self, made_by: &str) -> SessionId {
        let id = mint::session_id();
        let made_of = json!({ "newParams": { "cwd": "/", "mcpServers": [] } });
        let made_of = wire::Json::of(&made_of);
        let details = json!({ "madeBy": made_by });
        let new = NewSession {
            id,
            agent: "demo".to_owned(),
            cwd: "/".to_owned(),
            created: mint::now(),
            details: wire::Json::of(&details),
            origin: Some(store::SessionOrigin { made_by: Some(made_by.to_owned()), made_of }),
        };
        self.daemon.registry.log().create(new).await.unwrap();
        id
    }

    async fn ask(&self, who: &Principal, method: &str, path: &str) -> (StatusCode, Value) {
        let kind = match path.ends_with("/attachments") && method == "POST" {
            true => "application/octet-stream",
            false => "application/json",
        };
        let request = Request::builder().method(method).uri(path);
        let request = request.header(header::CONTENT_TYPE, kind).body(Body::from("{}")).unwrap();
        let router = router(&self.daemon).layer(Extension(who.clone()));
        let response = router.oneshot(request).await.unwrap();
        let status = response.status();
        let body = axum::body::to_bytes(response.into_body(), 1 << 20).await.unwrap();
        (status, serde_json::from_slice(&body).unwrap_or_default())
    }
}

/// Every route but the stream of events, which has no end.
fn all_routes() -> Vec<(String, String)> {
    let document = serde_json::to_value(SessionPaths::openapi()).unwrap();
    let paths = document["paths"].as_object().unwrap().clone();
    let of_path = |(path, item): (String, Value)| {
        let methods: Vec<String> = item.as_object().unwrap().keys().cloned().collect();
        methods.into_iter().map(move |method| (method.to_uppercase(), path.clone()))
    };
    let routes = paths.into_iter().flat_map(of_path);
    routes.filter(|(_, path)| !path.ends_with("/events")).collect()
}

fn somebody(role: Role) -> Principal {
    Principal { name: "somebody".to_owned(), role, is_local: false, ..Principal::local() }
}

fn placed(path: &str, session: SessionId) -> String {
    let parts = path.split('/').map(|part| match part {
        "{id}" => session.as_str(),
        part if part.starts_with('{') => "a23456789012345678901234",
        part => part,
    });
    parts.collect::<Vec<_>>().join("/")
}

#[tokio::test]
async fn observers_only_read_and_only_admins_delete() {
    let served = Served::new();
    let session = served.session("somebody").await;
    assert!(all_routes().len() > 20);
    for (method, path) in all_routes() {
        let is_deletion = method == "DELETE" && path == "/v1/sessions/{id}";
        let is_for_admins = is_deletion || path == "/v1/audit";
        // Names of files are for writing prompts, those of directories for making sessions.
        let is_of_names = path.ends_with("/files") || path == "/v1/directories";
        let is_for_operators = method != "GET" || is_of_names;
        let path = placed(&path, session);
        let (as_observer, _) = served.ask(&somebody(Role::Observer), &method, &path).await;
        let is_refused = as_observer == StatusCode::FORBIDDEN;
        assert_eq!(is_refused, is_for_operators || is_for_admins, "{method} {path}: {as_observer}");
        let (as_operator, body) = served.ask(&somebody(Role::Operator), &method, &path).await;
        let is_refused = as_operator == StatusCode::FORBIDDEN;
        assert_eq!(is_refused, is_for_admins, "{method} {path}: {as_operator} {body}");
    }
    let path = format!("/v1/sessions/{session}");
    let (deleted, _) = served.ask(&somebody(Role::Admin), "DELETE", &path).await;
    assert_eq!(deleted, StatusCode::NO_CONTENT);
}

#[tokio::test]
async fn who_sees_only_own_sessions_does_not_find_others() {
    let served = Served::new();
    let (own, other) = (served.session("somebody").await, served.session("other").await);
    let narrow = Principal { own_sessions: true, ..somebody(Role::Admin) };
    for (method, path) in all_routes() {
        if !path.contains("{id}") {
            continue;
        }
        let (found, problem) = served.ask(&narrow, &method, &placed(&path, other)).await;
        // Wrong bodies may be found out first; they tell nothing about the session.
        let tells_nothing = [StatusCode::NOT_FOUND, StatusCode::BAD_REQUEST].contains(&found);
        assert!(tells_nothing, "{method} {path}: {found} {problem}");
    }
    assert!(served.daemon.registry.record(other).await.is_ok(), "it was not deleted");
    let (_, listed) = served.ask(&narrow, "GET", "/v1/sessions").await;
    let ids: Vec<&str> = listed["sessions"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|one| one["id"].as_str())
        .collect();
    assert_eq!(ids, [own.as_str()]);
    for (id, n) in [(own, 1), (other, 0)] {
        let (_, listed) = served.ask(&narrow, "GET", &format!("/v1/sessions?id={id}")).await;
        assert_eq!(listed["sessions"].as_array().map(Vec::len), Some(n), "{listed}");
    }
    let (found, _) = served.ask(&narrow, "GET", &format!("/v1/sessions/{own}")).await;
    assert_eq!(found, StatusCode::OK);
}

#[tokio::test]
async fn commands_are_for_the_daemons_own_user() {
    let served = Served::new();
    let order = json!({
        "agent": "demo", "cwd": "/", "mcpServers": [{ "name": "x", "command": "id", "args": [] }],
    });
    let ask = async |who: Principal| {
        let request =
            Request::post("/v1/sessions").header(header::CONTENT_TYPE, "application/json");
        let request = request.body(Body::from(order.to_string())).unwrap();
        let router = router(&served.daemon).layer(Extension(who));
        router.oneshot(request).await.unwrap().status()
    };
    assert_eq!(ask(somebody(Role::Admin)).await, StatusCode::FORBIDDEN);
    // Let in, and then there is no such agent.
    assert_eq!(ask(Principal::local()).await, StatusCode::BAD_REQUEST);
}

#[tokio::test]
async fn no_agent_logs_in_at_another() {
    let served = Served::new();
    let session = served.session("worker").await;
    let ask = async |body: Value| {
        let request = Request::post(format!("/v1/sessions/{session}/start"))
            .header(header::CONTENT_TYPE, "application/json");
        let request = request.body(Body::from(body.to_string())).unwrap();
        let router = router(&served.daemon).layer(Extension(Principal::worker()));
        router.oneshot(request).await.unwrap().status()
    };
    assert_eq!(ask(json!({ "auth": "oauth" })).await, StatusCode::FORBIDDEN);
    // Let in, and then there is no such agent.
    assert_eq!(ask(json!({})).await, StatusCode::BAD_REQUEST);
}
