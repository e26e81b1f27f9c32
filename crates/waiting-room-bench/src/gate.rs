//! What a gate costs, beside tokio's semaphore and the limits of others, and what it is good for
//! when more is asked than can be done.

mod admitted;
mod bench;
mod connections;
mod handed_on;
mod overload;
mod permits;
mod refused;
mod routers;
mod sources;
mod tasks;
mod waiters;

pub(crate) use self::{
    admitted::ADMITTED,
    bench::run,
    handed_on::HANDED_ON,
    overload::{Contender, Work, serve},
    permits::PERMITS,
    refused::REFUSED,
    waiters::WAITERS,
};
