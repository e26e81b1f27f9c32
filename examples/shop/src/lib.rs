//! A small shop behind a waiting room, and a crowd of real HTTP visitors to try it with.
//!
//! ```text
//! cargo run -p shop                                     serves on http://127.0.0.1:3000
//! cargo run -p shop -- --crowd 500 --duration 60        adds 500 real HTTP visitors
//! cargo run -p shop -- --replay day.csv                 adds the steepest hour of a real day
//! ```
//!
//! [`app()`] is the application, and [`RoomArgs`] are the rules of the waiting room in front of it. A
//! [`Crowd`] sends the visitors. What they saw is judged by the oracle of `waiting-room-sim`, which
//! knows nothing of the room inside. The `cluster` example sends the same crowd to the same shop on
//! many machines.
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
//! # What the shop knows of the room
//!
//! Two things. The checkout, in `api.rs`, ends the visitor's session, so that the slot goes to the
//! next in line at once; `app.rs` says in which order the layers stand. Nothing else would change
//! if the room were taken away.
//!
//! # What it does not do
//!
//! It keeps no orders and takes no payments: a cart is a cookie, and a checkout empties it. It ends
//! no TLS; behind a proxy that does, `--secure` gives the cookies their attribute. A crowd comes
//! from this process over the loopback, so its figures are those of one machine that serves and
//! asks.

mod api;
mod app;
mod cli;
mod command;
mod crowd;
mod goods;
mod pages;
mod replay;
mod room;
mod server;

pub use crate::{
    app::{app, app_that_works},
    cli::{Cli, CrowdOrder},
    command::run,
    crowd::{Admissions, Crowd, Form, Latencies, Outcome, Scene, Witness},
    room::{RecoveryName, RoomArgs, duration},
};
