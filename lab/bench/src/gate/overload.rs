//! Overload over loopback: the outcome of requests behind each gate, when there are more than the
//! service can do.
//!
//! ```text
//!   core 1                      core 0, a process for each measurement
//!  ┌─────────────┐  loopback   ┌──────┐   at most   ┌───────────────────────────┐
//!  │ clients in  ├────────────►│ gate ├────────────►│ work: a fixed number at   │
//!  │ open loop   │◄────────────┤      │◄────────────┤ once, the rest queued     │
//!  └─────────────┘             └──────┘             └───────────────────────────┘
//! ```
//!
//! The clients do not wait for each other. They arrive at times that are drawn in advance, and each
//! leaves after its [patience](load::PATIENCE), counted from its intended arrival. So a slow server
//! cannot delay its clients, and all of its delay counts.

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
