//! The escrow protocol in whole worlds: every order of events in small ones, random orders in larger
//! ones, and what becomes of them when a rule is left out.
//!
//! The ledgers are those of production. Around them is a [`World`](world::World) with visitors, a
//! network that loses, doubles and reorders, sites and a global ledger that lose their memory, and
//! clocks that run slow. Wrong rules are made by rewriting messages on their way, so that nothing in
//! production knows of them.

#![expect(clippy::unwrap_used, reason = "a test fails where what it needs is not there")]

mod bounds;
mod model;
mod mutant;
mod network;
mod random;
mod world;
