//! A waiting room, rate limits and a concurrency gate for Tower services.
//!
//! [`WaitingRoomLayer`] stands in front of an axum, tonic or hyper service. It admits at most N
//! visitors at the same time, and at most M new ones a minute. Further visitors get a place in line
//! and an answer with their expected wait: a page for browsers, data for programs. They are admitted
//! in order. A visitor is identified by an encrypted cookie, so an admitted visitor's requests need no
//! lookup in a store.
//!
//! ```
//! use std::time::Duration;
//! use axum::{Router, routing::get};
//! use tower_waiting_room::{WaitingRoomConfig, WaitingRoomLayer};
//!
//! let config = WaitingRoomConfig::builder("shop")
//!     .total_active_users(200)
//!     .new_users_per_minute(200)
//!     .session_duration(Duration::from_secs(300))
//!     .build()?;
//! let app: Router =
//!     Router::new().route("/", get(|| async { "Hello." })).layer(WaitingRoomLayer::new(config));
//! # let _ = app;
//! # Ok::<(), tower_waiting_room::ConfigError>(())
//! ```
//!
//! `docs/programs.md` of the repository has complete programs with their dependencies: for axum, tonic,
//! hyper, Redis and each part of the layer.
//!
//! # A visit
//!
//! ```text
//!  browser                      layer                             room              service
//!     │ GET /                     │                                 │                  │
//!     ├──────────────────────────►│ no token ── enter ─────────────►│ full             │
//!     │◄─ 503, page, ticket ──────┤◄──────────── wait ──────────────┤                  │
//!     │ GET / + ticket            │                                 │                  │
//!     ├──────────────────────────►│ ticket ──── check_in ──────────►│ a slot is free   │
//!     │◄─ 200, pass ──────────────┤◄─────────── admit ──────────────┤                  │
//!     │                           ├────────────────────────────────────── request ────►│
//!     │ GET /cart + pass          │                                 │                  │
//!     ├──────────────────────────►│ valid pass: no call to the room ───── request ────►│
//!     │◄─ 200, fresh pass ────────┤ renew, beside it, when due ────►│                  │
//! ```
//!
//! # Rate limits
//!
//! [`RateLimit`]s protect the service in front of the room, or without one. A request is charged by
//! all limits that apply to it, or by none, and headers report the remaining quota. Without a room the
//! layer is a rate limiter.
//!
//! ```
//! use tower_waiting_room::{
//!     ClientIp, Key, Quota, RateLimit, TrustedProxies, WaitingRoomConfig, WaitingRoomLayer,
//! };
//!
//! let proxies = TrustedProxies::networks(["10.0.0.0/8"])?;
//! let config = WaitingRoomConfig::builder("api")
//!     .client_ip(ClientIp::x_forwarded_for(proxies))
//!     .rate_limit(RateLimit::per_ip(Quota::per_minute(120).burst(20)))
//!     .rate_limit(RateLimit::new("key", Quota::per_day(10_000), Key::header("x-api-key")))
//!     .build()?;
//! let layer = WaitingRoomLayer::new(config);
//! # let _ = layer;
//! # Ok::<(), tower_waiting_room::ConfigError>(())
//! ```
//!
//! A limit by address needs the address of the connection. With axum, serve with
//! `into_make_service_with_connect_info::<SocketAddr>()`; with tonic, enable the feature `tonic`;
//! elsewhere, insert a [`PeerAddr`](request::PeerAddr) into the extensions of each request. If the
//! address is needed and unknown, the request is answered with 500 and the reason
//! `refused:address_unknown`, so that clients never share a limit by accident. An `ERROR` of
//! [`tracing`] with the code `peer_unknown` explains the fix; if no subscriber listens, one line on
//! standard error does.
//!
//! Several nodes share their limits through a store, such as `RedisLimits` of the crate
//! `waiting-room-redis`: see [`rate_store`](config::WaitingRoomConfigBuilder::rate_store).
//!
//! A [leaky queue](rate::Algorithm::LeakyQueue) delays requests with tokio's timer, so a layer with
//! one runs on a tokio runtime with time enabled. Without a runtime, a request that would have to wait
//! is refused, here and at a gate.
//!
//! # The gate
//!
//! A [`Concurrency`] limit stands behind the room, or without one: N requests run at once, M more wait
//! in order, and each further request is refused with an individual time to come back. The state is
//! the layer's, so one layer mounted on several routes is one limit. A permit is held until the body
//! of the response has been sent, not only its head.
//!
//! ```
//! use std::time::Duration;
//! use tower_waiting_room::{
//!     Concurrency, Key, WaitingRoomConfig, WaitingRoomLayer, gate::Tenants,
//! };
//!
//! let config = WaitingRoomConfig::builder("api")
//!     .concurrency(
//!         Concurrency::limit(64)
//!             .queue(256)
//!             .max_wait(Duration::from_secs(1))
//!             .fair_by(Key::header("x-api-key"), Tenants::Shuffled),
//!     )
//!     .build()?;
//! let layer = WaitingRoomLayer::new(config);
//! # let _ = layer;
//! # Ok::<(), tower_waiting_room::ConfigError>(())
//! ```
//!
//! Keep `max_wait` below the time after which clients give up: a request whose client has gone is
//! served in vain. The queue uses controlled delay (RFC 8289) unless another
//! [discipline](gate::Discipline) is configured. Waiting uses tokio's timer, as leaky queues do.
//!
//! # Order of layers
//!
//! CORS is outermost, so that a script can read refusals (`CorsLayer::expose_headers` with
//! [`EXPOSED_HEADERS`](respond::EXPOSED_HEADERS)); then tracing; then the waiting room; then
//! compression and timeouts. A preflight that reaches this layer skips the room. Rate limits and gates
//! apply to it as to any request, unless [`Preflight`](config::Preflight) is set otherwise.
//!
//! # What it does not do
//!
//! A client that arrives while a slot is free is admitted, even if it keeps no cookies and never comes
//! back: it occupies the slot for one session. Where such clients are expected, set
//! [`cookie_test`](config::WaitingRoomConfigBuilder::cookie_test). A pass is a bearer token: a copy of
//! a visitor's cookie is the same visitor, in the same slot.
//!
//! # Interfaces for the application
//!
//! - End a session after the purchase: with the response header `waiting-room-command: revoke`, or with
//!   the [`Visit`](room::Visit) in the extensions of the request.
//! - Learn why a response is what it is: from the [`Reason`] in its extensions
//!   ([`reason_of`](respond::reason_of)).
//! - Observe and change the layer at runtime: with the [`WaitingRoomHandle`].
//!
//! # Features
//!
//! | feature | what it adds |
//! |---|---|
//! | `axum` (default) | reads the client's address from axum's `ConnectInfo`; watches the body of a request that waits at a gate for a disconnect, bounds each read of it while the request runs, and drains it for a while after a refusal |
//! | `room` (default) | the waiting room: its options, its [handle](handle::RoomHandle), tokens and cookies; without it, the layer has rate limits and gates alone |
//! | `page` (default) | the HTML page for browsers, a template or closure in its place, and answers in five languages; without it, browsers get plain text, and all answers are in English |
//! | `rules-file` (default) | rate limits from a YAML or TOML file, which is applied again whenever it changes |
//! | `metrics` | counters and histograms of the `metrics` crate, and gauges of the gates |
//! | `tonic` | reads the client's address from tonic's `TcpConnectInfo` |

