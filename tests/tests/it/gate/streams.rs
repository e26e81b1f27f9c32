//! A response counts as running until its body has ended.

use axum::{Router, http::StatusCode, routing::get};
use tests::Process;
use tower::limit::GlobalConcurrencyLimitLayer;

use super::*;

#[tokio::test]
async fn the_number_of_streaming_responses_is_limited_with_http_1() {
    two_stream_and_the_others_follow(Wire::Http1).await;
}

#[tokio::test]
async fn the_number_of_streaming_responses_is_limited_with_http_2() {
    two_stream_and_the_others_follow(Wire::Http2).await;
}

#[tokio::test]
async fn the_number_of_streaming_responses_is_limited_over_one_connection() {
    two_stream_and_the_others_follow(Wire::Shared).await;
}

#[tokio::test]
async fn with_the_limit_of_tower_all_twelve_responses_stream_at_once() {
    for wire in [Wire::Http1, Wire::Shared] {
        let floor = Floor::new();
        let app = Router::new().route("/stream", floor.stream());
        let app = app.layer(GlobalConcurrencyLimitLayer::new(2));
        let process = Process::start(async |listener| axum::serve(listener, app).await.unwrap());
        let url = format!("http://localhost:{}/stream", process.port());
        let crowd = wire.crowd(vec![url; 12]);
        floor.has(12).await;
        floor.finish(12);
        finished(crowd, "begun done").await;
    }
}

#[tokio::test]
async fn a_reader_that_leaves_frees_its_permit() {
    for wire in [Wire::Http1, Wire::Http2] {
        let works = Works::open(gate(1), |app, _| app);
        let mut response = wire.client().get(works.url("/stream")).send().await.unwrap();
        assert_eq!(response.chunk().await.unwrap().unwrap(), "begun ");
        let next = wire.crowd([works.url("/quick")]);
        works.has(1, 1).await;
        drop(response);
        println!("{wire:?}: the next one runs after {:?}", works.has(0, 0).await);
        finished(next, "quick").await;
        works.floor().has(0).await;
    }
}

/// The server never polls the body of such a response, so the body does not end by itself.
#[tokio::test]
async fn a_discarded_body_holds_no_permit() {
    let works = Works::open(gate(1), |app: Router, floor| {
        let floor = floor.clone();
        let not_modified = StatusCode::NOT_MODIFIED;
        app.route("/known", get(async move || (not_modified, floor.frames())))
    });
    let known = Wire::Http1.client().get(works.url("/known")).send().await.unwrap();
    assert_eq!(known.status(), StatusCode::NOT_MODIFIED);
    works.has(0, 0).await;
    for wire in [Wire::Http1, Wire::Http2] {
        let head = wire.client().head(works.url("/stream")).send().await.unwrap();
        assert_eq!(head.status(), StatusCode::OK);
        works.has(0, 0).await;
        works.floor().has(0).await;
    }
}

async fn two_stream_and_the_others_follow(wire: Wire) {
    let works = Works::open(gate(2), |app, _| app);
    let crowd = wire.crowd(vec![works.url("/stream"); 12]);
    for waiting in (0..=10).rev() {
        works.has(2, waiting).await;
        works.floor().has(2).await;
        works.finish(1);
    }
    works.has(1, 0).await;
    works.finish(1);
    finished(crowd, "begun done").await;
    works.has(0, 0).await;
    assert_eq!(works.floor().peak(), 2);
}
