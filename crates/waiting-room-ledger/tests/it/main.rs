//! The ledger with its keepers, on its wire, in a simulated world, and as a program.

mod net;
mod postgres;
mod program;
mod redis;
mod wire;
mod world;
