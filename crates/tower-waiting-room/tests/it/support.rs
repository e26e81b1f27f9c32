//! A room on a manual clock, an application behind it, and visitors that keep their cookies.

use std::{
    convert::Infallible,
    sync::{
        Arc, LazyLock,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use http::{HeaderMap, Request, Response, StatusCode, header, request::Builder};
use http_body_util::BodyExt;
use tower::{Layer, ServiceExt, service_fn};
use tower_waiting_room::{
    KeyRing, TokenKey, WaitingRoomConfig, WaitingRoomHandle, WaitingRoomLayer,
    config::WaitingRoomConfigBuilder,
    rate::{ChargeHandle, OverSoftLimit},
    room::StoreFailure,
    time::{Clock, ManualClock, Timestamp},
    token::CookieSettings,
};
use tracing::{Dispatch, Subscriber, subscriber::NoSubscriber};
use waiting_room_core::Store;

/// The body of the application's responses.
pub(crate) const INSIDE: &str = "inside";

/// A layer with its clock, and the number of requests that reached the application.
#[derive(Clone)]
pub(crate) struct House {
    pub(crate) layer: WaitingRoomLayer,
    pub(crate) clock: ManualClock,
    pub(crate) forwarded: Arc<AtomicU32>,
}

/// Runs `work` with `subscriber` for the events and spans of this thread.
///
/// A second dispatcher lives for the duration of the tests. With only one alive, tracing would
/// cache the interest of the thread that reaches an event first, and a test on a thread without
/// interest would turn the event off for all others.
pub(crate) fn with_subscriber<S>(subscriber: S, work: impl FnOnce())
where
    S: Subscriber + Send + Sync + 'static,
{
    static SECOND: LazyLock<Dispatch> = LazyLock::new(|| Dispatch::new(NoSubscriber::default()));
    LazyLock::force(&SECOND);
    tracing::subscriber::with_default(subscriber, work);
}

/// One slot and sessions of 80 s. Passes are therefore due after 10 s and expire after 90 s.
pub(crate) fn config() -> WaitingRoomConfigBuilder {
    WaitingRoomConfig::builder("shop")
        .total_active_users(1)
        .session_duration(Duration::from_secs(80))
        .cookie(CookieSettings::new())
        .keys(KeyRing::new(key(1)))
}

pub(crate) fn key(byte: u8) -> TokenKey {
    TokenKey::from_bytes([byte; 32])
}

/// A POST of a script of the same origin.
pub(crate) fn post(path: &str) -> Builder {
    Request::post(path)
        .header("host", "shop.example")
        .header("origin", "https://shop.example")
        .header("sec-fetch-site", "same-origin")
}

/// POSTs that another origin has made a browser send, or that may be such.
pub(crate) fn foreign_posts(path: &str) -> [Builder; 9] {
    let post = || Request::post(path).header("host", "shop.example");
    [
        post().header("sec-fetch-site", "cross-site"),
        post().header("sec-fetch-site", "same-site").header("origin", "https://shop.example"),
        post().header("sec-fetch-site", "none"),
        post().header("origin", "https://evil.example"),
        post().header("origin", "https://shop.example.evil"),
        post().header("origin", "https://shop.example:8443"),
        post().header("origin", "null"),
        post().header("origin", ""),
        Request::post(path).header("origin", "https://shop.example"),
    ]
}

impl House {
    pub(crate) fn new(config: WaitingRoomConfigBuilder) -> Self {
        Self::at(config, ManualClock::new(Timestamp::from_secs(1_700_000_000)))
    }

    /// The same house after a restart: the memory is lost, and the clock continues.
    pub(crate) fn restarted(&self, config: WaitingRoomConfigBuilder) -> Self {
        Self::at(config, self.clock.clone())
    }

    /// The same house after a restart during which the clock was set back by `secs` seconds.
    pub(crate) fn restarted_earlier(&self, config: WaitingRoomConfigBuilder, secs: u64) -> Self {
        let now = self.clock.now().before(Duration::from_secs(secs));
        Self::at(config, ManualClock::new(now))
    }

    fn at(config: WaitingRoomConfigBuilder, clock: ManualClock) -> Self {
        let config = crate::with_limits(config, &clock).build().unwrap();
        let layer = WaitingRoomLayer::with_clock(config, clock.clone());
        Self { layer, clock, forwarded: Arc::default() }
    }
}

/// A layer whose room is in this store, which was created with the rules of the configuration.
pub(crate) fn on_store(
    config: WaitingRoomConfig,
    store: impl Store,
    on_failure: StoreFailure,
) -> WaitingRoomLayer {
    let config = config.into_builder().room_store(store, on_failure);
    WaitingRoomLayer::new(config.build().unwrap())
}

impl House {
    /// A house with a store of the test's own, which reads this clock.
    pub(crate) fn with_store(layer: WaitingRoomLayer, clock: ManualClock) -> Self {
        Self { layer, clock, forwarded: Arc::default() }
    }

    pub(crate) fn handle(&self) -> WaitingRoomHandle {
        self.layer.handle()
    }

    pub(crate) fn advance(&self, secs: u64) {
        self.clock.advance(Duration::from_secs(secs));
    }

    pub(crate) fn forwarded(&self) -> u32 {
        self.forwarded.load(Ordering::Relaxed)
    }

    pub(crate) async fn active(&self) -> u32 {
        self.handle().room().unwrap().snapshot().await.unwrap().active
    }

    /// Sends a request. The application returns the headers that the request names by `x-app-*`.
    pub(crate) async fn send(&self, request: Request<String>) -> Seen {
        let forwarded = Arc::clone(&self.forwarded);
        let app = service_fn(move |request: Request<String>| {
            forwarded.fetch_add(1, Ordering::Relaxed);
            std::future::ready(Ok::<_, Infallible>(application(&request)))
        });
        let response = self.layer.layer(app).oneshot(request).await.unwrap();
        Seen::of(response).await
    }
}

fn application(request: &Request<String>) -> Response<String> {
    let mut response = Response::new(INSIDE.to_owned());
    for (name, value) in request.headers() {
        if let Some(name) = name.as_str().strip_prefix("x-app-") {
            let name: http::HeaderName = name.parse().unwrap();
            response.headers_mut().append(name, value.clone());
        }
    }
    if let Some(over) = request.extensions().get::<OverSoftLimit>() {
        let limits = over.limits().collect::<Vec<_>>().join(",");
        response.headers_mut().insert("x-over", limits.parse().unwrap());
    }
    if let Some(cost) = request.headers().get("x-settle")
        && let Some(spend) = request.extensions().get::<ChargeHandle>()
    {
        match cost.to_str().unwrap().split_once('=') {
            Some((limit, cost)) => spend.settle_limit(limit, cost.parse().unwrap()),
            None if cost == "refund" => spend.refund(),
            None => spend.settle(cost.to_str().unwrap().parse().unwrap()),
        }
    }
    if request.headers().contains_key("x-end")
        && let Some(visit) = request.extensions().get::<tower_waiting_room::room::Visit>()
    {
        visit.end();
    }
    response
}

/// A response with its body.
#[derive(Debug)]
pub(crate) struct Seen {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) reason: String,
    pub(crate) body: String,
}

impl Seen {
    async fn of<B>(response: Response<B>) -> Self
    where
        B: http_body::Body<Error: std::fmt::Debug>,
    {
        let reason = tower_waiting_room::respond::reason_of(&response);
        let reason = reason.map_or_else(|| "admitted".to_owned(), ToString::to_string);
        let (parts, body) = response.into_parts();
        let bytes = body.collect().await.unwrap().to_bytes();
        let body = String::from_utf8_lossy(&bytes).into_owned();
        Self { status: parts.status, headers: parts.headers, reason, body }
    }

    pub(crate) fn is_inside(&self) -> bool {
        self.body == INSIDE
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }

    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.body).unwrap()
    }

    /// The value of the room's cookie, if this response sets it.
    pub(crate) fn cookie(&self) -> Option<String> {
        self.headers.get_all(header::SET_COOKIE).iter().find_map(|line| {
            let pair = line.to_str().unwrap().split(';').next().unwrap();
            pair.strip_prefix("__Host-wr-shop=").map(str::to_owned)
        })
    }
}

/// A client that keeps the room's cookie.
#[derive(Clone, Default)]
pub(crate) struct Visitor {
    pub(crate) cookie: Option<String>,
}

impl Visitor {
    pub(crate) async fn get(&mut self, house: &House) -> Seen {
        self.send(house, Request::get("/")).await
    }

    pub(crate) async fn send(&mut self, house: &House, request: http::request::Builder) -> Seen {
        let request = match &self.cookie {
            Some(cookie) => request.header("cookie", format!("__Host-wr-shop={cookie}")),
            None => request,
        };
        let seen = house.send(request.body(String::new()).unwrap()).await;
        match seen.cookie() {
            Some(cookie) if cookie.is_empty() => self.cookie = None,
            Some(cookie) => self.cookie = Some(cookie),
            None => {}
        }
        seen
    }

    /// Gets a ticket, waits for as long as `Retry-After` states, and gets a place with it.
    pub(crate) async fn queue(&mut self, house: &House) -> Seen {
        let first = self.get(house).await;
        assert!(!first.is_inside(), "the room should be full");
        house.advance(first.header("retry-after").unwrap().parse().unwrap());
        self.get(house).await
    }
}
