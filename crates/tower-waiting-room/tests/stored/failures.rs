//! Requests that the store of the limits cannot decide about.

use std::{
    future::{Future, ready},
    net::SocketAddr,
    num::NonZeroU32,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use http::{Request, StatusCode};
use tower_waiting_room::{
    Quota, RateLimit, WaitingRoomConfig, WaitingRoomLayer,
    config::{DebugHeader, Enforcement, WaitingRoomConfigBuilder},
    rate::{OverLimit, RateStoreFailure},
    request::PeerAddr,
    room::{StoreError, StoreErrorKind},
    time::{ManualClock, Timestamp},
};
use waiting_room_core::rate::{Charge, ChargeReply, ChargeRequest, KeyHasher, RateStore};

use crate::{
    limits::CoreLimits,
    support::{House, Seen},
};

/// A store of limits that a test can make unavailable or busy.
#[derive(Clone, Debug)]
struct Flaky {
    limits: CoreLimits,
    is_away: Arc<AtomicBool>,
    /// Whether the store reports that it is asked more than it decides in time.
    is_busy: Arc<AtomicBool>,
}

impl Flaky {
    fn new() -> Self {
        let clock = ManualClock::new(Timestamp::from_secs(1_700_000_000));
        let limits = CoreLimits::new(&clock);
        Self { limits, is_away: Arc::default(), is_busy: Arc::default() }
    }

    fn set_away(&self, is_away: bool) {
        self.is_away.store(is_away, Ordering::Relaxed);
    }

    fn error(&self) -> Option<StoreError> {
        if self.is_busy.load(Ordering::Relaxed) {
            return Some(StoreError::new(StoreErrorKind::Busy));
        }
        let is_away = self.is_away.load(Ordering::Relaxed);
        is_away.then(|| StoreError::new(StoreErrorKind::Unavailable))
    }
}

impl RateStore for Flaky {
    fn hasher(&self) -> KeyHasher {
        self.limits.hasher()
    }

    fn charge_all(
        &self,
        asks: &[ChargeRequest],
    ) -> Pin<Box<dyn Future<Output = Result<Vec<ChargeReply>, StoreError>> + Send>> {
        match self.error() {
            Some(error) => Box::pin(ready(Err(error))),
            None => self.limits.charge_all(asks),
        }
    }

    fn settle(
        &self,
        ask: &ChargeRequest,
        charge: &Charge,
        cost: u64,
    ) -> Result<Charge, StoreError> {
        self.error().map_or_else(|| self.limits.settle(ask, charge, cost), Err)
    }
}

fn limits(store: &Flaky, on_failure: RateStoreFailure) -> WaitingRoomConfigBuilder {
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
    let store = Flaky::new();
    let house = house(limits(&store, RateStoreFailure::Admit));
    store.set_away(true);
    assert_eq!(allowed(&house).await, 20);
    let seen = get(&house).await;
    assert_eq!(seen.reason, "admitted:unlimited");
    assert_eq!(seen.header("ratelimit"), None);
    assert_eq!(seen.header("waiting-room-reason"), Some("admitted:unlimited"));
    store.set_away(false);
    assert_eq!(get(&house).await.header("x-ratelimit-remaining"), Some("9"));
}

#[tokio::test]
async fn a_limit_that_fails_closed_answers_503_with_a_retry_time() {
    let store = Flaky::new();
    let house = house(limits(&store, RateStoreFailure::Refuse));
    store.set_away(true);
    let seen = get(&house).await;
    assert_eq!(seen.status, StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(seen.reason, "refused:limits_unavailable");
    assert_eq!(seen.header("retry-after"), Some("5"));
    assert_eq!(seen.header("cache-control"), Some("no-store"));
    let seen = send(&house, Request::post("/").header("content-type", "application/grpc")).await;
    assert_eq!((seen.status, seen.header("grpc-status")), (StatusCode::OK, Some("14")));
    assert_eq!(house.forwarded(), 0);
    store.set_away(false);
    assert_eq!(allowed(&house).await, 10);
}

#[tokio::test]
async fn a_limit_that_is_shared_out_keeps_each_node_to_its_share() {
    let store = Flaky::new();
    let house = house(limits(&store, share(4)));
    store.set_away(true);
    let seen = get(&house).await;
    assert_eq!(seen.reason, "admitted:local_share");
    assert_eq!(seen.header("x-ratelimit-remaining"), Some("1"));
    assert_eq!(allowed(&house).await, 1);
    let refused = get(&house).await;
    assert_eq!((refused.status.as_u16(), &*refused.reason), (429, "refused:rate:per_ip"));
    assert_eq!(refused.header("retry-after"), Some("30"));
    store.set_away(false);
    assert_eq!(allowed(&house).await, 10);
    // The share that was used during the first outage is remembered like any use of a quota.
    store.set_away(true);
    assert!(!get(&house).await.is_inside());
}

#[tokio::test]
async fn an_overloaded_store_lifts_no_limit_under_any_policy() {
    for on_failure in [RateStoreFailure::Admit, share(1), RateStoreFailure::Refuse] {
        let store = Flaky::new();
        let house = house(limits(&store, on_failure));
        store.is_busy.store(true, Ordering::Relaxed);
        for _ in 0..20 {
            let seen = get(&house).await;
            assert_eq!(seen.status, StatusCode::SERVICE_UNAVAILABLE, "{on_failure:?}");
            assert_eq!(seen.reason, "refused:limits_busy", "{on_failure:?}");
            let retry_after: u64 = seen.header("retry-after").unwrap().parse().unwrap();
            assert!((5..=10).contains(&retry_after), "{retry_after} s");
        }
        store.is_busy.store(false, Ordering::Relaxed);
        assert_eq!(allowed(&house).await, 10, "{on_failure:?}");
    }
}

#[tokio::test]
async fn shadow_limits_delay_no_request_while_their_store_is_overloaded() {
    let store = Flaky::new();
    let soft = RateLimit::global(Quota::per_minute(1)).over_limit(OverLimit::Mark);
    let config = WaitingRoomConfig::builder("api").rate_limit(soft);
    let house = house(config.rate_store(store.clone(), RateStoreFailure::Refuse));
    store.is_busy.store(true, Ordering::Relaxed);
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
        let store = Flaky::new();
        let house = house(limits(&store, on_failure));
        store.set_away(true);
        assert_eq!(crate::metrics::second_at(&house), expected);
    }
}

#[tokio::test]
async fn a_soft_limit_without_its_store_refuses_by_its_policy_only() {
    for (on_failure, expected) in
        [(RateStoreFailure::Admit, true), (share(1), true), (RateStoreFailure::Refuse, false)]
    {
        let store = Flaky::new();
        let soft = RateLimit::global(Quota::per_minute(1)).over_limit(OverLimit::Mark);
        let house = house(
            WaitingRoomConfig::builder("api")
                .rate_limit(soft)
                .rate_store(store.clone(), on_failure),
        );
        store.set_away(true);
        for _ in 0..3 {
            assert_eq!(get(&house).await.is_inside(), expected, "{on_failure:?}");
        }
    }
}

#[tokio::test]
async fn in_shadow_mode_a_missing_store_refuses_no_request() {
    let store = Flaky::new();
    let shadow = limits(&store, RateStoreFailure::Refuse).enforcement(Enforcement::Shadow);
    let house = house(shadow);
    store.set_away(true);
    assert!(get(&house).await.is_inside());
}

#[tokio::test]
async fn a_charge_that_cannot_be_given_back_stays() {
    let store = Flaky::new();
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
    store.set_away(true);
    assert!(send(&house, settled()).await.is_inside());
    store.set_away(false);
    assert_eq!(get(&house).await.header("x-ratelimit-remaining"), Some("5"));
}

#[tokio::test]
async fn a_config_from_a_file_gets_its_store_from_the_builder() {
    let store = Flaky::new();
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
    store.set_away(true);
    assert_eq!(get(&house).await.reason, "refused:limits_unavailable");
    store.set_away(false);
    assert_eq!(get(&house).await.reason, "admitted:slot");
}

#[test]
fn an_impossible_share_is_refused_when_the_config_is_built() {
    let store = Flaky::new();
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
