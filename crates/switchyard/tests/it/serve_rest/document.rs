//! The `OpenAPI` document: whether it is true.

use std::collections::BTreeSet;
use std::path::Path;

use reqwest::header::HeaderMap;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use testkit::json_schema;

use super::Api;

const METHODS: [Method; 5] =
    [Method::GET, Method::POST, Method::PATCH, Method::PUT, Method::DELETE];
/// Set to write the copy in the documentation anew.
const UPDATE: &str = "UPDATE_OPENAPI";

/// The daemon's document, as a judge of its answers.
pub(crate) struct Document {
    raw: Value,
    /// The same, where nothing but what is named may occur.
    strict: Value,
    judge: json_schema::Document,
}

impl Document {
    pub(crate) fn new(raw: Value) -> Self {
        let mut strict = raw.clone();
        close(&mut strict["components"]["schemas"]);
        let judge = json_schema::Document::new(strict.clone());
        Self { raw, strict, judge }
    }

    /// Panics if the document does not have this answer.
    #[track_caller]
    pub(crate) fn check(
        &self,
        method: &Method,
        path: &str,
        status: StatusCode,
        headers: &HeaderMap,
        body: &Value,
    ) {
        let about = format!("{method} {path} → {status}: {body:#}");
        let kind = headers.get("content-type").map(|kind| kind.to_str().unwrap());
        let kind = kind.map(|kind| kind.split(';').next().unwrap_or_default());
        let operation = self.operation(method, path);
        let response = match &operation {
            Some(operation) => {
                let exact = &operation["responses"][status.as_str()];
                let said = if exact.is_null() { &operation["responses"]["default"] } else { exact };
                self.resolve(said)
            }
            // Nothing is served there, and the answer says so.
            None => &json!({ "content": { "application/problem+json": {
                "schema": { "$ref": "#/components/schemas/Problem" } } } }),
        };
        assert!(response.is_object(), "not in the document: {about}");
        let Some(kind) = kind else {
            assert!(response["content"].is_null(), "without a body: {about}");
            return;
        };
        let content = &response["content"][kind];
        let is_file = ["application/octet-stream", "application/x-ndjson", "text/plain"];
        if is_file.contains(&kind) || path == "/v1/openapi.json" {
            return;
        }
        assert!(content.is_object(), "{kind} is not in the document: {about}");
        let schema = &content["schema"];
        let faults = match schema["$ref"].as_str().and_then(|place| place.strip_prefix('#')) {
            Some(place) => self.judge.faults(place, body),
            None => {
                let mut schema = schema.clone();
                schema["components"] = self.strict["components"].clone();
                json_schema::Document::new(schema).faults("", body)
            }
        };
        assert!(faults.is_empty(), "{faults:#?}\n{about}");
    }

    /// What a reference leads to, or the thing itself.
    fn resolve<'a>(&'a self, thing: &'a Value) -> &'a Value {
        match thing["$ref"].as_str().and_then(|place| place.strip_prefix('#')) {
            Some(place) => self.raw.pointer(place).unwrap_or_else(|| panic!("{place} is missing")),
            None => thing,
        }
    }

    fn operation(&self, method: &Method, path: &str) -> Option<&Value> {
        let paths = self.raw["paths"].as_object().unwrap();
        let (_, item) = paths.iter().find(|(pattern, _)| fits(pattern, path))?;
        item.get(method.as_str().to_lowercase())
    }

    /// Every route: method and pattern.
    fn routes(&self) -> Vec<(Method, String)> {
        let paths = self.raw["paths"].as_object().unwrap().iter();
        let of_path = |(pattern, item): (&String, &Value)| {
            let has = |method: &Method| item.get(method.as_str().to_lowercase()).is_some();
            let here = METHODS.into_iter().filter(has);
            here.map(|method| (method, pattern.clone())).collect::<Vec<_>>()
        };
        paths.flat_map(of_path).collect()
    }
}

/// Lets objects have no other members than those that are named.
fn close(schemas: &mut Value) {
    let mut parts = BTreeSet::new();
    schemas.as_object().unwrap().values().for_each(|schema| note_parts(schema, &mut parts));
    for (name, schema) in schemas.as_object_mut().unwrap() {
        // What is a part of others is closed where it is one.
        if parts.contains(name) {
            continue;
        }
        if schema["properties"].is_object() {
            schema["additionalProperties"] = json!(false);
        } else if schema["allOf"].is_array() || schema["oneOf"].is_array() {
            schema["unevaluatedProperties"] = json!(false);
        }
    }
}

