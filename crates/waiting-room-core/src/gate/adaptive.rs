//! Limits that find out by themselves how many requests may run at once.
//!
//! The right limit of a gate is the *knee*: the number from which on more at once does not get
//! more done, but only takes longer. It depends on the machine, the database behind it, and the
//! day. A [`AdaptiveLimit`] hears of every request that is over, and says how many may run from now on.
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
//! | [`FixedLimit`] | never | never | if the knee is known, or can be measured once: **the default** |
//! | [`Aimd`] | by one a window | on overload, or above the target | if the service says when it is overloaded |
//! | [`Gradient2`] | slowly | in proportion to how much slower it got | if holds vary much |
//! | [`Vegas`] | fast, then by one | when a fifth of the requests only wait | if holds are alike |
//!
//! # How it works
//!
//! Samples are summed up in windows of a second or more, of which the median hold, the number in
//! flight, the throughput and the failures remain. After each window a rule, in which the three
//! differ, suggests a limit, and a guard, which they share, has the last word. It is there because
//! a rule that compares holds with earlier holds climbs without end under steady overload, when
//! what is slow becomes what is usual (Netflix/concurrency-limits 134 and 137, envoyproxy/envoy
//! 38338). Three things stop that:
//!
//! - **A latency target** ([`AdaptiveRules::latency_target`]), the only measure that does not drift.
//! - **A throughput veto.** If over the last windows more in flight has not meant more done, a
//!   rule that wants to grow is made to shrink. As in Failsafe-go and Uber's Cinnamon.
//! - **A limit that is not used tells nothing.** It stays while less than half of it is in use,
//!   and comes down while less than a fifth is.
//!
//! Memory is fixed, about 3 KiB for each limit; a sample costs about 12 ns and no allocation.
//! There is no clock in it and no chance: the same samples give the same limits.
//!
//! # What it does not do
//!
//! - **It is not better than a good fixed limit.** In order to find the knee it must step over it
//!   now and then. In simulations of a service with 20 cores under twice the load it moves between
//!   0.6 and 2.5 times the knee, and gets 95 to 99 of 100 requests done that could be; with 200
//!   cores, about 90. A number that was measured wastes nothing. That is why [`FixedLimit`] is the
//!   default.
//! - It does not know what is fast enough. A service in which every request takes exactly as
//!   long as a timeout looks calm to it, unless it is given a target or told of the overload.
//! - It cannot tell a slow service from a target set too low: if one request alone takes longer
//!   than the target, the limit falls to [`AdaptiveRules::min`]. Set both with that in mind.
//! - It learns little from few requests. Under ten a minute it does not move; where a window has
//!   less than a hundred or so, it is the less precise the more holds vary.
//! - It judges all requests of a gate as one kind. Long downloads and short queries behind the
//!   same gate are better parted into two.

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
