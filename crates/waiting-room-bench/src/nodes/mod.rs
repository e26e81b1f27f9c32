//! What one store costs that many nodes share: a decision, a visitor, a long line.

mod asked;
mod bench;
mod clients;
mod crowd;
mod deciders;

pub(crate) use self::bench::run;
