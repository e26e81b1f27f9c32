//! Sessions that the application ends.

use std::time::Duration;

use http::Request;
use tower_waiting_room::{
    StoreFailure,
    room::{MemoryStore, SessionRenewal},
    time::{ManualClock, Timestamp},
};

use crate::support::{House, Visitor, config, on_store};

/// The ways to end a session, as headers that the test application understands.
const WAYS: [(&str, &str); 4] = [
    ("x-app-waiting-room-command", "revoke"),
    ("x-app-waiting-room-command", " Revoke "),
    ("x-app-cf-waiting-room-command", "revoke"),
    ("x-end", "1"),
];

#[tokio::test]
async fn the_slot_is_free_when_the_response_arrives() {
    for (name, value) in WAYS {
        let house = House::new(config());
        let mut ann = Visitor::default();
        ann.get(&house).await;
        let copy = ann.clone();
        let last = ann.send(&house, Request::get("/").header(name, value)).await;
        assert!(last.is_inside());
        assert!(last.header("waiting-room-command").is_none());
        assert!(last.header("cf-waiting-room-command").is_none());
        assert_eq!(last.cookie().as_deref(), Some(""), "the cookie is deleted");
        assert_eq!((ann.cookie.as_deref(), house.active().await), (None, 0));

        // A copy of the pass is void on this node, also once it is due for renewal.
        assert!(Visitor::default().get(&house).await.is_inside());
        assert_eq!(copy.clone().get(&house).await.reason, "queued:active_limit");
        house.advance(15);
        assert_eq!(copy.clone().get(&house).await.reason, "queued:active_limit");
    }
}

#[tokio::test]
async fn the_first_response_can_end_the_session_at_once() {
    let house = House::new(config());
    let mut ann = Visitor::default();
    let only = ann.send(&house, Request::get("/").header("x-end", "1")).await;
    assert_eq!((only.cookie().as_deref(), house.active().await), (Some(""), 0));
}

#[tokio::test]
async fn other_commands_are_stripped_and_mean_nothing() {
    let house = House::new(config());
    let mut ann = Visitor::default();
    let request = Request::get("/").header("x-app-waiting-room-command", "dance");
    let seen = ann.send(&house, request).await;
    assert!(seen.header("waiting-room-command").is_none());
    assert_eq!(house.active().await, 1);
}

#[tokio::test]
async fn a_command_in_a_request_is_not_a_command() {
    let house = House::new(config());
    let mut ann = Visitor::default();
    ann.send(&house, Request::get("/").header("waiting-room-command", "revoke")).await;
    assert_eq!(house.active().await, 1);
}

#[tokio::test]
async fn a_parallel_request_with_the_old_ticket_does_not_undo_the_end() {
    let house = House::new(config());
    let mut ann = Visitor::default();
    Visitor::default().get(&house).await;
    ann.queue(&house).await;
    let ticket = ann.clone();
    house.advance(90);
    assert!(ann.get(&house).await.is_inside());

    // The application ends the visit. Before its response is sent, the same visitor's ticket
    // arrives once more from another tab.
    let tab = std::sync::Mutex::new(Some((house.clone(), ticket)));
    let app = tower::service_fn(|request: Request<String>| {
        request.extensions().get::<tower_waiting_room::room::Visit>().unwrap().end();
        let tab = tab.lock().unwrap().take();
        async move {
            if let Some((house, mut ticket)) = tab {
                ticket.get(&house).await;
            }
            Ok::<_, std::convert::Infallible>(http::Response::new(String::new()))
        }
    });
    let cookie = format!("__Host-wr-shop={}", ann.cookie.unwrap());
    let request = Request::get("/").header("cookie", cookie).body(String::new()).unwrap();
    let service = tower::Layer::layer(&house.layer, app);
    let response = tower::ServiceExt::oneshot(service, request).await.unwrap();
    assert!(response.headers()["set-cookie"].to_str().unwrap().contains("Max-Age=0"));
    assert_eq!(house.active().await, 0);
}

#[tokio::test]
async fn an_end_without_a_response_frees_the_slot_for_the_next_request() {
    let house = House::new(config());
    let mut ann = Visitor::default();
    ann.get(&house).await;
    let cookie = format!("__Host-wr-shop={}", ann.cookie.clone().unwrap());
    let request = Request::get("/").header("cookie", cookie).body(String::new()).unwrap();
    // The application ends the visit, and its client disconnects before there is a response.
    let app = tower::service_fn(|request: Request<String>| {
        request.extensions().get::<tower_waiting_room::room::Visit>().unwrap().end();
        std::future::pending::<Result<http::Response<String>, std::convert::Infallible>>()
    });
    let service = tower::Layer::layer(&house.layer, app);
    let mut call = tokio_test::task::spawn(tower::ServiceExt::oneshot(service, request));
    tokio_test::assert_pending!(call.poll());
    drop(call);
    assert!(Visitor::default().get(&house).await.is_inside());
    assert_eq!(ann.get(&house).await.reason, "queued:active_limit");
}

