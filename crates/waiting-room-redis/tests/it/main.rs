//! Tests of the stores against real servers, which the tests start themselves.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod clock;
mod cluster;
mod conformance;
mod draws;
mod events;
mod examples;
mod failure;
mod far_back;
mod flood;
mod gate_share;
mod joining;
mod limits;
mod link;
mod listed;
mod mishaps;
mod networks;
mod nodes;
mod persons;
mod recovery;
mod rights;
mod round_trips;
mod rules;
mod sentinel;
mod stay;
mod support;
mod tls;
mod variants;
