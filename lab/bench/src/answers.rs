//! Answers per second to waiting visitors, over loopback.

mod bench;
mod client;
mod load;
mod rooms;
mod server;
mod targets;

pub(crate) use self::{
    bench::{run, run_refusals},
    load::LoadKind,
    rooms::{ALONE, BEHIND_AXUM},
    server::serve,
};
