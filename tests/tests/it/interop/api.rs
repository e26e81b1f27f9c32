//! A server that records all requests and their times.

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

/// An application behind the layer, on a loopback port.
#[derive(Debug)]
pub(crate) struct Api {
    process: Process,
    handle: WaitingRoomHandle,
    record: Record,
}

/// A request, and the head of its response.
#[derive(Clone, Debug)]
pub(crate) struct Visit {
    pub(crate) at: Timestamp,
    pub(crate) method: Method,
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
}

/// A configuration without a room, with this limit for each address.
pub(crate) fn limited(quota: Quota) -> WaitingRoomConfigBuilder {
    WaitingRoomConfig::builder("api").rate_limit(RateLimit::per_ip(quota))
}

impl Api {
    /// Serves with this configuration.
    pub(crate) fn open(config: WaitingRoomConfigBuilder) -> Self {
        let layer = WaitingRoomLayer::new(config.build().unwrap());
        Self::of(&layer, application().layer(layer.clone()))
    }

    /// Serves `app`, which already contains `layer`.
    pub(crate) fn of(layer: &WaitingRoomLayer, app: Router) -> Self {
        let handle = layer.handle();
        let record = Record::default();
        let app = app.layer(from_fn_with_state(record.clone(), write_down));
        let app = app.into_make_service_with_connect_info::<SocketAddr>();
        let process = Process::start(async |listener| axum::serve(listener, app).await.unwrap());
        Self { process, handle, record }
    }

    /// The URL of `path`.
    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://localhost:{}{path}", self.process.port())
    }

    /// The operator's handle.
    pub(crate) const fn handle(&self) -> &WaitingRoomHandle {
        &self.handle
    }

    /// All requests that have been answered so far.
    pub(crate) fn visits(&self) -> Vec<Visit> {
        self.record.visits.lock().unwrap().clone()
    }
}

impl Visit {
    /// The value of a header of the response.
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).unwrap_or_else(|| panic!("no {name}: {self:?}")).to_str().unwrap()
    }

    /// The number in a header of the response.
    pub(crate) fn number(&self, name: &str) -> u64 {
        self.header(name).parse().unwrap()
    }

    /// The time after which the client is asked to return.
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
    let at = record.clock.now();
    let method = request.method().clone();
    let response = next.run(request).await;
    let status = response.status();
    let headers = response.headers().clone();
    record.visits.lock().unwrap().push(Visit { at, method, status, headers });
    response
}
