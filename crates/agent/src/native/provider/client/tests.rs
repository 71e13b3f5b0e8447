use super::*;
use crate::native::secret::Secret;

fn endpoint(kind: EndpointKind, base: &str) -> Endpoint {
    Endpoint::new("test", kind, Url::parse(base).unwrap())
}

#[test]
fn chats_are_below_the_base() {
    let check = |kind, base: &str, expect: &str| {
        assert_eq!(chat_url(&endpoint(kind, base), "my model").as_str(), expect);
    };
    check(EndpointKind::Other, "http://h:1/v1", "http://h:1/v1/chat/completions");
    check(EndpointKind::Other, "http://h", "http://h/chat/completions");
    check(
        EndpointKind::Azure,
        "https://r.openai.azure.com",
        "https://r.openai.azure.com/openai/deployments/my%20model/chat/completions?api-version=2024-10-21",
    );
    check(
        EndpointKind::Azure,
        "https://r.openai.azure.com/openai/deployments/d",
        "https://r.openai.azure.com/openai/deployments/d/chat/completions?api-version=2024-10-21",
    );
    check(
        EndpointKind::Azure,
        "https://r.openai.azure.com/openai/v1",
        "https://r.openai.azure.com/openai/v1/chat/completions",
    );
    check(
        EndpointKind::Azure,
        "https://r.openai.azure.com/openai?api-version=x",
        "https://r.openai.azure.com/openai/deployments/my%20model/chat/completions?api-version=x",
    );
}

#[test]
fn azure_has_a_version_and_a_deployment_of_ones_own() {
    let mut azure = endpoint(EndpointKind::Azure, "https://r.openai.azure.com/");
    azure.table.deployment = Some("a/b".to_owned());
    azure.table.api_version = Some("2025-01-01".to_owned());
    let expect = "https://r.openai.azure.com/openai/deployments/a%2Fb/chat/completions?api-version=2025-01-01";
    assert_eq!(chat_url(&azure, "m").as_str(), expect);
    assert_eq!(models_url(&azure), None);
}

#[test]
fn a_key_goes_where_it_belongs_and_only_if_there_is_one() {
    let mut endpoint = endpoint(EndpointKind::Other, "http://h/v1");
    assert!(headers(&endpoint).unwrap().is_empty());
    endpoint.key = Some(Secret::new("k\n"));
    endpoint.table.headers.insert("X-Team".to_owned(), Secret::new("blue"));
    let sent = headers(&endpoint).unwrap();
    assert_eq!(sent.get("authorization").unwrap(), "Bearer k");
    assert_eq!(sent.get("x-team").unwrap(), "blue");
    assert!(!format!("{sent:?}").contains("Bearer k"));

    endpoint.kind = EndpointKind::Azure;
    let sent = headers(&endpoint).unwrap();
    assert_eq!(sent.get("api-key").unwrap(), "k");
    assert_eq!(sent.get("authorization"), None);

    endpoint.key = Some(Secret::new("with\nbreak"));
    assert_eq!(headers(&endpoint).unwrap_err().category.as_str(), "auth");
}

#[test]
fn other_paths_are_beside_the_base() {
    let ollama = endpoint(EndpointKind::Ollama, "http://127.0.0.1:11434/v1");
    assert_eq!(sibling_url(&ollama, "/api/ps").as_str(), "http://127.0.0.1:11434/api/ps");
}
