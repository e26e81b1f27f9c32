//! A line in order of arrival, in which no tenant has more than a share of the queue.
//!
//! Once a tenant has its share in line, its other requests wait behind the line. Whenever one of
//! its requests leaves the line, its next request joins the end:
//!
//! ```text
//! in line   ──► a b a c d      served in order of arrival
//! behind        a a a a a      the rest of `a`; a full queue evicts the last one
//! ```
//!
//! If no tenant has more than its share, or there is only one tenant, requests are therefore served
//! exactly in order of arrival. A tenant that is alone can use the whole queue.

use std::collections::{BTreeSet, HashMap};

use super::lane::{Lane, Line};
use crate::{
    Timestamp,
    gate::waiters::{Id, Waiters},
};

/// A line in which each tenant has a share. Tenant 0 stands for all unknown clients, so all of its
/// requests are in line.
#[derive(Default)]
pub(in crate::gate) struct QueueShares {
    line: Lane,
    /// The tenants with waiting requests.
    tenants: HashMap<u64, Tenant>,
    /// The tenants with requests behind the line, ordered by the number of these requests.
    by_rest: BTreeSet<(usize, u64)>,
    /// The number of requests that a tenant may have in line.
    share: usize,
    /// The number of requests in the line and behind it.
    len: usize,
}

/// The requests of a tenant.
#[derive(Default)]
struct Tenant {
    in_line: usize,
    /// The requests behind the line.
    rest: Lane,
}

impl QueueShares {
    /// Creates a line for a queue of this length. A share is an eighth of the length.
    pub(in crate::gate) fn new(queue: u32) -> Self {
        Self { share: (queue as usize / 8).max(1), ..Self::default() }
    }

    fn is_below_share(&self, tenant: u64) -> bool {
        tenant == 0 || self.tenants.get(&tenant).is_none_or(|of| of.in_line < self.share)
    }

    /// Applies a change to the requests that a tenant has behind the line.
    fn change<T>(&mut self, tenant: u64, change: impl FnOnce(&mut Lane) -> T) -> T {
        let rest = &mut self.tenants.entry(tenant).or_default().rest;
        self.by_rest.remove(&(rest.len(), tenant));
        let given = change(rest);
        if !rest.is_empty() {
            self.by_rest.insert((rest.len(), tenant));
        }
        given
    }

    fn join(&mut self, tenant: u64, id: Id, waiters: &mut Waiters) {
        self.tenants.entry(tenant).or_default().in_line += 1;
        waiters[id].lane = tenant;
        self.line.push(id, waiters);
    }

    /// Lets the next request of a tenant join the line after another of its requests has left it.
    fn left(&mut self, tenant: u64, waiters: &mut Waiters) {
        self.len -= 1;
        let Some(of) = self.tenants.get_mut(&tenant) else { return };
        of.in_line -= 1;
        if !of.rest.is_empty() {
            if let Some(next) = self.change(tenant, |rest| rest.pop_first(waiters)) {
                self.join(tenant, next, waiters);
            }
        } else if of.in_line == 0 {
            self.tenants.remove(&tenant);
        }
    }
}

impl Line for QueueShares {
    fn lane(&self, _: u8, tenant: u64) -> u64 {
        tenant & !BEHIND
    }

    fn push(&mut self, id: Id, waiters: &mut Waiters) {
        self.len += 1;
        let tenant = waiters[id].lane;
        if self.is_below_share(tenant) {
            self.join(tenant, id, waiters);
        } else {
            waiters[id].lane = tenant | BEHIND;
            self.change(tenant, |rest| rest.push(id, waiters));
        }
    }

    fn next(
        &mut self,
        _: Timestamp,
        _: bool,
        _: &dyn Fn(u8) -> u32,
        waiters: &mut Waiters,
    ) -> Option<Id> {
        let id = self.line.pop_first(waiters)?;
        self.left(waiters[id].lane, waiters);
        Some(id)
    }

    fn evict_for(&mut self, lane: u64, waiters: &mut Waiters) -> Option<Id> {
        if !self.is_below_share(lane) {
            return None;
        }
        let &(_, tenant) = self.by_rest.last()?;
        self.len -= 1;
        self.change(tenant, |rest| rest.pop_last(waiters))
    }

    fn remove(&mut self, id: Id, waiters: &mut Waiters) {
        let lane = waiters[id].lane;
        if lane & BEHIND == 0 {
            self.line.remove(id, waiters);
            self.left(lane, waiters);
        } else {
            self.len -= 1;
            self.change(lane & !BEHIND, |rest| rest.remove(id, waiters));
        }
    }

    fn ahead(&self, lane: u64, _: bool) -> usize {
        let of = self.tenants.get(&lane).filter(|_| !self.is_below_share(lane));
        self.line.len() + of.map_or(0, |of| of.rest.len())
    }

    fn oldest(&self, waiters: &Waiters) -> Option<Timestamp> {
        // A tenant's requests behind the line arrived after its requests in line.
        self.line.iter(waiters).map(|id| waiters[id].since).min()
    }

    fn len(&self) -> usize {
        self.len
    }
}

/// Marks the lane of a request behind the line.
const BEHIND: u64 = 1 << 63;