/// The schemas that others have all members of.
fn note_parts(schema: &Value, parts: &mut BTreeSet<String>) {
    let whole = schema["allOf"].as_array().into_iter().flatten();
    let named = whole.filter_map(|one| one["$ref"].as_str()?.rsplit('/').next());
    parts.extend(named.map(str::to_owned));
    match schema {
        Value::Array(all) => all.iter().for_each(|one| note_parts(one, parts)),
        Value::Object(all) => all.values().for_each(|one| note_parts(one, parts)),
        _ => {}
    }
}

fn fits(pattern: &str, path: &str) -> bool {
    let (pattern, path): (Vec<_>, Vec<_>) =
        (pattern.split('/').collect(), path.split('/').collect());
    let same = |(part, segment): (&&str, &&str)| part.starts_with('{') || part == segment;
    pattern.len() == path.len() && pattern.iter().zip(&path).all(same)
}

/// A path with ids in it that name nothing.
fn example(pattern: &str) -> String {
    let parts = pattern.split('/').map(|part| match part {
        "{id}" => "a2345678901234567890123456",
        part if part.starts_with('{') => "a23456789012345678901234",
        part => part,
    });
    parts.collect::<Vec<_>>().join("/")
}

#[tokio::test]
async fn what_the_document_names_is_served_and_nothing_else_is() {
    let api = Api::start().await;
    let routes = api.document.routes();
    assert!(routes.len() > 25, "{routes:?}");
    for (_, pattern) in &routes {
        for method in METHODS {
            let is_named = routes.contains(&(method.clone(), pattern.clone()));
            // The guard looks at the type before anybody looks at the method.
            let kind = match pattern.ends_with("/attachments") {
                true => "application/octet-stream",
                false => "application/json",
            };
            let request = api.request(method.clone(), &example(pattern));
            let request = request.header("content-type", kind).body("{}");
            let answer = api.client.execute(request.build().unwrap()).await.unwrap();
            let is_served = answer.status() != StatusCode::METHOD_NOT_ALLOWED;
            assert_eq!(is_served, is_named, "{method} {pattern}: {}", answer.status());
            if answer.status() == StatusCode::NOT_FOUND {
                let problem: Value = answer.json().await.unwrap();
                let detail = problem["detail"].as_str().unwrap();
                assert!(!detail.contains("nothing is served"), "{method} {pattern}");
            }
        }
    }
}

/// A route that is not in the document could only be added with a literal path.
#[tokio::test]
async fn every_route_of_the_sources_is_in_the_document() {
    let api = Api::start().await;
    let named: BTreeSet<String> =
        api.document.routes().into_iter().map(|(_, pattern)| pattern).collect();
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("../server/src");
    let mut n_found = 0;
    for path in rust_files(&sources) {
        let text = std::fs::read_to_string(&path).unwrap();
        for part in text.split('"') {
            let is_plain = part.chars().all(|c| c.is_ascii_alphanumeric() || "/{}._".contains(c));
            if part.starts_with("/v1/") && is_plain && !part.contains("{}") {
                n_found += 1;
                assert!(named.contains(part), "{part} of {} is missing", path.display());
            }
        }
    }
    assert!(n_found > 10, "only {n_found} routes were found");
}

fn rust_files(dir: &Path) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(dir).unwrap().flatten().map(|entry| entry.path());
    let files = entries.flat_map(|path| match path.is_dir() {
        true => rust_files(&path),
        false => vec![path],
    });
    let is_source = |path: &std::path::PathBuf| {
        path.extension().is_some_and(|ending| ending == "rs") && !path.ends_with("tests.rs")
    };
    files.filter(is_source).collect()
}

