//! The store in which nodes share their limits, and the policy for its outages.
//!
//! With a store, limits hold for all nodes together at the price of a round trip. While the store
//! is away, its decisions are missing, and [`RateStoreFailure`] states what takes their place. The
//! store itself is a [`RateStore`] of another crate; `remote.rs` makes the queries to it.

use std::{num::NonZeroU32, sync::Arc};

use waiting_room_core::{Quota, rate::RateStore};

/// The store that counts the limits of all nodes.
#[derive(Clone, Debug)]
pub(crate) struct Shared {
    pub(crate) store: Arc<dyn RateStore>,
    /// The decision about requests for which the store returns an error.
    pub(crate) on_failure: RateStoreFailure,
}

/// What happens to a request when the store of the limits cannot decide about it.
///
/// There is no default: admitting every request is wrong for a limit that protects a service, and
/// refusing every request is wrong for a limit that only meters usage.
///
/// A store that works, but gets more queries from a node than it can decide in time, is not away.
/// Whatever the policy, requests that a limit may refuse are then answered with 503, the reason
/// `refused:limits_busy` and a time to retry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RateStoreFailure {
    /// The request goes on, uncounted.
    Admit,
    /// Each node applies its share of every limit by itself.
    ///
    /// A share is the quota divided by the number of nodes, rounded down, but at least 1. Together
    /// the nodes allow at most the limit, or one request each if that is more.
    ///
    /// The store and the share are counted separately: when a node changes from one to the other, a
    /// client can use both.
    LocalShare {
        /// The number of nodes.
        nodes: NonZeroU32,
    },
    /// The request is answered with 503.
    Refuse,
}

impl RateStoreFailure {
    /// The name in logs and metrics.
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Admit => "admit",
            Self::LocalShare { .. } => "local_share",
            Self::Refuse => "refuse",
        }
    }

    /// The quotas that a node applies by itself during an outage, and the number of keys that it
    /// remembers for them.
    pub(super) fn own_part(self, quotas: &[Quota], keys: usize) -> (Vec<Quota>, usize) {
        match self {
            Self::LocalShare { nodes } => {
                let part = |quota| part(quota, u64::from(nodes.get()));
                (quotas.iter().map(part).collect(), keys)
            }
            // The limiter of the node is never used, so it takes as little memory as possible.
            Self::Admit | Self::Refuse => (quotas.to_vec(), 1),
        }
    }
}

/// The share of one of `nodes` nodes in a quota. A quota of 0 stays 0.
fn part(quota: &Quota, nodes: u64) -> Quota {
    // At least 1: a share of 0 would turn an outage into a refusal of every request.
    let part = |whole: u64| (whole / nodes).max(whole.min(1));
    let own = Quota::new(part(quota.limit()), quota.window());
    match quota.capacity() == quota.limit() {
        // Windows and logs refuse a quota with a burst, so none is set where none was.
        true => own,
        false => own.burst(part(quota.capacity())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_of_all_nodes_are_no_more_than_the_limit_or_one_each() {
        let quota = Quota::per_minute(100).burst(10);
        assert_eq!(part(&quota, 3), Quota::per_minute(33).burst(3));
        assert_eq!(part(&quota, 1), quota);
        assert_eq!(part(&quota, 50), Quota::per_minute(2).burst(1));
        assert_eq!(part(&Quota::per_day(2), 5), Quota::per_day(1));
        assert_eq!(part(&Quota::per_day(0), 5), Quota::per_day(0));
    }
}
