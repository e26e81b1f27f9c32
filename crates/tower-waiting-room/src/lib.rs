//! A waiting room, rate limits and a concurrency gate for Tower services.
//!
//! [`WaitingRoomLayer`] sits in front of an axum, tonic or hyper service. The layer lets at most N
//! visitors be active at the same time, and admits at most M new visitors per minute. Every other
//! visitor gets a place in line and a response that states the expected wait: a page for a browser,
//! or data for an API client. Waiting visitors are admitted in order. An encrypted cookie
//! identifies each visitor, so the requests of an admitted visitor need no lookup in a store.
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
//! The [guide] leads from the first program to the day of a sale. The
//! [examples](https://docs.rs/crate/tower-waiting-room/latest/source/examples/) are small programs for
//! each part of the layer, such as limits by plan, a room behind nginx, or a sale at a fixed time. The
//! repository's `docs/errors.md` explains each error.
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
//! # Rate limits and gates
//!
//! [`RateLimit`]s protect the service, either in front of a room or without one. A request is
//! charged against either all of the limits that apply to it or none of them, and response headers
//! report the remaining quota. With a [`Concurrency`] limit, a *gate*, at most N requests run at once,
//! up to M more wait in order, and every further request is refused with an individual retry delay. A
//! request holds its permit until its whole response has been sent.
//!
//! ```
//! use tower_waiting_room::{
//!     Concurrency, Key, Quota, RateLimit, WaitingRoomConfig, WaitingRoomLayer,
//! };
//!
//! let config = WaitingRoomConfig::builder("api")
//!     .rate_limit(RateLimit::per_ip(Quota::per_minute(120).burst(20)))
//!     .rate_limit(RateLimit::new("key", Quota::per_day(10_000), Key::header("x-api-key")))
//!     .concurrency(Concurrency::limit(64).queue(256))
//!     .build()?;
//! let layer = WaitingRoomLayer::new(config);
//! # let _ = layer;
//! # Ok::<(), tower_waiting_room::ConfigError>(())
//! ```
//!
//! The layer owns the state of limits and gates, so a layer that is mounted on several routes
//! enforces common limits. Several nodes share limits and gates through a store, such as those of
//! the `waiting-room-redis` crate.
//!
//! # What the layer needs
//!
//! - Limits by address and the shares of networks need the address of the connection. With axum,
//!   serve the application with `into_make_service_with_connect_info::<SocketAddr>()`. With tonic,
//!   enable the `tonic` feature. With any other server, insert a [`PeerAddr`](request::PeerAddr) into
//!   the extensions of each request. Otherwise, limits by address answer with status 500, and the log
//!   or a line on standard error describes the fix.
//! - A gate and a [leaky queue](rate::Algorithm::LeakyQueue) delay requests with tokio's timer.
//!   Without a tokio runtime with time enabled, they refuse every request that would have to wait.
//! - The layer belongs inside CORS and tracing, and outside compression and timeouts
//!   ([why](guide::wiring#where-the-layer-belongs)).
//!
//! # What it does not do
//!
//! The layer admits every client that arrives while a slot is free, even a client that stores no
//! cookies and never comes back. Such a client occupies the slot for one session. If you expect
//! many clients without cookies, set
//! [`cookie_test`](config::WaitingRoomConfigBuilder::cookie_test). A pass is a bearer token: a
//! client with a copy of a visitor's cookie is treated as that visitor and shares the visitor's
//! slot.
//!
//! # Interfaces for the application
//!
//! - To end a session, for example after a purchase, send the response header
//!   `waiting-room-command: revoke`, or use the [`Visit`](room::Visit) in the extensions of the
//!   request.
//! - To find out the reason for a response, read the [`Reason`] in its extensions with
//!   [`reason_of`](respond::reason_of).
//! - To observe or change the layer at runtime, use a [`WaitingRoomHandle`]. The crate
//!   `waiting-room-dashboard` uses the handle to build a page for the operator.
//!
//! # Stability
//!
//! A feature that is documented as *young* works as described and is tested like all others, but is
//! new: it may change in any release, with an entry in the changelog. Everything
//! else follows SemVer.
//!
//! # Features
//!
//! | feature | what it adds |
//! |---|---|
//! | `axum` (default) | reads the client's address from axum's `ConnectInfo`, and gives responses [axum's own body](WaitingRoomLayer::for_axum); a handler can take a [`Visit`](room::Visit) as an argument; also reads request bodies, to detect that the client of a request at a gate has disconnected, to bound each read while the request runs, and to drain the body for a while after a refusal |
//! | `files` (default) | rate limits from a YAML or TOML file, which is reloaded whenever it changes; together with `room`, also deserializes a [`WaitingRoomConfig`] from a file in any format that serde reads |
//! | `room` (default) | the waiting room with its options, its [handle](handle::RoomHandle), tokens and cookies, and templates, accent colours and further languages of the [page](respond::Page); without this feature, the layer provides only rate limits and gates, whose refusals have the default page |
//! | `metrics` | counters, histograms and gauges of the `metrics` crate, listed in `docs/metrics.md` |
//! | `tonic` | reads the client's address from tonic's `TcpConnectInfo` |

#![cfg_attr(docsrs, feature(doc_cfg))]
#![cfg_attr(
    not(all(feature = "files", feature = "room")),
    allow(
        dead_code,
        unused_imports,
        unused_mut,
        reason = "what only a room or a file needs is not used without"
    )
)]

mod ambient;
mod body;
pub mod config;
#[cfg(feature = "axum")]
mod for_axum;
mod future;
pub mod gate;
#[cfg(all(doc, not(doctest)))]
#[doc = include_str!("guide/links.md")]
#[doc = include_str!("../guide/README.md")]
///
/// # Other pages
///
/// Links to pages outside of the guide lead here. These pages are in the folder `docs` of the
/// repository.
pub mod guide;
pub mod handle;
mod layer;
mod misconfiguration;
mod pipeline;
pub mod rate;
mod rate_headers;
pub mod request;
pub mod respond;
pub mod room;
pub mod routes;
#[cfg(feature = "files")]
mod rules_file;
pub mod service;
mod telemetry;
pub mod token;

/// Clocks and timestamps. A layer reads the [`SystemClock`](time::SystemClock) by default. A test
/// can pass a [`ManualClock`](time::ManualClock) to [`WaitingRoomLayer::with_clock`] and advance it
/// manually.
pub mod time {
    #[doc(no_inline)]
    pub use waiting_room_core::{
        Timestamp,
        time::{Clock, ManualClock, SystemClock},
    };
}

#[doc(no_inline)]
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

/// Runs the example of the package's README as a doc test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
