//! The order in which requests wait at a gate.
//!
//! The disciplines differ in three decisions: which *lane* a request joins, which request is served
//! next, and which request is evicted when the queue is full. A lane is a list of requests in order
//! of arrival.
//!
//! ```text
//! single     ──► o o o o o                one lane
//! classes    ──► o o | ──► o o o | ──► o   a lane per class, the lowest class first
//! shares     ──► o o o o o                one lane, and what tenants have above their shares
//! tenants    ──► o o o | ──► o | ──► o o   a lane per tenant, in turns
//! ```
//!
//! A line stores only the order of the requests. The entries of the requests are in the gate's
//! `Waiters`, and the gate bounds the number of entries.

mod classes;
mod lane;
mod shares;
mod single;
mod tenants;

pub(super) use self::{
    classes::Classes, lane::Line, shares::Shares, single::Single, tenants::ByTenant,
};
