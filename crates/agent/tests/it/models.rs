//! Providers of the built-in agent against a model server that behaves, and lists of models.

use std::time::Duration;

use agent::native::assemble::{AssembledAnswer, Assembly};
use agent::native::chat::{
    ChatMessage, ChatRequest, Delta, FinishReason, MessagePart, TokenUsage, ToolSpec,
};
use agent::native::config::{Config, ModelSetup};
use agent::native::discovery::{self, Advice, Candidate, NothingFound};
use agent::native::endpoint::{Endpoint, EndpointKind};
use agent::native::provider::{ModelFailure, Provider};
use agent::native::providers::Providers;
use agent::native::secret::Secret;
use futures_util::StreamExt as _;
use serde_json::{Value, json};
use testkit::model_server::{ModelServer, calls, status, text, thought};

/// An endpoint that does not let a test wait.
pub(crate) fn endpoint(server: &ModelServer) -> Endpoint {
    let base = server.base_url().parse().unwrap();
    let mut endpoint = Endpoint::new("test", EndpointKind::Other, base);
    endpoint.key = Some(Secret::new("the-key"));
    endpoint.waits.retry_first = Duration::from_millis(1);
    endpoint
}

pub(crate) fn request(prompt: &str) -> ChatRequest {
    let parts = vec![MessagePart::text(prompt)];
    ChatRequest {
        model: "m".to_owned(),
        messages: vec![ChatMessage::User { parts }],
        ..ChatRequest::default()
    }
}

/// Everything that comes, and how it ends.
pub(crate) async fn hear(
    provider: &Provider,
    request: ChatRequest,
) -> (Vec<Delta>, Option<ModelFailure>) {
    let mut answer = provider.chat(request);
    let mut deltas = Vec::new();
    while let Some(piece) = answer.next().await {
        match piece {
            Ok(delta) => deltas.push(delta),
            Err(failure) => {
                assert!(answer.next().await.is_none(), "nothing comes after a failure");
                return (deltas, Some(failure));
            }
        }
    }
    (deltas, None)
}

pub(crate) fn assembled(deltas: &[Delta]) -> AssembledAnswer {
    let mut assembly = Assembly::default();
    for delta in deltas {
        assembly.push(delta);
    }
    assembly.end()
}

pub(crate) async fn whole(provider: &Provider, request: ChatRequest) -> AssembledAnswer {
    let (deltas, failure) = hear(provider, request).await;
    assert_eq!(failure, None);
    assert!(matches!(deltas.last(), Some(Delta::Finish(_))), "{deltas:?}");
    assembled(&deltas)
}

#[tokio::test]
async fn an_answer_comes_in_pieces_with_its_thoughts_and_usage() {
    let server = ModelServer::start().await;
    server.answer(thought("hm, well").text("Hello, world!").usage(12, 34));
    let provider = Provider::new(endpoint(&server));

    let (deltas, failure) = hear(&provider, request("hi")).await;

    assert_eq!(failure, None);
    let text = |text: &str| Delta::Text(text.to_owned());
    let usage = TokenUsage { input: 12, output: 34, ..TokenUsage::default() };
    let expect = [
        Delta::Thought("hm, ".to_owned()),
        Delta::Thought("well".to_owned()),
        text("Hello, "),
        text("world!"),
        Delta::Usage(usage),
        Delta::Finish(FinishReason::Stop),
    ];
    assert_eq!(deltas, expect);
    let asked = server.last_chat();
    assert_eq!(asked.target, "/v1/chat/completions");
    assert_eq!(asked.header("authorization"), Some("Bearer the-key"));
    assert_eq!((asked.model(), asked.last_user().as_str()), ("m", "hi"));
    assert_eq!(asked.body["stream_options"]["include_usage"], true);
}

