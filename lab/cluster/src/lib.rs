//! Parts of a cluster on one machine: processes that are killed and started again, the links between
//! them, a balancer, a replica that is behind, and clocks that can be set.
//!
//! The program of this package and the `sites` example are built from them.

mod balancer;
mod clock;
mod link;
mod process;
mod replica;

pub use crate::{
    balancer::{Balancer, free_address},
    clock::ShiftedClock,
    link::{Carried, Direction, Link, Listener, Listeners, Tap, Weather},
    process::{Process, READY, random_key, serve_until_end},
    replica::{Replica, address_of, connect},
};
