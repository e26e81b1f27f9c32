//! The cost of a store that many nodes share: a decision, a rate limit, a visitor, a long line.

mod asked;
mod bench;
mod crowd;
mod deciders;
mod limiters;

pub(crate) use self::bench::run;
