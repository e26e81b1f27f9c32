//! The cost of a rate limit: the check of a key compared with governor, and the layer compared with
//! others.

mod algorithms;
mod bench;
mod keyed;
mod refused;
mod routers;
mod turns;
mod unseen;

pub(crate) use self::{
    algorithms::{ALGORITHMS, KEY_MEMORY},
    bench::run,
    keyed::{MILLION, ONE, THOUSAND, TWO_THREADS},
    refused::{REFUSED, REFUSING, Refusing},
    routers::{ADMITTED, governor_with_headers, never_used_up},
    unseen::{UNSEEN, slowest},
};
