//! A small shop behind a waiting room. `cargo run -p shop -- --help` says what the program of the same name
//! does with it.
//!
//! [`app()`] is the application, and [`RoomArgs`] are the rules of the waiting room in front of it. The
//! visitors are those of `waiting-room-crowd`, which come over real HTTP and know nothing about the inside
//! of the room. The programs `cluster` and `sites` of the lab send them to the same shop on several nodes.

mod app;
mod room;

pub use crate::{
    app::{app, app_that_works},
    room::{RecoveryName, RoomArgs, duration},
};
