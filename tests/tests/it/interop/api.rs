//! A server that writes down who asks when.

use std::{
    net::SocketAddr,
    sync::{Arc, Mutex},
    time::Duration,
};

use axum::{
    Router,
    extract::{Request, State},
    http::{HeaderMap, Method, StatusCode},
    middleware::{Next, from_fn_with_state},
    response::Response,
};
use tests::{Process, application};
use tower_waiting_room::{
    Quota, RateLimit, WaitingRoomConfig, WaitingRoomHandle, WaitingRoomLayer,
    config::WaitingRoomConfigBuilder,
    time::{Clock, SystemClock, Timestamp},
};

/// An application behind the layer, on a port of the loopback.
#[derive(Debug)]
pub(crate) struct Api {
    process: Process,
    handle: WaitingRoomHandle,
    record: Record,
}

/// A request as it came, and how it was answered.
#[derive(Clone, Debug)]
pub(crate) struct Visit {
    pub(crate) at: Timestamp,
    pub(crate) method: Method,
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
}

/// Rate limits without a room: this one, for each address.
pub(crate) fn limited(quota: Quota) -> WaitingRoomConfigBuilder {
    WaitingRoomConfig::builder("api").rate_limit(RateLimit::per_ip(quota))
}

impl Api {
    /// Serves with this config.
    pub(crate) fn open(config: WaitingRoomConfigBuilder) -> Self {
        let layer = WaitingRoomLayer::new(config.build().unwrap());
        Self::of(&layer, application().layer(layer.clone()))
    }

    /// Serves `app`, which is behind `layer` already.
    pub(crate) fn of(layer: &WaitingRoomLayer, app: Router) -> Self {
        let (handle, record) = (layer.handle(), Record::default());
        let app = app.layer(from_fn_with_state(record.clone(), write_down));
        let app = app.into_make_service_with_connect_info::<SocketAddr>();
        let process = Process::start(async |listener| axum::serve(listener, app).await.unwrap());
        Self { process, handle, record }
    }

    /// Its address, with `path`.
    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://localhost:{}{path}", self.process.port())
    }

    /// The operator's handle.
    pub(crate) const fn handle(&self) -> &WaitingRoomHandle {
        &self.handle
    }

    /// All requests so far that were answered.
    pub(crate) fn visits(&self) -> Vec<Visit> {
        self.record.visits.lock().unwrap().clone()
    }
}

impl Visit {
    /// The value of a header of the answer.
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).unwrap_or_else(|| panic!("no {name}: {self:?}")).to_str().unwrap()
    }

    /// The number in a header of the answer.
    pub(crate) fn number(&self, name: &str) -> u64 {
        self.header(name).parse().unwrap()
    }

    /// When to come back.
    pub(crate) fn retry_after(&self) -> Duration {
        Duration::from_secs(self.number("retry-after"))
    }
}

#[derive(Clone, Debug, Default)]
struct Record {
    clock: SystemClock,
    visits: Arc<Mutex<Vec<Visit>>>,
}

async fn write_down(State(record): State<Record>, request: Request, next: Next) -> Response {
    let (at, method) = (record.clock.now(), request.method().clone());
    let response = next.run(request).await;
    let (status, headers) = (response.status(), response.headers().clone());
    record.visits.lock().unwrap().push(Visit { at, method, status, headers });
    response
}
