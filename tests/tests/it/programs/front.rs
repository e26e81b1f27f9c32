//! The programs without axum.

use http::StatusCode;
use tonic::{Code, transport::Channel};
use tonic_health::pb::{
    HealthCheckRequest, health_check_response::ServingStatus, health_client::HealthClient,
};
use tonic_types::StatusExt;

use super::running::Running;

#[tokio::test]
async fn the_tonic_program_of_the_docs_answers_three_calls_and_refuses_the_fourth() {
    let api = Running::start("grpc").await;
    let channel = Channel::from_shared(api.address().to_owned()).unwrap().connect().await.unwrap();
    let mut client = HealthClient::new(channel);
    for _ in 0..3 {
        let health = client.check(HealthCheckRequest::default()).await.unwrap();
        assert_eq!(health.get_ref().status(), ServingStatus::Serving);
    }
    let status = client.check(HealthCheckRequest::default()).await.unwrap_err();
    assert_eq!(status.code(), Code::ResourceExhausted, "{status:?}");
    assert!(status.get_error_details().retry_info().is_some(), "{status:?}");
    assert!(status.metadata().contains_key("grpc-retry-pushback-ms"), "{status:?}");
    assert_eq!(api.close().await, "");
}

#[tokio::test]
async fn the_hyper_program_of_the_docs_answers_three_requests_and_refuses_the_fourth() {
    let api = Running::start("hyper").await;
    let client = api.visitor();
    for _ in 0..3 {
        let seen = client.get("/").await;
        assert_eq!((seen.status, &*seen.body), (StatusCode::OK, "Hello."));
    }
    let seen = client.get("/").await;
    assert_eq!(seen.status, StatusCode::TOO_MANY_REQUESTS);
    assert!(seen.retry_after().is_some(), "{seen:?}");
    assert_eq!(api.close().await, "");
}
