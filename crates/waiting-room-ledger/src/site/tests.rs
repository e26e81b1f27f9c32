//! Tests of the room of a site, on real servers.

mod account;
mod counters;
mod front;
mod losses;
mod minute;
mod order;
mod site;
mod support;
