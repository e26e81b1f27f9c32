//! What the verbs of a room cost, and what a visitor weighs.

mod bench;
mod memory;
mod verbs;
mod visitors;

pub(crate) use self::{bench::run, memory::MEMORY, verbs::VERBS};
