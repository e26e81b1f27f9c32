//! The operator's page for a [`tower_waiting_room`] layer: live figures, and switches to change its room.
//!
//! A [`Dashboard`] has an axum router, which the application mounts at a path of its choice. The router
//! has to be mounted outside of the waiting room, so that operators do not wait in line:
//!
//! ```
//! use axum::{Router, routing::get};
//! use tower_waiting_room::{WaitingRoomConfig, WaitingRoomLayer};
//! use waiting_room_dashboard::{Dashboard, basic_auth};
//!
//! let config = WaitingRoomConfig::builder("shop").total_active_users(200).build()?;
//! let layer = WaitingRoomLayer::new(config);
//! let auth = basic_auth("ann", "a long password")?;
//! let dashboard = Dashboard::new(layer.handle(), auth);
//! let app: Router = Router::new()
//!     .route("/", get(|| async { "Welcome to the shop." }))
//!     .layer(layer)
//!     .nest_service("/admin", dashboard.router());
//! # let _ = app;
//! # Ok::<(), tower_waiting_room::ConfigError>(())
//! ```
//!
//! The dashboard reads and changes the layer through its public
//! [handle](tower_waiting_room::WaitingRoomHandle), from which an application can build a page of its
//! own.
//!
//! # Access
//!
//! Every request has to pass the closure `auth` before anything but its head is read. The closure
//! returns the [`Operator`], whose name appears in the audit log, or a refusal. The closure is
//! synchronous. If the check of a session needs a database, check the session in a layer around
//! this router, insert the result into the extensions of the request, and read it in the closure.
//!
//! Changes are requests with a JSON body. Requests from a page of another site are refused
//! (`Sec-Fetch-Site`, or `Origin` and `Host`, in [`tower_http::csrf`]). A reverse proxy must not
//! change these headers. No response may be cached, framed, or read by another site. The cookies of
//! the room are neither read nor set.
//!
//! # Routes
//!
//! | route | what it returns |
//! |---|---|
//! | `GET /` | the page |
//! | `GET /events` | a stream of server-sent events: the figures, once a second |
//! | `GET /history.json` | the last 15 minutes by second, and the last two days by minute |
//! | `GET /audit.json` | the last 200 changes |
//! | `GET /status` | the status of the room, with the field names of Cloudflare Waiting Room |
//! | `GET /export.csv`, `GET /export.svg` | the last two days by minute, as a table and as a chart |
//! | `POST /preview` | the effect of a change, in words |
//! | `POST /change` | makes a change, which has to be confirmed with the name of the room |
//!
//! # Cost
//!
//! A task reads the figures of the room once a second, for as long as the dashboard or its router
//! exists. Open pages share its results, so their number does not matter to the store. With a store
//! on a server, this takes one call per second from each node. The history takes up less than 2
//! MiB, whatever the traffic. At most 32 streams are open at once. Each of them ends after a
//! minute, and the browser opens another.
//!
//! # What it does not show
//!
//! The dashboard shows the names of limits and gates, but never keys, addresses or visitors. Counts
//! of requests and waits cover only this process, while the figures of the room cover all nodes
//! that share its store. The history is lost when the process ends.

#![forbid(unsafe_code)]

mod access;
mod audit;
mod board;
mod change;
mod changes;
mod dashboard;
mod export;
mod feed;
mod figures;
mod guard;
mod history;
mod page;
mod preview;
mod recent;
#[cfg(test)]
mod tests;
mod waits;

pub use self::{
    access::{Denied, Operator, basic_auth},
    dashboard::Dashboard,
};
