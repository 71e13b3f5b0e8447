//! Traces as a collector gets them: OTLP over HTTP, from the real binary.
//!
//! In: turns with and without a trace of the client's, and collectors that take spans, refuse
//! them or never answer. Out: spans with the right parents, and turns that do not care.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::process::Stdio;
use std::sync::{Arc, Mutex};

use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value as Any;
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message as _;
use serde_json::{Value, json};
use testkit::line_client::LineClient;
use testkit::test_home::{PATIENCE, TestHome, until};

use crate::front::home;

/// A collector that keeps what it is sent.
struct Collector {
    address: SocketAddr,
    spans: Arc<Mutex<Vec<Span>>>,
    requests: Arc<Mutex<Vec<String>>>,
    services: Arc<Mutex<Vec<String>>>,
}

impl Collector {
    async fn answering(status: StatusCode) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let collector = Self {
            address: listener.local_addr().unwrap(),
            spans: Arc::default(),
            requests: Arc::default(),
            services: Arc::default(),
        };
        let (spans, requests, services) =
            (collector.spans.clone(), collector.requests.clone(), collector.services.clone());
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let kept = (spans.clone(), requests.clone(), services.clone());
                let service = service_fn(move |request: Request<Incoming>| {
                    let (spans, requests, services) = kept.clone();
                    async move {
                        let kind = request.headers()["content-type"].to_str().unwrap().to_owned();
                        requests.lock().unwrap().push(format!(
                            "{} {} {kind}",
                            request.method(),
                            request.uri().path()
                        ));
                        let body = request.into_body().collect().await.unwrap().to_bytes();
                        let batch = ExportTraceServiceRequest::decode(body).unwrap();
                        for resource in batch.resource_spans {
                            let about = resource.resource.unwrap_or_default().attributes;
                            let name = about.iter().find(|one| one.key == "service.name");
                            services.lock().unwrap().extend(name.map(|name| format!("{name:?}")));
                            let scopes = resource.scope_spans.into_iter();
                            spans.lock().unwrap().extend(scopes.flat_map(|scope| scope.spans));
                        }
                        let answer = Response::builder().status(status);
                        answer.body(Full::new(Bytes::new()))
                    }
                });
                let connection = hyper::server::conn::http1::Builder::new();
                tokio::spawn(connection.serve_connection(TokioIo::new(stream), service));
            }
        });
        collector
    }

    fn endpoint(&self) -> String {
        format!("http://{}", self.address)
    }

    fn spans(&self) -> Vec<Span> {
        self.spans.lock().unwrap().clone()
    }
}

fn attributes(span: &Span) -> HashMap<String, Value> {
    let read = |any: &Any| match any {
        Any::StringValue(text) => json!(text),
        Any::IntValue(number) => json!(number),
        other => json!(format!("{other:?}")),
    };
    let pairs = span
        .attributes
        .iter()
        .filter_map(|pair| Some((pair.key.clone(), read(pair.value.as_ref()?.value.as_ref()?))));
    pairs.collect()
}

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").unwrap();
        text
    })
}

fn named<'a>(spans: &'a [Span], name: &str) -> &'a Span {
    let names: Vec<&str> = spans.iter().map(|span| span.name.as_str()).collect();
    spans.iter().find(|span| span.name == name).unwrap_or_else(|| panic!("{name} in {names:?}"))
}

