//! More requests than a service can do, over loopback: what becomes of them behind each gate.
//!
//! ```text
//!   core 1                      core 0, a process for each measurement
//!  ┌─────────────┐  loopback   ┌──────┐   at most   ┌───────────────────────────┐
//!  │ clients who ├────────────►│ gate ├────────────►│ work: as much at a time,  │
//!  │ come anyway │◄────────────┤      │◄────────────┤ the rest in its own queue │
//!  └─────────────┘             └──────┘             └───────────────────────────┘
//! ```
//!
//! The clients do not wait for each other: they come at times that were drawn before, and each
//! leaves after its [patience](load::PATIENCE), counted from when it was to come. So a server that is late cannot
//! make its clients late, and is charged for all of its delay.

mod bench;
mod client;
mod contender;
mod found;
mod haproxy;
mod load;
mod server;
mod work;

pub(super) use self::{bench::run, client::Client, server::Server};
pub(crate) use self::{contender::Contender, server::serve, work::Work};
