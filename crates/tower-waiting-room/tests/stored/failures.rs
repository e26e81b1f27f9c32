//! Requests that the store of the limits cannot decide about.

use std::{net::SocketAddr, num::NonZeroU32, sync::Arc};

use http::{Request, StatusCode};
use tower_waiting_room::{
    Quota, RateLimit, WaitingRoomConfig, WaitingRoomLayer,
    config::{DebugHeader, Enforcement, WaitingRoomConfigBuilder},
    rate::{OverLimit, RateStoreFailure},
    request::PeerAddr,
    room::StoreErrorKind,
    time::{ManualClock, Timestamp},
};
use waiting_room_doubles::RateStoreDouble;

use crate::support::{House, Seen};

const AWAY: Option<StoreErrorKind> = Some(StoreErrorKind::Unavailable);

fn working() -> RateStoreDouble {
    RateStoreDouble::new(&ManualClock::new(Timestamp::from_secs(1_700_000_000)))
}

fn limits(store: &RateStoreDouble, on_failure: RateStoreFailure) -> WaitingRoomConfigBuilder {
    WaitingRoomConfig::builder("api")
        .rate_limit(RateLimit::per_ip(Quota::per_minute(10)))
        .rate_store(store.clone(), on_failure)
        .debug_header(DebugHeader::On)
}

/// A house with this configuration, and with a clock that its store does not read.
fn house(config: WaitingRoomConfigBuilder) -> House {
    let layer = WaitingRoomLayer::new(config.build().unwrap());
    House { layer, clock: ManualClock::default(), forwarded: Arc::default() }
}

async fn get(house: &House) -> Seen {
    send(house, Request::get("/")).await
}

async fn send(house: &House, request: http::request::Builder) -> Seen {
    let peer = PeerAddr(SocketAddr::from(([192, 0, 2, 1], 40_000)));
    house.send(request.extension(peer).body(String::new()).unwrap()).await
}

async fn allowed(house: &House) -> u32 {
    let mut allowed = 0;
    for _ in 0..20 {
        allowed += u32::from(get(house).await.is_inside());
    }
    allowed
}

fn share(nodes: u32) -> RateStoreFailure {
    RateStoreFailure::LocalShare { nodes: NonZeroU32::new(nodes).unwrap() }
}

#[tokio::test]
async fn a_limit_that_fails_open_forwards_all_requests_uncounted() {
    let store = working();
    let house = house(limits(&store, RateStoreFailure::Admit));
    store.fails(AWAY);
    assert_eq!(allowed(&house).await, 20);
    let seen = get(&house).await;
    assert_eq!(seen.reason, "admitted:unlimited");
    assert_eq!(seen.header("ratelimit"), None);
    assert_eq!(seen.header("waiting-room-reason"), Some("admitted:unlimited"));
    store.fails(None);
    assert_eq!(get(&house).await.header("x-ratelimit-remaining"), Some("9"));
}

