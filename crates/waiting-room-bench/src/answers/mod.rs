//! Answers a second to those who wait, over loopback.

mod bench;
mod client;
mod house;
mod load;
mod server;
mod targets;
mod wrk;

pub(crate) use self::{bench::run, house::serve, load::LoadKind};