async fn run(home: &TestHome, endpoint: &str, prompt: &str) -> std::process::Output {
    let mut command = home.tokio_command(["run", "demo", prompt, "--format", "quiet"]);
    command.env("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint).output().await.unwrap()
}

#[tokio::test]
async fn a_turn_its_steps_and_its_tools_are_spans() {
    let (home, collector) = (home(), Collector::answering(StatusCode::OK).await);
    let output = run(&home, &collector.endpoint(), "tool read").await;
    assert!(output.status.success(), "{output:?}");

    let spans = collector.spans();
    let turn = named(&spans, "invoke_agent demo");
    let about = attributes(turn);
    assert_eq!(about["gen_ai.agent.name"], "demo");
    assert_eq!(about["switchyard.stop_reason"], "end_turn");
    assert!(about["gen_ai.conversation.id"].as_str().is_some_and(|id| !id.is_empty()));
    assert!(turn.parent_span_id.is_empty());
    assert!(turn.end_time_unix_nano >= turn.start_time_unix_nano);
    let tool = named(&spans, "execute_tool read");
    assert_eq!(tool.parent_span_id, turn.span_id);
    assert_eq!(tool.trace_id, turn.trace_id);
    for step in ["start worker", "initialize agent", "open session"] {
        assert_eq!(attributes(named(&spans, step))["gen_ai.agent.name"], "demo");
    }
    let requests = collector.requests.lock().unwrap().clone();
    assert_eq!(requests[0], "POST /v1/traces application/x-protobuf");
    assert!(collector.services.lock().unwrap()[0].contains("switchyard"));
}

#[tokio::test]
async fn a_failed_turn_says_so_and_keeps_secrets() {
    let (home, collector) = (home(), Collector::answering(StatusCode::OK).await);
    let mut command = home.tokio_command(["run", "demo", "fail -32000 no"]);
    command.env("OTEL_EXPORTER_OTLP_ENDPOINT", collector.endpoint());
    command.output().await.unwrap();
    let spans = collector.spans();
    let turn = named(&spans, "invoke_agent demo");
    assert_eq!(attributes(turn)["switchyard.stop_reason"], "error");
    assert_eq!(turn.status.as_ref().unwrap().code, 2);
}

/// `switchyard acp` around the demo agent, and a session in it.
struct Editor {
    client: LineClient,
    session: Value,
    process: std::process::Child,
    tap: std::path::PathBuf,
}

impl Editor {
    fn open(home: &TestHome, endpoint: Option<&str>) -> Self {
        let tap = home.path().join("tap.ndjson");
        let mut command = home.command(["acp", "--"]);
        command.arg(home.tool("acp-tap")).arg(&tap).arg("--");
        command.arg(home.exe()).arg("demo-agent");
        if let Some(endpoint) = endpoint {
            command.env("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint);
        }
        let mut process = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (stdin, stdout) = (process.stdin.take().unwrap(), process.stdout.take().unwrap());
        let mut client = LineClient::pipes(stdin, stdout);
        client.result("initialize", &json!({ "protocolVersion": 1, "clientCapabilities": {} }));
        let new = json!({ "cwd": home.work(), "mcpServers": [] });
        let session = client.result("session/new", &new)["sessionId"].clone();
        Self { client, session, process, tap }
    }

    /// The prompt as the agent got it.
    fn prompt_with(&mut self, meta: Option<&Value>) -> Value {
        let blocks = json!([{ "type": "text", "text": "echo hi" }]);
        let mut params = json!({ "sessionId": self.session, "prompt": blocks });
        if let Some(meta) = meta {
            params["_meta"] = meta.clone();
        }
        self.client.result("session/prompt", &params);
        let seen = testkit::tap::read(&self.tap).unwrap();
        let messages = seen.entries.iter().filter_map(testkit::TranscriptEntry::json);
        let mut prompts = messages.filter(|message| message["method"] == "session/prompt");
        prompts.next_back().unwrap()["params"].clone()
    }

    fn close(mut self) {
        self.client.finish_sending();
        drop(self.client);
        self.process.wait().unwrap();
    }
}

const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
const PARENT: &str = "b7ad6b7169203331";

#[tokio::test(flavor = "multi_thread")]
async fn a_clients_trace_goes_through_the_turn_to_the_agent() {
    let (home, collector) = (home(), Collector::answering(StatusCode::OK).await);
    let mut editor = Editor::open(&home, Some(&collector.endpoint()));
    let meta = json!({
        "own": 1, "traceparent": format!("00-{TRACE}-{PARENT}-01"), "tracestate": "vendor=x",
    });
    let got = editor.prompt_with(Some(&meta));
    let without = editor.prompt_with(None);
    editor.close();

    let is_there =
        || collector.spans().iter().filter(|s| s.name.starts_with("invoke_agent")).count() == 2;
    assert!(until(PATIENCE, is_there).await);
    let spans = collector.spans();
    let turn = spans.iter().find(|span| hex(&span.trace_id) == TRACE).unwrap();
    assert_eq!(hex(&turn.parent_span_id), PARENT);
    let told = &got["_meta"];
    assert_eq!(told["own"], 1);
    assert_eq!(told["traceparent"], format!("00-{TRACE}-{}-01", hex(&turn.span_id)));
    assert_eq!(told["tracestate"], "vendor=x");
    // A turn that nobody asked to trace has a trace of its own.
    let other = without["_meta"]["traceparent"].as_str().unwrap();
    assert!(!other.contains(TRACE), "{other}");
    let other_span = spans.iter().find(|span| other.contains(&hex(&span.span_id))).unwrap();
    assert!(other_span.name.starts_with("invoke_agent"), "{}", other_span.name);
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_collector_a_prompt_goes_through_untouched() {
    let home = home();
    let mut editor = Editor::open(&home, None);
    let meta = json!({ "traceparent": format!("00-{TRACE}-{PARENT}-01") });
    assert_eq!(editor.prompt_with(Some(&meta))["_meta"], meta);
    assert_eq!(editor.prompt_with(None).get("_meta"), None);
    editor.close();
}

#[tokio::test]
async fn a_collector_in_trouble_is_not_the_turns_trouble() {
    let home = home();
    let refusing = Collector::answering(StatusCode::INTERNAL_SERVER_ERROR).await;
    let output = run(&home, &refusing.endpoint(), "echo still here").await;
    assert!(output.status.success(), "{output:?}");
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "still here");

    // Takes connections and never answers.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let output = run(&home, &format!("http://{}", silent.local_addr().unwrap()), "echo on").await;
    assert!(output.status.success(), "{output:?}");
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "on");

    // Nobody is there at all.
    let address = silent.local_addr().unwrap();
    drop(silent);
    let output = run(&home, &format!("http://{address}"), "echo and on").await;
    assert!(output.status.success(), "{output:?}");
}
