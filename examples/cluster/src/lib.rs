//! Parts of a cluster on one machine: processes that are killed and started again, the links between
//! them, and a balancer.
//!
//! The program of this package and the `sites` example are built from them.

mod balancer;
mod link;
mod process;

pub use crate::{
    balancer::{Balancer, free_address},
    link::{Carried, Direction, Link, Weather},
    process::{Process, READY, random_key, serve_until_end},
};
