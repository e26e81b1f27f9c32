//! The ledger with its keepers, on its wire, in a simulated world, and as a program.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "an answer that a test does not expect fails the test"
)]

#[path = "../../src/logged.rs"]
mod logged;
mod minute;
mod net;
mod pages;
mod postgres;
mod program;
mod rollback;
mod sites;
mod standby;
mod wire;
mod world;
