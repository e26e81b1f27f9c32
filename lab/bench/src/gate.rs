//! The cost of a gate, compared with tokio's semaphore and the limits of others.

mod permits;
mod refused;
mod routers;
mod sources;

pub(crate) use self::{
    permits::{HANDED_ON, ON_TWO_THREADS, PERMITS},
    refused::{REFUSED, busy},
    routers::{ADMITTED, limit, ours, shedding_and_timing_out, tower},
    sources::LONG,
};
