//! What a rate limit costs: the check of a key beside governor, and the layer beside others.

mod admitted;
mod algorithms;
mod bench;
mod keyed;
mod memory;
mod refused;
mod routers;
mod turns;

pub(crate) use self::{
    admitted::ADMITTED,
    algorithms::ALGORITHMS,
    bench::run,
    keyed::{MILLION, ONE, THOUSAND, TWO_THREADS},
    memory::KEY_MEMORY,
    refused::{REFUSED, REFUSING, Refusing},
};
