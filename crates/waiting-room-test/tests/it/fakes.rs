//! Services that break a promise, and the message of an assertion that fails.

use std::{
    collections::BTreeMap,
    net::IpAddr,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Mutex},
    time::Duration,
};

use axum::{Router, extract::Request, http::StatusCode, response::IntoResponse, routing::get};
use tower_waiting_room::{
    WaitingRoomConfig, WaitingRoomLayer, config::WaitingRoomConfigBuilder, request::PeerAddr,
};
use waiting_room_core::{Timestamp, time::Clock};
use waiting_room_test::TestClock;

pub(crate) const SECOND: Duration = Duration::from_secs(1);
pub(crate) const MINUTE: Duration = Duration::from_secs(60);

/// A shop with this number of slots, and sessions of a minute.
pub(crate) fn config(slots: u32) -> WaitingRoomConfigBuilder {
    WaitingRoomConfig::builder("shop").total_active_users(slots).session_duration(MINUTE)
}

/// The shop without a room.
pub(crate) fn open_shop() -> Router {
    Router::new().route("/", get(async || "Welcome."))
}

/// The shop behind its room.
pub(crate) fn shop(config: WaitingRoomConfigBuilder, clock: TestClock) -> Router {
    open_shop().layer(WaitingRoomLayer::with_clock(config.build().unwrap(), clock))
}

/// A shop that admits each client after a time of its own, which counts from its first request.
pub(crate) fn arbitrary_shop(
    clock: TestClock,
    wait: impl Fn(IpAddr) -> Duration + Clone + Send + Sync + 'static,
) -> Router {
    let seen = Arc::new(Mutex::new(BTreeMap::<IpAddr, Timestamp>::new()));
    let answer = async move |request: Request| {
        let client = request.extensions().get::<PeerAddr>().unwrap().0.ip();
        let first = *seen.lock().unwrap().entry(client).or_insert_with(|| clock.now());
        if clock.now() >= first + wait(client) {
            return "Welcome.".into_response();
        }
        let headers = [("waiting-room", "wait"), ("retry-after", "5")];
        (StatusCode::SERVICE_UNAVAILABLE, headers, "Please wait.").into_response()
    };
    Router::new().route("/", get(answer))
}

/// Runs an assertion, which must fail, and returns its message.
pub(crate) fn message_of<T>(assertion: impl FnOnce() -> T) -> String {
    let failure = catch_unwind(AssertUnwindSafe(assertion)).err().expect("the assertion passes");
    failure.downcast_ref::<String>().expect("the message is formatted").clone()
}
