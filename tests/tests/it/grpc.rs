//! tonic: a service directly behind the layer, without an error handler in between, and its client.

use std::time::Duration;

use tests::{Process, config, obey};
use tokio::net::TcpListener;
use tokio_stream::wrappers::TcpListenerStream;
use tonic::{
    Code, Request, Status,
    metadata::MetadataValue,
    transport::{Channel, Server},
};
use tonic_health::pb::{
    HealthCheckRequest, HealthCheckResponse, health_check_response::ServingStatus,
    health_client::HealthClient,
};
use tonic_types::StatusExt;
use tower_waiting_room::{
    Quota, RateLimit, WaitingRoomConfig, WaitingRoomHandle, WaitingRoomLayer,
    config::WaitingRoomConfigBuilder,
};

/// A health service behind the layer.
pub(crate) fn serve(config: WaitingRoomConfigBuilder) -> (Process, WaitingRoomHandle) {
    let layer = WaitingRoomLayer::new(config.build().unwrap());
    let handle = layer.handle();
    let process = Process::start(async |listener: TcpListener| {
        let (_reporter, health) = tonic_health::server::health_reporter();
        let incoming = TcpListenerStream::new(listener);
        let server = Server::builder().layer(layer).add_service(health);
        server.serve_with_incoming(incoming).await.unwrap();
    });
    (process, handle)
}

pub(crate) async fn connect(process: &Process) -> HealthClient<Channel> {
    let address = format!("http://localhost:{}", process.port());
    HealthClient::new(Channel::from_shared(address).unwrap().connect().await.unwrap())
}

/// A call with a token. An empty token requests one in a header.
fn call(token: &str) -> Request<HealthCheckRequest> {
    let mut request = Request::new(HealthCheckRequest::default());
    request.metadata_mut().insert("waiting-room-token", MetadataValue::try_from(token).unwrap());
    request
}

fn token(metadata: &tonic::metadata::MetadataMap) -> String {
    metadata.get("waiting-room-token").unwrap().to_str().unwrap().to_owned()
}

pub(crate) fn retry_delay(status: &Status) -> Duration {
    status.get_error_details().retry_info().unwrap().retry_delay.unwrap()
}

#[tokio::test]
async fn a_waiting_caller_gets_resource_exhausted_with_a_retry_time() {
    let (process, handle) = serve(config());
    handle.room().unwrap().queue_all().await.unwrap();
    let mut client = connect(&process).await;
    let status = client.check(HealthCheckRequest::default()).await.unwrap_err();
    assert_eq!(status.code(), Code::ResourceExhausted, "{status:?}");
    assert!(status.message().starts_with("Nobody is ahead of you"), "{status:?}");
    let delay = retry_delay(&status);
    assert!((0.9..=2.0).contains(&delay.as_secs_f64()), "{delay:?}");
    let pushback = status.metadata().get("grpc-retry-pushback-ms").unwrap().to_str().unwrap();
    assert_eq!(pushback, delay.as_nanos().div_ceil(1_000_000).to_string());

    // A stream is refused in the same way before it starts.
    let status = client.watch(HealthCheckRequest::default()).await.unwrap_err();
    assert_eq!(status.code(), Code::ResourceExhausted);
}

#[tokio::test]
async fn a_caller_that_returns_the_token_is_admitted() {
    let (process, handle) = serve(config());
    let mut inside = connect(&process).await;
    let guest = inside.check(call("")).await.unwrap();
    assert_eq!(guest.get_ref().status(), ServingStatus::Serving);
    let pass = token(guest.metadata());

    let mut client = connect(&process).await;
    let mut ticket = String::new();
    for position in ["Nobody is ahead of you", "You are next in line"] {
        let status = client.check(call(&ticket)).await.unwrap_err();
        assert_eq!(status.code(), Code::ResourceExhausted);
        assert!(status.message().starts_with(position), "{status:?}");
        ticket = token(status.metadata());
        obey(retry_delay(&status)).await;
    }
    handle.room().unwrap().set_limits(2, None).await.unwrap();
    let admitted = client.check(call(&ticket)).await.unwrap();
    assert_ne!(token(admitted.metadata()), pass);

    // A stream works for an admitted visitor.
    let watch = client.watch(call(&token(admitted.metadata()))).await.unwrap();
    let first: HealthCheckResponse = watch.into_inner().message().await.unwrap().unwrap();
    assert_eq!(first.status(), ServingStatus::Serving);
    assert_eq!(handle.room().unwrap().snapshot().await.unwrap().active, 2);
}

#[tokio::test]
async fn a_limit_by_address_knows_the_address_of_a_caller() {
    let limit = RateLimit::per_ip(Quota::per_minute(1));
    let (process, _) = serve(WaitingRoomConfig::builder("api").rate_limit(limit));
    let mut client = connect(&process).await;
    client.check(HealthCheckRequest::default()).await.unwrap();
    let status = client.check(HealthCheckRequest::default()).await.unwrap_err();
    assert_eq!(status.code(), Code::ResourceExhausted, "{status:?}");
}