mod ambient;
mod body;
pub mod config;
mod future;
pub mod gate;
pub mod handle;
mod layer;
mod misconfiguration;
mod pipeline;
pub mod rate;
mod rate_headers;
pub mod request;
pub mod respond;
#[cfg_attr(not(feature = "room"), path = "no_room.rs")]
pub mod room;
#[cfg_attr(not(feature = "rules-file"), path = "no_rules_file.rs")]
mod rules_file;
pub mod service;
mod telemetry;
#[cfg(feature = "room")]
pub mod token;

/// Clocks and timestamps. A layer reads the [`SystemClock`](time::SystemClock); a test gives it a
/// [`ManualClock`](time::ManualClock) by [`WaitingRoomLayer::with_clock`] and moves the time itself.
pub mod time {
    pub use waiting_room_core::{
        Timestamp,
        time::{Clock, ManualClock, SystemClock},
    };
}

pub use waiting_room_core::{ConfigError, Quota, Reason};

pub use crate::{
    config::WaitingRoomConfig,
    gate::Concurrency,
    handle::WaitingRoomHandle,
    layer::WaitingRoomLayer,
    rate::RateLimit,
    request::{ClientIp, Key, TrustedProxies},
};
#[cfg(feature = "room")]
pub use crate::{
    room::StoreFailure,
    token::{KeyRing, TokenKey},
};

/// The example of the package's README, as a doc test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
