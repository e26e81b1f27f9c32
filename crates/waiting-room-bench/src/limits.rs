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
    admitted::CASES as ADMITTED,
    algorithms::CASES as ALGORITHMS,
    bench::run,
    keyed::{MILLION, ONE, THOUSAND, TWO_THREADS},
    memory::CASES as KEY_MEMORY,
    refused::{CASES as REFUSED, REFUSING, Refusing},
};
