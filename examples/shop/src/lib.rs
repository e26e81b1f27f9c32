//! A small shop behind a waiting room.
//!
//! ```text
//! cargo run -p shop                                     serves on http://127.0.0.1:3000
//! cargo run -p shop -- --admin                          and the operator's dashboard
//! cargo run -p shop -- --crowd 500 --duration 60        sends 500 visitors over real HTTP
//! cargo run -p shop -- --replay day.csv                 replays the steepest hour of a real day
//! ```
//!
//! [`app()`] is the application, and [`RoomArgs`] are the rules of the waiting room in front of it. The
//! crowd is that of `waiting-room-crowd`, which judges what its visitors see and knows nothing about the
//! inside of the room. The programs `cluster` and `sites` of the lab send the same crowd to the same shop
//! on several nodes.
//!
//! ```text
//!   command line ─┬─► RoomArgs ─► WaitingRoomLayer ─► app
//!                 │                     ▲
//!                 │                   HTTP
//!                 │                     ▼
//!                 └─► Crowd ─► visitors, each with its cookies ─► Oracle ─► Outcome
//! ```
//!
//! | file | role |
//! |---|---|
//! | `app.rs`, `frame.html` | the pages, the router, and the layers in front of it |
//! | `room.rs` | the rules of the room, by options of the command line |
//! | `main.rs`, `cli.rs` | the command line, the server and its end |
//! | `crowd.rs` | the crowd, over real HTTP, and the replay of a day |
//! | `metrics.rs`, `otlp.rs` | metrics for Prometheus, and for a collector of OpenTelemetry |
//!
//! # Example
//!
//! ```
//! use tower_waiting_room::{ConfigError, WaitingRoomConfig, WaitingRoomLayer};
//!
//! let config = WaitingRoomConfig::builder("shop").total_active_users(20).build()?;
//! let router = shop::app(WaitingRoomLayer::new(config));
//! # drop(router);
//! # Ok::<(), ConfigError>(())
//! ```
//!
//! # What the shop knows about the room
//!
//! Two things. The checkout in `app.rs` ends the visitor's session, so that the slot goes to the
//! next visitor in the line at once, and the same file defines the order of the layers. Nothing else
//! would change if the room were removed.
//!
//! # What it does not do
//!
//! It keeps no orders and takes no payments, and its catalogue never changes. It does not terminate
//! TLS; behind a proxy that does, `--secure` makes the token cookie `Secure`. The crowd runs in the process of the server and connects
//! over loopback, so its figures are those of one machine that runs both.

mod app;
mod room;

pub use crate::{
    app::{app, app_that_works},
    room::{RecoveryName, RoomArgs, duration},
};
