//! The operator's dashboard when something is wrong: without live figures, after a pause of the
//! record, and with a node that shares the room.

use std::{
    future::ready,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use axum::{Router, body::Body, middleware::map_response};
use fantoccini::{Locator, key::Key};
use futures_util::StreamExt;
use http::{Response, StatusCode, header};
use tests::{Browser, House, Process, application, config, until};
use tokio::{net::TcpListener, task::JoinSet, time};
use tower_waiting_room::{
    StoreFailure, WaitingRoomLayer,
    room::RoomMode,
    time::{ManualClock, Timestamp},
};
use waiting_room_dashboard::{Dashboard, Operator};
use waiting_room_engines::{Engine, EngineServer, Persistence};
use waiting_room_redis::{RedisStore, RedisStoreOptions};

use super::accessibility::expect_no_violations;

/// The dashboard of a layer, for the operator Ann, without a password.
fn dashboard(layer: &WaitingRoomLayer) -> Dashboard {
    Dashboard::new(layer.handle(), |_| Ok(Operator::new("ann")))
}

/// A shop with a dashboard at `/admin`, with `outer` around the dashboard.
fn shop(outer: impl FnOnce(Router) -> Router) -> (House, Dashboard) {
    let layer = WaitingRoomLayer::new(config().build().unwrap());
    let dashboard = dashboard(&layer);
    let shop = application().layer(layer.clone()).nest_service("/admin", outer(dashboard.router()));
    (House::of(0, layer, shop), dashboard)
}

#[tokio::test]
async fn without_live_figures_an_operator_sees_why_and_can_change_the_room() {
    let (house, dashboard) = shop(|operator| operator);
    let client = reqwest::Client::new();
    let mut streams = JoinSet::new();
    for _ in 0..32 {
        let mut stream = client.get(house.url("/admin/events")).send().await.unwrap();
        assert_eq!(stream.status(), StatusCode::OK);
        // The stream is read, or it would be closed as too slow.
        streams.spawn(async move { while let Ok(Some(_)) = stream.chunk().await {} });
    }
    let browser = Browser::start().await;
    browser.goto(&house.url("/admin")).await;
    let reason = browser.text_when("#trouble", |text| !text.is_empty()).await;
    let expected = "There are no live figures: 32 dashboards are open, expected fewer than 32. The page asks again every 5 seconds.";
    assert_eq!(reason, expected);
    assert_eq!(browser.text("#link").await.unwrap(), "disconnected");

    let switch = Locator::Css("[data-action=drain]");
    browser.client().find(switch).await.unwrap().click().await.unwrap();
    let name = browser.text_when("#dialog-name", |text| !text.is_empty()).await;
    assert_eq!(name, "shop");
    let confirm = browser.client().find(Locator::Id("confirm")).await.unwrap();
    confirm.send_keys("shop").await.unwrap();
    confirm.send_keys(&Key::Enter.to_string()).await.unwrap();
    let room = house.handle().room().unwrap();
    until("the room drains", async || (room.rules().mode == RoomMode::Drain).then_some(())).await;

    // As soon as there is a place, the page is live, and the reason disappears.
    drop(streams);
    browser.text_when("#link", |text| text == "live").await;
    browser.text_when("#trouble", str::is_empty).await;

    dashboard.end_streams();
    let reason = browser.text_when("#trouble", |text| !text.is_empty()).await;
    assert!(reason.starts_with("There are no live figures: the server is shutting down. "));
}

#[tokio::test]
async fn figures_that_stop_without_an_error_are_not_shown_as_live() {
    let is_cut = Arc::new(AtomicBool::new(false));
    let cut = Arc::clone(&is_cut);
    let (house, _) = shop(|operator| {
        // The events of the streams get lost while they are cut, without an error.
        operator.layer(map_response(move |response: Response<Body>| {
            let content_type = response.headers().get(header::CONTENT_TYPE);
            let is_stream =
                content_type.is_some_and(|content_type| content_type == "text/event-stream");
            let is_cut = Arc::clone(&cut);
            let arrives = move |_: &_| ready(!is_cut.load(Ordering::Relaxed));
            ready(response.map(|body| {
                if is_stream {
                    Body::from_stream(body.into_data_stream().filter(arrives))
                } else {
                    body
                }
            }))
        }))
    });
    let browser = Browser::start().await;
    browser.goto(&house.url("/admin")).await;
    browser.text_when("#link", |text| text == "live").await;
    is_cut.store(true, Ordering::Relaxed);
    browser.text_when("#link", |text| text == "disconnected").await;
    let heard = "document.getElementById('heard').textContent";
    assert_eq!(browser.value(heard).await, "The connection is lost.");
    // The page shows the time of its last figures, and connects again by itself.
    let shown = browser.text("#updated").await;
    is_cut.store(false, Ordering::Relaxed);
    browser.text_when("#link", |text| text == "live").await;
    until("the figures are new", async || (browser.text("#updated").await != shown).then_some(()))
        .await;
    assert_eq!(browser.value(heard).await, "The connection is back.");
}

#[tokio::test(start_paused = true)]
async fn a_pause_of_the_record_is_a_gap_in_the_chart_of_the_day() {
    let clock = ManualClock::new(Timestamp::from_secs(1_781_942_400));
    let layer = WaitingRoomLayer::with_clock(config().build().unwrap(), clock.clone());
    let operator = dashboard(&layer).router();
    for pause in [0, 3_600] {
        // The process did not run during the pause.
        clock.advance(Duration::from_secs(pause));
        for _ in 0..300 {
            clock.advance(Duration::from_secs(1));
            time::sleep(Duration::from_secs(1)).await;
        }
    }
    time::resume();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, operator).await });
    let browser = Browser::start().await;
    browser.goto(&url).await;
    browser.text_when("#link", |text| text == "live").await;
    browser.client().find(Locator::Id("hours-24")).await.unwrap().click().await.unwrap();
    let curve = "document.querySelector('#chart-visitors path.one').getAttribute('d')";
    let curve = until("the chart has the record", async || {
        let curve = browser.value(curve).await;
        curve.as_str().filter(|curve| curve.matches('L').count() >= 8).map(str::to_owned)
    })
    .await;
    let counts = ['M', 'L'].map(|pen| curve.matches(pen).count());
    assert!(counts[0] == 2 && counts[1] <= 10, "two curves of five minutes: {curve}");
    let exported = reqwest::get(format!("{url}export.svg")).await.unwrap().text().await.unwrap();
    let curve = exported.lines().find(|line| line.contains("stroke=\"#6b4fe0\"")).unwrap();
    assert_eq!(['M', 'L'].map(|pen| curve.matches(pen).count()), counts, "{curve}");
}