#[tokio::test]
async fn calls_are_the_same_however_they_are_cut_and_mixed() {
    let server = ModelServer::start().await;
    let arguments = [json!({ "path": "ä/ö.txt" }), json!({ "command": "ls -la", "n": [1, 2] })];
    let said = || {
        let [first, second] = &arguments;
        calls([("read", first.clone()), ("bash", second.clone())])
    };
    let provider = Provider::new(endpoint(&server));
    for answer in [
        said(),
        said().pieces(1),
        said().pieces(3).interleaved(),
        said().pieces(2).no_index(),
        said().whole(),
        said().pieces(1).interleaved().split_every_byte().crlf(),
    ] {
        server.answer(answer.clone());
        let whole = whole(&provider, request("go")).await;
        assert_eq!(whole.finish, Some(FinishReason::Calls), "{answer:?}");
        let names: Vec<_> = whole.calls.iter().map(|call| call.name.as_str()).collect();
        assert_eq!(names, ["read", "bash"], "{answer:?}");
        let read: Vec<Value> =
            whole.calls.iter().map(|call| serde_json::from_str(&call.arguments).unwrap()).collect();
        assert_eq!(read, arguments, "{answer:?}");
    }
}

#[tokio::test]
async fn every_form_of_a_stream_gives_the_same_answer() {
    let server = ModelServer::start().await;
    let said = || thought("Überlegen 🦀").text("Grüße, 世界! Done.").usage(3, 4);
    let provider = Provider::new(endpoint(&server));
    for answer in [
        said(),
        said().crlf(),
        said().cr(),
        said().no_space(),
        said().comments(),
        said().no_done(),
        said().open_end(),
        said().no_done().open_end().no_usage().usage(3, 4),
        said().thought_member("reasoning"),
        said().split_every_byte(),
        said().split_every_byte().crlf().comments(),
        said().writes(7).unframed(),
        said().whole(),
        said().whole().split_every_byte(),
        said().content_type("text/plain"),
        said().whole().content_type("text/event-stream"),
        said().garbage(2),
        said().finish(""),
        said().finish("").no_done(),
    ] {
        server.answer(answer.clone());
        let whole = whole(&provider, request("hi")).await;
        assert_eq!(whole.text, "Grüße, 世界! Done.", "{answer:?}");
        assert_eq!(whole.thought, "Überlegen 🦀", "{answer:?}");
        assert_eq!(whole.finish, Some(FinishReason::Stop), "{answer:?}");
        assert_eq!(whole.usage.map(|usage| usage.output), Some(4), "{answer:?}");
    }
}

#[tokio::test]
async fn parameters_that_are_refused_are_left_out_and_not_sent_again() {
    let server = ModelServer::start().await;
    server.answer_with(|asked| {
        let refuse = |message: &str| status(400).json(&json!({ "error": { "message": message } }));
        if asked.body.get("stream_options").is_some() {
            return refuse("Unknown parameter: 'stream_options'.");
        }
        if asked.body.get("max_tokens").is_some() {
            return refuse("Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens'.");
        }
        if asked.body.get("temperature").is_some() {
            return refuse("'temperature' does not support 0.5 with this model.");
        }
        if asked.body.get("reasoning_effort").is_some() {
            return refuse("reasoning_effort is not supported");
        }
        text("fine")
    });
    let mut endpoint = endpoint(&server);
    endpoint.table.max_tokens = Some(5);
    endpoint.table.temperature = Some(0.5);
    let provider = Provider::new(endpoint);
    let asking = || ChatRequest { effort: Some("low".to_owned()), ..request("hi") };

    let (deltas, failure) = hear(&provider, asking()).await;
    assert_eq!((assembled(&deltas).text.as_str(), failure), ("fine", None));
    assert!(!deltas.iter().any(|delta| matches!(delta, Delta::Retrying { .. })), "{deltas:?}");
    assert_eq!(server.chats().len(), 5);
    assert_eq!(server.last_chat().body["max_completion_tokens"], 5);

    whole(&provider, asking()).await;
    assert_eq!(server.chats().len(), 6, "what was learnt is remembered");
}

