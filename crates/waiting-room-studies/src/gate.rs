//! What a concurrency gate makes of too many requests, discipline by discipline.
//!
//! The gate is the real one, on a clock that is moved from event to event; clients and service are
//! simulated. The service takes as long for a request whatever else runs, and a refusal is free: so
//! what differs from row to row is the gate's doing alone.
//!
//! ```text
//!   OpenLoop ─┐                     ┌─► runs for as long as was drawn ─► Tally ─┐
//!             ├─► Door (real Gate) ─┼─► waits, until its turn or deadline       ├─► Sheet ─► Bar
//!   crowd ────┘         ▲           └─► refused ─► comes back, in the crowd     │
//!                       └──────────────────────────────┘                  one value a seed
//! ```
//!
//! - [`run`](open_loop::run): clients that come whatever happens to the others, and have as much
//!   patience as they have. Who has waited longer is served for nothing.
//! - [`run`](crowd::run): a crowd that comes at once, and comes back when it is told to.
//!
//! All rows of a sheet see the same requests: with the same seed the same clients come at the same
//! times, and each needs the same time. A share of the capacity is one of what the permits could
//! have served of the requests that there were, and not of an average that no run quite has.

mod crowd;
mod crowd_experiment;
mod door;
mod experiments;
mod open_loop;
mod output;
mod policies;
mod study;
mod tally;
mod traffic;

#[cfg(test)]
mod tests;

pub(crate) use self::{
    output::{print, write},
    study::{Size, Study},
};
