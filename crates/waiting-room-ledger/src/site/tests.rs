//! Tests of the room of a site, on real servers.

mod account;
mod counters;
mod losses;
mod minute;
mod support;