#[tokio::test]
async fn a_connection_is_used_again() {
    let server = ModelServer::start().await;
    server.answer_with(|_| text("ok"));
    let provider = Provider::new(endpoint(&server));
    for _ in 0..10 {
        whole(&provider, request("hi")).await;
    }
    assert!(server.n_connections() < 10, "{} connections", server.n_connections());
}

#[tokio::test]
async fn tools_and_images_are_sent() {
    let server = ModelServer::start().await;
    server.answer("ok");
    let mut endpoint = endpoint(&server);
    endpoint.table.images = Some(true);
    let mut asking = request("look");
    let image = MessagePart::Image { mime: "image/png".to_owned(), data: "AAAA".to_owned() };
    asking.messages.push(ChatMessage::User { parts: vec![image] });
    asking.tools.push(ToolSpec {
        name: "read".to_owned(),
        description: "Reads.".to_owned(),
        parameters: json!({ "type": "object" }),
    });
    whole(&Provider::new(endpoint), asking).await;
    let asked = server.last_chat();
    assert_eq!(asked.tool_names(), ["read"]);
    assert_eq!(asked.messages()[0]["content"][1]["image_url"]["url"], "data:image/png;base64,AAAA");
}

#[tokio::test]
async fn azure_is_asked_in_its_own_way() {
    let server = ModelServer::start().await;
    server.answer("ok");
    let mut endpoint = endpoint(&server);
    endpoint.kind = EndpointKind::Azure;
    endpoint.base = server.url().parse().unwrap();
    endpoint.table.deployment = Some("mine".to_owned());
    endpoint.table.headers.insert("x-team".to_owned(), Secret::new("blue"));
    let provider = Provider::new(endpoint);
    whole(&provider, request("hi")).await;
    let asked = server.last_chat();
    assert_eq!(asked.path(), "/openai/deployments/mine/chat/completions");
    assert_eq!(asked.query(), "api-version=2024-10-21");
    assert_eq!((asked.header("api-key"), asked.header("authorization")), (Some("the-key"), None));
    assert_eq!(asked.header("x-team"), Some("blue"));
    let models = provider.models().await.unwrap();
    assert_eq!(models.iter().map(|model| model.id.as_str()).collect::<Vec<_>>(), ["mine"]);
}

#[tokio::test]
async fn models_are_listed_with_what_is_known_about_them() {
    let server = ModelServer::start().await;
    let list = json!({ "object": "list", "data": [
        { "id": "a", "object": "model", "context_length": 4096 }, { "id": "b", "max_model_len": 8 },
    ] });
    server.on("/v1/models", status(200).json(&list));
    server.on(
        "/api/ps",
        status(200).json(&json!({ "models": [{ "name": "b", "context_length": 9 }] })),
    );
    let mut endpoint = endpoint(&server);
    endpoint.kind = EndpointKind::Ollama;
    endpoint.table.model = Some("own".to_owned());
    endpoint.table.context_window = Some(77);
    let models = Provider::new(endpoint).models().await.unwrap();
    let known: Vec<_> = models.iter().map(|model| (model.id.as_str(), model.context)).collect();
    assert_eq!(known, [("a", Some(4096)), ("b", Some(9)), ("own", Some(77))]);
}

#[tokio::test]
async fn lists_that_cannot_be_had_are_failures_like_others() {
    let server = ModelServer::start().await;
    let provider = Provider::new(endpoint(&server));
    server.on("/v1/models", status(401));
    assert_eq!(provider.models().await.unwrap_err().category.as_str(), "auth");
    server.on("/v1/models", status(200).body("<html>"));
    assert_eq!(provider.models().await.unwrap_err().category.as_str(), "protocol");
}