#[tokio::test]
async fn a_limit_that_fails_closed_answers_503_with_a_retry_time() {
    let store = working();
    let house = house(limits(&store, RateStoreFailure::Refuse));
    store.fails(AWAY);
    let seen = get(&house).await;
    assert_eq!(seen.status, StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(seen.reason, "refused:limits_unavailable");
    assert_eq!(seen.header("retry-after"), Some("5"));
    assert_eq!(seen.header("cache-control"), Some("no-store"));
    let seen = send(&house, Request::post("/").header("content-type", "application/grpc")).await;
    assert_eq!((seen.status, seen.header("grpc-status")), (StatusCode::OK, Some("14")));
    assert_eq!(house.forwarded(), 0);
    store.fails(None);
    assert_eq!(allowed(&house).await, 10);
}

#[tokio::test]
async fn a_limit_that_is_shared_out_keeps_each_node_to_its_share() {
    let store = working();
    let house = house(limits(&store, share(4)));
    store.fails(AWAY);
    let seen = get(&house).await;
    assert_eq!(seen.reason, "admitted:local_share");
    assert_eq!(seen.header("x-ratelimit-remaining"), Some("1"));
    assert_eq!(allowed(&house).await, 1);
    let refused = get(&house).await;
    assert_eq!((refused.status.as_u16(), &*refused.reason), (429, "refused:rate:per_ip"));
    assert_eq!(refused.header("retry-after"), Some("30"));
    store.fails(None);
    assert_eq!(allowed(&house).await, 10);
    // The share that was used during the first outage is remembered like any use of a quota.
    store.fails(AWAY);
    assert!(!get(&house).await.is_inside());
}

#[tokio::test]
async fn an_overloaded_store_lifts_no_limit_under_any_policy() {
    for on_failure in [RateStoreFailure::Admit, share(1), RateStoreFailure::Refuse] {
        let store = working();
        let house = house(limits(&store, on_failure));
        store.fails(Some(StoreErrorKind::Busy));
        for _ in 0..20 {
            let seen = get(&house).await;
            assert_eq!(seen.status, StatusCode::SERVICE_UNAVAILABLE, "{on_failure:?}");
            assert_eq!(seen.reason, "refused:limits_busy", "{on_failure:?}");
            let retry_after: u64 = seen.header("retry-after").unwrap().parse().unwrap();
            assert!((5..=10).contains(&retry_after), "{retry_after} s");
        }
        store.fails(None);
        assert_eq!(allowed(&house).await, 10, "{on_failure:?}");
    }
}

#[tokio::test]
async fn shadow_limits_delay_no_request_while_their_store_is_overloaded() {
    let store = working();
    let soft = RateLimit::global(Quota::per_minute(1)).over_limit(OverLimit::Mark);
    let config = WaitingRoomConfig::builder("api").rate_limit(soft);
    let house = house(config.rate_store(store.clone(), RateStoreFailure::Refuse));
    store.fails(Some(StoreErrorKind::Busy));
    assert!(get(&house).await.is_inside());
}

#[cfg(feature = "metrics")]
#[test]
fn each_mode_is_counted_by_its_name() {
    for (on_failure, expected) in [
        (RateStoreFailure::Admit, vec!["admit unavailable", "admitted:unlimited"]),
        (share(1), vec!["local_share unavailable", "per_ip allowed", "admitted:local_share"]),
        (RateStoreFailure::Refuse, vec!["refuse unavailable", "refused:limits_unavailable"]),
    ] {
        let store = working();
        let house = house(limits(&store, on_failure));
        store.fails(AWAY);
        assert_eq!(crate::metrics::second_at(&house), expected);
    }
}

#[tokio::test]
async fn a_soft_limit_without_its_store_refuses_by_its_policy_only() {
    for (on_failure, expected) in
        [(RateStoreFailure::Admit, true), (share(1), true), (RateStoreFailure::Refuse, false)]
    {
        let store = working();
        let soft = RateLimit::global(Quota::per_minute(1)).over_limit(OverLimit::Mark);
        let house = house(
            WaitingRoomConfig::builder("api")
                .rate_limit(soft)
                .rate_store(store.clone(), on_failure),
        );
        store.fails(AWAY);
        for _ in 0..3 {
            assert_eq!(get(&house).await.is_inside(), expected, "{on_failure:?}");
        }
    }
}

#[tokio::test]
async fn in_shadow_mode_a_missing_store_refuses_no_request() {
    let store = working();
    let shadow = limits(&store, RateStoreFailure::Refuse).enforcement(Enforcement::Shadow);
    let house = house(shadow);
    store.fails(AWAY);
    assert!(get(&house).await.is_inside());
}

#[tokio::test]
async fn a_charge_that_cannot_be_given_back_stays() {
    let store = working();
    let limit = RateLimit::per_ip(Quota::per_minute(10)).cost(5).adjustable();
    let house = house(
        WaitingRoomConfig::builder("api")
            .rate_limit(limit)
            .rate_store(store.clone(), RateStoreFailure::Admit),
    );
    let settled = || Request::get("/").header("x-settle", "0");
    assert_eq!(send(&house, settled()).await.header("x-ratelimit-remaining"), Some("5"));
    assert_eq!(send(&house, settled()).await.header("x-ratelimit-remaining"), Some("5"));
    // A cost that was charged on this node is given back on this node.
    store.fails(AWAY);
    assert!(send(&house, settled()).await.is_inside());
    store.fails(None);
    assert_eq!(get(&house).await.header("x-ratelimit-remaining"), Some("5"));
}

#[tokio::test]
async fn a_config_from_a_file_gets_its_store_from_the_builder() {
    let store = working();
    let file = serde_json::json!({
        "name": "api", "total_active_users": 1,
        "rate_limits": [{
            "key": "everyone",
            "rate_limit": { "name": "all", "unit": "minute", "requests_per_unit": 1 }
        }]
    });
    let config: WaitingRoomConfig = serde_json::from_value(file).unwrap();
    assert_eq!(
        config.clone().into_builder().build().unwrap().room().unwrap(),
        config.room().unwrap()
    );
    let house = house(config.into_builder().rate_store(store.clone(), RateStoreFailure::Refuse));
    store.fails(AWAY);
    assert_eq!(get(&house).await.reason, "refused:limits_unavailable");
    store.fails(None);
    assert_eq!(get(&house).await.reason, "admitted:slot");
}

#[test]
fn an_impossible_share_is_refused_when_the_config_is_built() {
    let store = working();
    let years = Quota::new(19, Quota::MAX_WINDOW).burst(1_800);
    let config = |nodes| {
        WaitingRoomConfig::builder("api")
            .rate_limit(RateLimit::global(years))
            .rate_store(store.clone(), share(nodes))
            .build()
    };
    assert!(config(1).is_ok());
    let error = config(10).unwrap_err().to_string();
    assert!(error.ends_with("expected one that is replenished within 100 years"), "{error}");
}
