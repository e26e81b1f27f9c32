//! A small shop behind a waiting room. `cargo run -p shop -- --help` says what the program of the same name
//! does with it.
//!
//! [`app()`] is the application, and [`RoomArgs`] are the rules of the waiting room in front of it. The
//! programs `cluster` and `sites` of the lab run the same shop on several nodes.

mod app;
mod room;

pub use crate::{
    app::{app, app_that_works},
    room::{RecoveryName, RoomArgs, duration},
};
