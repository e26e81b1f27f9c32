//! The store in which nodes share their limits, and the policy for outages of the store.
//!
//! With a store, limits apply to all nodes together, at the cost of one round trip per request. If
//! the store cannot decide, [`RateStoreFailure`] determines what happens instead. The store itself
//! is a [`RateStore`] from another crate. `remote.rs` sends the queries to it.

use std::{num::NonZeroU32, sync::Arc};

use waiting_room_core::{Quota, rate::RateStore};

/// The store that counts the limits of all nodes.
#[derive(Clone, Debug)]
pub(crate) struct Shared {
    pub(crate) store: Arc<dyn RateStore>,
    /// The policy for requests for which the store returns an error.
    pub(crate) on_failure: RateStoreFailure,
}

/// The policy for requests for which the rate store fails to return a decision.
///
/// There is no default: admitting every request is wrong for a limit that protects a service, and
/// refusing every request is wrong for a limit that only meters usage.
///
/// A store that works, but receives more queries from a node than it can answer in time, has not
/// failed. In this case, the policy does not apply: requests that a limit may refuse are answered
/// with status 503, the reason `refused:limits_busy` and a retry time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RateStoreFailure {
    /// Admits the request without counting it.
    Admit,
    /// Applies the node's share of every limit.
    ///
    /// A share is the quota divided by the number of nodes, rounded down, but at least 1. Together,
    /// the nodes allow at most the quota, or one request per node if that is more.
    ///
    /// Usage in the store and usage of a share are counted separately, so a client can use both
    /// quotas when a node switches from the store to its share or back.
    LocalShare {
        /// The number of nodes.
        nodes: NonZeroU32,
    },
    /// Refuses the request with status 503.
    Refuse,
}

impl RateStoreFailure {
    /// Returns the name of this policy in logs and metrics.
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Admit => "admit",
            Self::LocalShare { .. } => "local_share",
            Self::Refuse => "refuse",
        }
    }

    /// Returns the quotas that a node applies by itself during an outage, and the number of keys to
    /// remember for these quotas.
    pub(super) fn own_part(self, quotas: &[Quota], keys: usize) -> (Vec<Quota>, usize) {
        match self {
            Self::LocalShare { nodes } => {
                let part = |quota| part(quota, u64::from(nodes.get()));
                (quotas.iter().map(part).collect(), keys)
            }
            // With these policies, the node's limiter is never used, so it gets as little memory as
            // possible.
            Self::Admit | Self::Refuse => (quotas.to_vec(), 1),
        }
    }
}

/// Returns the share of a quota that each of `nodes` nodes gets. The share of a quota of 0 is 0.
fn part(quota: &Quota, nodes: u64) -> Quota {
    // The share is at least 1, because a share of 0 would refuse every request during an outage.
    let part = |whole: u64| (whole / nodes).max(whole.min(1));
    let own = Quota::new(part(quota.limit()), quota.window());
    if quota.capacity() == quota.limit() {
        // Window and log algorithms reject a quota with a burst, so a burst is set only if the
        // quota has one.
        own
    } else {
        own.burst(part(quota.capacity()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shares_of_all_nodes_add_up_to_at_most_the_limit_or_one_each() {
        let quota = Quota::per_minute(100).burst(10);
        assert_eq!(part(&quota, 3), Quota::per_minute(33).burst(3));
        assert_eq!(part(&quota, 1), quota);
        assert_eq!(part(&quota, 50), Quota::per_minute(2).burst(1));
        assert_eq!(part(&Quota::per_day(2), 5), Quota::per_day(1));
        assert_eq!(part(&Quota::per_day(0), 5), Quota::per_day(0));
    }
}
