//! The figures and the switches.

use std::{
    pin::Pin,
    task::{Context, Poll, Waker},
};

use axum::body::Body;
use http::StatusCode;
use http_body::Body as _;
use serde_json::{Value, json};
use tower::ServiceExt;
use tower_waiting_room::{
    Concurrency, Key, Quota, RateLimit, WaitingRoomConfig, handle::VisitorWait,
};

use super::{
    super::{history::RoomHistory, recent::MinuteCount},
    House, ann, config,
};

/// The events that a stream can send now.
pub(super) fn events(body: &mut Body) -> Vec<String> {
    let mut events = Vec::new();
    let mut cx = Context::from_waker(Waker::noop());
    while let Poll::Ready(Some(Ok(frame))) = Pin::new(&mut *body).poll_frame(&mut cx) {
        events.push(String::from_utf8(frame.into_data().unwrap().to_vec()).unwrap());
    }
    events
}

/// The figures of an event.
pub(super) fn figures(event: &str) -> Value {
    let json = event.strip_prefix("event: figures\ndata: ").unwrap().strip_suffix("\n\n").unwrap();
    serde_json::from_str(json).unwrap()
}

pub(super) async fn stream(house: &House) -> Body {
    let response = house.respond(ann().uri("/events").body(Body::empty()).unwrap()).await;
    assert_eq!(response.headers()["content-type"], "text/event-stream");
    let mut body = response.into_body();
    assert_eq!(events(&mut body), [": open\nretry: 500\n\n"]);
    body
}

#[tokio::test]
async fn the_page_is_served_wherever_it_is_mounted() {
    let house = House::new(config());
    let nested = axum::Router::new()
        .nest("/admin", house.router.clone())
        .nest_service("/operators", house.router.clone());
    let nested = ["/admin", "/operators", "/operators/"].map(|path| (nested.clone(), path));
    for (router, path) in nested.into_iter().chain([(house.router, "/")]) {
        let request = ann().uri(path).body(Body::empty()).unwrap();
        let response = router.oneshot(request).await.unwrap();
        assert_eq!(response.status(), StatusCode::OK, "{path}");
        let policy = response.headers()["content-security-policy"].to_str().unwrap();
        assert!(policy.starts_with("default-src 'none'; style-src 'sha256-"), "{policy}");
    }
}

#[tokio::test]
async fn a_stream_receives_the_figures_of_each_second() {
    let gate = Concurrency::limit(8).name("reports");
    let limit = RateLimit::new("global", Quota::per_minute(5), Key::global());
    let house = House::new(config().concurrency(gate).rate_limit(limit));
    house.seconds(1).await;
    let mut body = stream(&house).await;
    for _ in 0..7 {
        house.visit(None).await;
    }
    house.seconds(1).await;
    let seen = events(&mut body);
    assert_eq!(seen.len(), 1, "{seen:?}");
    let figures = figures(&seen[0]);
    assert_eq!(figures["name"], "shop");
    assert_eq!(figures["room"]["active"], 1);
    assert_eq!(figures["room"]["mode"], "auto");
    assert_eq!(figures["sample"]["refused"], json!([2]));
    let gates = json!([{ "name": "reports", "keys": 1, "in_flight": 0, "limit": 8, "queued": 0,
        "oldest_wait": 0, "refused": 0, "is_draining": false }]);
    assert_eq!(figures["gates"], gates);
    let limits = json!([{ "name": "global", "over_in_last_minute": 2, "over": 2 }]);
    assert_eq!(figures["limits"], limits);
    let reasons = figures["reasons"].as_array().unwrap();
    let refused = json!({ "reason": "refused:rate:global", "in_last_minute": 2, "total": 2 });
    assert!(reasons.contains(&refused), "{reasons:?}");
}

#[tokio::test]
async fn the_keys_of_limits_and_the_ids_of_visitors_are_not_shown() {
    let limit = RateLimit::new("by_key", Quota::per_minute(1), Key::header("accept"));
    let house = House::new(config().rate_limit(limit));
    let mut body = stream(&house).await;
    let (_, cookie) = house.visit(None).await;
    house.visit(None).await;
    house.seconds(1).await;
    let seen = events(&mut body).concat();
    assert!(seen.contains("by_key") && !seen.contains("application/json"), "{seen}");
    let cookie = cookie.unwrap();
    assert!(!seen.contains(cookie.split_once('=').unwrap().1));
}

#[tokio::test]
async fn the_wait_of_an_admitted_visitor_is_compared_with_its_promise() {
    let house = House::new(config());
    let (_, guest) = house.visit(None).await;
    house.seconds(1).await;
    let (status, mut ticket) = house.visit(None).await;
    assert_eq!(status, StatusCode::TOO_MANY_REQUESTS);
    // The session of the guest lasts for 90 s after its first request.
    drop(guest);
    for _ in 0..30 {
        house.seconds(4).await;
        let (status, cookie) = house.visit(ticket.as_deref()).await;
        ticket = cookie.or(ticket);
        if status == StatusCode::OK {
            break;
        }
    }
    let mut body = stream(&house).await;
    house.seconds(1).await;
    let figures = figures(&events(&mut body)[0]);
    assert_eq!(figures["wait"]["visitors"], 1, "{figures}");
    let waited = figures["wait"]["p50"].as_u64().unwrap();
    assert!((80_000..120_000).contains(&waited), "{waited}");
    let promised = house.layer.handle().waits()[0].promised.unwrap().as_secs();
    assert!((1..240).contains(&promised), "{promised}");
    let error = (i64::try_from(waited / 1_000).unwrap() - i64::try_from(promised).unwrap()) * 1_000;
    assert_eq!(figures["wait"]["error_p50"], error);
}

