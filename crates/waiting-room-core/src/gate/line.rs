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

use self::{classes::Classes, lane::Lane, single::Single, tenants::ByTenant};
use super::{
    Discipline,
    rules::Tenants,
    waiters::{Id, Waiters},
};
use crate::Timestamp;

/// Those who wait, in the order of a discipline. Its bound is the gate's.
pub(super) trait Line: Send {
    /// Which lane somebody of this class and tenant joins.
    fn lane(&self, class: u8, tenant: u64) -> u64;

    /// Adds somebody to its lane.
    fn push(&mut self, id: Id, waiters: &mut Waiters);

    /// Takes out who is next. `is_standing` says whether the queue has not been empty for long, and
    /// `running` how many of a class run.
    fn next(
        &mut self,
        now: Timestamp,
        is_standing: bool,
        running: &dyn Fn(u8) -> u32,
        waiters: &mut Waiters,
    ) -> Option<Id>;

    /// Takes out who makes room for somebody who would join a lane; nobody, if it has to go itself.
    fn evict_for(&mut self, lane: u64, waiters: &mut Waiters) -> Option<Id>;

    /// Takes out one.
    fn remove(&mut self, id: Id, waiters: &mut Waiters);

    /// How many at least are served before somebody who joins a lane now.
    fn ahead(&self, lane: u64, is_standing: bool) -> usize;

    /// Since when the one waits who has waited the longest.
    fn oldest(&self, waiters: &Waiters) -> Option<Timestamp>;

    /// How many wait.
    fn len(&self) -> usize;
}

/// An empty line.
pub(super) fn line(discipline: &Discipline) -> Box<dyn Line> {
    match discipline {
        Discipline::AdaptiveLifo { .. } => Box::new(Single::adaptive_lifo()),
        Discipline::ControlledDelay { .. } | Discipline::Fifo => Box::new(Single::fifo()),
        Discipline::FairByTenant(tenants) => Box::new(ByTenant::new(*tenants == Tenants::Shuffled)),
        Discipline::Priority { reserved, aging } => Box::new(Classes::new(reserved, *aging)),
    }
}