#[tokio::test]
async fn the_document_is_sound() {
    let api = Api::start().await;
    let raw = &api.document.raw;
    assert!(raw["openapi"].as_str().unwrap().starts_with("3.1"));
    let schemas = raw["components"]["schemas"].as_object().unwrap();
    for name in schemas.keys() {
        // One that nobody can understand is told there.
        api.document.judge.faults(&format!("/components/schemas/{name}"), &Value::Null);
    }
    let text = raw.to_string();
    for part in text.split("#/components/schemas/").skip(1) {
        let name = part.split('"').next().unwrap();
        assert!(schemas.contains_key(name), "{name} is not there");
    }
    let mut ids = BTreeSet::new();
    for (method, pattern) in api.document.routes() {
        let operation = api.document.operation(&method, &pattern).unwrap();
        let params = operation["parameters"].as_array().cloned().unwrap_or_default();
        for name in pattern.split('/').filter_map(|part| part.strip_prefix('{')) {
            let name = name.trim_end_matches('}');
            let is_it = |param: &Value| param["name"] == name && param["in"] == "path";
            assert!(params.iter().any(is_it), "{method} {pattern} does not tell {name}");
        }
        let id = operation["operationId"].as_str().unwrap();
        assert!(ids.insert(id.to_owned()), "two operations are called {id}");
        assert!(is_verb_and_noun(id), "{id} of {method} {pattern} is no name like `listSessions`");
        let summary = operation["summary"].as_str().unwrap_or_default();
        assert!(!summary.is_empty(), "{method} {pattern} has no summary");
        let responses = operation["responses"].as_object().unwrap();
        assert!(responses.keys().any(|status| status.starts_with('2')), "{id} never succeeds");
        assert!(responses.contains_key("default"), "{id} is never refused");
        for (status, response) in responses {
            // Required by OpenAPI, whatever else a response has.
            let response = api.document.resolve(response);
            let description = response["description"].as_str().unwrap_or_default();
            assert!(!description.is_empty(), "{status} of {id} has no description");
            for (kind, content) in response["content"].as_object().into_iter().flatten() {
                let is_file = ["application/octet-stream", "application/x-ndjson"];
                let is_typed = content["schema"].is_object() || is_file.contains(&kind.as_str());
                assert!(is_typed, "{kind} of {status} of {id} is not typed");
            }
        }
    }
    let servers = raw["servers"].as_array().unwrap();
    assert!(servers.iter().all(|server| server["url"].is_string()) && !servers.is_empty());
}

/// `listSessions`, not `list`, `list_sessions` or `ListSessions`.
fn is_verb_and_noun(id: &str) -> bool {
    id.starts_with(|c: char| c.is_ascii_lowercase())
        && id.contains(|c: char| c.is_ascii_uppercase())
        && id.chars().all(|c| c.is_ascii_alphanumeric())
}

/// The refusals that a client may count on are named one by one.
#[tokio::test]
async fn the_document_names_the_refusals_that_there_are() {
    let api = Api::start().await;
    let stranger = reqwest::Client::new();
    for (method, pattern) in api.document.routes() {
        let operation = api.document.operation(&method, &pattern).unwrap();
        let names = |status: StatusCode| !operation["responses"][status.as_str()].is_null();
        let kind = match pattern.ends_with("/attachments") {
            true => "application/octet-stream",
            false => "application/json",
        };
        let url = api.daemon.url(&example(&pattern));
        let of_stranger =
            stranger.request(method.clone(), &url).header("content-type", kind).body("{}");
        let status = of_stranger.send().await.unwrap().status();
        let is_shut = status == StatusCode::UNAUTHORIZED;
        let is_login = pattern.starts_with("/v1/login/") || pattern == "/v1/login";
        assert!(is_shut || is_login || pattern == "/healthz", "{method} {pattern}: {status}");
        if is_shut {
            assert!(names(status), "{method} {pattern} does not name 401");
        }
        let elsewhere = stranger.request(method.clone(), &url).header("host", "example.org");
        let status = elsewhere.send().await.unwrap().status();
        assert!(status.is_client_error() && names(status), "{method} {pattern}: {status}");
        if pattern.contains('{') {
            let sent = api.request(method.clone(), &example(&pattern));
            let answer = api.send(sent.header("content-type", kind).body("{}")).await;
            let is_named = names(answer.status) || answer.status.is_success();
            assert!(is_named, "{method} {pattern}: {}", answer.status);
            assert!(names(StatusCode::NOT_FOUND), "{method} {pattern} does not name 404");
        }
    }
}

