//! How a concurrency gate copes with overload, discipline by discipline.
//!
//! The gate is the real one, on a clock that is advanced from event to event; clients and the
//! service are simulated. The service time of a request does not depend on other requests, and a
//! refusal is free. So the differences between rows are due to the gate alone.
//!
//! ```text
//!   OpenLoop ─┐                     ┌─► runs for its drawn service time ───► Tally ─┐
//!             ├─► Door (real Gate) ─┼─► waits, until its turn or deadline         ├─► Sheet ─► Bar
//!   crowd ────┘         ▲           └─► refused ─► comes back, in the crowd       │
//!                       └──────────────────────────────┘               one value per seed
//! ```
//!
//! - [`run`](open_loop::run): clients that arrive independently of each other, and lose patience
//!   after a fixed time. A client that has waited for longer is served for nothing.
//! - [`run`](crowd::run): a crowd that arrives at once, and returns when it is asked to.
//!
//! All rows of a sheet see the same requests: with the same seed, the same clients arrive at the
//! same times, and each needs the same service time. Goodput is a share of what the permits could
//! have served of the requests of this run, not of an average run.

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

pub(crate) use self::output::run;
