//! What a rate limit costs: the check of a key beside governor, and the layer beside others.

mod algorithms;
mod bench;
mod keyed;
mod refused;
mod routers;
mod turns;

pub(crate) use self::{
    algorithms::{ALGORITHMS, KEY_MEMORY},
    bench::run,
    keyed::{MILLION, ONE, THOUSAND, TWO_THREADS},
    refused::{REFUSED, REFUSING, Refusing},
    routers::ADMITTED,
};