#[tokio::test]
async fn the_nodes_of_a_shared_room_are_listed() {
    let server = EngineServer::start(Engine::Valkey, Persistence::Never).unwrap();
    let client = redis::Client::open(server.url()).unwrap();
    let mut routers = Vec::new();
    for _ in 0..2 {
        let config = config().build().unwrap();
        let client = client.clone();
        let open = move || {
            let client = client.clone();
            async move { client.get_multiplexed_async_connection().await }
        };
        let rules = config.room().unwrap().clone();
        let store = RedisStore::connect(open, rules, RedisStoreOptions::new()).await.unwrap();
        let config = config.into_builder().room_store(store, StoreFailure::Wait);
        let layer = WaitingRoomLayer::new(config.build().unwrap());
        routers.push(dashboard(&layer).router());
    }
    let router = routers.remove(0);
    let process = Process::start(async |listener| axum::serve(listener, router).await.unwrap());
    let browser = Browser::start().await;
    browser.goto(&format!("http://localhost:{}/", process.port())).await;
    browser.text_when("#nodes-heard", |text| text.ends_with("2 of 2 heard")).await;
    let nodes = browser.text("#nodes").await.unwrap();
    assert_eq!(nodes.matches("(this node)").count(), 1, "{nodes}");
    assert_eq!(nodes.matches("running").count(), 2, "{nodes}");
    expect_no_violations(&browser, "with nodes").await;
    let status: serde_json::Value = serde_json::from_str(
        &reqwest::get(format!("http://localhost:{}/status", process.port()))
            .await
            .unwrap()
            .text()
            .await
            .unwrap(),
    )
    .unwrap();
    assert_eq!(status["result"]["nodes"].as_array().unwrap().len(), 2, "{status}");
}
