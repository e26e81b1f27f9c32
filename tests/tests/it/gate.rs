//! The gate over real sockets: how many requests run at once, and what happens to clients that
//! wait, leave, stall, or keep a permit for longer than their response.
//!
//! The tests do not sleep; they poll the numbers of the gate. Times are real only where a time is
//! tested.

mod clients;
mod handles;
mod leaving;
mod panics;
mod placement;
mod shutdown;
mod stalled;
mod streams;
mod wire;
mod works;

use self::{
    wire::{Wire, finished},
    works::{Floor, Works, gate},
};
