//! tonic's client at a rate limit.

use std::time::Duration;

use tests::obey;
use tonic::{Code, Status};
use tonic_health::pb::HealthCheckRequest;
use tower_waiting_room::{Quota, RateLimit, WaitingRoomConfig, rate::RateHeaders};

use crate::grpc::{connect, retry_delay, serve};

#[tokio::test]
async fn a_caller_over_the_limit_gets_a_retry_time_and_then_succeeds() {
    let once = RateLimit::global(Quota::new(1, WINDOW));
    let (process, _) = serve(
        WaitingRoomConfig::builder("api").rate_limit(once).rate_headers(RateHeaders::Combined),
    );
    let mut client = connect(&process).await;
    let admitted = client.check(HealthCheckRequest::default()).await.unwrap();
    assert_eq!(admitted.metadata().get("ratelimit-policy").unwrap(), r#""service";q=1;w=2"#);

    let refused = client.check(HealthCheckRequest::default()).await.unwrap_err();
    assert_eq!(refused.code(), Code::ResourceExhausted, "{refused:?}");
    let delay = retry_delay(&refused);
    let pushback = pushback(&refused);
    assert!(WINDOW / 2 < delay && delay <= WINDOW, "{delay:?}");
    // The pushback is in whole milliseconds, and never earlier than the delay.
    assert!(
        (delay..delay + Duration::from_millis(1)).contains(&pushback),
        "{delay:?} {pushback:?}"
    );

    obey(delay).await;
    client.check(HealthCheckRequest::default()).await.unwrap();
}

/// The time after which to retry, from the header for client libraries.
fn pushback(status: &Status) -> Duration {
    let millis = status.metadata().get("grpc-retry-pushback-ms").unwrap().to_str().unwrap();
    Duration::from_millis(millis.parse().unwrap())
}

const WINDOW: Duration = Duration::from_secs(2);
