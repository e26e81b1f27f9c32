//! The cost of a rate limit: the check of a key compared with governor, and the layer compared with
//! others.

mod keyed;
mod refused;
mod routers;
mod turns;
mod unseen;

pub(crate) use self::{
    keyed::{
        ALGORITHMS, MILLION, ONE, THOUSAND, TWO_THREADS, address, governor_quota, hasher, number,
    },
    refused::{REFUSED, bare},
    routers::{ADMITTED, governor_with_headers, never_used_up},
    unseen::{UNSEEN, slowest},
};
