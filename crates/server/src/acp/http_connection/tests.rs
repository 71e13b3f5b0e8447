use axum::body::Body;
use axum::http::{Request, StatusCode};
use tower::ServiceExt as _;

use super::*;
use crate::events::testing::One;

fn begin(connections: &Arc<HttpConnections>, one: &One, name: &str) -> Option<NewConnection> {
    let principal = Principal { name: name.into(), ..one.principal.clone() };
    connections.open(&one.daemon, &principal, None)
}

#[tokio::test]
async fn a_connection_that_is_not_kept_is_over() {
    let one = One::new().await;
    let connections = Arc::new(HttpConnections::default());
    drop(begin(&connections, &one, "phone").unwrap());
    assert_eq!(connections.all.locked().len(), 0);
    let kept = begin(&connections, &one, "phone").unwrap().keep();
    assert!(connections.all.locked().contains_key(&kept.id) && !kept.over.is_cancelled());
}

#[tokio::test]
async fn a_client_with_too_many_connections_loses_the_one_that_it_left_alone() {
    let one = One::new().await;
    let connections = Arc::new(HttpConnections::default());
    let kept: Vec<_> = (0..MAX_CONNECTIONS_EACH)
        .map(|_| begin(&connections, &one, "phone").unwrap().keep())
        .collect();
    let reader = kept[0].own.read(None).unwrap();
    let newest = begin(&connections, &one, "phone").unwrap().keep();

    assert_eq!(connections.all.locked().len(), MAX_CONNECTIONS_EACH);
    assert!(!connections.all.locked().contains_key(&kept[1].id) && kept[1].over.is_cancelled());
    assert!([&kept[0], &newest].iter().all(|one| connections.all.locked().contains_key(&one.id)));
    assert!(begin(&connections, &one, "laptop").is_some());
    drop(reader);
}

#[tokio::test]
async fn connections_that_are_all_read_are_none_too_many_for_others_only() {
    let one = One::new().await;
    let connections = Arc::new(HttpConnections::default());
    let kept: Vec<_> = (0..MAX_CONNECTIONS_EACH)
        .map(|_| begin(&connections, &one, "phone").unwrap().keep())
        .collect();
    let _readers: Vec<_> =
        kept.iter().map(|connection| connection.own.read(None).unwrap()).collect();
    assert!(begin(&connections, &one, "phone").is_none());
    assert!(begin(&connections, &one, "laptop").is_some());
}

#[tokio::test]
async fn an_initialize_that_is_refused_begins_nothing() {
    let one = One::new().await;
    let router = crate::acp::router(&one.daemon);
    let said = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}"#;
    let request = Request::post("/acp")
        .header("content-type", "application/json")
        .extension(one.principal.clone())
        .body(Body::from(said))
        .unwrap();
    let answer = router.oneshot(request).await.unwrap();
    assert_eq!(answer.status(), StatusCode::OK);
    assert!(!answer.headers().contains_key("acp-connection-id"), "{answer:?}");
}
