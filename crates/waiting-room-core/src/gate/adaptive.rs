//! Limits that adapt to the number of requests that a service can run at once.
//!
//! The right limit for a gate is the *knee* of the service. Beyond the knee, running more requests
//! at once does not increase the throughput. It only makes each request take longer. The knee
//! depends on the machine, on the database behind the service, and on the time of day. An
//! [`AdaptiveLimit`] observes each request that ends, and returns the limit to use from then on.
//! The time between a request's admission and its end is its *hold*.
//!
//! ```text
//! throughput             hold
//!     │    ______           │        /
//!     │   /                 │       /        a gate with this limit: the rest waits in its
//!     │  /                  │______/         queue, where it costs nothing and can be refused
//!     └──┴───────► n        └──────┴──► n
//!       knee                     knee
//! ```
//!
//! | limit | grows | shrinks | use it |
//! |---|---|---|---|
//! | [`FixedLimit`] | never | never | if the knee is known or can be measured: **the default** |
//! | [`Aimd`] | by 1 per window | on overload, above the target | if the service reports overload |
//! | [`Gradient2`] | slowly | in proportion to the slowdown | if holds vary a lot |
//! | [`Vegas`] | fast, then by one | when a fifth of the requests only wait | if holds are alike |
//!
//! # How it works
//!
//! ```text
//! samples ─► window ─► reading ─► rule: a suggestion ─► guard ─► limit
//!            a second or more     Aimd, Gradient2,      shared by all three
//!                                 or Vegas
//! ```
//!
//! Samples are aggregated in windows of a second or more. Each window yields a reading: the median
//! hold, the number of requests in flight, the throughput, and whether the service was overloaded.
//! A rule then suggests a limit, and the three algorithms differ only in this rule. The final
//! decision is made by a guard, which all three algorithms share.
//!
//! The guard is needed because slow holds become the norm under steady overload. A rule that
//! compares holds with earlier holds then raises the limit without bound
//! (Netflix/concurrency-limits issues 134 and 137, envoyproxy/envoy issue 38338). Three measures
//! prevent such unbounded growth:
//!
//! - **A latency target** ([`AdaptiveRules::latency_target`]) gives the guard a fixed reference,
//!   which does not drift when the service becomes slower.
//! - **A throughput veto.** If more requests in flight have not led to more throughput over the
//!   last few windows, the limit shrinks even if the rule suggests growth, as in Failsafe-go and
//!   Uber's Cinnamon.
//! - **A minimum load.** The limit does not grow while less than half of it is in
//!   use, and shrinks while less than a fifth of it is in use.
//!
//! Each limit uses a fixed amount of memory, about 3 KiB. Processing a sample takes about 12 ns and
//! does not allocate. The limits depend on neither a clock nor randomness, so the same samples
//! always yield the same limits.
//!
//! # What it does not do
//!
//! - **An adaptive limit is not better than a good fixed limit.** To find the knee, an adaptive
//!   limit has to exceed the knee from time to time. In simulations of a service with 20 cores
//!   under a load of twice its capacity, the limit moves between 0.6 and 2.5 times the knee, and
//!   the service uses 95% to 99% of its capacity. With 200 cores, the service uses about 90%. A
//!   limit that was measured beforehand wastes no capacity. [`FixedLimit`] is therefore the
//!   default.
//! - An adaptive limit cannot tell which holds are acceptable. Even a service in which every
//!   request times out looks healthy, unless a target is set or overload is reported.
//! - An adaptive limit cannot distinguish a slow service from a target that is too low. If even a
//!   request that runs alone takes longer than the target, the limit falls to
//!   [`AdaptiveRules::min`]. Choose the target and the minimum accordingly.
//! - An adaptive limit learns little from few requests. With fewer than ten requests per minute,
//!   the limit does not change. With fewer than about a hundred requests per window, the limit is
//!   less precise, especially if the holds vary a lot.
//! - An adaptive limit treats all requests of a gate alike. Long downloads and short queries should
//!   have separate gates.

mod averages;
mod gradient2;
mod guard;
mod history;
mod limit;
mod plain;
mod rules;
mod vegas;
mod window;

#[cfg(test)]
mod tests;

pub use self::{
    gradient2::Gradient2,
    limit::{AdaptiveLimit, PermitOutcome, Sample},
    plain::{Aimd, FixedLimit},
    rules::AdaptiveRules,
    vegas::Vegas,
};
