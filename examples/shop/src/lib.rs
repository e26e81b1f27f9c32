//! A small shop behind a waiting room. `cargo run -p shop -- --help` says what the program of the same name
//! does with it.
//!
//! [`app()`] is the application, and [`RoomArgs`] are the rules of the waiting room in front of it. The
//! visitors are those of `waiting-room-crowd`, which come over real HTTP and know nothing about the inside
//! of the room. The programs `cluster` and `sites` of the lab send them to the same shop on several nodes.
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
//! The shop knows two things about the room: the checkout in `app.rs` ends the visitor's session, so that
//! the slot goes to the next visitor in the line at once, and the same file defines the order of the layers.
//! It keeps no orders, takes no payments, and does not terminate TLS.

mod app;
mod room;

pub use crate::{
    app::{app, app_that_works},
    room::{RecoveryName, RoomArgs, duration},
};
