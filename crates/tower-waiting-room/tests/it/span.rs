//! The field that is recorded in the span of a request.

use std::{
    fmt::Debug,
    mem,
    sync::{Arc, Mutex},
};

use http::Request;
use tower_waiting_room::{Key, Quota, RateLimit, WaitingRoomConfig};
use tracing::{
    Subscriber,
    field::{Empty, Field, Visit},
    span::{Id, Record},
};
use tracing_subscriber::{
    Registry,
    layer::{Context, Layer, SubscriberExt},
};

use crate::support::{House, with_subscriber};

/// Records the values that are set on spans.
#[derive(Clone, Default)]
struct Told(Arc<Mutex<Vec<String>>>);

impl<S: Subscriber> Layer<S> for Told {
    fn on_record(&self, _: &Id, values: &Record<'_>, _: Context<'_, S>) {
        values.record(&mut self.clone());
    }
}

impl Visit for Told {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0.lock().unwrap().push(format!("{field}={value:?}"));
    }
}

#[test]
fn the_reason_is_recorded_in_a_span_with_its_field() {
    let limit = RateLimit::new("all", Quota::per_minute(1), Key::global());
    let house = House::new(WaitingRoomConfig::builder("api").rate_limit(limit));
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let told = Told::default();
    let get = || runtime.block_on(house.send(Request::new(String::new())));
    with_subscriber(Registry::default().with(told.clone()), || {
        tracing::info_span!("request", waiting_room.reason = Empty).in_scope(get);
        tracing::info_span!("request", waiting_room.reason = Empty).in_scope(get);
        tracing::info_span!("another").in_scope(get);
    });
    let told = mem::take(&mut *told.0.lock().unwrap());
    assert_eq!(
        told,
        ["waiting_room.reason=admitted:limits", "waiting_room.reason=refused:rate:all"],
    );
}
