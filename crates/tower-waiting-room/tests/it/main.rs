//! The layer as a Tower service, with time standing still unless a test moves it.

mod answers;
mod bad_input;
mod bypass;
mod contract;
mod handle;
mod renewal;
mod restart;
mod revoke;
mod support;
mod visit;
