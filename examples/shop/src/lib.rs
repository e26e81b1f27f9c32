//! A small shop behind a waiting room, and a crowd of HTTP visitors to test it with.
//!
//! ```text
//! cargo run -p shop                                     serves on http://127.0.0.1:3000
//! cargo run -p shop -- --crowd 500 --duration 60        sends 500 visitors over real HTTP
//! cargo run -p shop -- --replay day.csv                 replays the steepest hour of a real day
//! ```
//!
//! [`app()`] is the application, and [`RoomArgs`] are the rules of the waiting room in front of it.
//! A [`Crowd`] sends the visitors. The oracle of `waiting-room-sim` judges what they saw; it knows
//! nothing about the inside of the room. The `cluster` example sends the same crowd to the same
//! shop on several nodes.
//!
//! ```text
//!   command line ─┬─► RoomArgs ─► WaitingRoomLayer ─► app ─► pages, api ─► goods
//!                 │                     ▲
//!                 │                   HTTP
//!                 │                     ▼
//!                 └─► Crowd ─► visitors, each with its cookies ─► Oracle ─► Outcome
//! ```
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
//! Two things. The checkout in `api.rs` ends the visitor's session, so that the slot goes to the
//! next visitor in the line at once, and `app.rs` defines the order of the layers. Nothing else
//! would change if the room were removed.
//!
//! # What it does not do
//!
//! It keeps no orders and takes no payments: a cart is a cookie, and a checkout empties it. It does
//! not terminate TLS; behind a proxy that does, `--secure` makes the token cookie `Secure`. The
//! crowd runs in the process of the server and connects over loopback, so its figures are those of
//! one machine that runs both.

mod api;
mod app;
mod calls;
mod cli;
mod command;
mod crowd;
mod goods;
mod metrics;
mod otlp;
mod pages;
mod replay;
mod room;
mod server;

pub use crate::{
    app::{app, app_that_works},
    calls::{CountedStore, tells_calls},
    cli::{Cli, CrowdOrder},
    command::run,
    crowd::{Admissions, Crowd, Form, Latencies, Outcome, Scene, Tally, Trips, Witness},
    room::{RecoveryName, RoomArgs, duration},
};
