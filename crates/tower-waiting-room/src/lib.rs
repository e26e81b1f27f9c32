//! A waiting room, rate limits and a concurrency gate for Tower services.
//!
//! [`WaitingRoomLayer`] stands in front of an axum, tonic or hyper service and lets in at most so
//! many visitors at a time, and so many new ones a minute. Everybody else gets a place in line and
//! an answer that says how long it takes: a page for browsers, data for programs. They are let in
//! in order, by an encrypted cookie, and then pass without a question to the store.
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
//! Complete programs with their dependencies, for axum, tonic, hyper, Redis and each part of the
//! layer, are in `docs/programs.md` of the repository.
//!
//! # A visit
//!
//! ```text
//!  browser                      layer                             room              service
//!     │ GET /                     │                                 │                  │
//!     ├──────────────────────────►│ no token ── enter ─────────────►│ full             │
//!     │◄─ 503, page, ticket ──────┤◄──────────── wait ──────────────┤                  │
//!     │ GET / + ticket            │                                 │                  │
//!     ├──────────────────────────►│ ticket ──── check_in ──────────►│ it is your turn  │
//!     │◄─ 200, pass ──────────────┤◄─────────── admit ──────────────┤                  │
//!     │                           ├────────────────────────────────────── request ────►│
//!     │ GET /cart + pass          │                                 │                  │
//!     ├──────────────────────────►│ valid pass: nobody is asked ───────── request ────►│
//!     │◄─ 200, fresh pass ────────┤ renew, beside it, when due ────►│                  │
//! ```
//!
//! # Rate limits
//!
//! In front of the room, or without one, stand [`RateLimit`]s: a request is charged by all that
//! apply to it, or by none, and told by headers what is left. Without a room the layer is a rate
//! limiter and nothing else.
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
//! An address is that of the connection: with axum, serve with
//! `into_make_service_with_connect_info::<SocketAddr>()`; with tonic, turn the feature `tonic` on;
//! elsewhere, put a [`PeerAddr`] into the extensions of each request. A request whose address is needed and unknown is answered with 500 and
//! the reason `refused:address_unknown`, so that clients never share a limit by accident. How to mend
//! it says an `ERROR` of [`tracing`] with the code `peer_unknown`; if no subscriber listens, one line
//! on standard error; and the `detail` of the problem document that programs get.
//!
//! Several nodes share their limits by a store that all of them ask, such as `RedisLimits` of the
//! crate `waiting-room-redis`: see [`rate_store`](WaitingRoomConfigBuilder::rate_store).
//!
//! A [leaky queue](Algorithm::LeakyQueue) holds requests with tokio's timer, so such a layer runs
//! on a tokio runtime with time enabled. Without a runtime, a request that would have to wait is
//! refused, here and at a gate.
//!
//! # The gate
//!
//! Behind the room, or without one, stand limits on [`Concurrency`]: so many requests run at once, so
//! many more wait in order, and each of the rest is told a time of its own to come back. Wherever the
//! layer is mounted it is one limit, since the state is the layer's; and a permit is held until the
//! response's body has been sent, not just its head.
//!
//! ```
//! use std::time::Duration;
//! use tower_waiting_room::{Concurrency, Key, WaitingRoomConfig, WaitingRoomLayer, gate::Tenants};
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
//! Keep `max_wait` below the time after which clients give up: who waits longer is served for
//! nothing. Where the default, controlled delay, is not the right
//! [discipline](Discipline), say another. The time in the queue is tokio's, as with leaky queues.
//!
//! # Order of layers
//!
//! CORS outermost, so that a script can read what it is answered
//! (`CorsLayer::expose_headers` with [`EXPOSED_HEADERS`]); then tracing; then the waiting room;
//! then compression and timeouts. A preflight that reaches this layer skips the room, and meets
//! rate limits and gates as any request does, unless [`Preflight`] says otherwise.
//!
//! # What it does not do
//!
//! Who asks first gets a free slot, also a client that keeps no cookies and never comes back: it
//! holds the slot for one session. Where such clients are to be expected, set
//! [`cookie_test`](WaitingRoomConfigBuilder::cookie_test). A pass is a bearer token: who copies a
//! visitor's cookie is that visitor, in one and the same slot.
//!
//! # What an application can do
//!
//! End a session when the purchase is done: with the response header `waiting-room-command:
//! revoke`, or with the [`Visit`] in the extensions of the request. See why a response is what it
//! is: by the [`Reason`] in its extensions ([`reason_of`]). Operate the room: with the
//! [`WaitingRoomHandle`].
//!
//! # Features
//!
//! | feature | what it adds |
//! |---|---|
//! | `axum` (default) | axum's `ConnectInfo` tells the address of a client; a body of axum is watched while its request waits at a gate, has a timeout for each read while it runs, and is read on for a while after a refusal |
//! | `metrics` | counters and histograms of the `metrics` crate, and gauges of the gates |
//! | `tonic` | tonic's `TcpConnectInfo` tells the address of a client |

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
pub mod room;
mod rules_file;
pub mod service;
mod telemetry;
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
    room::StoreFailure,
    token::{KeyRing, TokenKey},
};
