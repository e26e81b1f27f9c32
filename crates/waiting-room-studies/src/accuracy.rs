//! How often rate-limit algorithms are wrong, and how much they let through.
//!
//! Each algorithm is held against an exact log of all times, source by source: sources do not know
//! of each other, so there is no common timeline, and memory is bounded by the busiest one.
//!
//! ```text
//!   Traffic ─► arrivals of one source ─┬─► exact log ─► what is right
//!                                      └─► each algorithm, in two ways ─► Tally ─► Row
//! ```
//!
//! - *Open loop*, as Cloudflare measured its sliding counter: each request is decided and then
//!   spent whatever the decision was, by the exact log and by the algorithm alike. All of them look
//!   at the same past, so each decision is a comparison of its own. For GCRA this means that a
//!   source over its limit runs into a debt, which only time pays back.
//! - *Closed loop*, as in a real service: each limiter remembers what it allowed itself. A decision
//!   is wrong if an exact log of these same requests would have decided otherwise.
//!
//! Times are whole microseconds, as clocks of servers give them. The sliding log of a minute has
//! ticks of 100 ns and is exact at such times; between two ticks it would err, to the safe side.

mod candidate;
mod crowd;
mod exact;
mod output;
mod plot;
mod rates;
mod row;
mod study;
mod traffic;
mod trial;

#[cfg(test)]
mod tests;

pub(crate) use self::{
    crowd::Crowd,
    output::{table, write},
    study::Study,
    traffic::Traffic,
};
