//! The report of how effective each limit is.

use std::{cell::Cell, convert::Infallible};

use http::{Request, Response, StatusCode};
use tower::{Layer, ServiceExt, service_fn};
use tower_waiting_room::{
    Key, Quota, RateLimit, WaitingRoomConfig, WaitingRoomLayer,
    rate::{Algorithm, Alignment, ChargeHandle, OverLimit, OverSoftLimit, RateHeaders},
};

use crate::support::House;

async fn send(house: &House, key: &str) {
    house.send(Request::get("/").header("x-api-key", key).body(String::new()).unwrap()).await;
}

fn by_key(name: &'static str, per_hour: u32) -> RateLimit {
    RateLimit::new(name, Quota::per_hour(per_hour.into()), Key::header("x-api-key"))
}

#[tokio::test]
async fn a_report_counts_refusals_and_the_keys_near_the_limit() {
    for algorithm in [Algorithm::Gcra, Algorithm::FixedWindow(Alignment::Epoch)] {
        let strict = by_key("strict", 10).algorithm(algorithm);
        let trial = by_key("trial", 4).over_limit(OverLimit::Shadow);
        let config = WaitingRoomConfig::builder("api").rate_limit(strict).rate_limit(trial);
        let house = House::new(config);
        for (key, requests) in [("one", 1), ("seven", 7), ("eight", 8), ("twelve", 12)] {
            for _ in 0..requests {
                send(&house, key).await;
            }
        }
        let report = house.handle().limits().report();
        let [strict, trial] = &report.limits[..] else { panic!("{report:?}") };
        assert_eq!((strict.requests(), strict.allowed, strict.refused), (28, 26, 2));
        assert!((strict.refused_share() - 2.0 / 28.0).abs() < 1e-9);
        assert_eq!((strict.keys.tracked, strict.keys.near_limit), (4, 2), "{algorithm:?}");
        assert!(!strict.keys.is_estimate);
        // A request that a hard limit refuses is not shown to the others.
        assert_eq!((trial.requests(), trial.refused, trial.over_in_shadow), (26, 0, 13));
        assert_eq!((trial.keys.tracked, trial.keys.near_limit), (4, 3));
        let table = "\
limit    requests  refused   in shadow     keys  near the limit
strict         28    7.14%           -        4               2
trial          26        -      50.00%        4               3";
        assert_eq!(report.to_string(), table);
        let json = serde_json::to_value(&report).unwrap();
        assert_eq!(json["limits"][1]["over_in_shadow"], 13);
        let over = [("strict".to_owned(), 2), ("trial".to_owned(), 13)];
        assert_eq!(house.handle().limits().over(), over);
    }
}

#[tokio::test]
async fn a_new_quota_keeps_the_counts_and_a_large_table_is_estimated() {
    let each = by_key("each", 100).max_keys(1 << 20);
    let house = House::new(WaitingRoomConfig::builder("api").rate_limit(each));
    for number in 0..2_000 {
        send(&house, &number.to_string()).await;
    }
    let limits = house.handle().limits();
    let change = |quota: Quota| {
        move |all: Vec<RateLimit>| {
            all.into_iter().map(|limit| limit.quota(quota)).collect::<Vec<_>>()
        }
    };
    limits.change(change(Quota::per_hour(50))).unwrap();
    let before = limits.report();
    assert_eq!(before.limits[0].requests(), 2_000);
    let keys = before.limits[0].keys;
    assert!(keys.is_estimate && keys.near_limit == 0, "{keys:?}");
    // About 250 keys are in the part that is visited, so five standard deviations are 32 %.
    assert!((1_300..2_700).contains(&keys.tracked), "{keys:?}");
}

/// The number of requests after which a layer no longer inspects them for signs of a wrong setup. A
/// request that is inspected always takes the long way.
const INSPECTED: u32 = 1_024;

#[tokio::test]
async fn a_limit_that_no_header_reports_counts_and_refuses_alike() {
    for headers in [RateHeaders::Common, RateHeaders::None] {
        let each = by_key("each", 5);
        let house =
            House::new(WaitingRoomConfig::builder("api").rate_limit(each).rate_headers(headers));
        for number in 0..INSPECTED {
            send(&house, &number.to_string()).await;
        }
        let mut refused = 0;
        for _ in 0..7 {
            let request = Request::get("/").header("x-api-key", "late").body(String::new());
            let seen = house.send(request.unwrap()).await;
            refused += u32::from(seen.status == StatusCode::TOO_MANY_REQUESTS);
        }
        let report = house.handle().limits().report();
        let [each] = &report.limits[..] else { panic!("{report:?}") };
        assert_eq!((refused, each.allowed, each.refused), (2, u64::from(INSPECTED) + 5, 2));
    }
}

#[tokio::test]
async fn the_application_gets_its_handles_without_headers_too() {
    let adjustable = by_key("adjustable", 10_000).adjustable();
    let soft = by_key("soft", 1).over_limit(OverLimit::Mark);
    for (limit, expected) in [(adjustable, [true, false]), (soft, [false, true])] {
        let config = WaitingRoomConfig::builder("api").rate_headers(RateHeaders::None);
        let layer = WaitingRoomLayer::new(config.rate_limit(limit).build().unwrap());
        let seen = Cell::new([false; 2]);
        let app = service_fn(|request: Request<String>| {
            let extensions = request.extensions();
            let has_charge = extensions.get::<ChargeHandle>().is_some();
            seen.set([has_charge, extensions.get::<OverSoftLimit>().is_some()]);
            std::future::ready(Ok::<_, Infallible>(Response::new(String::new())))
        });
        for _ in 0..=INSPECTED {
            let request = Request::get("/").header("x-api-key", "one").body(String::new());
            layer.layer(app).oneshot(request.unwrap()).await.unwrap();
        }
        assert_eq!(seen.get(), expected);
    }
}