/// Sends a request to an application that never answers, and disconnects.
fn asks_and_leaves(house: &House, request: Request<String>) {
    let app = tower::service_fn(|_: Request<String>| {
        std::future::pending::<Result<http::Response<String>, std::convert::Infallible>>()
    });
    let service = tower::Layer::layer(&house.layer, app);
    let mut call = tokio_test::task::spawn(tower::ServiceExt::oneshot(service, request));
    tokio_test::assert_pending!(call.poll());
}

#[tokio::test]
async fn a_newcomer_that_disconnects_before_the_first_answer_keeps_no_slot() {
    let house = House::new(config().total_active_users(3));
    for _ in 0..50 {
        asks_and_leaves(&house, Request::new(String::new()));
    }
    let mut ann = Visitor::default();
    assert!(ann.get(&house).await.is_inside());
    assert!(house.active().await <= 2, "hers, and that of the last who left at most");
    // An abandoned request does not end the session of a visitor that has its pass.
    let cookie = format!("__Host-wr-shop={}", ann.cookie.clone().unwrap());
    asks_and_leaves(
        &house,
        Request::get("/").header("cookie", cookie).body(String::new()).unwrap(),
    );
    assert_eq!(ann.get(&house).await.reason, "admitted");
}

#[tokio::test]
async fn an_old_pass_that_disconnects_before_the_first_answer_keeps_no_slot() {
    let house = House::new(config());
    let mut ann = Visitor::default();
    ann.get(&house).await;
    let cookie = format!("__Host-wr-shop={}", ann.cookie.clone().unwrap());
    // The pass and the session are over, so the visitor is admitted as a newcomer.
    house.advance(100);
    assert_eq!(house.active().await, 0);
    asks_and_leaves(
        &house,
        Request::get("/").header("cookie", cookie).body(String::new()).unwrap(),
    );
    assert!(Visitor::default().get(&house).await.is_inside());
}

/// Two nodes that share one store.
fn two_nodes(renewal: SessionRenewal) -> [House; 2] {
    let clock = ManualClock::new(Timestamp::from_secs(1_700_000_000));
    let config = || config().session_renewal(renewal).build().unwrap();
    let store = MemoryStore::with_clock(config().room().unwrap().clone(), clock.clone()).unwrap();
    [(); 2].map(|()| {
        let layer = on_store(config(), store.clone(), StoreFailure::Wait);
        House::with_store(layer, clock.clone())
    })
}

#[tokio::test]
async fn a_revoked_pass_is_void_on_other_nodes_after_an_eighth_of_the_session() {
    for renewal in [SessionRenewal::Fixed, SessionRenewal::Sliding] {
        let [here, there] = two_nodes(renewal);
        let mut ann = Visitor::default();
        ann.get(&here).await;
        let copy = ann.clone();
        ann.send(&here, Request::get("/").header("x-end", "1")).await;
        let mut bob = Visitor::default();
        assert!(bob.get(&here).await.is_inside());
        // The bound is an eighth of 80 s, and then one more request: the one that causes the
        // renewal.
        here.advance(9);
        assert_eq!(copy.clone().get(&there).await.reason, "admitted", "{renewal:?}");
        here.advance(1);
        let last = copy.clone().get(&there).await;
        assert_eq!(last.cookie().as_deref(), Some(""), "{renewal:?}: the cookie is deleted");
        assert_eq!(copy.clone().get(&there).await.reason, "queued:active_limit", "{renewal:?}");
        assert!(bob.get(&there).await.is_inside());
        assert_eq!(here.active().await, 1);
    }
}

#[tokio::test]
async fn a_fixed_session_is_checked_and_not_extended() {
    let [here, there] = two_nodes(SessionRenewal::Fixed);
    let mut ann = Visitor::default();
    ann.get(&here).await;
    let mut asked = 0;
    for _ in 1..80 {
        here.advance(1);
        let seen = ann.get(&there).await;
        assert_eq!(seen.reason, "admitted");
        asked += u32::from(seen.cookie().is_some());
    }
    assert!((1..=8).contains(&asked), "{asked} times in one session");
    here.clock.advance(Duration::from_secs(1));
    assert_eq!(ann.get(&there).await.reason, "admitted:slot", "another session");
}
