//! The life of the sampler, and what it counts.

use std::{sync::Arc, time::Duration};

use axum::{Router, body::Body};
use http_body_util::BodyExt;
use serde_json::{Value, json};
use tokio::{runtime::Builder, time::sleep};
use tower::ServiceExt;
use tower_waiting_room::{Concurrency, Key, Quota, RateLimit, WaitingRoomLayer};
use waiting_room_core::{Timestamp, time::ManualClock};

use super::{
    super::{access::Operator, board::Board, dashboard::Dashboard},
    House, ann, config,
    live::{events, figures, stream},
};

/// A dashboard that samples by itself, and the clock of its layer.
fn sampling() -> (Arc<Board>, Router, ManualClock) {
    let clock = ManualClock::new(Timestamp::from_secs(1_700_000_040));
    let layer = WaitingRoomLayer::with_clock(config().build().unwrap(), clock.clone());
    let board = Board::new(layer.handle());
    let router = Dashboard::of(Arc::clone(&board), |_| Ok(Operator::new("Ann"))).router();
    (board, router, clock)
}

/// Lets this number of seconds pass.
async fn seconds(clock: &ManualClock, seconds: u64) {
    for _ in 0..seconds {
        clock.advance(Duration::from_secs(1));
        sleep(Duration::from_secs(1)).await;
    }
}

/// Runs a part of a test in a runtime of its own, in which time is virtual.
fn in_a_runtime<T>(part: impl Future<Output = T>) -> T {
    Builder::new_current_thread().enable_all().start_paused(true).build().unwrap().block_on(part)
}

#[tokio::test(start_paused = true)]
async fn the_sampler_runs_once_a_second_and_ends_with_the_router() {
    let (board, router, clock) = sampling();
    sleep(Duration::from_millis(500)).await;
    seconds(&clock, 10).await;
    // Eleven samples, the first of them at once.
    assert_eq!(board.state().history.seconds().len(), 11);
    let weak = Arc::downgrade(&board);
    drop((board, router));
    tokio::task::yield_now().await;
    assert!(weak.upgrade().is_none());
}

#[test]
fn a_dashboard_may_be_created_without_a_runtime() {
    let layer = WaitingRoomLayer::new(config().build().unwrap());
    let _router = Dashboard::new(layer.handle(), |_| Ok(Operator::new("Ann"))).router();
}

#[test]
fn any_request_starts_the_recording_even_after_the_first_runtime_has_ended() {
    for path in ["/", "/audit.json", "/events", "/export.csv", "/export.svg", "/status", "/x"] {
        let (board, router, clock) = sampling();
        let recorded = || board.state().history.seconds().len();
        assert_eq!(recorded(), 0, "there is no runtime yet");
        for runtime in 1..=2 {
            in_a_runtime(async {
                let request = ann().uri(path).body(Body::empty()).unwrap();
                drop(router.clone().oneshot(request).await.unwrap());
                sleep(Duration::from_millis(500)).await;
                seconds(&clock, 3).await;
            });
            assert!(recorded() > 3 * (runtime - 1) + 2, "{path}, {runtime}: {}", recorded());
        }
    }
}

#[test]
fn the_answer_to_the_first_request_is_not_empty() {
    for (path, of_the_record) in
        [("/export.csv", "\r\n2023-11-14T22:14:00Z,"), ("/history.json", "[1700000040]")]
    {
        let (_board, router, _clock) = sampling();
        let answer = in_a_runtime(async {
            let request = ann().uri(path).body(Body::empty()).unwrap();
            let body = router.oneshot(request).await.unwrap().into_body();
            body.collect().await.unwrap().to_bytes()
        });
        let answer = String::from_utf8(answer.to_vec()).unwrap();
        assert!(answer.contains(of_the_record), "{path}: {answer}");
    }
}

/// The figures of the next second.
async fn next(house: &House) -> Value {
    let mut body = stream(house).await;
    house.seconds(1).await;
    figures(&events(&mut body)[0])
}

#[tokio::test]
async fn requests_before_the_first_sample_and_during_a_pause_are_in_the_totals_only() {
    let limit = RateLimit::new("global", Quota::per_minute(1), Key::global());
    let house = House::new(config().rate_limit(limit));
    for (pause, total) in [(0, 4), (600, 8)] {
        house.clock.advance(Duration::from_secs(pause));
        for _ in 0..5 {
            house.visit(None).await;
        }
        let figures = next(&house).await;
        let of_reason = |figures: &Value| {
            let reasons = figures["reasons"].as_array().unwrap().iter();
            reasons
                .filter(|figures| figures["reason"] == "refused:rate:global")
                .cloned()
                .collect::<Vec<_>>()
        };
        let reason =
            json!({ "reason": "refused:rate:global", "in_last_minute": 0, "total": total });
        assert_eq!(of_reason(&figures), [reason], "after {pause} s");
        assert_eq!(figures["sample"]["refused"], json!([0]));
        assert_eq!(figures["limits"][0]["over_in_last_minute"], 0);
        assert_eq!(figures["limits"][0]["over"], total);
        assert_eq!(figures["forwarded_in_last_minute"], 0);
    }
    house.visit(None).await;
    let figures = next(&house).await;
    assert_eq!(figures["sample"]["refused"], json!([1]));
    assert_eq!(figures["limits"][0]["over_in_last_minute"], 1);
}

#[tokio::test]
async fn the_refusals_of_a_gate_by_key_are_kept_while_no_key_is_in_use() {
    let gate = Concurrency::limit(0).queue(0).name("tenant").for_each(Key::header("accept"));
    let house = House::new(config().total_active_users(9).concurrency(gate));
    house.seconds(1).await;
    for refused in 1..=3 {
        house.visit(None).await;
        let figures = next(&house).await;
        let idle = json!([{ "name": "tenant", "keys": 0, "in_flight": 0, "limit": null,
            "queued": 0, "oldest_wait": 0, "refused": refused, "is_draining": false }]);
        assert_eq!(figures["gates"], idle);
    }
}
