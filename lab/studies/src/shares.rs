//! Shares of networks in front of README's room: what they cost honest crowds, and what they do
//! against clients that hold all that they can.
//!
//! The room is the real one, in virtual time. People do as they are told: they check in when their
//! ticket is due, look at some pages, and leave or lapse. Holders renew every session, join the line
//! again at once, and never leave. With the same seed, the same clients do the same under all rules.

mod scenarios;
mod study;
mod world;

#[cfg(test)]
mod tests;

pub(crate) use self::study::run;
