//! Answers a second to those who wait, over loopback.

mod alone;
mod apps;
mod bench;
mod client;
mod house;
mod load;
mod rooms;
mod server;
mod targets;
mod wrk;

pub(crate) use self::{
    alone::ALONE,
    bench::{run, run_refusals},
    house::serve,
    load::LoadKind,
};
