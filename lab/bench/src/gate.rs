//! The cost of a gate, compared with tokio's semaphore and the limits of others, and its benefit
//! under overload.

mod bench;
mod connections;
mod overload;
mod permits;
mod refused;
mod routers;
mod sources;
mod tasks;
mod waiters;

pub(crate) use self::{
    bench::run,
    overload::{Contender, Work, serve},
    permits::{HANDED_ON, PERMITS},
    refused::REFUSED,
    routers::{ADMITTED, limit, shedding_and_timing_out},
    waiters::WAITERS,
};
