use axum::body::Body;
use axum::http::StatusCode;
use http_body_util::BodyExt as _;
use tower::ServiceExt as _;

use super::*;

async fn got(app: &Router, path: &str) -> (StatusCode, String, String) {
    let request = Request::get(path).extension(Principal::local()).body(Body::empty()).unwrap();
    let response = app.clone().oneshot(request).await.unwrap();
    let kind = response.headers().get(header::CONTENT_TYPE);
    let kind = kind.map(|kind| kind.to_str().unwrap().to_owned()).unwrap_or_default();
    let status = response.status();
    let body = response.into_body().collect().await.unwrap().to_bytes();
    (status, kind, String::from_utf8(body.to_vec()).unwrap())
}

#[tokio::test]
async fn requests_count_by_their_route_and_never_by_their_path() {
    let metrics = Metrics::new(["demo"]);
    let measured = axum::middleware::from_fn_with_state(metrics.clone(), measure);
    let app = Router::new()
        .route("/v1/sessions/{id}", get(|| async { StatusCode::NOT_FOUND }))
        .merge(router(&metrics))
        .fallback(|| async { StatusCode::NOT_FOUND })
        .layer(measured);
    for n in 0..3 {
        got(&app, &format!("/v1/sessions/{n}")).await;
        got(&app, &format!("/nowhere/{n}")).await;
    }
    let (status, kind, text) = got(&app, "/metrics").await;
    assert_eq!((status, kind.as_str()), (StatusCode::OK, CONTENT_TYPE));
    for (route, n) in [("/v1/sessions/{id}", 3), (NO_ROUTE, 3)] {
        let line = format!(
            "switchyard_http_requests_total{{route=\"{route}\",method=\"GET\",status=\"404\"}} {n}\n"
        );
        assert!(text.contains(&line), "{text}");
    }
    assert!(text.ends_with("# EOF\n"));
}
