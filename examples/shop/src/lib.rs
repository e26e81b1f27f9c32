//! A small shop behind a waiting room, and a crowd of real HTTP visitors to try it with.
//!
//! ```text
//! cargo run -p shop                                     serves on http://127.0.0.1:3000
//! cargo run -p shop -- --crowd 500 --duration 60        adds 500 real HTTP visitors
//! cargo run -p shop -- --replay day.csv                 adds the steepest hour of a real day
//! ```
//!
//! [`app`] is the application, and [`RoomArgs`] the waiting room in front of it. A [`Crowd`] is who
//! comes. What the crowd saw is judged by the oracle of `waiting-room-sim`, which knows nothing of
//! the room inside. The `cluster` example sends the same crowd to the same shop on many machines.

mod cli;
mod command;
mod crowd;
mod log;
mod replay;
mod room;
mod serve;
mod server;
mod shop;

pub use crate::{
    cli::{Cli, CrowdOrder, duration},
    command::run,
    crowd::{Crowd, Form, Latencies, Outcome, Scene, Witness},
    room::{RecoveryName, RoomArgs},
    shop::{app, app_that_works},
};
