//! Tests of a site's room, on real servers.

mod account;
mod counters;
mod front;
mod losses;
mod minute;
mod order;
mod site;
mod support;
