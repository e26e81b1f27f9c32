//! The queue of a gate: those who wait, and who of them is next.
//!
//! The disciplines differ in three answers only: which *lane* somebody joins, who is next, and who
//! makes room when the queue is full. A lane is in the order of arrival.
//!
//! A line keeps the order alone; who they are, its callers keep.

mod classes;
mod lane;
mod single;
mod tenants;

pub(super) use self::{classes::Classes, lane::Line, single::Single, tenants::ByTenant};
