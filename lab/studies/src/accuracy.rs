//! How often rate-limit algorithms are wrong, and how much they admit.
//!
//! Each algorithm is compared with an exact log of all times, source by source. Sources do not
//! interact, so no common timeline is needed, and memory is bounded by the busiest source.
//!
//! ```text
//!   Traffic ─► arrivals of one source ─┬─► exact log ─► Truth
//!                                      └─► each algorithm, in both loops ─► Tally ─► Row
//! ```
//!
//! - *Open loop*, as Cloudflare measured its sliding counter: each request is decided and then
//!   charged whatever the decision was, by the exact log and by the algorithm alike. All of them
//!   see the same past, so each decision is an independent comparison. For GCRA this means that a
//!   source over its limit builds up a debt, which only time pays back.
//! - *Closed loop*, as in a real service: each limiter is charged only for the requests that it
//!   allowed. A decision is wrong if an exact log of these same requests would have decided
//!   otherwise.
//!
//! Times are whole microseconds, like those of a server's clock. With a window of a minute, the
//! sliding log has ticks of 100 ns and is exact at such times. Between two ticks it would err on
//! the safe side.

mod candidate;
mod crowd;
mod exact;
mod output;
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