#[tokio::test]
async fn a_change_is_previewed_confirmed_made_and_recorded() {
    let house = House::new(config());
    let wanted = r#"{"action":"limits","total_active_users":3,"new_users_per_minute":null"#;
    let preview = house.post("/preview", &format!("{wanted}}}")).await.json();
    let words = "Allows 3 active visitors instead of 1, and any number of new visitors per minute \
        instead of 60 new visitors per minute. The line is empty.";
    assert_eq!(preview["words"], words);
    let room = house.layer.handle().room().unwrap();
    assert_eq!(room.rules().total_active_users, 1, "a preview changes nothing");

    let answer = house.post("/change", &format!(r#"{wanted},"confirm":"shop"}}"#)).await;
    let change = json!({
        "at": 1_700_000_040,
        "operator": "Ann",
        "action": "limits",
        "from": "1 active, 60 new per minute",
        "to": "3 active, any number new per minute",
        "outcome": "done",
    });
    assert_eq!(answer.json(), json!({ "change": change }));
    assert_eq!(room.rules().total_active_users, 3);
    assert_eq!(room.rules().new_users_per_minute, None);
    let audit = house.get("/audit.json").await.json();
    assert_eq!(audit, json!({ "changes": [change] }));
}

#[tokio::test]
async fn a_change_is_not_made_if_another_operator_was_faster() {
    let house = House::new(config());
    let wanted = r#"{"action":"limits","total_active_users":3"#;
    let preview = house.post("/preview", &format!("{wanted}}}")).await.json();
    let faster = r#"{"action":"limits","total_active_users":2,"confirm":"shop"}"#;
    assert_eq!(house.post("/change", faster).await.status, StatusCode::OK);
    let from = preview["from"].as_str().unwrap();
    let change = format!(r#"{wanted},"confirm":"shop","from":"{from}"}}"#);
    let detail = house.post("/change", &change).await.refused(StatusCode::CONFLICT);
    assert_eq!(detail, "the room has changed since the preview; look at the preview again");
    assert_eq!(house.layer.handle().room().unwrap().rules().total_active_users, 2);
    let recorded = &house.get("/audit.json").await.json()["changes"][0];
    assert_eq!(recorded["outcome"], "not made: the room had changed since the preview");
    let change = change.replace(from, "2 active, 60 new per minute");
    assert_eq!(house.post("/change", &change).await.status, StatusCode::OK);
}

#[tokio::test]
async fn each_switch_sets_its_mode() {
    let house = House::new(config());
    for (action, mode) in [
        ("queue_all", "queue_all"),
        ("drain", "drain"),
        ("suspend", "suspended"),
        ("resume", "auto"),
    ] {
        let body = format!(r#"{{"action":"{action}","confirm":"shop"}}"#);
        let answer = house.post("/change", &body).await;
        assert_eq!(answer.json()["change"]["to"], mode);
    }
    let changes = house.get("/audit.json").await.json();
    assert_eq!(changes["changes"][0]["from"], "suspended", "the newest change comes first");
}

#[tokio::test]
async fn the_history_grows_by_a_second_each_second() {
    let house = House::new(config());
    house.visit(None).await;
    house.seconds(70).await;
    let history = house.get("/history.json").await.json();
    assert_eq!(history["seconds"]["at"].as_array().unwrap().len(), 70);
    assert_eq!(history["seconds"]["active"], json!(vec![1; 70]));
    assert_eq!(history["minutes"]["at"], json!([1_700_000_040, 1_700_000_100]));
    let table = house.get("/export.csv").await;
    assert_eq!(table.headers["content-type"], "text/csv; charset=utf-8");
    assert!(table.body.contains("2023-11-14T22:14:00Z,1,1,0,1,0,"), "{}", table.body);
    let chart = house.get("/export.svg").await;
    assert_eq!(chart.headers["content-type"], "image/svg+xml");
    assert!(chart.body.contains("<title>shop: visitors per minute</title>"));
    let status = house.get("/status").await.json();
    assert_eq!(status["result"]["estimated_total_active_users"], 1);
}

#[tokio::test]
async fn a_layer_without_a_room_shows_its_limits_and_has_no_switches() {
    let limit = RateLimit::new("global", Quota::per_minute(1), Key::global());
    let house = House::new(WaitingRoomConfig::builder("api").rate_limit(limit));
    house.seconds(1).await;
    let mut body = stream(&house).await;
    house.visit(None).await;
    house.visit(None).await;
    house.seconds(1).await;
    let figures = figures(&events(&mut body)[0]);
    assert_eq!(figures["room"], Value::Null);
    assert_eq!(figures["limits"][0]["over"], 1);
    assert_eq!(figures["forwarded_in_last_minute"], 1);
    for path in ["/preview", "/change"] {
        let detail = house.post(path, r#"{"action":"drain"}"#).await.refused(StatusCode::NOT_FOUND);
        assert_eq!(detail, "the layer has no room to change");
    }
    assert_eq!(house.get("/status").await.status, StatusCode::NOT_FOUND);
}

#[test]
fn the_past_fits_into_two_mebibytes() {
    // A layer remembers 16 384 waits, which are copied once a second, and 256 reasons. There are
    // also as many names of limits as reasons.
    let waits = 2 * 16_384 * size_of::<VisitorWait>();
    let counts = 2 * 2 * 256 * (size_of::<MinuteCount>() + 64);
    assert!(RoomHistory::BYTES + waits + counts < 2 << 20);
}