#[tokio::test]
async fn offers_of_several_providers_are_told_apart_and_survive_a_silent_one() {
    let server = ModelServer::start().await;
    server.models(["x", "y"]);
    let mut here = endpoint(&server);
    "here".clone_into(&mut here.name);
    let mut gone = endpoint(&server);
    "gone".clone_into(&mut gone.name);
    gone.base = server.url().parse().unwrap();
    gone.base.set_path("/nowhere");
    gone.table.model = Some("z".to_owned());
    let mut setup = ModelSetup::default();
    (setup.endpoints, setup.default) = (vec![gone, here], 1);
    let providers = Providers::new(&setup).unwrap();

    let (offers, failures) = providers.offers().await;

    let ids: Vec<_> = offers.iter().map(|offer| offer.id.as_str()).collect();
    assert_eq!(ids, ["here/x", "here/y", "gone/z"]);
    assert_eq!(failures.len(), 1);
    assert_eq!(providers.default_id(&offers), "here/x");
}

#[tokio::test]
async fn a_local_endpoint_is_found_among_other_programs_and_gets_no_key() {
    let (web, empty, ollama) =
        (ModelServer::start().await, ModelServer::start().await, ModelServer::start().await);
    web.on("/v1/models", status(200).body("<html>It works!</html>"));
    empty.models([]);
    ollama.models(["nomic-embed-text", "qwen3"]);
    let at = |kind, server: &ModelServer| Candidate { kind, port: server.port() };
    let nobody = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        Candidate { kind: EndpointKind::Lmstudio, port: listener.local_addr().unwrap().port() }
    };
    let all = [
        at(EndpointKind::Vllm, &web),
        nobody,
        at(EndpointKind::Llamacpp, &empty),
        at(EndpointKind::Ollama, &ollama),
    ];

    let found = discovery::look(&all, &Advice::Variables).await.unwrap();

    assert_eq!((found.kind, found.table.models.len()), (EndpointKind::Ollama, 2));
    let summary = discovery::summary(&found);
    assert!(summary.contains("Ollama"), "{summary}");
    let variables = |name: &str| (name == "OPENAI_MAX_TOKENS").then(|| "33".to_owned());
    let mut setup = Config::default().resolve(&variables).unwrap();
    assert!(setup.endpoints.is_empty());
    setup.adopt(found);
    let [endpoint] = setup.endpoints.as_slice() else { panic!("one endpoint") };
    assert_eq!((endpoint.table.model.as_deref(), endpoint.table.max_tokens), (None, Some(33)));
    assert!(endpoint.key.is_none());
    let providers = Providers::new(&setup).unwrap();
    let (offers, _) = providers.offers().await;
    assert_eq!(providers.default_id(&offers), "qwen3");
    for server in [&web, &empty, &ollama] {
        assert!(server.requests().iter().all(|asked| asked.header("authorization").is_none()));
    }

    let error = discovery::look(&all[..3], &Advice::Variables).await.unwrap_err();
    assert!(matches!(error, NothingFound::NoModels { title: "llama.cpp", .. }), "{error}");
    let locked = ModelServer::start().await;
    locked.on("/v1/models", status(500).json(&json!({ "error": { "message": "no db" } })));
    let with_locked = [at(EndpointKind::Vllm, &web), at(EndpointKind::Litellm, &locked)];
    let error = discovery::look(&with_locked, &Advice::Variables).await.unwrap_err().to_string();
    assert!(error.starts_with("LiteLLM seems to answer at ") && error.contains("key"), "{error}");
    let daemon = Advice::Daemon { config: "/etc/switchyard.toml".into() };
    let error = discovery::look(&all[..2], &daemon).await.unwrap_err().to_string();
    assert_eq!(error.lines().count(), 2, "{error}");
    let words =
        ["/etc/switchyard.toml", "[native.providers.NAME]", "the environment of the daemon"];
    assert!(words.iter().all(|words| error.contains(words)), "{error}");
    let error = discovery::look(&all[..2], &Advice::Variables).await.unwrap_err().to_string();
    assert_eq!(error.lines().count(), 2, "{error}");
    assert!(error.contains("OPENAI_BASE_URL") && error.contains("vLLM on "), "{error}");
}
