//! The gate over real sockets: how many run at once, and what becomes of clients that wait, leave,
//! stall, or keep a permit for longer than their response.
//!
//! Nobody waits here for a moment to be over, but for what the gate says of itself; times are real
//! only where a time is what is tested.

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
