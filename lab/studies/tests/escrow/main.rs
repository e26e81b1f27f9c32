//! The escrow protocol in whole worlds: all orders of events in small worlds, random orders in
//! larger ones, and the same with a rule of the protocol left out.
//!
//! The ledgers are the production code. They are run in a [`World`](world::World) with visitors, a
//! network that loses, duplicates and reorders messages, sites and a global ledger that lose their
//! state or are switched off, clocks that run slow and fast, and an operator who fences, drains,
//! removes and adds sites and changes the limit. Most rules are left out by rewriting messages on their way, so
//! that the production code needs no switches for it.

#![expect(clippy::unwrap_used, reason = "a test may panic")]
#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "an answer that a test does not expect fails the test"
)]

mod bounds;
mod faults;
mod model;
mod mutant;
mod network;
mod random;
mod world;