/// Frames of real streams, held against the schemas that the document has for them.
#[tokio::test]
async fn frames_of_events_are_what_the_document_says() {
    let api = Api::start().await;
    let session = api.session().await;
    let turn = "think let me see ; tool execute ; tool-fail ; plan ; usage ; diff a ; say done";
    api.prompt(&session, turn).await;
    api.until_idle(&session).await;
    let of = |name: &str, value: &Value| {
        let faults = api.document.judge.faults(&format!("/components/schemas/{name}"), value);
        assert!(faults.is_empty(), "{name}: {faults:#?}\n{value:#}");
    };
    let own = api.document.raw["components"]["schemas"]["OwnEvent"]["oneOf"].as_array().unwrap();
    let own_kinds: BTreeSet<&str> =
        own.iter().map(|one| one["properties"]["kind"]["enum"][0].as_str().unwrap()).collect();
    let formats = [
        ("acp", "LogEvent"),
        ("envelopes", "Envelope"),
        ("ui", "UiEvent"),
        ("conversation", "ConversationChanges"),
    ];
    for (format, schema) in formats {
        let path = format!("/v1/sessions/{session}/events?until=idle&format={format}");
        let text = api.request(Method::GET, &path).send().await.unwrap().text().await.unwrap();
        let (mut n_told, mut n_remarks) = (0, 0);
        for frame in text.split("\n\n").filter_map(frame_of) {
            of("EventFrame", &frame);
            if frame["id"].is_null() {
                n_remarks += 1;
                continue;
            }
            n_told += 1;
            match format {
                "ui" => of(schema, &json!({ "event": frame["event"], "data": frame["data"] })),
                _ => of(schema, &frame["data"]),
            }
            let kind = frame["data"]["kind"].as_str().filter(|_| format == "acp");
            if kind.is_some_and(|kind| own_kinds.contains(kind)) {
                of("OwnEvent", &json!({ "kind": kind, "payload": frame["data"]["payload"] }));
            }
        }
        assert!(n_told > 5 && n_remarks == 2, "{format}: {n_told} {n_remarks}");
        let path = format!("/v1/sessions/{session}/transcript?limit=1000&format={format}");
        let path = path.replace("format=acp", "format=json");
        for item in api.get(&path).await.is(200).body["items"].as_array().unwrap() {
            of(schema, &item["data"]);
        }
    }

    let mut changes = api.request(Method::GET, "/v1/events").send().await.unwrap();
    let mut text = String::new();
    let mut wait_for = async |words: &str| {
        while !text.contains(words) {
            text.push_str(std::str::from_utf8(&changes.chunk().await.unwrap().unwrap()).unwrap());
        }
        for frame in text.split("\n\n").filter_map(frame_of) {
            if frame["event"] == "session" {
                of("SessionFrame", &frame);
            }
        }
    };
    wait_for("event: stream").await;
    let other = api.session().await;
    wait_for("\"kind\":\"created\"").await;
    api.delete(&format!("/v1/sessions/{other}")).await.is(204);
    wait_for("\"kind\":\"deleted\"").await;
}

/// A server-sent event as the object that it is on a WebSocket; none if it is a comment.
fn frame_of(text: &str) -> Option<Value> {
    let field = |name: &str| text.lines().find_map(|line| line.strip_prefix(name));
    let data: Value = serde_json::from_str(field("data: ")?).unwrap();
    let event = field("event: ").unwrap_or("message");
    let mut frame = json!({ "event": event, "data": data });
    if let Some(id) = field("id: ") {
        frame["id"] = json!(id);
    }
    Some(frame)
}

#[tokio::test]
async fn the_copy_in_the_documentation_is_the_served_document() {
    let api = Api::start().await;
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/openapi.json");
    let served = format!("{:#}\n", api.document.raw);
    if std::env::var_os(UPDATE).is_some() {
        std::fs::write(&path, &served).unwrap();
    }
    let copy = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(copy == served, "docs/openapi.json is old: run this test with {UPDATE}=1");
}

/// The shell of the documentation, pasted.
#[tokio::test]
async fn the_examples_in_the_documentation_work_when_pasted() {
    let api = Api::start().await;
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/http-api.md");
    let text = std::fs::read_to_string(path).unwrap();
    let blocks = text.split("```sh\n").skip(1).map(|rest| rest.split("```").next().unwrap());
    let script: String = blocks.collect();
    for (_, pattern) in api.document.routes() {
        let is_shown =
            pattern.split('/').filter(|part| !part.contains('{')).all(|part| text.contains(part));
        assert!(is_shown, "{pattern} is not shown");
    }
    let script = format!("set -eu\n{script}");
    let mut command = api.home.other("bash", ["-c", &script]);
    command.env("URL", api.daemon.base()).env("TOKEN", api.daemon.token().unwrap_or("none"));
    let ran = tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap();
    let (said, complained) =
        (String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
    assert!(ran.status.success(), "{complained}\n{said}");
    assert!(said.contains("\"reused\":true"));
    assert_eq!(api.get("/v1/sessions").await.is(200).body["sessions"], json!([]));
    assert!(
        std::fs::read_to_string(api.home.work().join("session.ndjson")).unwrap().lines().count()
            > 5
    );
}
