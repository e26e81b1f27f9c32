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
//! leaves after [`PATIENCE`], counted from when it was to come. So a server that is late cannot
//! make its clients late, and is charged for all of its delay.

mod arrivals;
mod bench;
mod client;
mod contender;
mod found;
mod haproxy;
mod house;
mod load;
mod server;
mod work;

use std::time::Duration;

pub(super) use self::{bench::run, client::Client, server::Server};
pub(crate) use self::{contender::Contender, house::serve, work::Work};

/// For how long a client waits.
const PATIENCE: Duration = Duration::from_millis(250);
